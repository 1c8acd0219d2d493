"""The page on reliability: every attack that once succeeded names tests, and everything named exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
SECTION = PAGE.split("## Defects found by attacks", 1)[1].split("\n## ", 1)[0]
ROWS = [line.strip("| ").split(" | ") for line in SECTION.splitlines() if line.startswith("| ")][1:]


@pytest.mark.parametrize(("defect", "tests"), ROWS)
def test_every_test_of_a_defect_exists(defect: str, tests: str):
    named = re.findall(r"`([^`]+)`", tests)
    assert named, defect
    for one in named:
        path, _, test = one.partition("::")
        assert f"def {test}(" in (ROOT / "tests" / path).read_text(encoding="utf-8"), one


def test_every_file_of_a_command_exists():
    files = re.findall(r"(?<![\w/])(?:tests|bench|scripts)/[\w/]+(?:\.py|\.md)?", PAGE)
    assert len(files) > 30
    assert [one for one in files if not (ROOT / one).exists()] == []
