"""Run clew as a person does: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "sphinx-9229.traj.json.zst"

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def clew(tmp_path: Path) -> Run:
    """Return a function that runs ``clew`` with a home of its own and no colours."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "LC_ALL") if key in os.environ}
    env = {**kept, "HOME": str(home), "COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1"}

    def run(*args: str, stdin: bytes = b"", **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "clew", *args],
            input=stdin,
            env={**env, **more},
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    return run
