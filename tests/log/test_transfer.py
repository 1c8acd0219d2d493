"""Whole sessions as files."""

import io
import json
import os

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import ExportDamaged, InputError, NotFound, SessionDiverged, StoreTooNew
from clew.log import export_session, export_session_zstd, import_session, new_event, root
from clew.log.protocol import Ctx
from clew.log.store import MemoryStore
from tests.conftest import tries
from tests.log.generated import bodies

CTX = Ctx(workspace="north", session="main")
HERE = Ctx(workspace="south", session="main")


def events(*texts):
    return [new_event("message", {"text": text}, unix_ms=n) for n, text in enumerate(texts)]


def exported(store, write=export_session):
    file = io.BytesIO()
    write(store, CTX, file)
    return file.getvalue()


def kept(batch):
    store = MemoryStore()
    store.append(CTX, batch, None)
    return store


def imported(data, store=None):
    store = store or MemoryStore()
    return import_session(store, "south", io.BytesIO(data)), store


STORE = kept(events("one", "two é \ud800 \x1f", "three" * 50, "four"))
EXPORT = exported(STORE)


@given(st.lists(bodies, min_size=1, max_size=5))
def test_an_imported_session_is_the_exported_one(all_bodies):
    store = kept([new_event("any", body) for body in all_bodies])
    result, copy = imported(exported(store))
    assert repr(list(copy.read(HERE))) == repr(list(store.read(CTX)))
    assert (result.head, result.events) == (store.head(CTX), len(all_bodies))


@pytest.mark.parametrize("write", [export_session, export_session_zstd])
def test_exporting_what_was_imported_gives_the_same_bytes(write):
    _, copy = imported(exported(STORE, write))
    file = io.BytesIO()
    export_session(copy, HERE, file)
    assert file.getvalue() == EXPORT


def test_a_text_that_comes_again_much_later_is_compressed_away():
    noise = os.urandom(3_000_000).hex()  # beyond the usual window of zstd
    packed = exported(kept(events(noise, "between", noise, noise)), export_session_zstd)
    assert len(packed) < len(noise)


def test_a_long_session_is_imported_whole():
    store = kept([new_event("note", {"n": n}) for n in range(1_234)])
    result, copy = imported(exported(store))
    assert result.events == 1_234
    assert list(copy.read(HERE)) == list(store.read(CTX))


def test_the_file_is_json_lines_that_anybody_can_read():
    first, *lines = [json.loads(line) for line in EXPORT.decode("utf-8", "surrogatepass").splitlines()]
    assert first == {"clew": "session", "version": 1, "session": "main", "head": [*STORE.head(CTX)]}
    assert [line["body"]["text"] for line in lines[::3]] == ["one", "four"]


def test_a_session_that_is_not_there_is_not_exported():
    with pytest.raises(NotFound, match="no session 'main'"):
        exported(MemoryStore())


def test_an_export_comes_through_a_pipe():
    reading, writing = os.pipe()
    os.write(writing, EXPORT)
    os.close(writing)
    store = MemoryStore()
    with open(reading, "rb", buffering=0) as pipe:  # noqa: PTH123  # a descriptor, not a path
        result = import_session(store, "south", pipe)
    assert result.head == store.head(HERE) == STORE.head(CTX)


# Where the session is here already --------------------------------------------------------------------


def test_importing_again_changes_nothing():
    _, copy = imported(EXPORT)
    result, _ = imported(EXPORT, copy)
    assert (result.events, result.head) == (0, STORE.head(CTX))


def test_a_longer_export_continues_a_session():
    batch = events("one", "two", "three")
    _, copy = imported(exported(kept(batch[:2])))
    result, _ = imported(exported(kept(batch)), copy)
    assert result.events == 1
    assert [stored.event for stored in copy.read(HERE)] == batch


def test_a_shorter_export_of_the_same_session_changes_nothing():
    batch = events("one", "two", "three")
    _, copy = imported(exported(kept(batch)))
    result, _ = imported(exported(kept(batch[:2])), copy)
    assert (result.events, result.head.seq) == (0, 3)


@pytest.mark.parametrize("shared", [0, 1, 2])
@pytest.mark.parametrize("more", [1, 5])
def test_a_session_that_went_another_way_is_refused(shared, more):
    there = kept(events("one", "two", "three"))
    store = MemoryStore()
    ours = [*(stored.event for stored in there.read(CTX, until=shared)), *events(*"other"[:more])]
    store.append(HERE, ours, None)
    with pytest.raises(SessionDiverged):
        imported(exported(there), store)
    assert [stored.event for stored in store.read(HERE)] == ours


# Tampering --------------------------------------------------------------------------------------------


@given(st.integers(0, len(EXPORT) - 1), st.integers(1, 255))
@settings(max_examples=tries(120, 600))
def test_a_changed_byte_is_refused_at_its_line_and_nothing_is_written(place, flip):
    data = bytearray(EXPORT)
    data[place] ^= flip
    line = EXPORT.count(b"\n", 0, place) + 1
    store = MemoryStore()
    try:
        import_session(store, "south", io.BytesIO(data))
        refusal = None
    except InputError as error:
        refusal = str(error)
    except StoreTooNew:
        refusal = "line 1"
    if refusal is None:
        assert list(store.read(HERE)) == list(STORE.read(CTX))  # "\u001f" and "\u001F" say the same
    else:
        # A changed name or head in the first line shows at the first event, or at the end.
        assert line == 1 or f"line {line}:" in refusal
        assert list(store.sessions("south")) == []


@pytest.mark.parametrize("cut", range(1, len(EXPORT) - 1, 29))
def test_a_cut_file_is_refused(cut):
    with pytest.raises(ExportDamaged):
        imported(EXPORT[:cut])


def test_a_missing_swapped_or_repeated_line_is_named():
    lines = EXPORT.splitlines(keepends=True)
    for changed in (
        [*lines[:2], *lines[3:]],
        [*lines[:2], lines[3], lines[2], *lines[4:]],
        [*lines[:3], lines[1], *lines[3:]],
    ):
        with pytest.raises(ExportDamaged, match=r"line [34]: seq: expected"):
            imported(b"".join(changed))


def test_lines_after_the_end_are_refused():
    store = kept(events("one", "two"))
    short = exported(store)
    store.append(CTX, events("three"), None)
    longer = short + exported(store).splitlines(keepends=True)[-1]
    with pytest.raises(ExportDamaged, match="line 1 promises 2 events, the file ends at event 3"):
        imported(longer)


def test_a_file_that_is_something_else_is_refused():
    for data in (
        b"",
        b"{}",
        b'{"role":"user"}\n',
        b"\x28\xb5\x2f\xfdnot zstd at all",
        zstandard.compress(b"hello"),
    ):
        with pytest.raises(ExportDamaged):
            imported(data)


def test_an_export_of_a_later_version_is_refused_with_advice():
    with pytest.raises(StoreTooNew, match="upgrade clew"):
        imported(EXPORT.replace(b'"version":1', b'"version":2', 1))


def test_a_renamed_session_does_not_pass():
    with pytest.raises(ExportDamaged, match="line 2: hash"):
        imported(EXPORT.replace(b'"main"', b'"mine"', 1))
    assert root("main") != root("mine")
