"""A log in the index: everything that can be found, at the cost of what is new."""

import json

import pytest

from clew.log import message_event, new_event
from clew.log.fold import UNDO
from clew.log.protocol import Ctx
from clew.log.store import MemoryStore
from clew.memory import Memory, Query, catch_up, catch_up_all, passages, search
from clew.memory.index import ANYTHING, EntryKind, Filters, Mark
from clew.memory.index.sqlite import SqliteIndex
from clew.memory.notes import Draft, Notebook
from clew.memory.tiers import TierPolicy
from clew.message import Message, Role, Text, ToolCall, ToolResult, Trust, text_message
from clew.session import Session
from tests.memory.said import AT, together, turn
from tests.memory.talks import compaction, turns

CTX = Ctx(workspace="north", session="main")
DIGESTS = Filters(kinds=(EntryKind.DIGEST,))


@pytest.fixture
def index(place):
    return place.index()


def found(index, text, filters=ANYTHING):
    hits = search(index, "north", Query(text=text, at=AT, filters=filters, limit=20))
    return [hit.entry.ref for hit in hits]


def undo(seq):
    return new_event(UNDO.name, {"compaction": seq}, UNDO.version)


def test_lines_of_a_digest_are_found_with_their_sources(index):
    store = MemoryStore()
    store.append(CTX, [*turns(4), compaction(1, 1, 3)], None)
    catch_up(store, CTX, index)
    (hit,) = search(index, "north", Query(text="decision1", at=AT, filters=DIGESTS))
    line = hit.entry
    assert (line.ref, line.kind, line.sources, line.seq, line.trust) == (
        "d1.2",
        EntryKind.DIGEST,
        ("m1",),
        5,
        Trust.USER,
    )


def test_what_a_digest_took_over_is_found_once(index):
    store = MemoryStore()
    store.append(CTX, [*turns(4), compaction(1, 1, 2), compaction(2, 3, 4, folds="d1")], None)
    catch_up(store, CTX, index)
    assert found(index, "taken over before", DIGESTS) == []
    assert sorted(found(index, "decision1 decision2", DIGESTS)) == ["d1.2", "d2.2"]


@pytest.mark.parametrize("at_once", [True, False])
def test_an_undone_compaction_takes_its_lines_along(index, at_once):
    store = MemoryStore()
    store.append(CTX, [*turns(4), compaction(1, 1, 2), compaction(2, 3, 4, folds="d1")], None)
    if not at_once:
        catch_up(store, CTX, index)
    store.append(CTX, [undo(6)], None)
    catch_up(store, CTX, index)
    assert found(index, "decision1 decision2", DIGESTS) == ["d1.2"]
    store.append(CTX, [undo(5)], None)
    catch_up(store, CTX, index)
    assert found(index, "decision1 decision2", DIGESTS) == []


def test_messages_are_counted_across_events_that_are_none(index):
    store = MemoryStore()
    store.append(CTX, [*turns(2), compaction(1, 1, 1), *turns(1, 3)], None)
    assert catch_up(store, CTX, index) == 4
    store.append(CTX, turns(1, 4), None)
    assert catch_up(store, CTX, index) == 1
    assert found(index, "number4")[0] == "m4"
    assert index.stats("north", (), "main")[1] == Mark(5, 4)


def test_the_marks_of_a_workspace_are_listed(index):
    index.add("north", [], {"main": Mark(5, 4), "side": Mark(2, 1)})
    assert index.marks("north") == {"main": Mark(5, 4), "side": Mark(2, 1)}
    assert index.marks("south") == {}


def test_the_indexed_folders_of_a_workspace_are_listed(index):
    index.add("north", [], {"knowledge:/b c": Mark(1, 1), "knowledge:/a": Mark(1, 1), "main": Mark(1, 1)})
    assert index.folders("north") == ["/a", "/b c"]
    assert index.folders("south") == []


def test_a_long_output_is_an_artifact_in_ranges_under_the_file_it_shows(index):
    store = MemoryStore()
    call = ToolCall("c1", "read", {"path": "src/kiln.py"}, trust=Trust.ASSISTANT)
    lines = "\n".join(f"line {n} of the kiln" for n in range(2_000)) + "\nneedle"
    store.append(CTX, [message_event(Message(Role.ASSISTANT, (call,)))], None)
    catch_up(store, CTX, index)
    store.append(CTX, [message_event(Message(Role.TOOL, (ToolResult("c1", (Text(lines),)),)))], None)
    catch_up(store, CTX, index)
    filters = Filters(kinds=(EntryKind.ARTIFACT,), files=("src/kiln.py",))
    (hit,) = search(index, "north", Query(text="needle", at=AT, filters=filters, limit=1))
    assert (hit.entry.ref, lines[hit.entry.start :]) == ("m2", hit.entry.text)


def test_a_search_does_not_find_the_searches_before_it(index):
    store = MemoryStore()
    ask = ToolCall("c1", "recall_search", {"query": "E1234"}, trust=Trust.ASSISTANT)
    thought = Text("Let me look for the xylophone.", trust=Trust.ASSISTANT)
    said_so = [
        text_message(Role.USER, "It was E1234."),
        Message(Role.ASSISTANT, (thought, ask)),
        Message(Role.TOOL, (ToolResult("c1", (Text("[m1] It was E1234."),)),)),
    ]
    for message in said_so:
        store.append(CTX, [message_event(message)], None)
        catch_up(store, CTX, index)
    exact = search(index, "north", Query(text="E1234", at=AT))
    assert [hit.entry.ref for hit in exact if hit.why.exact] == ["m1"]
    assert "m2" in found(index, "xylophone")[:2]  # a result is found by the words of its call, too


def test_only_notes_that_hold_are_found(index):
    store = MemoryStore()
    book = Notebook(store, "north", "main")
    memory = Memory(store, CTX, index, notebook=book)

    def notes():
        return sorted(hit.entry.ref for hit in memory.search("glaze", Filters(kinds=(EntryKind.NOTE,))))

    old = book.add(Draft(key="glaze", text="The glaze is blue."))
    assert notes() == [old.id]
    new = book.add(Draft(key="Glaze", text="The glaze is green."))
    assert notes() == [new.id]
    book.forget(new.id)
    assert notes() == []


def test_every_session_of_a_workspace_is_caught_up_with_once(index):
    store = MemoryStore()
    for name in ("one", "two"):
        store.append(Ctx(workspace="north", session=name), turns(3), None)
    assert list(catch_up_all(store, "north", index)) == [("one", 3), ("two", 3)]
    assert list(catch_up_all(store, "north", index)) == []


def test_the_archive_stands_for_the_digests_it_took_in_until_it_is_taken_apart(index):
    store = MemoryStore()
    events = [
        *turns(8),
        *(compaction(n, 2 * n - 1, 2 * n, folds=f"d{n - 1}" if n > 1 else "") for n in (1, 2, 3, 4)),
    ]
    store.append(CTX, events, None)
    policy = TierPolicy(recall_spans=2, archive_spans=2)
    memory = Memory(store, CTX, index, policy=policy)
    memory.moves()
    memory.catch_up()
    assert sorted(found(index, "decision1 decision2 decision3", DIGESTS)) == ["a1.1", "a1.2", "d3.2"]
    store.append(CTX, [undo(10)], None)
    memory.moves()
    memory.catch_up()
    assert found(index, "decision1 decision2 decision3", DIGESTS) == ["d1.2"]


def test_being_stopped_half_way_loses_nothing(index, monkeypatch):
    store = MemoryStore()
    store.append(CTX, turns(1_200), None)
    monkeypatch.setattr(store, "read", _until(store.read, 700))
    with pytest.raises(ConnectionError):
        catch_up(store, CTX, index)
    monkeypatch.undo()
    kept = index.stats("north", (), "main")[1]
    assert kept == Mark(500, 500)
    assert catch_up(store, CTX, index) == 700
    assert index.stats("north", (), "main") == (index.stats("north", ())[0], Mark(1_200, 1_200))
    assert found(index, "number1200")[0] == "m1200"


def _until(read, last):
    def reading(*args, **kwargs):
        for stored in read(*args, **kwargs):
            if stored.seq == last:
                raise ConnectionError
            yield stored

    return reading


def called(arguments):
    return message_event(Message(Role.ASSISTANT, (Text("Now."), ToolCall("c1", "Edit", arguments))))


@pytest.mark.parametrize("before", ["\n", "\t", '"', "\r\n", "\\", "a\n\t"])
@pytest.mark.parametrize("written", [dict, json.dumps])
def test_what_a_call_was_given_is_found_by_the_words_that_were_meant(index, before, written):
    store = MemoryStore()
    store.append(CTX, [called(written({"new": f"BASE = 1{before}TIMEOUT_MS = 45", "old": "n"}))], None)
    catch_up(store, CTX, index)
    for asked in ("TIMEOUT", "TIMEOUT_MS", "timeout_ms = 45"):
        (hit,) = search(index, "north", Query(text=asked, at=AT))
        assert set(hit.why.terms) >= {"timeout"}
    (hit,) = search(index, "north", Query(text="TIMEOUT_MS", at=AT))
    assert hit.why.exact == ("TIMEOUT_MS",)


def test_letters_that_json_escapes_are_found_as_letters(index):
    store = MemoryStore()
    store.append(CTX, [called(json.dumps({"to": "Grüße nach Zürich"}))], None)
    catch_up(store, CTX, index)
    assert found(index, "Zürich") == ["m1"]


def test_what_a_call_was_given_is_quoted_from_where_it_stands(index):
    store = MemoryStore()
    text = "".join(f"line {n}\n" for n in range(2_000)) + 'say "kiln-7"'
    store.append(CTX, [called({"text": text})], None)
    memory = Memory(store, CTX, index)
    (hit, *_) = memory.search("kiln-7")
    (whole, *_) = memory.open("m1", 0).quotations
    start = hit.entry.start
    assert start > 0
    assert hit.entry.text == whole.text[start : start + len(hit.entry.text)]


def test_a_path_with_backslashes_outside_of_a_call_is_read_as_it_is(index):
    store = MemoryStore()
    store.append(CTX, [message_event(text_message(Role.USER, r"It is in D:\new\table.txt"))], None)
    catch_up(store, CTX, index)
    assert found(index, "new table") == ["m1"]


@pytest.mark.parametrize("blank", ["\n", " ", ",", "/"])
def test_no_value_is_cut_in_two_where_there_is_a_seam(blank):
    words = blank.join(f"value-{n}" for n in range(3_000))
    pieces = list(passages(turn(words)))
    assert together(pieces) == words
    assert len(pieces) > 30
    if blank != "/":
        assert all(piece.text.endswith(blank) for piece in pieces[:-1])
        assert all(piece.text.startswith("value-") for piece in pieces)


def test_what_a_real_session_said_left_and_kept_is_all_found(tmp_path):
    store = MemoryStore()
    session = Session.open("main", store, workspace="north")
    session.add(text_message(Role.USER, "Never touch legacy/. The port is 8443, host kiln-7.test."))
    session.add(*(text_message(Role.ASSISTANT, f"Step {n}. " + "It went well. " * 60) for n in range(30)))
    session.compact(target_tokens=1_500)
    with SqliteIndex(tmp_path / "i.db") as index:
        memory = Memory(store, session.ctx, index, numbered=session)
        first, *others = memory.search("kiln-7.test")
        assert (first.entry.ref, first.entry.kind) == ("m1", EntryKind.TURN)
        assert all(
            hit.entry.kind is EntryKind.TURN for hit in others
        )  # the line of the digest only quotes m1
        lines = memory.search("kiln-7.test", DIGESTS)
        assert [hit.entry.ref.partition(".")[0] for hit in lines] == ["d1"]
        session.undo()
        assert memory.search("kiln-7.test", DIGESTS) == []
        assert [hit.entry.ref for hit in memory.search("kiln-7.test")][:1] == ["m1"]
        assert all(hit.entry.kind is EntryKind.TURN for hit in memory.search("kiln-7.test"))
