"""``clew demo``: every step happens for real, and reads well in narrow terminals."""

from __future__ import annotations

import re

import pytest

from tests.cli.conftest import Run


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    return {}


def play(clew: Run, columns: str, printed: dict[str, str]) -> str:
    if columns not in printed:
        done = clew("demo", "--fast", COLUMNS=columns)
        assert (done.returncode, done.stderr) == (0, "")
        printed[columns] = done.stdout
    return printed[columns]


@pytest.mark.parametrize(
    "expected",
    [
        r"compacted as d1: .*\n.*\n◆   [\d,]+ → [\d,]+ tokens",
        r"kept: 1 of 1 rules",
        r"Done so far:",
        r'- "Never modify files under legacy/\."',
        r"I won't: \[p1\] \[m1\]",
        r"· recall_search",
        r'\[m\d+\] tool said: "# the audit seal of bg is dddf"',
        r"you › /expand d1\.\d+\nd1\.\d+ is a claim",
        r"undone: d1; [\d,]+ → [\d,]+ tokens, every message is in view again",
    ],
)
def test_it_compacts_keeps_a_rule_recalls_a_value_and_undoes(expected: str, clew: Run, printed):
    assert re.search(expected, play(clew, "80", printed))


@pytest.mark.parametrize("columns", ["40", "80"])
def test_it_fits(columns: str, clew: Run, printed):
    lines = play(clew, columns, printed).splitlines()
    assert [line for line in lines if len(line) > int(columns)] == []
    assert len(lines) > 40


def test_it_leaves_nothing_behind(clew: Run, tmp_path, printed):
    clew("demo", "--fast")
    assert not (tmp_path / "home" / ".local" / "share" / "clew").exists()
