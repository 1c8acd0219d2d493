"""Set-up on a machine with only Python and git: ``scripts/run.py`` finds or installs uv."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = """#!/bin/sh
[ "$1" = --version ] && exit 0
echo "$(basename "$(dirname "$0")"): $*"
exit 3
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder with nothing but the script."""
    path = tmp_path / "clone" / "scripts" / "run.py"
    path.parent.mkdir(parents=True)
    path.write_bytes((ROOT / "scripts" / "run.py").read_bytes())
    return path.parent.parent


def fake_uv(folder: Path) -> None:
    """Put a uv into a folder that prints its arguments."""
    folder.mkdir(parents=True)
    path = folder / "uv"
    path.write_text(UV)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def run(clone: Path, *words: str, path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(clone / "scripts" / "run.py"), *words]
    env = {"PATH": path, "HOME": str(clone)}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_clew_runs_with_the_locked_dependencies_of_the_package_only(clone: Path, tmp_path: Path):
    fake_uv(tmp_path / "path")
    done = run(clone, "clew", "demo", path=f"{tmp_path / 'path'}{os.pathsep}/usr/bin:/bin")
    assert done.returncode == 3  # the status of the command
    project = f"run --project {clone} --locked --quiet"
    assert done.stdout == f"path: {project} --no-default-groups clew demo\n"


@pytest.mark.parametrize("words", [["inspect"], ["serve", "--port", "1"], ["proxy", "--inspect"]])
def test_a_command_that_serves_the_page_gets_what_the_page_needs(
    clone: Path, tmp_path: Path, words: list[str]
):
    fake_uv(tmp_path / "path")
    done = run(clone, "clew", *words, path=f"{tmp_path / 'path'}{os.pathsep}/usr/bin:/bin")
    assert f"--no-default-groups --extra inspector clew {' '.join(words)}\n" in done.stdout


def test_hints_name_the_command_that_was_typed(clone: Path, tmp_path: Path):
    fake_uv(tmp_path / "path")
    (tmp_path / "path" / "uv").write_text('#!/bin/sh\necho "$CLEW_COMMAND"\n')
    done = run(clone, "clew", "lost", path=f"{tmp_path / 'path'}{os.pathsep}/usr/bin:/bin")
    assert done.stdout.splitlines()[-1] == f"python3 {clone / 'scripts' / 'run.py'} clew"


def test_tests_run_with_the_development_tools(clone: Path, tmp_path: Path):
    fake_uv(tmp_path / "path")
    done = run(clone, "pytest", "-q", path=f"{tmp_path / 'path'}{os.pathsep}/usr/bin:/bin")
    assert "--no-default-groups" not in done.stdout
    assert done.stdout.endswith("pytest -q\n")


def test_a_uv_that_does_not_run_is_not_used(clone: Path, tmp_path: Path):
    fake_uv(tmp_path / "path")
    (tmp_path / "path" / "uv").write_text("#!/bin/sh\nexit 127\n")
    fake_uv(clone / ".uv" / "bin")
    done = run(clone, "pytest", path=f"{tmp_path / 'path'}{os.pathsep}/usr/bin:/bin")
    assert done.stdout.startswith("bin: run --project")


@pytest.mark.parametrize("has_pip", [True, False])
def test_without_uv_it_is_installed_once(clone: Path, monkeypatch: pytest.MonkeyPatch, has_pip: bool):
    """With the pip of this Python, because copying one takes longer than all the rest; else with its own."""
    monkeypatch.syspath_prepend(str(clone / "scripts"))
    monkeypatch.setenv("PATH", str(clone))
    monkeypatch.delitem(sys.modules, "run", raising=False)
    import run as script

    made: list[list[str]] = []

    def install(command: list[str], **_given: object) -> subprocess.CompletedProcess[str]:
        made.append(command[1:])
        if failed := "--python" in command and not has_pip:
            return subprocess.CompletedProcess(command, int(failed))
        fake_uv(clone / ".uv" / "bin")
        return subprocess.CompletedProcess(command, 0)

    copied: list[bool] = []
    monkeypatch.setattr(script.venv, "create", lambda *_given, **more: copied.append(more["with_pip"]))
    monkeypatch.setattr(script.subprocess, "run", install)
    assert script.uv() == str(clone / ".uv" / "bin" / "uv")
    assert script.uv() == str(clone / ".uv" / "bin" / "uv")
    install_uv = ["install", "--quiet", "uv"]
    first = ["-m", "pip", "--python", str(clone / ".uv" / "bin" / "python"), *install_uv]
    assert made == ([first] if has_pip else [first, ["-m", "pip", *install_uv]])
    assert copied == ([False] if has_pip else [False, True])


def test_without_a_command_it_says_how_it_is_used(clone: Path):
    done = run(clone)
    assert done.returncode == 2
    assert "scripts/run.py clew demo" in done.stderr
