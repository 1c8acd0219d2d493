"""Many processes on one session: nothing is lost, order is kept, one compaction wins, nobody waits."""

import multiprocessing
import shutil
import time
from collections import Counter
from contextlib import ExitStack, contextmanager

import pytest

from clew.log.store import SqliteStore
from clew.log.store.audit import audit
from clew.memory.notes import Notebook
from clew.message import Role, text_message
from clew.session import Session
from clew.session.replay import skipped_events
from tests.conftest import tries
from tests.hard.together import fill, work

# Each worker is forked from a server process that has imported clew already.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.hard.together"])


class Worker:
    """Another process at work on the session."""

    def __init__(self, task, path, *words):
        self._line, theirs = PROCESSES.Pipe()
        self._process = PROCESSES.Process(target=work, args=(theirs, task, path, *words))
        self._process.start()
        theirs.close()

    def hears(self, at=0.0):
        self._line.send(at)

    def says(self):
        return self._line.recv()

    def __enter__(self):
        assert self.says() == "ready"
        return self

    def __exit__(self, *_):
        self._process.join(timeout=300)
        self._line.close()
        assert self._process.exitcode == 0


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


@contextmanager
def opened(path):
    with SqliteStore(path) as store, Session.open("main", store, window=20_000) as session:
        yield session


@pytest.fixture
def session(path):
    with opened(path) as session:
        yield session


@pytest.fixture(scope="module")
def filled_log(tmp_path_factory):
    """A log with a session to compact; tests work on copies of it."""
    path = tmp_path_factory.mktemp("filled") / "clew.db"
    with opened(path) as session:
        fill(session)
    return path


@pytest.fixture(scope="module")
def compacted_log(filled_log):
    """The same, compacted twice, with an item that was closed and opened again."""
    path = filled_log.with_name("compacted.db")
    shutil.copy(filled_log, path)
    with opened(path) as session:
        session.compact(target_tokens=2_500)
        session.compact(target_tokens=1_500)
        session.close_loop("t1")
        session.reopen_loop("t1")
    return path


@pytest.fixture
def filled(path, filled_log):
    shutil.copy(filled_log, path)
    with opened(path) as session:
        yield session


@pytest.fixture
def compacted(path, compacted_log):
    shutil.copy(compacted_log, path)
    with opened(path) as session:
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
def test_of_many_that_compact_at_once_exactly_one_wins(path, filled):
    came = all_at_once("compact", path, tries(4, 8))
    assert came.count("compacted") == 1
    assert set(came) <= {"compacted", "nothing to gain", "CompactionUnderWay", "StalePlan"}
    assert kinds(filled).count("compaction") == 1
    assert audit(path).flaws == ()


@pytest.mark.slow
def test_what_is_said_while_a_summary_is_written_stays(path, filled):
    with Worker("summarise_slowly", path, "w0", "") as slow:
        slow.hears()
        assert slow.says() == "asked"
        filled.add(text_message(Role.USER, "One more thing."))
        slow.hears()
        assert slow.says() == "compacted"
    assert filled.view()[-1].message.text == "One more thing."
    assert kinds(filled).count("compaction") == 1


@pytest.mark.slow
@pytest.mark.parametrize("adds", ["", "One more thing."])
@pytest.mark.parametrize("compact", [{"target_tokens": 1_500}, {"messages": "m60-m70"}])
def test_a_summary_that_comes_when_another_has_compacted_is_refused(path, filled, compact, adds):
    with Worker("summarise_slowly", path, "w0", adds) as slow:
        slow.hears()
        assert slow.says() == "asked"
        filled.compact(**compact)
        slow.hears()
        assert slow.says() == "StalePlan"
    assert [one.name for one in filled.trace()] == ["d1"]
    assert kinds(filled).count("compaction") == 1


REASONS = {"StalePlan", "InputError", "NotFound", "NothingToGain", "CompactionUnderWay", "StoreBusy"}
NOTHING_THERE = "IndexError"  # of the worker's own list, not of clew
ON_RULES = ("pin", "edit", "unpin", "keep", "unkeep")


def together(path, session, *tasks):
    """Let processes act at once; check that each acknowledged act is in the log; return what came of them."""
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
def test_processes_that_undo_and_compact_at_once_leave_a_log_that_opens(path, compacted, tasks):
    _, came = together(path, compacted, *tasks)
    undone = [name for kind, names in came if kind == "undo" and isinstance(names, list) for name in names]
    assert len(undone) == len(set(undone))  # no compaction is taken back twice
    assert {"d1", "d2"} <= set(undone)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [("close", "reopen"), ("close+reopen",) * 3])
def test_processes_that_close_and_reopen_at_once_leave_a_log_that_opens(path, compacted, tasks):
    again, came = together(path, compacted, *tasks)
    assert any(isinstance(what, list) for _, what in came)
    assert "t1" in [loop.id for loop in (*again.ledger.loops.open, *again.ledger.loops.closed_by_hand)]


@pytest.mark.slow
def test_processes_that_pin_at_once_each_get_their_own_rule(path, compacted):
    again, came = together(path, compacted, "pin", "pin", "pin")
    pinned = [tuple(what) for _, what in came]
    assert len(set(pinned)) == len(pinned) == 3 * tries(8, 60)
    assert {(pin.id, pin.quote) for pin in again.pins} >= set(pinned)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [("edit", "unpin", "pin"), ("edit",) * 3, ("pin+unpin",) * 3])
def test_processes_that_edit_and_revoke_at_once_never_change_the_same_rule_twice(path, compacted, tasks):
    compacted.pin("Say nothing.")
    again, came = together(path, compacted, *tasks)
    done = [(kind, *what) for kind, what in came if isinstance(what, list)]
    assert any(kind != "pin" for kind, *_ in done)
    rules = again.ledger.pins.all
    for kind, id_, said in done:
        rule = next(rule for rule in rules if rule.id == id_)
        assert said == (rule.why if kind == "unpin" else rule.quote)
    assert len({id_ for kind, id_, _ in done if kind == "unpin"}) == sum(one[0] == "unpin" for one in done)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [("keep", "unkeep"), ("keep+unkeep",) * 3, ("keep", "undo+compact")])
def test_processes_that_keep_and_drop_passages_at_once_leave_a_log_that_opens(path, compacted, tasks):
    again, came = together(path, compacted, *tasks)
    kept = [what[0] for kind, what in came if kind == "keep" and isinstance(what, list)]
    dropped = [what[0] for kind, what in came if kind == "unkeep" and isinstance(what, list)]
    assert kept
    facts = [fact.quote for fact in again.ledger.facts.all]
    assert set(facts) <= set(kept)
    assert {*kept} - {*dropped} <= set(facts)
    assert len(facts) == len(set(facts))


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [("note", "note", "note"), ("note+forget", "note+forget")])
def test_processes_that_write_notes_at_once_lose_none(path, compacted, tasks):
    _, came = together(path, compacted, *tasks)
    written = [what[0] for kind, what in came if kind == "note" and isinstance(what, list)]
    notes = [note.text for note in Notebook(compacted.store, "local", "main").notes()]
    assert written
    assert set(notes) <= set(written)
    if "forget" not in "".join(tasks):
        assert sorted(written) == sorted(f"tone w{w} {n}" for w in range(3) for n in range(tries(8, 60)))
