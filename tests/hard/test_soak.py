"""Many sessions for a while, opened and closed over and over: nothing of them is left but their logs.

The short run takes ten sessions for five seconds. The long one, two hundred for a quarter of an hour:
``CLEW_SOAK_SESSIONS=200 CLEW_SOAK_SECONDS=900 uv run pytest -n0 -s tests/hard/test_soak.py``
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import pytest

from clew.errors import ClewError
from clew.log.store import SqliteStore
from clew.log.store.audit import audit
from clew.message import Role, text_message
from clew.session import Session
from tests.hard.life import RULE, exchange
from tests.summarisers import BAD_SUMMARISERS, bad_summariser, good_summariser

SESSIONS = int(os.environ.get("CLEW_SOAK_SESSIONS", "10"))
SECONDS = float(os.environ.get("CLEW_SOAK_SECONDS", "5"))
WORKERS = 4
BAD = sorted(BAD_SUMMARISERS)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts what /proc shows")


def held() -> dict[str, int]:
    """Return what this process holds on to."""
    gc.collect()
    children = [path.read_text().split() for path in Path("/proc/self/task").glob("*/children")]
    return {
        "handles": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "threads": threading.active_count(),
        "processes": sum(map(len, children)),
    }


def live(path: Path, number: int, step: int) -> None:
    """Do one step of a session's life, in a store and a session opened for it."""
    model = good_summariser() if step % 3 else bad_summariser(BAD[step % len(BAD)])
    with (
        SqliteStore(path) as store,
        Session.open(f"s{number}", store, window=9_000, summariser=model) as session,
    ):
        if not step:
            session.add(text_message(Role.USER, f"I am session {number}. {RULE}"))
        session.add(*exchange(step, "\n".join(f"rate_{step}_{i} = {i}" for i in range(40))))
        with suppress(ClewError):  # a summariser may fail; the session goes on
            session.fit(auto=True)
        session.memory.catch_up()
        session.memory.toolbox(session).run("recall_search", {"query": f"rate_{step}_7"})


def work(folder: Path, numbers: range, until: float) -> int:
    """Go round at least once, however late this begins."""
    steps = 0
    while True:
        for number in numbers:
            live(folder / f"{number % WORKERS}.db", number, steps)
        steps += 1
        if time.monotonic() > until:
            return steps


def soaked(folder: Path) -> tuple[list[int], dict[str, int], dict[str, int]]:
    """Live for a while; return how often everybody went round, and what was held before and after."""
    live(folder / "warm.db", 0, 0)
    before = held()
    until = time.monotonic() + SECONDS
    with ThreadPoolExecutor(WORKERS) as pool:
        shares = [range(worker, SESSIONS, WORKERS) for worker in range(WORKERS)]
        rounds = list(pool.map(lambda share: work(folder, share, until), shares))
    return rounds, before, held()


@pytest.mark.slow
def test_sessions_leave_nothing_behind(tmp_path):
    # In a process of its own: what other tests held on to ends whenever it likes.
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        rounds, before, after = alone.submit(soaked, tmp_path).result()
    assert after == before
    print(f"{SESSIONS} sessions, {SECONDS:.0f} s, {min(rounds)} to {max(rounds)} rounds, then {before}")
    for worker in range(WORKERS):
        assert audit(tmp_path / f"{worker}.db").flaws == ()
    with SqliteStore(tmp_path / "1.db") as store, Session.open("s1", store, window=9_000) as session:
        assert [pin.quote for pin in session.pins] == [RULE]
