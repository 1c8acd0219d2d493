"""A writer may die, a disk fail, power go, at any moment: what was acknowledged stays, and all is sound.

The short run tries a sample of the points; ``CLEW_HARD=1 uv run pytest tests/hard`` tries every one.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import tries

ROOT = Path(__file__).parents[2]


def told(fault_library, folder, task, count, seed):
    done = subprocess.run(
        [sys.executable, "-m", "tests.hard.life", task, str(folder), str(count), str(seed)],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": str(fault_library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "sample"),
    [("die", 12), ("break_down", 8), ("lose_power", 12)],
    ids=["killed at a write or sync", "disk full, broken, read-only or over quota", "power lost"],
)
def test_a_session_outlives_its_disk(fault_library, quick_folder, task, sample):
    lines = told(fault_library, quick_folder, task, tries(sample, 10_000), seed=1)
    assert [line for line in lines if line.startswith("wrong")] == []
    assert lines[-1] == "ended"
    assert int(lines[0].split()[1]) > 200  # steps of the disk that were there to fail
