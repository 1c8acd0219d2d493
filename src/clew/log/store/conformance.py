"""Conformance cases that every store must pass.

Run them against your own implementation::

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
    def test_my_store_conforms(case):
        storage = MyStorage()
        case(lambda: MyStore(storage))

A case gets a function that opens the store. The storage is empty at first; opening it again gives another
handle on the same storage.
"""

# ruff: noqa: D103 # the name of a case says what it requires

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeAlias

from clew.errors import ClewError, DuplicateEvent, HeadMoved, InputError, NotFound
from clew.log import chain, check_session, encode, export_session, import_session, iso_time, new_event, root
from clew.log.protocol import Ctx, Event, Head, SessionInfo, Store, StoredEvent
from clew.message import Json, JsonObject

Opener: TypeAlias = Callable[[], Store]
Case: TypeAlias = Callable[[Opener], None]

CTX = Ctx(workspace="north", session="main")
LONG = "a line of a long output\n" * 5_000

_cases: list[Case] = []


def _case(function: Case) -> Case:
    _cases.append(function)
    return function


def _events(*texts: str, kind: str = "message") -> list[Event]:
    return [new_event(kind, {"text": text}) for text in texts]


def _body(value: Json) -> JsonObject:
    return {"value": value}


def _stored_after(head: Head, events: Sequence[Event]) -> list[StoredEvent]:
    return chain(head, [encode(event) for event in events])


@contextmanager
def _raises(error: type[ClewError]) -> Iterator[None]:
    try:
        yield
    except error:
        return
    raise AssertionError(f"{error.__name__} was not raised")


# Reading back ------------------------------------------------------------------------------------------


@_case
def a_session_without_events_is_at_the_root_of_its_name(open_store: Opener) -> None:
    store = open_store()
    assert store.head(CTX) == root("main")
    assert list(store.read(CTX)) == []
    assert list(store.sessions("north")) == []


@_case
def appended_events_are_returned_in_order_with_their_hashes(open_store: Opener) -> None:
    store = open_store()
    events = _events("one", "two", "three")
    expected = _stored_after(root("main"), events)
    assert store.append(CTX, events, root("main")) == expected[-1].head
    assert list(store.read(CTX)) == expected
    assert store.head(CTX) == expected[-1].head
    assert list(check_session(store, CTX)) == []


@_case
def later_appends_continue_the_chain(open_store: Opener) -> None:
    store = open_store()
    events = _events("one", "two", "three", "four")
    head = store.append(CTX, events[:1], None)
    store.append(CTX, events[1:], head)
    assert list(store.read(CTX)) == _stored_after(root("main"), events)


@_case
def another_handle_sees_what_was_appended(open_store: Opener) -> None:
    head = open_store().append(CTX, _events("one"), None)
    other = open_store()
    assert other.head(CTX) == head
    assert [stored.event.body for stored in other.read(CTX)] == [{"text": "one"}]


@_case
def order_is_by_sequence_and_never_by_clock(open_store: Opener) -> None:
    store = open_store()
    events = [new_event("message", {"n": n}, unix_ms=1_000_000 - n) for n in range(5)]
    store.append(CTX, events, None)
    assert [stored.event for stored in store.read(CTX)] == events


@_case
def every_json_body_is_returned_unchanged(open_store: Opener) -> None:
    store = open_store()
    mark = "\x02sha256:" + 64 * "0" + "\x03"
    bodies: list[JsonObject] = [
        _body([None, True, 1, 1.0, -0.0, 1e300, 2**70, "", "é漢😀", '"\\\x00\x1f\x7f']),
        _body(["lone \ud800", "\udc00 lone", "\ud83d" + "\ude00 not joined"]),
        _body({"$blob": "x", "": {"b": 1, "a": 2}, mark: mark}),
        _body([LONG, LONG, {"again": LONG}, "\ud800" + LONG, '"' + LONG, "\\" * 5_000, mark * 100]),
        _body([str(n) for n in range(5_000)]),
        {LONG: LONG},
        {},
    ]
    store.append(CTX, [new_event("any", body) for body in bodies], None)
    read_back = [stored.event.body for stored in store.read(CTX)]
    assert repr(read_back) == repr(bodies)
    assert list(check_session(store, CTX)) == []


@_case
def callers_cannot_change_stored_events(open_store: Opener) -> None:
    store = open_store()
    body: JsonObject = {"text": "as it was"}
    store.append(CTX, [new_event("message", body)], None)
    body["text"] = "changed by the writer"
    for stored in store.read(CTX):
        stored.event.body["text"] = "changed by a reader"
    assert [stored.event.body for stored in store.read(CTX)] == [{"text": "as it was"}]


# Compare and swap --------------------------------------------------------------------------------------


@_case
def an_append_that_expects_another_head_writes_nothing(open_store: Opener) -> None:
    store = open_store()
    head = store.append(CTX, _events("one"), None)
    for wrong in (root("main"), Head(head.seq, root("main").hash), Head(head.seq + 1, head.hash)):
        with _raises(HeadMoved):
            store.append(CTX, _events("two"), wrong)
    assert store.head(CTX) == head
    assert len(list(store.read(CTX))) == 1


@_case
def of_two_writers_with_the_same_head_one_wins(open_store: Opener) -> None:
    first, second = open_store(), open_store()
    head = first.head(CTX)
    first.append(CTX, _events("first"), head)
    with _raises(HeadMoved):
        second.append(CTX, _events("second"), head)
    assert [stored.event.body for stored in second.read(CTX)] == [{"text": "first"}]


@_case
def an_empty_append_checks_the_head_and_makes_nothing(open_store: Opener) -> None:
    store = open_store()
    assert store.append(CTX, [], root("main")) == root("main")
    assert list(store.sessions("north")) == []
    with _raises(HeadMoved):
        store.append(CTX, [], Head(1, "sha256:0"))


@_case
def a_batch_with_a_known_id_is_refused_whole(open_store: Opener) -> None:
    store = open_store()
    old, new = _events("old", "new")
    head = store.append(CTX, [old], None)
    for batch in ([new, old], [new, new]):
        with _raises(DuplicateEvent):
            store.append(CTX, batch, None)
    assert store.head(CTX) == head
    assert [stored.event for stored in store.read(CTX)] == [old]


@_case
def a_body_that_is_not_json_is_refused_whole(open_store: Opener) -> None:
    store = open_store()
    bad = new_event("message", {"text": b"bytes"})  # type: ignore[dict-item]  # what a caller may get wrong
    with _raises(InputError):
        store.append(CTX, [*_events("fine"), bad], None)
    assert store.head(CTX) == root("main")


@_case
def threads_that_race_lose_nothing(open_store: Opener) -> None:
    store = open_store()

    def write(worker: int) -> list[str]:
        events = [new_event("message", {"worker": worker, "n": n}) for n in range(20)]
        for event in events:
            while True:
                try:
                    store.append(CTX, [event], store.head(CTX))
                    break
                except HeadMoved:
                    continue
        return [event.id for event in events]

    with ThreadPoolExecutor(4) as pool:
        written = list(pool.map(write, range(4)))
    read_back = list(store.read(CTX))
    assert sorted(stored.event.id for stored in read_back) == sorted(id_ for ids in written for id_ in ids)
    for worker in range(4):
        assert [s.event.body["n"] for s in read_back if s.event.body["worker"] == worker] == list(range(20))
    assert list(check_session(store, CTX)) == []


# Reading ranges ----------------------------------------------------------------------------------------


@_case
def any_range_can_be_read(open_store: Opener) -> None:
    store = open_store()
    store.append(CTX, _events(*map(str, range(1, 601))), None)

    def seqs(after: int = 0, until: int | None = None) -> list[int]:
        return [stored.seq for stored in store.read(CTX, after, until)]

    assert seqs() == list(range(1, 601))
    assert seqs(after=590) == list(range(591, 601))
    assert seqs(after=10, until=300) == list(range(11, 301))
    assert seqs(after=600) == seqs(after=10, until=10) == seqs(after=10, until=3) == []
    assert seqs(until=10_000) == seqs(after=-5) == list(range(1, 601))
    assert seqs(until=0) == seqs(until=-5) == []


@_case
def only_the_kinds_asked_for_are_read(open_store: Opener) -> None:
    store = open_store()
    kinds = ["message", "undo", "message", "compaction", "message", "undo"] * 100
    store.append(CTX, [new_event(kind, {}) for kind in kinds], None)

    def seqs(*wanted: str, after: int = 0, until: int | None = None) -> list[int]:
        return [stored.seq for stored in store.read(CTX, after, until, kinds=wanted)]

    for wanted in ((), ("undo",), ("undo", "compaction"), ("message", "undo"), ("unheard of",)):
        assert seqs(*wanted) == [n for n, kind in enumerate(kinds, 1) if kind in wanted]
    assert seqs("undo", after=2, until=12) == [6, 8, 12]


@_case
def a_read_ends_where_the_session_ended_when_it_began(open_store: Opener) -> None:
    store = open_store()
    store.append(CTX, _events("one", "two"), None)
    seen = []
    for stored in store.read(CTX):
        seen.append(stored.seq)
        store.append(CTX, _events("more"), None)
    assert seen == [1, 2]


@_case
def an_event_is_found_by_its_id(open_store: Opener) -> None:
    store = open_store()
    events = _events("one", LONG)
    store.append(CTX, events, None)
    assert store.find(CTX, events[1].id) == _stored_after(root("main"), events)[1]
    with _raises(NotFound):
        store.find(CTX, "nothing has this id")


# Isolation ---------------------------------------------------------------------------------------------


@_case
def workspaces_do_not_see_each_other(open_store: Opener) -> None:
    store = open_store()
    event = _events(LONG)
    store.append(CTX, event, None)
    south = Ctx(workspace="south", session="main")
    assert store.head(south) == root("main")
    assert list(store.read(south)) == []
    assert list(store.sessions("south")) == []
    with _raises(NotFound):
        store.find(south, event[0].id)
    store.append(south, event, root("main"))
    assert list(store.read(south)) == list(store.read(CTX))


@_case
def sessions_do_not_mix(open_store: Opener) -> None:
    store = open_store()
    side = Ctx(workspace="north", session="side")
    for n in range(3):
        store.append(CTX, _events(f"main {n}"), None)
        store.append(side, _events(f"side {n}"), None)
    assert [stored.event.body["text"] for stored in store.read(side)] == ["side 0", "side 1", "side 2"]
    assert list(check_session(store, CTX)) == list(check_session(store, side)) == []


@_case
def sessions_are_listed_oldest_first(open_store: Opener) -> None:
    store = open_store()
    heads = {}
    for session in ("zebra", "ant"):
        events = [new_event("message", {}, unix_ms=ms) for ms in (1_000, 2_000)]
        heads[session] = store.append(Ctx(workspace="north", session=session), events, None)
    assert list(store.sessions("north")) == [
        SessionInfo(session, heads[session], iso_time(1_000), iso_time(2_000)) for session in ("zebra", "ant")
    ]


@_case
def a_nameless_workspace_is_refused(open_store: Opener) -> None:
    with _raises(InputError):
        list(open_store().sessions(""))


@_case
def a_session_moves_whole_to_another_workspace(open_store: Opener) -> None:
    store = open_store()
    store.append(CTX, _events("one", LONG, "three"), None)
    file = io.BytesIO()
    export_session(store, CTX, file)
    imported = import_session(store, "south", file)
    assert imported.head == store.head(CTX)
    assert list(store.read(imported.ctx)) == list(store.read(CTX))


CASES: tuple[Case, ...] = tuple(_cases)
