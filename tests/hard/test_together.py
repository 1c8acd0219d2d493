"""Many processes on one session: nothing is lost, order is kept, one compaction wins, nobody waits."""

import json
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from clew.log.store import SqliteStore
from clew.log.store.audit import audit
from clew.memory.notes import Notebook
from clew.message import Role, text_message
from clew.session import Session
from clew.session.replay import skipped_events
from tests.conftest import tries

ROOT = Path(__file__).parents[2]


class Worker:
    """Another process at work on the session."""

    def __init__(self, task, path, *words):
        command = [sys.executable, "-m", "tests.hard.together", task, str(path), *map(str, words)]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def hears(self, at=None):
        self._process.stdin.write(f"go {at or ''}\n")
        self._process.stdin.flush()

    def says(self):
        return json.loads(self._process.stdout.readline())

    def __enter__(self):
        assert self.says() == "ready"
        return self

    def __exit__(self, *_):
        self._process.communicate(timeout=300)
        assert self._process.returncode == 0


def all_at_once(task, path, workers, *words):
    with ExitStack() as stack:
        started = [Worker(task, path, f"w{n}", *words) for n in range(workers)]
        for one in started:
            stack.enter_context(one)
        at = time.time() + 0.05
        for one in started:
            one.hears(at)
        return [one.says() for one in started]


@pytest.fixture
def path(quick_folder):
    return quick_folder / "clew.db"


@pytest.fixture
def session(path):
    with SqliteStore(path) as store, Session.open("main", store, window=20_000) as session:
        yield session


def kinds(session):
    return [one.event.kind for one in session.events()]


@pytest.mark.slow
def test_processes_that_append_at_once_lose_nothing_and_keep_their_order(path, session):
    workers, times = tries(6, 16), tries(40, 1_000)
    assert all_at_once("append", path, workers, times) == ["done"] * workers
    told = [item.message.text for item in session.view()]
    assert sorted(told) == sorted(f"w{w} says {n}" for w in range(workers) for n in range(times))
    for worker in range(workers):
        own = [text for text in told if text.startswith(f"w{worker} ")]
        assert own == [f"w{worker} says {n}" for n in range(times)]
    assert audit(path).flaws == ()


@pytest.mark.slow
def test_of_many_that_compact_at_once_exactly_one_wins(path, session):
    all_at_once("fill", path, 1)
    came = all_at_once("compact", path, tries(4, 8))
    assert came.count("compacted") == 1
    assert set(came) <= {"compacted", "nothing to gain", "CompactionUnderWay", "StalePlan"}
    assert kinds(session).count("compaction") == 1
    assert audit(path).flaws == ()


@pytest.mark.slow
def test_what_is_said_while_a_summary_is_written_stays(path, session):
    all_at_once("fill", path, 1)
    with Worker("summarise_slowly", path, "w0") as slow:
        slow.hears()
        assert slow.says() == "asked"
        session.add(text_message(Role.USER, "One more thing."))
        slow.hears()
        assert slow.says() == "compacted"
    assert session.view()[-1].message.text == "One more thing."
    assert kinds(session).count("compaction") == 1


@pytest.mark.slow
def test_a_summary_that_comes_when_another_has_compacted_is_refused(path, session):
    all_at_once("fill", path, 1)
    with Worker("summarise_slowly", path, "w0") as slow:
        slow.hears()
        assert slow.says() == "asked"
        session._replay.state = session._replay.state.__class__()  # the lease ran out while it slept
        state = session._replay.state.to_json()
        session.record("token_budget", {"state": state})
        session.compact(target_tokens=1_500)
        slow.hears()
        assert slow.says() in ("StalePlan", "CompactionUnderWay", "LeaseLost")
    assert kinds(session).count("compaction") == 1


REASONS = {"StalePlan", "InputError", "NotFound", "NothingToGain", "CompactionUnderWay", "StoreBusy"}
NOTHING_THERE = "IndexError"  # of the worker's own list, not of clew
ON_RULES = ("pin", "edit", "unpin", "keep", "unkeep")


def together(path, session, *tasks):
    """Let processes act at once; check that each acknowledged act is in the log; return what came of them."""
    all_at_once("fill", path, 1)
    session.compact(target_tokens=2_500)
    session.compact(target_tokens=1_500)
    session.close_loop("t1")
    session.reopen_loop("t1")
    before = Counter(kinds(session))
    with ExitStack() as stack:
        words = [("by_hand", path, f"w{n}", task, tries(8, 60)) for n, task in enumerate(tasks)]
        started = [stack.enter_context(Worker(*one)) for one in words]
        at = time.time() + 0.05
        for one in started:
            one.hears(at)
        came = [tuple(one) for worker in started for one in worker.says()]
    done = Counter(kind for kind, what in came if isinstance(what, list))
    assert {what for _, what in came if isinstance(what, str)} <= {*REASONS, NOTHING_THERE}
    with SqliteStore(path) as store:
        again = Session.open("main", store, window=20_000)
        assert again.problems == []
        appended = Counter(kinds(again)) - before
        assert (appended["undo"], appended["compaction"]) == (done["undo"], done["compact"])
        assert appended["loop"] == done["close"] + done["reopen"]
        assert appended["pin"] == sum(done[kind] for kind in ON_RULES)
        assert appended["note"] == done["note"] + done["forget"]
        report = audit(path, skipped_events=skipped_events)
        assert (report.flaws, report.problems) == ((), 0)
        return again, came


@pytest.mark.slow
@pytest.mark.parametrize(
    "tasks", [("undo", "undo"), ("undo",) * 4, ("undo", "undo+compact"), ("undo", "compact")]
)
def test_processes_that_undo_and_compact_at_once_leave_a_log_that_opens(path, session, tasks):
    _, came = together(path, session, *tasks)
    undone = [name for kind, names in came if kind == "undo" and isinstance(names, list) for name in names]
    assert len(undone) == len(set(undone))  # no compaction is taken back twice
    assert {"d1", "d2"} <= set(undone)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [("close", "reopen"), ("close+reopen",) * 3])
def test_processes_that_close_and_reopen_at_once_leave_a_log_that_opens(path, session, tasks):
    again, came = together(path, session, *tasks)
    assert any(isinstance(what, list) for _, what in came)
    assert "t1" in [loop.id for loop in (*again.ledger.loops.open, *again.ledger.loops.closed_by_hand)]


@pytest.mark.slow
def test_processes_that_pin_at_once_each_get_their_own_rule(path, session):
    again, came = together(path, session, "pin", "pin", "pin")
    pinned = [tuple(what) for _, what in came]
    assert len(set(pinned)) == len(pinned) == 3 * tries(8, 60)
    assert {(pin.id, pin.quote) for pin in again.pins} >= set(pinned)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [("edit", "unpin", "pin"), ("edit",) * 3, ("pin+unpin",) * 3])
def test_processes_that_edit_and_revoke_at_once_never_change_the_same_rule_twice(path, session, tasks):
    session.pin("Say nothing.")
    again, came = together(path, session, *tasks)
    done = [(kind, *what) for kind, what in came if isinstance(what, list)]
    assert any(kind != "pin" for kind, *_ in done)
    rules = again.ledger.pins.all
    for kind, id_, said in done:
        rule = next(rule for rule in rules if rule.id == id_)
        assert said == (rule.why if kind == "unpin" else rule.quote)
    assert len({id_ for kind, id_, _ in done if kind == "unpin"}) == sum(one[0] == "unpin" for one in done)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [("keep", "unkeep"), ("keep+unkeep",) * 3, ("keep", "undo+compact")])
def test_processes_that_keep_and_drop_passages_at_once_leave_a_log_that_opens(path, session, tasks):
    again, came = together(path, session, *tasks)
    kept = [what[0] for kind, what in came if kind == "keep" and isinstance(what, list)]
    dropped = [what[0] for kind, what in came if kind == "unkeep" and isinstance(what, list)]
    assert kept
    facts = [fact.quote for fact in again.ledger.facts.all]
    assert set(facts) <= set(kept)
    assert {*kept} - {*dropped} <= set(facts)
    assert len(facts) == len(set(facts))


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [("note", "note", "note"), ("note+forget", "note+forget")])
def test_processes_that_write_notes_at_once_lose_none(path, session, tasks):
    _, came = together(path, session, *tasks)
    written = [what[0] for kind, what in came if kind == "note" and isinstance(what, list)]
    notes = [note.text for note in Notebook(session.store, "local", "main").notes()]
    assert written
    assert set(notes) <= set(written)
    if "forget" not in "".join(tasks):
        assert sorted(written) == sorted(f"tone w{w} {n}" for w in range(3) for n in range(tries(8, 60)))
