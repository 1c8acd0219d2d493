"""The place of every message, and the view at any time, without reading the messages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.inspector import session_pool
from clew.inspector.message_index import MessageIndex
from clew.inspector.session_pool import PLAIN, OpenSession
from clew.log import MESSAGE, fold, message_event, new_event
from clew.log.protocol import Ctx
from clew.log.store import MemoryStore, SqliteStore
from clew.message import Role, text_message
from clew.session import Session
from tests.inspector.house import TOUR, House

CTX = Ctx(workspace="local", session="s")


def messages_of(store: MemoryStore | SqliteStore, ctx: Ctx) -> list[int]:
    return [stored.seq for stored in store.read(ctx) if stored.event.kind == MESSAGE.name]


@given(
    kinds=st.lists(
        st.sampled_from(["message", "note", "call", "token_budget", "pin_of_the_future"]),
        min_size=1,
        max_size=40,
    )
)
def test_every_message_is_where_its_number_says(kinds: list[str]):
    store = MemoryStore()
    for kind in kinds:
        event = message_event(text_message(Role.USER, "x")) if kind == "message" else new_event(kind, {})
        store.append(CTX, [event], None)
    index = MessageIndex(store, CTX)
    index.read_all()  # kinds that nobody knows are among them
    seqs = messages_of(store, CTX)
    assert index.messages == len(seqs)
    assert [index.seq(number) for number in range(1, len(seqs) + 1)] == seqs
    assert [index.number(seq) for seq in seqs] == list(range(1, len(seqs) + 1))


@settings(max_examples=25)
@given(
    deeds=st.lists(
        st.sampled_from(["add", "add", "add", "compact", "undo", "off", "on", "pin"]), max_size=30
    ),
    at=st.floats(0, 1),
)
def test_the_view_at_any_time_is_the_fold_up_to_there(deeds: list[str], at: float):
    store = MemoryStore()
    session = Session.open("s", store)
    session.add(
        *(text_message(Role.USER if n % 2 else Role.ASSISTANT, f"{n} " + "words " * 60) for n in range(30))
    )
    for deed in deeds:
        do(session, deed)
    index = MessageIndex(store, session.ctx)
    last = index.catch_up()
    for seq in (int(at * last), last, int(at * last / 2)):
        assert index.view(seq) == fold(store.read(session.ctx, 0, seq))


def do(session: Session, deed: str) -> None:
    match deed:
        case "add":
            session.add(text_message(Role.USER, "more words"))
        case "compact" if not session.is_off:
            session.compact(target_tokens=max(400, session.tokens - 300))
        case "undo" if session.trace():
            session.undo()
        case "off":
            session.switch_off()
        case "on":
            session.switch_on()
        case "pin":
            session.pin(f"Rule {len(session.pins)}.")


def test_what_is_appended_later_is_taken_in(house: House):
    session = Session.open(TOUR, house.store)
    index = MessageIndex(house.store, session.ctx)
    before = index.catch_up()
    index.view(before)
    session.add(text_message(Role.USER, "one more"))
    after = index.catch_up()
    assert after > before
    assert index.view(after) == fold(house.store.read(session.ctx))


def test_tokens_are_summed_although_the_cache_is_emptied_meanwhile(monkeypatch: pytest.MonkeyPatch):
    store = MemoryStore()
    session = Session.open("s", store)
    session.add(*(text_message(Role.USER, f"message {n} " + "word " * n) for n in range(4)))
    handle = OpenSession(store, session.ctx, PLAIN)
    last = handle.message_index.catch_up()
    wanted = handle.tokens_seen_at(last)
    monkeypatch.setattr(session_pool, "MOST_COUNTED", 2)
    small = OpenSession(store, session.ctx, PLAIN)
    small.message_index.catch_up()
    small.tokens_seen_at(
        small.message_index.seq(1)
    )  # the cache holds this message when the next call empties it
    assert small.tokens_seen_at(last) == wanted
