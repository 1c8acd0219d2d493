"""What every reader promises: its sessions are recognised, and nothing in a file makes it raise."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.message import Origin, Role, Trust
from clew.transcripts.formats import detect, format_named
from clew.transcripts.records import Entry, Record, Start
from clew.transcripts.source import PipedSource, open_source
from tests.conftest import tries

FIXTURES = Path(__file__).parent.parent / "fixtures" / "transcripts"
SESSIONS = sorted(path for path in FIXTURES.iterdir() if path.name != "README.md")
JSON_SESSIONS = [path for path in SESSIONS if path.suffix != ".md"]
WRONG = st.sampled_from(
    [None, True, 7, -1, 1e300, "", "x", "REDACTED", [], [None], [[]], {}, {"type": []}, {"type": {}}]
)

each_session = pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name)


def format_of(path: Path) -> str:
    return path.name.split(".")[0]


def read(path: Path, data: bytes) -> list[Record]:
    return list(format_named(format_of(path)).read(open_source(data, path.name)))


def assert_sound(records: list[Record]) -> None:
    """Check what holds of any session, however damaged: ids are unique, no label is too high."""
    ids: set[str] = set()
    for record in records:
        if isinstance(record, Start):
            ids = set()
        elif isinstance(record, Entry):
            assert record.id not in ids
            ids.add(record.id)
            made_by_machine = record.message.role is Role.USER and record.message.origin is not Origin.SPOKEN
            trusted = [part for part in record.message.parts if part.trust > Trust.SEMI_TRUSTED]
            assert not (made_by_machine and trusted)


@each_session
def test_a_session_is_recognised_for_what_it_is(path):
    assert detect(open_source(path)).name == format_of(path)


@each_session
def test_a_session_without_faults_is_read_without_problems(path):
    records = read(path, path.read_bytes())
    assert_sound(records)
    assert isinstance(records[0], Start)
    assert {type(record).__name__ for record in records}.isdisjoint({"Problem"})


@each_session
def test_a_session_is_read_from_a_pipe(path):
    piped = PipedSource(path.name, BytesIO(path.read_bytes()))
    assert list(detect(piped).read(piped)) == read(path, path.read_bytes())


@each_session
def test_a_session_cut_anywhere_is_read(path):
    data = path.read_bytes()
    for cut in range(0, len(data), 11):
        assert_sound(read(path, data[:cut]))


@settings(max_examples=tries(60, 300))
@given(path=st.sampled_from(JSON_SESSIONS), wrong=WRONG, draw=st.data())
def test_a_session_with_a_wrong_value_anywhere_is_read(path, wrong, draw):
    texts = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    values = [json.loads(text) for text in texts]
    holder, key = draw.draw(st.sampled_from(list(places(values))))
    holder[key] = wrong
    separator, indent = ("\n", None) if path.suffix == ".jsonl" else ("", 1)
    assert_sound(read(path, separator.join(json.dumps(value, indent=indent) for value in values).encode()))


def places(value: object):
    """Yield every place in a value: what holds it, and its key there."""
    keys = range(len(value)) if isinstance(value, list) else list(value) if isinstance(value, dict) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])
