"""A long session opens where an earlier process left off; what was kept is not needed, and not trusted."""

import sqlite3

import pytest

from clew.log.protocol import Ctx, Head, Snapshots
from clew.log.store import MemoryStore, SqliteStore
from clew.message import Role, text_message
from clew.session import Session
from clew.session.snapshot import SAVE_EVERY, save_interval
from clew.transcripts import load, open_source
from tests.conftest import ROOT
from tests.session.talk import talk

EXAMPLE = ROOT / "examples" / "sphinx-9229.traj.json.zst"


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


FIELDS = ("view", "ledger", "state", "compactions", "about", "digests", "recorded", "problems")


@pytest.mark.parametrize("damage", [5, "x", [5], {"x": 5}, None])
@pytest.mark.parametrize("field", FIELDS)
def test_a_snapshot_with_one_field_that_cannot_be_read_is_not_used_in_part(store, field, damage):
    session = opened(store)
    session.add(text_message(Role.USER, "First."))
    session._replay.save()
    head, body = store.load_snapshot(session.ctx)
    store.save_snapshot(session.ctx, head, {**body, field: damage})
    again = opened(store)
    assert again.head == session.head
    again.add(text_message(Role.USER, "More."))
    assert again.view()[-1].message.text == "More."


def test_it_is_kept_by_itself_now_and_then(store):
    session = opened(store)
    session.add(*(text_message(Role.USER, f"message {n}") for n in range(SAVE_EVERY - 1)))
    assert store.load_snapshot(session._replay.ctx)[0].seq == SAVE_EVERY  # one event names the window


def test_opening_a_session_that_was_never_compacted_reads_its_tail_only(store, monkeypatch):
    session = opened(store)
    for n in range(260):
        session.add(text_message(Role.USER, f"message {n}"))
    places = read_from(store, monkeypatch)
    again = opened(store)
    assert min(places) >= 199  # the last event of the snapshot is compared with the log
    assert state(again) == state(session)


def test_of_two_processes_on_one_session_one_saves_at_a_time(store, monkeypatch):
    saves, save = [], store.save_snapshot
    monkeypatch.setattr(
        store, "save_snapshot", lambda ctx, head, body: saves.append(head.seq) or save(ctx, head, body)
    )
    both = [opened(store), opened(store)]
    for n in range(310):
        both[n % 2].add(text_message(Role.USER, f"message {n}"))
    assert saves == [100, 200, 300]


def test_a_session_imported_without_a_snapshot_gets_one_when_it_is_opened(store):
    filled, ctx = opened(MemoryStore()), Ctx(workspace="local", session="main")
    filled.add(*(text_message(Role.USER, f"message {n}") for n in range(SAVE_EVERY)))
    store.append(ctx, [stored.event for stored in filled.store.read(ctx)], None)
    assert store.load_snapshot(ctx) is None
    opened(store)
    assert store.load_snapshot(ctx)[0] == store.head(ctx)


@pytest.mark.parametrize(
    ("seq", "interval"), [(1, 100), (6_399, 100), (6_400, 200), (10_000, 200), (10**6, 5_000)]
)
def test_snapshots_are_rarer_in_longer_sessions(seq, interval):
    assert save_interval(seq) == interval


def test_a_compaction_from_a_snapshot_is_the_one_from_the_whole_log(store):
    (transcript,) = load(open_source(str(EXAMPLE)))
    entries = [entry.message for entry in transcript.entries]
    session = opened(store)
    for at in range(0, len(entries), 10):
        session.add(*entries[at : at + 10])
    assert store.load_snapshot(session.ctx)[0].seq < store.head(session.ctx).seq
    whole = opened(MemoryStore())
    whole.add(*entries)
    one, other = opened(store).preview(target_tokens=4_000), whole.preview(target_tokens=4_000)
    assert one.plan == other.plan


def test_a_store_that_keeps_nothing_will_do():
    assert not isinstance(MemoryStore(), Snapshots)
    session = saved(MemoryStore())
    assert session.is_off


def test_the_first_and_last_message_are_found_when_opened_again(store):
    saved(store)
    replay, whole = opened(store)._replay, list(talk(30))
    assert [replay.original("m1"), replay.original(f"m{len(whole)}")] == [whole[0], whole[-1]]
    assert [replay.original(name) for name in ("m0", f"m{len(whole) + 1}", "x1", "m")] == [None] * 4
