"""Background compaction with several processes, some of them killed or paused: nothing is lost or doubled."""

import asyncio
import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from types import SimpleNamespace

import pytest

pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed: clew[postgres]")
pytest.importorskip("procrastinate", reason="the job engine is not installed: clew[service]")

import psycopg

from clew import Session
from clew.log import check_session
from clew.log.protocol import Ctx
from clew.log.store.postgres import PostgresStore
from clew.service.jobs import Jobs
from tests.conftest import ROOT, tries
from tests.postgres import new_schema, the_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="kills and pauses as POSIX does"),
]
PATIENCE_S = tries(300, 3_600)


@pytest.fixture
def schema():
    return new_schema()


@pytest.fixture
def store(schema):
    with PostgresStore(the_server().address, schema=schema) as opened:
        yield opened


@pytest.fixture
def jobs(store, schema):
    found = Jobs(store, f"{schema}_jobs")
    yield found
    found.close()


@pytest.fixture
def start(schema, request):
    def run(task, *arguments):
        command = [sys.executable, "-m", "tests.service.workers", task, the_server().address, schema]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [*command, *map(str, arguments)], cwd=ROOT, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

        def end():
            process.kill()
            process.communicate()

        request.addfinalizer(end)
        return process

    return run


def filled(store, name="main", count=40):
    session = Session.open(name, store, workspace="north", window=6_000)
    words = "some ordinary words of a long conversation " * 20
    session.add(*({"role": "user", "content": f"step {n}: {words}"} for n in range(count)))
    return session


def compactions(store, name="main"):
    return sum(1 for _ in store.read(Ctx(workspace="north", session=name), kinds=["compaction"]))


def waiting(schema):
    with psycopg.connect(the_server().address) as connection:
        return connection.execute(f"SELECT count(*) FROM {schema}_jobs.procrastinate_jobs").fetchone()[0]


def until(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert condition()


def test_a_session_is_asked_for_once_compacted_once_and_the_job_is_gone(store, jobs, schema):
    session = filled(store)
    asked = [jobs.defer(session, window=6_000) for _ in range(3)]
    assert asked == [True, False, False]
    with jobs.working():
        until(lambda: waiting(schema) == 0)
    assert compactions(store) == 1
    assert len(session.trace()) == 1


def test_a_job_is_superseded_by_a_compaction_made_since_and_by_forgetting(store, jobs):
    session = filled(store)
    given = {"workspace": "north", "session": "main", "after": 0, "model": None, "window": 6_000}
    session.compact(target_tokens=2_000)
    assert jobs.run(**given) == "superseded"
    store.forget("north", "main")
    assert jobs.run(**given) == "forgotten"
    assert compactions(store) == 0


def test_what_becomes_of_a_job_is_told_also_if_it_fails_unexpectedly(store, schema):
    class Broken(Jobs):
        def run(self, **_):
            raise ZeroDivisionError

    told = []
    broken = Broken(store, f"{schema}_jobs", finished=told.append)
    broken.defer(filled(store), window=6_000)
    with broken.working():
        until(lambda: told)
    broken.close()
    assert told == ["ZeroDivisionError"]


def test_silent_workers_are_looked_for_again_after_the_database_was_away(jobs):
    looked = []

    async def stalled(**_):
        looked.append(1)
        if len(looked) == 1:
            raise psycopg.OperationalError("the pool could not connect")
        return []

    async def twice():
        app = SimpleNamespace(job_manager=SimpleNamespace(get_stalled_jobs=stalled))
        await asyncio.wait_for(jobs._rescue(app), timeout=1.0)

    jobs.lease_s = 0.1
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(twice())
    assert len(looked) > 1


@pytest.mark.parametrize("how", ["SIGKILL", "SIGSTOP"])
def test_the_job_of_a_stopped_worker_is_done_by_another_and_its_late_result_refused(
    store, jobs, schema, start, how
):
    session = filled(store)
    jobs.defer(session, window=6_000)
    stopped = start("stop_inside", how)
    assert stopped.stdout.readline() == "deciding\n"
    session.add({"role": "user", "content": "appended while the worker is stopped"})
    other = start("work")
    assert other.stdout.readline() == "compacted\n"  # after the lease of the first has ended
    if how == "SIGSTOP":
        stopped.send_signal(signal.SIGCONT)
        assert stopped.stdout.readline() == "superseded\n"
    assert compactions(store) == 1
    assert len(list(session.originals([f"m{n}" for n in range(1, 42)]))) == 41
    assert list(check_session(store, session.ctx)) == []


def test_a_reply_lost_between_append_and_answer_is_repeated_without_effect(store, start):
    body = json.dumps({"messages": [{"role": "user", "content": "Pay the invoice once."}]}).encode()
    headers = {"Authorization": "Bearer a-token-of-the-north", "Idempotency-Key": "invoice-7"}

    def send(*arguments):
        port = start("serve", *arguments).stdout.readline().strip()
        url = f"http://127.0.0.1:{port}/v1/sessions/main/messages"
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60) as reply:
            return json.load(reply)["ids"]

    with pytest.raises((urllib.error.URLError, ConnectionError)):
        send("dying")
    assert send() == ["m1"]
    events = list(store.read(Ctx(workspace="north", session="main")))
    assert [one.event.kind for one in events] == ["message"]


@pytest.mark.parametrize(("sessions", "times"), [(1, tries(2, 3)), (tries(4, 1_000), 1)])
def test_sixteen_workers_on_one_and_on_many_sessions_lose_nothing(store, start, sessions, times):
    workers = 16
    background = start("work", 4)
    writers = [start("append", first, 4, sessions, times) for first in range(0, workers, 4)]
    for one in writers:
        assert one.wait(PATIENCE_S) == 0
    background.kill()
    expected = {(str(w), n) for w in range(workers) for n in range(times)}
    for at in range(sessions):
        ctx = Ctx(workspace="north", session=f"s{at}")
        said = [one.event.body["message"] for one in store.read(ctx, kinds=["message"])]
        words = [str(one).split("worker ")[1].split() for one in said]
        found = [(each[0], int(each[2].rstrip(":"))) for each in words]
        assert len(found) == len(set(found))
        assert set(found) == expected
        assert list(check_session(store, ctx)) == []
