"""What all tests share: where the large real data lies, and how hard hypothesis tries."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

T = TypeVar("T")
ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("CLEW_TEST_DATA", ROOT.parent / "shared" / "data"))

LONG_RUN = os.environ.get("CLEW_HARD") == "1"
"""Try everything, at random, instead of a fixed sample: ``CLEW_HARD=1 uv run pytest``."""
in_long_run = pytest.mark.skipif(not LONG_RUN, reason="part of the long run: CLEW_HARD=1 uv run pytest")


def tries(sample: int, whole: int) -> int:
    """Return how often to try: a sample in every run, all in the long run."""
    return whole if LONG_RUN else sample


def sampled(found: Sequence[T], most: int) -> list[T]:
    """Return at most so many of a list, spread evenly over it; in the long run all."""
    if LONG_RUN or len(found) <= most:
        return list(found)
    return [found[n * len(found) // most] for n in range(most)]


# No deadlines: a busy machine is not a failure. The same examples in every run, others in each long run.
settings.register_profile(
    "clew",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not LONG_RUN,
    max_examples=tries(30, 100),
)
settings.load_profile("clew")


def real_data(name: str) -> Path:
    """Return a folder of real recordings, or skip: they are too large and too personal to ship."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"real data {name!r} is not on this machine; set CLEW_TEST_DATA to its folder")
    return path


@pytest.fixture
def quick_folder():
    """Return a folder in memory where there is one: what is tested is the order of writes, not the disk."""
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(autouse=True)
def _no_list_is_known_from_another_test():
    """Tests compact the same made-up lists; in one program that would be a loop that forgets its results."""
    if "clew.session.compact_list" in sys.modules:
        sys.modules["clew.session.compact_list"].forget()
