"""``clew config``."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run, clew

__all__ = ["clew"]


def test_it_prints_every_value_with_its_origin(clew: Run, tmp_path: Path) -> None:
    (tmp_path / "clew.toml").write_text("window = 32_000\n")
    found = json.loads(clew("config", "--json", CLEW_AUTO="yes").stdout)
    assert found["window"] == {"value": 32_000, "origin": f"{tmp_path / 'clew.toml'}:1"}
    assert found["auto"] == {"value": True, "origin": "CLEW_AUTO"}
    assert found["preset"] == {"value": "default", "origin": "default"}


def test_people_read_one_line_per_setting(clew: Run, tmp_path: Path) -> None:
    (tmp_path / "clew.toml").write_text("window = 32_000\n")
    lines = clew("config").stdout.splitlines()
    assert any(line.split()[:2] == ["window", "32,000"] for line in lines)
    assert any(line.startswith("mask_secrets") and "yes" in line for line in lines)


def test_a_mistake_is_one_line_that_says_where(clew: Run, tmp_path: Path) -> None:
    (tmp_path / "clew.toml").write_text("windw = 3\n")
    done = clew("config")
    assert done.returncode == 2
    assert (
        done.stderr
        == f"clew: {tmp_path / 'clew.toml'}:1: there is no setting 'windw'; did you mean window?\n"
    )


def test_what_a_project_may_not_decide_is_warned_of(clew: Run, tmp_path: Path) -> None:
    home = tmp_path / "own"
    home.mkdir()
    (home / "clew.toml").write_text("offline = true\n")
    (tmp_path / "clew.toml").write_text("model = 'openai/gpt-5'\nauto = true\n")
    done = clew("config", "--json", CLEW_HOME=str(home))
    found = json.loads(done.stdout)
    assert (found["model"]["value"], found["auto"]["value"]) == ("", True)
    assert "clew.toml:1: model is ignored: your own settings choose the model" in done.stderr
