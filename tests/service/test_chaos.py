"""The server is killed twice, a writer is killed, a worker is paused: nothing is lost, nothing is doubled."""

import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed: clew[postgres]")
pytest.importorskip("procrastinate", reason="the job engine is not installed: clew[service]")

from clew import Session
from clew.log import check_session
from clew.log.protocol import Ctx
from clew.log.store.postgres import PostgresStore
from clew.service.jobs import Jobs
from clew.testing.postgres import PostgresServer
from tests.conftest import ROOT, tries
from tests.postgres import the_server
from tests.service.test_jobs import compactions, filled, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="kills and pauses as POSIX does"),
]
WRITERS, THREADS = tries(2, 4), 4
SESSIONS, TIMES = tries(2, 20), tries(4, 10)


@pytest.fixture
def server():
    the_server()  # skips if there is no server program
    with PostgresServer() as started:  # durable: what is acknowledged must survive
        yield started


@pytest.fixture
def start(server, request):
    def run(task, *arguments):
        command = [sys.executable, "-m", "tests.service.workers", task, server.address, "clew"]
        process = subprocess.Popen(
            [*command, *map(str, arguments)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

        def end():
            process.kill()
            process.communicate()

        request.addfinalizer(end)
        return process

    return run


def test_background_compaction_survives_the_death_of_the_server(server, start):
    worker = start("work")
    with PostgresStore(server.address) as store:
        jobs = Jobs(store, "clew_jobs")
        session = filled(store)
        assert jobs.defer(session, window=6_000)
        assert worker.stdout.readline() == "compacted\n"
        server.kill()
        server.start()
        other = filled(store, "other")
        assert jobs.defer(other, window=6_000)
        results = iter(worker.stdout.readline, "")
        again = "superseded\n"  # the first job, run again: the server died before its end was recorded
        assert next((line for line in results if line != again), "the worker died") == "compacted\n"
        jobs.close()
        assert (compactions(store), compactions(store, "other")) == (1, 1)


def test_nothing_is_lost_or_doubled_when_server_writers_and_workers_fail(server, start):
    with PostgresStore(server.address, busy_s=60) as store:
        workers = [start("work", 2) for _ in range(2)]
        given = [(first, THREADS, SESSIONS, TIMES) for first in range(0, WRITERS * THREADS, THREADS)]
        writers = [start("append", *one) for one in given]

        def written(least):
            names = [f"s{at}" for at in range(SESSIONS)]
            return sum(store.head(Ctx(workspace="north", session=name)).seq for name in names) >= least

        until(lambda: written(10))
        writers[0].kill()
        writers[0] = start("append", *given[0])  # the same keys: what was written before has no effect
        assert writers[0].stdout.readline() == "started\n"
        workers[0].send_signal(signal.SIGSTOP)
        for _ in range(2):
            server.kill()
            time.sleep(0.5)
            server.start()
            time.sleep(1.0)
        workers[0].send_signal(signal.SIGCONT)
        for one in writers:
            assert one.wait(600) == 0
        expected = {(str(w), n) for w in range(WRITERS * THREADS) for n in range(TIMES)}
        for at in range(SESSIONS):
            ctx = Ctx(workspace="north", session=f"s{at}")
            messages = [one.event.body["message"] for one in store.read(ctx, kinds=["message"])]
            words = [str(one).split("worker ")[1].split() for one in messages]
            found = [(each[0], int(each[2].rstrip(":"))) for each in words]
            assert len(found) == len(set(found))
            assert set(found) == expected
            assert list(check_session(store, ctx)) == []
            assert Session.open(f"s{at}", store, workspace="north", window=6_000).view()
