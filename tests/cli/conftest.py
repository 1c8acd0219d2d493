"""Run clew: in this process by default, which is fast, or in a process of its own if a test needs one."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from clew.cli import main

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "sphinx-9229.traj.json.zst"

Run = Callable[..., subprocess.CompletedProcess[str]]


def _environment(folder: Path) -> dict[str, str]:
    """Return an environment with a home of its own and no colours."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "LC_ALL") if key in os.environ}
    return {**kept, "HOME": str(home), "COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1"}


@pytest.fixture
def clew(tmp_path: Path) -> Run:
    """Return a function that runs ``clew`` in this process, with its own environment, folder and streams."""
    env = _environment(tmp_path)
    return lambda *args, stdin=b"", **more: run_here(args, env | more, tmp_path, stdin)


def run_here(
    args: Sequence[str], env: dict[str, str], folder: Path, stdin: bytes = b""
) -> subprocess.CompletedProcess[str]:
    """Run ``clew`` in this process as if it were one of its own."""
    out, err = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            patch.delenv(name)
        for name, value in env.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["clew", *args])
        for name, stream in (("stdin", io.BytesIO(stdin)), ("stdout", out), ("stderr", err)):
            text = io.TextIOWrapper(stream, "utf-8", "surrogateescape", write_through=name != "stdin")
            patch.setattr(sys, name, text)
        status = _status(args)
        sys.stdout.flush()
        said, reported = out.getvalue().decode(), err.getvalue().decode()
    return subprocess.CompletedProcess(["clew", *args], status, said, reported)


def _status(args: Sequence[str]) -> int:
    """Return the exit status of ``clew``; the parser and errors end it with ``SystemExit``."""
    collecting = gc.isenabled()
    try:
        return main(args)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    finally:
        if collecting:
            gc.enable()  # a hook switches it off, since its process ends at once


@pytest.fixture
def clew_process(tmp_path: Path) -> Run:
    """Return a function that runs ``clew`` in a process of its own, as a person does."""
    env = _environment(tmp_path)

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
