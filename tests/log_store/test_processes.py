"""Several processes, some of which die."""

import random
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from threading import Timer

import pytest

from clew.log import check_session
from clew.log.store.audit import audit
from tests.conftest import ROOT, tries
from tests.log_store.workers import CTX

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills and forks as POSIX does")


def start(task, path, *arguments):
    command = [sys.executable, "-m", "tests.log_store.workers", task, str(path), *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def outcome(process):
    said, complaints = process.communicate()
    assert (complaints, process.returncode) == ("", 0)
    return said.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(("writers", "times"), [(4, 200), (16, 40)])
def test_processes_that_race_lose_nothing_and_keep_their_order(path, open_sqlite, writers, times):
    processes = [start("race", path, worker, times) for worker in range(writers)]
    assert [(*process.communicate(), process.returncode) for process in processes] == [("", "", 0)] * writers
    store = open_sqlite()
    written = [(stored.event.body["worker"], stored.event.body["n"]) for stored in store.read(CTX)]
    assert Counter(written) == Counter((str(worker), n) for worker in range(writers) for n in range(times))
    assert all([n for who, n in written if who == str(w)] == list(range(times)) for w in range(writers))
    assert list(check_session(store, CTX)) == []
    assert audit(path).sound


def test_opening_a_new_file_waits_for_another_that_sets_it_up(path, open_sqlite):
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = Timer(0.2, other.execute, ["COMMIT"])
        release.start()
        assert open_sqlite().head(CTX).seq == 0
        release.join()


def killed_after(path, acknowledged):
    """Kill a writer at no moment in particular; return the ids that it had said were written."""
    with start("acknowledge", path) as process:
        said = [process.stdout.readline() for _ in range(acknowledged)]
        process.kill()
        said.extend(process.stdout.readlines())
    return [event_id for line in said if line.endswith("\n") for event_id in line.split()]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_what_was_acknowledged_survives_the_death_of_its_writer(path, open_sqlite, seed):
    chance = random.Random(seed)
    acknowledged = []
    for _ in range(tries(5, 12)):
        acknowledged += killed_after(path, chance.randrange(12))
    events = [stored.event.id for stored in open_sqlite().read(CTX)]
    assert [event_id for event_id in events if event_id in set(acknowledged)] == acknowledged
    assert len(events) % 3 == 0  # batches are whole
    assert audit(path).flaws == ()


@pytest.mark.slow
def test_death_at_any_step_of_sqlite_leaves_all_or_nothing(path):
    found = outcome(start("die_everywhere", path, tries(17, 3)))
    before_or_after = re.compile("(killed 0 0|alive 0 3|(killed|alive) 3 [369]) sound")
    assert [line for line in found if not before_or_after.fullmatch(line)] == []
    assert len(found) > tries(25, 150)


@pytest.mark.slow
def test_an_audit_of_a_store_in_use_finds_nothing_wrong(path):
    reports = []
    with start("acknowledge", path) as process:
        while len(reports) < 15 or reports[-1].sessions[0].events == reports[0].sessions[0].events:
            process.stdout.readline()  # a writer to whom nobody listens stands still at last
            reports.append(audit(path))
        process.kill()
    assert [report.flaws for report in reports] == [()] * len(reports)


def test_a_store_works_on_in_a_fork(path):
    assert outcome(start("fork", path)) == ["0 3 True"]


def test_without_room_the_error_says_so_and_what_was_there_stays(path):
    assert outcome(start("no_room", path)) == ["DiskFailed", "3", "6"]
