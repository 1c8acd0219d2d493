"""A long session opens where an earlier process left off; what was kept is not needed, and not trusted."""

import sqlite3

import pytest

from clew.log.protocol import Head, Snapshots
from clew.log.store import MemoryStore, SqliteStore
from clew.message import Role, text_message
from clew.session import Session
from clew.session.replay import SAVE_EVERY
from tests.session.talk import talk


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path / "clew.db") as store:
        yield store


def opened(store):
    return Session.open("main", store, window=20_000)


def saved(store):
    """Make a session that was compacted, undone, compacted, switched off and on, and is kept."""
    session = opened(store)
    session.add(*talk(30))
    session.compact(target_tokens=5_000)
    session.undo()
    session.compact(target_tokens=4_000)
    session.pin("Answer in French.")
    session.switch_off()
    session._replay.save()
    return session


def state(session):
    replay = session._replay
    return replay.view, session.view(), session.ledger.to_json(), replay.state, replay.compactions


def read_from(store, monkeypatch):
    """Return the list of places that the store is read from."""
    places = []
    read = store.read
    monkeypatch.setattr(
        store, "read", lambda ctx, after=0, *rest: places.append(after) or read(ctx, after, *rest)
    )
    return places


def test_what_was_kept_is_what_would_be_derived(store):
    session = saved(store)
    session.add(text_message(Role.USER, "More."))
    assert state(opened(store)) == state(session)


def test_events_before_it_are_not_read_again(store, monkeypatch):
    session = saved(store)
    places = read_from(store, monkeypatch)
    opened(store)
    assert 0 not in places
    assert session._replay.view.seq in places


@pytest.mark.parametrize("harm", ["hash = 'x'", "content = x'00'", "seq = 7", "checksum = 1"])
def test_what_was_kept_wrongly_is_derived_again(store, harm):
    before = state(saved(store))
    with sqlite3.connect(store.path) as connection:
        connection.execute(f"UPDATE snapshot SET {harm}")
    connection.close()
    assert state(opened(store)) == before


@pytest.mark.parametrize("body", [{}, {"version": 1}, {"version": 1, "view": {}}, {"version": 99}])
def test_what_no_longer_can_be_read_is_derived_again(store, body):
    session = saved(store)
    before = state(session)
    head = store.head(session._replay.ctx)
    store.save_snapshot(session._replay.ctx, Head(head.seq, head.hash), body)
    assert state(opened(store)) == before


def test_it_is_kept_by_itself_now_and_then(store):
    session = opened(store)
    session.add(*(text_message(Role.USER, f"message {n}") for n in range(SAVE_EVERY)))
    assert store.load_snapshot(session._replay.ctx)[0].seq == SAVE_EVERY


def test_a_store_that_keeps_nothing_will_do():
    assert not isinstance(MemoryStore(), Snapshots)
    session = saved(MemoryStore())
    assert session.is_off


def test_the_first_and_last_message_are_found_when_opened_again(store):
    saved(store)
    replay, whole = opened(store)._replay, list(talk(30))
    assert [replay.original("m1"), replay.original(f"m{len(whole)}")] == [whole[0], whole[-1]]
    assert [replay.original(name) for name in ("m0", f"m{len(whole) + 1}", "x1", "m")] == [None] * 4
