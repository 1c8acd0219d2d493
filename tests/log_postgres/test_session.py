"""A session on PostgreSQL: any worker continues it, and a snapshot makes opening cost the tail only."""

import clew
from clew import Session
from clew.log.protocol import Ctx
from clew.log.store.postgres import PostgresStore
from clew.message import Role
from tests.postgres import the_server

CTX = Ctx(workspace="local", session="work")


def messages(start, count):
    for n in range(start, start + count):
        role = Role.ASSISTANT if n % 2 else Role.USER
        yield clew.text_message(role, f"step {n}: " + "some ordinary words of a long conversation " * 30)


def shown(session):
    return [item.message for item in session.view()]


def test_another_worker_compacts_and_undoes_what_the_first_one_added(open_store):
    one = Session.open("work", open_store(), window=8_000)
    one.add(*messages(0, 40))
    before = shown(one)
    other = Session.open("work", open_store(), window=8_000)
    assert other.compact(target_tokens=2_500) is not None
    assert shown(one) == shown(other) != before
    one.undo()
    assert shown(one) == shown(other) == before


def test_a_compaction_writes_a_snapshot_that_the_next_worker_opens(open_store):
    store = open_store()
    session = Session.open("work", store, window=8_000)
    session.add(*messages(0, 40))
    session.compact(target_tokens=2_500)
    session.close()
    again = Session.open("work", open_store(), window=8_000)
    assert shown(again) == shown(session)


def test_a_session_opens_by_address_and_by_the_environment(monkeypatch):
    address = the_server().address
    with Session.open("by-address", address) as session:
        assert isinstance(session.store, PostgresStore)
        session.add(clew.text_message(Role.USER, "hello"))
    monkeypatch.setenv("CLEW_STORE", address)
    with Session.open("by-address") as again:
        assert len(again.view()) == 1
