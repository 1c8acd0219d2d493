"""The table of requirements is complete, and every test, file, command and page that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clew.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "spec.md"
ROWS = {
    cells[0]: cells
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if re.match(r"\| [A-I]\d+ \|", line)
    and (cells := [cell.strip() for cell in line.strip("| ").split(" | ")])
}
SIZES = {"A": 7, "B": 7, "C": 9, "D": 7, "E": 5, "F": 8, "G": 6, "H": 7, "I": 10}


def test_every_requirement_has_a_row():
    assert list(ROWS) == [f"{part}{number}" for part, size in SIZES.items() for number in range(1, size + 1)]


@pytest.mark.parametrize("row", ROWS)
def test_a_row_works_or_says_what_is_missing_and_names_what_shows_it(row: str):
    _, _, status, shown, page = ROWS[row]
    assert status == "works" or re.fullmatch(r"partly: \S.{8,}", status)
    named = re.findall(r"`([^`]+)`", shown)
    assert named
    for one in named:
        path, _, test = one.partition("::")
        if one.startswith("clew "):
            assert one.split()[1] in COMMANDS
        else:
            assert (ROOT / path).exists(), one
        if test:
            assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), one
    (target,) = re.findall(r"\]\(([^)]+)\)", page)
    assert (PAGE.parent / target).exists()
