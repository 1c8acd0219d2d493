"""JSON lines, leniently: every fault is reported with its line, and the rest is read."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.transcripts import jsonl
from clew.transcripts.jsonl import JsonLine, ObjectLine, head_objects, head_values, json_lines, object_lines
from clew.transcripts.records import Problem
from clew.transcripts.source import Source, open_source

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=8,
)


def lines(data: bytes) -> list[JsonLine]:
    return list(json_lines(open_source(data)))


def test_each_line_has_its_number_and_its_place():
    assert lines(b'{"a":1}\n[2]\n"x"\n') == [
        JsonLine(1, 0, {"a": 1}),
        JsonLine(2, 8, [2]),
        JsonLine(3, 12, "x"),
    ]


def test_blank_lines_a_byte_order_mark_and_windows_line_ends_are_no_faults():
    assert lines(b'\xef\xbb\xbf{"a":1}\r\n\r\n  \n{"b":2}\r\n') == [
        JsonLine(1, 0, {"a": 1}),
        JsonLine(4, 17, {"b": 2}),
    ]


def test_a_torn_last_line_is_said_and_the_rest_is_read():
    first, torn = lines(b'{"a":1}\n{"b":"unfin')
    assert first == JsonLine(1, 0, {"a": 1})
    assert (torn.number, torn.value) == (2, None)
    assert torn.problem.startswith("the last line is torn off (Unterminated string")


def test_a_whole_last_line_without_a_line_break_is_no_fault():
    assert lines(b'{"a":1}') == [JsonLine(1, 0, {"a": 1})]


def test_a_broken_line_in_the_middle_is_said():
    assert [line.problem for line in lines(b'{"a":1}\nnonsense\n{"b":2}\n')] == [
        None,
        "not JSON (Expecting value at character 0)",
        None,
    ]


def test_two_records_fused_on_one_line_are_both_recovered():
    assert lines(b'{"a":1}{"b":2}\n{"c":3}\n') == [
        JsonLine(1, 0, {"a": 1}, "2 records on one line"),
        JsonLine(1, 0, {"b": 2}),
        JsonLine(2, 15, {"c": 3}),
    ]


def test_a_record_written_behind_a_torn_one_is_recovered():
    torn = b'{"type":"user","message":{"content":"cut he{"type":"user","message":{"content":"whole"}}\n'
    (line,) = lines(torn)
    assert line.value == {"type": "user", "message": {"content": "whole"}}
    assert line.problem == "a record torn off, with another after it on the same line"


def test_an_inner_object_at_the_end_of_a_torn_line_is_not_taken_for_a_record():
    (line,) = lines(b'{"type":"user","message":{"content":"x"}\n{}')[:1]
    assert line.value is None


@pytest.mark.parametrize(
    ("data", "value", "problem"),
    [
        (b"\0\0\0\0", None, "4 NUL bytes"),
        (b'{"a":1}\0\0', {"a": 1}, "2 NUL bytes"),
        (b'\0\0\0{"a":1}', {"a": 1}, "3 NUL bytes"),
        (
            b'{"a":"\xe2\x82"}',
            {"a": "\ufffd"},
            "bytes that are not UTF-8 (invalid continuation byte at byte 6), replaced",
        ),
        (b'{"a":"\\ud83d"}', {"a": "\ufffd"}, "half a surrogate pair, replaced"),
    ],
)
def test_damage_inside_a_line_is_mended_and_said(data, value, problem):
    assert lines(data + b"\n") == [JsonLine(1, 0, value, problem)]


def test_a_whole_surrogate_pair_is_no_fault():
    assert lines(b'{"a":"\\ud83d\\ude00"}\n') == [JsonLine(1, 0, {"a": "😀"})]


def test_json_nested_too_deeply_is_said_not_raised():
    (line,) = lines(b"[" * 100_000 + b"]" * 100_000 + b"\n")
    assert line == JsonLine(1, 0, None, "JSON nested too deeply")


def test_a_number_of_too_many_digits_is_said_not_raised():
    (line,) = lines(b'{"a":' + b"9" * 5000 + b"}\n")
    assert line.value is None
    assert line.problem.startswith("not JSON (Exceeds the limit")


def test_damage_of_the_packed_data_is_the_last_thing_said():
    import zstandard

    whole = zstandard.ZstdCompressor().compress(b"".join(b'{"n":%d}\n' % (n * n) for n in range(40_000)))
    last = lines(whole[: len(whole) // 2])[-1]
    assert last.value is None
    assert last.problem == "the file ends in the middle of its zstd data"


def test_objects_come_with_their_place_and_all_else_as_problems():
    assert list(object_lines(open_source(b'{"a":1}\n[2]\nnull\n3\n'))) == [
        ObjectLine(1, 0, {"a": 1}),
        Problem("a line that is not an object but a list", 2),
        Problem("a line that is not an object but null", 3),
        Problem("a line that is not an object but a number", 4),
    ]


def test_a_line_of_fifty_megabytes_is_read_whole():
    big = b'{"text":"' + b"x" * (50 << 20) + b'"}\n'
    first, second = lines(big + b'{"a":1}\n')
    assert len(first.value["text"]) == 50 << 20
    assert second == JsonLine(2, len(big), {"a": 1})


def test_a_line_longer_than_the_limit_is_passed_over_without_being_held(monkeypatch):
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 1 << 20)

    def chunks():
        yield b'{"a":1}\n"'
        for _ in range(100):
            yield b"x" * (1 << 20)
        yield b'"\n{"b":2}\n'

    tracemalloc.start()
    found = list(json_lines(Source("long", chunks)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [line.value for line in found] == [{"a": 1}, None, {"b": 2}]
    assert found[1].problem == "a line of more than 1 MiB"
    assert peak < 8 << 20


def test_the_head_is_a_few_values_from_whole_lines():
    data = b"".join(b'{"n":%d}\n' % n for n in range(100_000))
    assert head_values(open_source(data), 3) == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert head_objects(open_source(b'[1]\n{"a":2}\nbroken\n{"b'), 5) == [{"a": 2}]


def test_the_head_reaches_further_for_one_long_first_line():
    first = {"text": "x" * 200_000}
    assert head_objects(open_source(json.dumps(first).encode() + b'\n{"b":1}\n' * 3), 1) == [first]


@given(values=st.lists(plain, max_size=8), ends=st.sampled_from([b"\n", b"\r\n"]), chunk=st.integers(1, 40))
def test_whatever_was_written_comes_back_however_it_is_cut_into_chunks(values, ends, chunk):
    data = b"".join(json.dumps(value, ensure_ascii=False).encode() + ends for value in values)
    pieces = [data[at : at + chunk] for at in range(0, len(data), chunk)]
    found = list(json_lines(Source("cut", lambda: iter(pieces))))
    assert [line.value for line in found] == values
    assert not any(line.problem for line in found)


@given(data=st.binary(max_size=200))
def test_no_bytes_at_all_make_it_raise(data):
    for line in json_lines(open_source(data)):
        assert line.problem is not None or json.dumps(line.value)
