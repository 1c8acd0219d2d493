"""Several processes on one server; some of them, or the server, are killed or paused."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter

import psycopg
import pytest

from clew.log import check_session, new_event
from clew.log.protocol import Ctx
from clew.log.store.postgres import PostgresStore
from clew.log.store.postgres.connection import sql
from clew.testing.postgres import PostgresServer
from tests.conftest import ROOT, tries
from tests.log_postgres.workers import CTX, LONG
from tests.postgres import the_server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills and forks as POSIX does")


def start(task, place, *arguments):
    command = [sys.executable, "-m", "tests.log_postgres.workers", task, *place, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def outcome(process):
    said, complaints = process.communicate()
    assert (complaints, process.returncode) == ("", 0)
    return said.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(("writers", "times"), [(2, 25), (tries(6, 16), 3)])
def test_processes_that_race_on_one_session_lose_nothing(place, open_store, writers, times):
    for process in [start("race", place, worker, times) for worker in range(writers)]:
        outcome(process)
    store = open_store()
    written = [(stored.event.body["worker"], stored.event.body["n"]) for stored in store.read(CTX)]
    assert Counter(written) == Counter((str(worker), n) for worker in range(writers) for n in range(times))
    assert all([n for who, n in written if who == str(w)] == list(range(times)) for w in range(writers))
    assert list(check_session(store, CTX)) == []


@pytest.mark.slow
def test_processes_that_race_on_many_sessions_lose_nothing(place, open_store):
    """In the long run (CLEW_HARD=1) 16 processes on 1,000 sessions."""
    workers, sessions = tries(4, 16), tries(25, 1_000)
    for process in [start("race", place, worker, 1, sessions) for worker in range(workers)]:
        outcome(process)
    store = open_store()
    assert [one.head.seq for one in store.sessions("north")] == [workers] * sessions
    for one in store.sessions("north"):
        ctx = Ctx(workspace="north", session=one.session)
        written = sorted(int(stored.event.body["worker"]) for stored in store.read(ctx))
        assert written == list(range(workers))
        assert list(check_session(store, ctx)) == []


@pytest.mark.slow
def test_what_was_acknowledged_survives_the_death_of_its_writer(place, open_store):
    acknowledged = []
    for lines in (0, 2):
        with start("acknowledge", place) as process:
            said = [process.stdout.readline() for _ in range(lines)]
            process.kill()
            said.extend(process.stdout.readlines())
        acknowledged += [name for line in said if line.endswith("\n") for name in line.split()]
    events = [stored.event.id for stored in open_store().read(CTX)]
    assert [name for name in events if name in set(acknowledged)] == acknowledged
    assert len(events) % 3 == 0  # batches are whole
    assert list(check_session(open_store(), CTX)) == []


@pytest.mark.slow
def test_a_killed_server_loses_nothing_and_nothing_is_written_twice():
    with PostgresServer() as server:  # durable: what is acknowledged must survive
        place = (server.address, "clew")
        with start("acknowledge", place) as process:
            said = []
            reader = threading.Thread(target=lambda: said.extend(process.stdout))
            reader.start()
            for _ in range(2):
                wanted = len(said) + 3
                deadline = time.monotonic() + 60
                while len(said) < wanted and time.monotonic() < deadline:
                    time.sleep(0.02)
                assert len(said) >= wanted, process.poll()
                server.kill()
                server.start()
            process.kill()
            reader.join()
        acknowledged = [name for line in said if line.endswith("\n") for name in line.split()]
        with PostgresStore(server.address) as store:
            events = [stored.event.id for stored in store.read(CTX)]
            assert [name for name in events if name in set(acknowledged)] == acknowledged
            assert len(events) == len(set(events))
            assert 0 <= len(events) - len(acknowledged) <= 3  # at most the batch that was under way
            assert list(check_session(store, CTX)) == []


@pytest.fixture
def cut(monkeypatch):
    """Return a function that cuts the next connection soon after it asks the server to commit."""
    waits = []
    execute = psycopg.Connection.execute

    def cutting(connection, query, *given, **options):
        cursor = execute(connection, query, *given, **options)
        if query == sql("commit") and waits:
            copy = socket.socket(fileno=os.dup(connection.fileno()))
            threading.Timer(waits.pop(), lambda: (copy.shutdown(socket.SHUT_RDWR), copy.close())).start()
        return cursor

    monkeypatch.setattr(psycopg.Connection, "execute", cutting)
    return waits.append


@pytest.mark.parametrize("known", [False, True])
def test_an_append_that_the_server_commits_after_the_connection_is_lost_is_not_repeated(
    place, open_store, cut, known
):
    """The server takes a second to commit; the second try begins while the first is still committing."""
    store = open_store()
    if known:
        store.append(CTX, [new_event("note", {})], None)
    with psycopg.connect(place.address) as connection:
        connection.execute(f"SET search_path = {place.schema}")
        connection.execute("""CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END $$""")
        connection.execute("""CREATE CONSTRAINT TRIGGER slowly AFTER INSERT ON event
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()""")
    events = [new_event("note", {"text": LONG}), new_event("note", {})]
    expected = store.head(CTX)
    cut(0.2)
    head = store.append(CTX, events, expected)
    assert head == store.head(CTX)
    assert [one.event.id for one in store.read(CTX)][-2:] == [event.id for event in events]
    assert head.seq == expected.seq + 2


def test_a_paused_writer_does_not_block_the_others_and_is_refused(place, open_store, request):
    store = open_store(busy_s=30)
    store.append(CTX, [new_event("note", {"who": "first"})], None)
    paused = start("hold", place)
    request.addfinalizer(paused.kill)
    assert paused.stdout.readline() == "locked\n"
    paused.send_signal(signal.SIGSTOP)
    store.append(
        CTX, [new_event("note", {"who": "another"})], None
    )  # waits until the server ends the paused one
    paused.send_signal(signal.SIGCONT)
    said, complaints = paused.communicate("\n\n\n")
    assert "Traceback" not in complaints  # the driver logs that it discards the lost connection
    assert said.split() == ["HeadMoved"]
    assert [one.event.body["who"] for one in store.read(CTX)] == ["first", "another"]


def test_a_text_forgotten_while_another_session_uses_it_stays(open_store):
    store = open_store()
    failed = []

    def append_many():
        try:
            for n in range(15):
                store.append(
                    Ctx(workspace="north", session=f"s{n}"), [new_event("note", {"text": LONG})], None
                )
        except Exception as error:  # noqa: BLE001 # reported by the assertion below
            failed.append(error)

    writer = threading.Thread(target=append_many)
    writer.start()
    n = 0
    while writer.is_alive():
        store.forget("north", f"s{n % 15}")
        n += 1
    writer.join()
    assert failed == []
    for one in store.sessions("north"):
        assert [e.event.body for e in store.read(Ctx(workspace="north", session=one.session))] == [
            {"text": LONG}
        ]


def test_a_store_works_in_a_fork(place):
    assert outcome(start("fork", place)) == ["0 3"]


def test_two_processes_migrate_a_new_schema_at_once(place, open_store):
    for process in [start("race", place, worker, 1) for worker in range(4)]:
        outcome(process)
    assert open_store().head(CTX).seq == 4
    assert the_server().version.startswith("postgres")
