"""A hundred compactions, twenty thousand messages; ``bench/endurance.py`` does a thousand and a million."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from clew.budget import Stop
from clew.errors import BudgetExceeded
from clew.log.store import SqliteStore
from clew.message import Role, text_message
from clew.session import Session
from clew.session.snapshot import SAVE_EVERY_AT_MOST
from tests.conftest import tries
from tests.session.talk import talk

sys.path.append(str(Path(__file__).parents[2] / "bench"))

from endurance import WINDOW, endure, grow


@pytest.mark.slow
def test_rules_and_sources_outlive_any_number_of_compactions(quick_folder):
    rounds = tries(40, 100)
    with SqliteStore(quick_folder / "clew.db") as store:
        found = endure(Session.open("main", store, window=WINDOW), rounds)
    assert found.compactions > rounds * 0.8
    assert (found.rules_changed, found.sources_lost) == (0, 0)
    assert found.claims > found.compactions


@pytest.mark.slow
def test_a_long_session_opens_from_what_was_saved(quick_folder, monkeypatch):
    path = quick_folder / "clew.db"
    count = tries(12_000, 20_000)
    grow(path, count)
    with SqliteStore(path) as store:
        places, read = [], store.read
        monkeypatch.setattr(
            store, "read", lambda ctx, after=0, *rest: places.append(after) or read(ctx, after, *rest)
        )
        with Session.open("main", store, window=WINDOW) as session:
            assert len(session.view()) < 5_000
    assert min(places) > count - 2 * SAVE_EVERY_AT_MOST


def test_after_three_failures_it_stops_and_asks_in_every_process_after(tmp_path):
    verdicts = []
    for n in range(4):
        with SqliteStore(tmp_path / "clew.db") as store:
            session = Session.open("main", store, window=12_000)
            session.add(*(talk(30) if n == 0 else ()))
            verdicts.append(type(session.fit().budget.verdict).__name__)
            with pytest.raises(BudgetExceeded):
                session.compact(target_tokens=1)
    assert verdicts == ["Compact", "Compact", "Compact", Stop.__name__]


def test_that_nothing_can_be_gained_is_remembered_by_every_process_after(tmp_path):
    rules = [text_message(Role.USER, f"Never touch the folder archive/{n}/.") for n in range(60)]
    verdicts = []
    for n in range(4):
        with SqliteStore(tmp_path / "clew.db") as store:
            session = Session.open("main", store, window=1_000)
            session.add(*(rules if n == 0 else ()))
            verdicts.append(type(session.fit().budget.verdict).__name__)
            assert session.compact() is None
    assert verdicts == ["Compact", "Compact", "Compact", Stop.__name__]


def test_the_benchmark_runs_without_chained_compactions():
    script = Path(__file__).parents[2] / "bench" / "endurance.py"
    command = [sys.executable, str(script), "--compactions", "0", "--messages", "200", "--print"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "| 200 |" in done.stdout
