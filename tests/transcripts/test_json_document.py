"""Whole JSON documents: piece by piece, torn ones, in bounded memory."""

from __future__ import annotations

import json
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from clew.transcripts.json_document import Element, Field, is_lines, load, outline, read_fields, walk
from clew.transcripts.records import Problem
from clew.transcripts.source import Source, open_source

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
PIECE_SIZES = st.integers(1, 40)


def in_pieces(data: bytes, size: int) -> Source:
    return Source("pieces", lambda: iter([data[i : i + size] for i in range(0, len(data), size)]))


def expected(value: dict) -> list:
    pieces: list = []
    for key, held in value.items():
        if isinstance(held, list):
            pieces += [Element(key, i, element) for i, element in enumerate(held)]
        else:
            pieces.append(Field(key, held))
    return pieces


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=5), PIECE_SIZES, st.sampled_from([None, 2]))
def test_an_object_is_read_field_by_field_wherever_its_bytes_are_cut(value, size, indent):
    data = json.dumps(value, ensure_ascii=indent is None, indent=indent).encode(errors="surrogatepass")
    assert list(walk(in_pieces(data, size))) == expected(value)


@given(st.lists(JSON, max_size=6), PIECE_SIZES)
def test_a_list_is_read_element_by_element_wherever_its_bytes_are_cut(values, size):
    data = json.dumps(values).encode()
    assert list(walk(in_pieces(data, size))) == [Element("", i, value) for i, value in enumerate(values)]


@given(st.lists(st.dictionaries(st.text(max_size=3), JSON, max_size=3), min_size=1, max_size=4), st.data())
def test_of_a_torn_list_the_complete_leading_elements_are_read_and_the_tear_is_told(values, draw):
    data = json.dumps({"messages": values}).encode()
    cut = draw.draw(st.integers(1, len(data) - 1))
    *read, problem = walk(open_source(data[:cut]))
    assert read == [Element("messages", i, value) for i, value in enumerate(values[: len(read)])]
    assert isinstance(problem, Problem)


def test_a_tear_is_told_by_index_line_and_character():
    data = b'{"messages": [\n{"a": 1},\n{"a": "bc'
    assert list(walk(open_source(data)))[-1] == Problem(
        "the JSON breaks off inside messages[1]: Unterminated string starting at line 3 (character 31); "
        "everything before it was read",
        1,
    )


def test_what_is_no_document_is_a_problem():
    told = {data: next(walk(open_source(data))).what for data in (b"", b"  \n", b"hello", b'"text"')}
    assert told == {
        b"": "the document is empty",
        b"  \n": "the document is empty",
        b"hello": "neither a JSON list nor an object at line 1 (character 0)",
        b'"text"': "neither a JSON list nor an object at line 1 (character 0)",
    }


def test_faults_that_lose_nothing_are_read_and_told():
    assert list(walk(open_source(b"\xef\xbb\xbf[1,2,]\0\0"))) == [Element("", 0, 1), Element("", 1, 2)]
    assert list(walk(open_source(b'["a\nb"]'))) == [Element("", 0, "a\nb")]
    assert list(walk(open_source(b'["\xff"]'))) == [
        Element("", 0, "\ufffd"),
        Problem("bytes that are not UTF-8, replaced"),
    ]
    assert list(walk(open_source(b'["\\ud83d"]'))) == [
        Element("", 0, "\ufffd"),
        Problem("half a surrogate pair, replaced"),
    ]
    assert list(walk(open_source(b"[1] [2]")))[1:] == [
        Problem("more text after the end of the JSON document, at line 1 (character 4)")
    ]


def test_what_python_refuses_to_decode_is_a_problem():
    deep, long = b"[1," + b"[" * 100_000, b"[1," + b"9" * 5000 + b"]"
    assert [type(piece) for data in (deep, long) for piece in walk(open_source(data))] == [
        Element,
        Problem,
    ] * 2


def test_a_large_list_is_read_in_bounded_memory():
    element = json.dumps({"text": "x" * 10_000}).encode()
    count = 3_000
    chunks = lambda: iter([b"["] + [element + b","] * count + [b"1]"])  # noqa: E731 - a source's way to begin
    tracemalloc.start()
    read = sum(1 for _ in walk(Source("large", chunks)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert read == count + 1
    assert peak < len(element) * count / 50


def test_an_outline_shows_the_start_of_a_document_and_its_last_open_key():
    seen = outline(open_source(b'{"info": {"id": 1}, "messages": [{"a": 1}, {"b": 2}], "rest": {"x": [1,'))
    assert (seen.keys, seen.fields, seen.lists) == (
        ["info", "messages", "rest"],
        {"info": {"id": 1}},
        {"messages": [{"a": 1}, {"b": 2}]},
    )


def test_an_outline_looks_further_for_the_first_whole_element():
    large = {"text": "x" * 100_000}
    assert outline(open_source(json.dumps([large, large]).encode())).first() == large


def test_json_lines_are_told_from_a_document():
    assert is_lines(open_source(b'{"a": 1}\n{"b": 2}\n'))
    assert is_lines(open_source(json.dumps({"a": "x" * 3_000_000}).encode() + b'\n{"b": 2}'))
    assert not is_lines(open_source(b'{"a": 1}\n'))
    assert not is_lines(open_source(b'{\n "a": 1\n}\n'))
    assert not is_lines(open_source(b"# Markdown\nwith lines\n"))


def test_fields_are_gathered_by_name_wherever_they_stand():
    source = open_source(b'{"messages": [1], "system": [{"a": 1}, 2], "model": "m", "torn')
    found, problems = read_fields(source, "system", "model")
    assert found == {"system": [{"a": 1}, 2], "model": "m"}
    assert len(problems) == 1


def test_a_small_file_that_cannot_be_read_is_a_problem(tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    assert load(broken)[0] is None
    assert load(broken)[1][0].what.startswith("broken.json is not JSON")
    assert "no file" in load(tmp_path / "missing.json")[1][0].what
