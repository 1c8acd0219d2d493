"""The commands: a page for this computer, or a file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from clew.cli import main
from clew.inspector.server import Server
from tests.conftest import ROOT
from tests.inspector.house import House

EXAMPLE = ROOT / "examples" / "sphinx-9229.traj.json.zst"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_the_page_is_there_for_whoever_has_the_address(home: Path):
    command = [sys.executable, "-m", "clew", "inspect", str(EXAMPLE), "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        assert process.stdout
        address = process.stdout.readline().strip()
        with urllib.request.urlopen(address.partition("#")[0], timeout=20) as answer:
            assert b"/static/app.js" in answer.read()
            cookie = answer.headers["set-cookie"].partition(";")[0]
        about = urllib.request.Request(f"{address.partition('?')[0]}api/about", headers={"cookie": cookie})
        with urllib.request.urlopen(about, timeout=20) as answer:
            assert json.load(answer)["note"].startswith(f"This is a copy of {EXAMPLE.name}")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(address.partition("?")[0], timeout=20)
        refused.value.close()
        assert refused.value.code == 403
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    assert not home.exists()  # a file is only looked at


def test_a_story_is_written_without_a_server(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    story = tmp_path / "story.html"
    assert main(["inspect", str(EXAMPLE), "--export", str(story)]) == 0
    assert capsys.readouterr().out == f"{story}: {story.stat().st_size:,} bytes, one file, no server needed\n"
    assert 'id="m286"' in story.read_text(encoding="utf-8")


def test_an_export_without_a_session_says_what_to_do(home: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["import", str(EXAMPLE)]) == 0
    assert main(["inspect", "--export", "story.html"]) == 2
    assert "name it: clew inspect SESSION --export PATH" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["inspect", "serve"])
def test_a_log_without_sessions_says_what_to_do(home: Path, capsys: pytest.CaptureFixture[str], command: str):
    assert main([command]) == 2
    assert "clew's log has no sessions yet" in capsys.readouterr().err


def test_a_port_that_is_taken_is_said(home: Path, house: House, capsys: pytest.CaptureFixture[str]):
    server = Server.bind(house.shelf)
    port = server.socket.getsockname()[1]
    assert main(["inspect", str(EXAMPLE), "--no-browser", "--port", str(port)]) == 2
    assert f"port {port} of 127.0.0.1 cannot be had" in capsys.readouterr().err
    server.socket.close()
