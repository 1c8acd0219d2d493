"""Detection: the format of a source from its first bytes, or a message that says what was seen."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from importlib import import_module
from inspect import isgenerator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import UnknownFormat
from clew.transcripts import FORMATS, detect, format_named, load, open_source, read
from clew.transcripts.records import Problem, Start

CLAUDE = {
    "type": "user",
    "uuid": "u",
    "parentUuid": None,
    "sessionId": "s",
    "message": {"role": "user", "content": "x"},
}
CODEX = {"timestamp": "t", "type": "session_meta", "payload": {"id": "t1"}}
COPILOT = {"type": "session.start", "data": {"sessionId": "s"}, "id": "e", "parentId": None}
QWEN = {
    "type": "user",
    "uuid": "u",
    "parentUuid": None,
    "sessionId": "s",
    "message": {"role": "user", "parts": []},
}


def lines(*records: dict) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@pytest.mark.parametrize(
    ("record", "name"),
    [(CLAUDE, "claude-code"), (CODEX, "codex"), (COPILOT, "copilot-cli"), (QWEN, "qwen-code")],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_session_is_recognised_by_its_records(record, name, pack):
    assert detect(open_source(pack(lines(record)))).name == name


@pytest.mark.parametrize(
    "record",
    [
        {"type": "summary", "summary": "t", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        {"type": "queue-operation", "operation": "enqueue", "sessionId": "s"},
        {"type": "attachment", "parentUuid": None, "sessionId": "s", "attachment": {}},
    ],
)
def test_a_claude_code_file_may_open_with_bookkeeping(record):
    assert detect(open_source(lines(record))).name == "claude-code"


def test_a_torn_first_line_does_not_hide_the_format():
    assert detect(open_source(b'ser","content":"cut"}}\n' + lines(CLAUDE, CLAUDE))).name == "claude-code"


def test_prose_that_quotes_a_record_is_not_taken_for_a_session():
    with pytest.raises(UnknownFormat):
        detect(open_source(b"Some notes.\n\nA record looks so:\n\n" + lines(CLAUDE) + b"\nand so on\n"))


def test_an_empty_file_is_called_empty(tmp_path):
    path = tmp_path / "empty.jsonl"
    path.touch()
    with pytest.raises(UnknownFormat, match=r"empty\.jsonl is empty: give a file"):
        detect(open_source(path))


def test_a_packed_file_that_breaks_at_once_says_why_it_is_empty():
    with pytest.raises(UnknownFormat, match="is empty: the file ends in the middle of its gzip data"):
        detect(open_source(gzip.compress(lines(CLAUDE))[:10]))


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (b"Dear diary,\ntoday", "is text that starts with 'Dear diary, today'"),
        (b"\x7fELF\x02\x01\0\0", "is binary data that starts with"),
    ],
)
def test_an_unknown_file_is_described_and_a_way_out_is_named(data, seen):
    with pytest.raises(UnknownFormat) as caught:
        detect(open_source(data))
    assert seen in str(caught.value)
    assert "name its format with --format" in str(caught.value)


def test_an_unknown_folder_is_described_by_what_is_in_it(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(UnknownFormat, match=r"a folder with notes\.txt"):
        detect(open_source(tmp_path))


def test_a_format_that_is_named_is_not_doubted():
    (record,) = read(open_source(lines({"type": "pr-link"})), format="claude-code")
    assert isinstance(record, Start)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UnknownFormat, match="no format 'word': use one of claude-code, codex"):
        format_named("word")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_reader_that_is_lazy_and_says_no_to_nothing(name):
    kind = FORMATS[name]
    source = open_source(b"{}\n")
    assert kind.title
    assert 0.0 <= kind.sniff(source) <= 1.0
    assert isgenerator(kind.read(source)) or hasattr(kind.read(source), "__next__")


def test_knowing_the_formats_imports_no_reader():
    import subprocess
    import sys

    code = "import sys, clew.transcripts; print([m for m in sys.modules if m.startswith('clew.providers')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@given(
    data=st.binary(max_size=120)
    | st.sampled_from([lines(CLAUDE), lines(CODEX), lines(QWEN)]).flatmap(
        lambda whole: st.integers(0, len(whole)).map(lambda cut: whole[:cut])
    )
)
def test_any_bytes_are_read_or_refused_in_words(data):
    with suppress(UnknownFormat):
        for record in read(open_source(data)):
            assert not isinstance(record, Problem) or record.what


@pytest.mark.parametrize("name", ["claude_code.reader", "codex", "copilot", "qwen"])
@given(
    values=st.lists(
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.sampled_from(["user", "assistant", "u1", "text", "system"]),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        [
                            "type",
                            "uuid",
                            "parentUuid",
                            "message",
                            "content",
                            "payload",
                            "data",
                            "role",
                            "id",
                            "subtype",
                        ]
                    ),
                    inner,
                    max_size=6,
                )
            ),
            max_leaves=12,
        ),
        max_size=5,
    )
)
def test_no_json_at_all_makes_a_reader_raise(name, values):
    data = b"".join(json.dumps(value).encode() + b"\n" for value in values)
    list(import_module(f"clew.transcripts.readers.{name}").read(open_source(data)))


def test_load_names_a_source_that_tells_of_no_session():
    (session,) = load(open_source(b"nonsense\n", "odd.jsonl"), format="codex")
    assert (session.id, session.format, len(session.problems)) == ("odd.jsonl", "codex", 1)
