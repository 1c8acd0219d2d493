"""What ``clew eval`` prints becomes a page, with one budget or with several."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from evaluate import budgets, lines_at, page, show, summary_of

from clew_evals import POLICIES, Study, session_files, study
from clew_evals.cli.eval import figures
from clew_evals.report import Findings
from tests.evals.sessions import write_sessions

NAMES = ("tail", "frame", "bare-values", "whole", "oracle")


def printed(folder: Path, *shares: float, names: Sequence[str] = NAMES) -> dict[str, Any]:
    plan = Study(tuple(POLICIES[name] for name in names), shares, least_tokens=1_000, jobs=1)
    return dict(json.loads(json.dumps(figures(Findings(study(session_files([folder]), plan))))))


def measured(folder: Path, *shares: float) -> dict[str, Any]:
    return summary_of(printed(folder, *shares))


@pytest.mark.parametrize("shares", [(0.10,), (0.05, 0.10)])
def test_contenders_stand_first_and_limits_last_at_every_budget(shares: tuple[float, ...], tmp_path: Path):
    found = measured(write_sessions(tmp_path / "sessions", 2), *shares)
    assert budgets(found) == list(shares)
    for share in shares:
        assert set(list(lines_at(found, share))[:2]) == {"tail", "frame"}
        assert list(lines_at(found, share))[-1] == "bare-values"


def test_the_page_and_the_short_table_tell_each_policy(tmp_path: Path):
    found = measured(write_sessions(tmp_path / "sessions", 2), 0.05, 0.10)
    written = page(found)
    assert [written.count(f"\n| {name} |") for name in NAMES] == [2] * 5
    assert [line.split()[0] for line in list(show(found))[2:-1]] == list(lines_at(found, 0.10))


def test_what_was_measured_again_stands_and_other_cuts_are_refused(tmp_path: Path):
    folder = write_sessions(tmp_path / "sessions", 2)
    first, again = printed(folder, 0.10), printed(folder, 0.05, 0.10, names=("tail",))
    again["policies"]["tail"]["0.1"]["explained"] = 0.5
    found = summary_of(first, again)
    assert lines_at(found, 0.10)["tail"]["explained"] == 0.5
    assert list(lines_at(found, 0.05)) == ["tail"]
    with pytest.raises(SystemExit):
        summary_of(first, printed(write_sessions(tmp_path / "fewer", 1), 0.10))
