"""The commands: a page for this computer, or a file."""

from __future__ import annotations

import argparse
import html
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from clew.cli import main
from clew.cli.arguments.apps import add_server
from clew.cli.inspect import chat_model
from clew.inspector.app import TOKEN
from clew.inspector.server import Server
from tests.cli.homes import CLAUDE, make_home
from tests.conftest import ROOT
from tests.inspector.house import House


@contextmanager
def started(
    command: list[str], environment: Mapping[str, str] = os.environ
) -> Iterator[subprocess.Popen[str]]:
    """Start a command, and kill it if the test fails: leaving ``Popen`` waits for its end."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


EXAMPLE = ROOT / "examples" / "sphinx-9229.traj.json.zst"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_the_page_is_there_for_whoever_has_the_address(home: Path):
    command = [sys.executable, "-m", "clew", "inspect", str(EXAMPLE), "--no-browser"]
    with started(command) as process:
        assert process.stdout
        address = process.stdout.readline().strip()
        front, _, token = address.partition("#token=")
        with urllib.request.urlopen(front, timeout=60) as answer:
            assert b"/static/app.js" in answer.read()
        about = urllib.request.Request(f"{front}api/about", headers={TOKEN: token.partition("/")[0]})
        with urllib.request.urlopen(about, timeout=60) as answer:
            assert json.load(answer)["note"].startswith(f"This is a copy of {EXAMPLE.name}")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{front}api/about", timeout=60)
        refused.value.close()
        assert refused.value.code == 403
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert not home.exists()  # a file is only looked at


def test_a_story_is_written_without_a_server(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    story = tmp_path / "story.html"
    assert main(["inspect", str(EXAMPLE), "--export", str(story)]) == 0
    assert capsys.readouterr().out == f"{story}: {story.stat().st_size:,} bytes, one file, no server needed\n"
    assert 'id="m286"' in story.read_text(encoding="utf-8")


def test_an_export_without_a_session_says_what_to_do(home: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["import", str(EXAMPLE)]) == 0
    assert main(["inspect", "--export", "story.html"]) == 2
    assert "use: clew inspect SESSION --export PATH" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["inspect", "--no-browser"], ["serve"]], ids=["inspect", "serve"])
def test_without_a_log_the_sessions_of_this_computer_are_served(
    home: Path, tmp_path: Path, command: list[str]
):
    environment = {**os.environ, "HOME": str(make_home(tmp_path / "user")), "CODEX_HOME": ""}
    with started([sys.executable, "-m", "clew", *command], environment) as process:
        assert process.stdout
        front, _, token = process.stdout.readline().strip().partition("#token=")
        listing = urllib.request.Request(f"{front}api/computer", headers={TOKEN: token.partition("/")[0]})
        with urllib.request.urlopen(listing, timeout=60) as answer:
            rows = json.load(answer)["sessions"]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert rows[0]["name"] == f"claude-code:{CLAUDE}"
    assert not (home / "clew.db").exists()  # nothing is imported


def test_a_port_that_is_taken_is_said(home: Path, house: House, capsys: pytest.CaptureFixture[str]):
    server = Server.bind(house.pool)
    port = server.socket.getsockname()[1]
    assert main(["inspect", str(EXAMPLE), "--no-browser", "--port", str(port)]) == 2
    assert f"port {port} of 127.0.0.1 is not available" in capsys.readouterr().err
    server.socket.close()


BROWSER = """#!{python}
import pathlib, stat, sys, urllib.parse, urllib.request
(given,) = sys.argv[1:]
leads = pathlib.Path(urllib.request.url2pathname(urllib.parse.urlsplit(given).path))
print(given, oct(stat.S_IMODE(leads.stat().st_mode)), leads.read_text(), sep="\\n", file=open({told!r}, "w"))
"""


def test_the_token_is_not_in_the_command_line_of_the_browser(home: Path, tmp_path: Path):
    told, browser = tmp_path / "told", tmp_path / "browser"
    browser.write_text(BROWSER.format(python=sys.executable, told=str(told)))
    browser.chmod(0o700)
    command = [sys.executable, "-m", "clew", "inspect", str(EXAMPLE)]
    env = {**os.environ, "BROWSER": str(browser)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    ) as process:
        assert process.stdout
        address = process.stdout.readline().strip()
        front = address.partition("#")[0]
        with urllib.request.urlopen(front, timeout=60):  # the browser has ended: the server answers after it
            given, mode, page = told.read_text().split("\n", 2)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    token = address.partition("#token=")[2].partition("/")[0]
    assert (given.startswith("file:///"), token in given, mode) == (True, False, "0o600")
    assert html.escape(address) in page
    assert not Path(urllib.parse.urlsplit(given).path).exists()


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("--offline", "clew/offline"),
        ("--offline --chat gpt-5", "clew/offline"),
        ("--chat offline", "clew/offline"),
        ("--chat clew/offline", "clew/offline"),
        ("--chat gpt-5", "openai/gpt-5"),
        ("", "anthropic/claude-of-the-settings"),
    ],
)
def test_who_answers_in_the_chat(home: Path, monkeypatch: pytest.MonkeyPatch, line: str, name: str):
    monkeypatch.setenv("CLEW_MODEL", "claude-of-the-settings")
    parser = argparse.ArgumentParser()
    add_server(parser)
    assert chat_model(parser.parse_args(line.split())) == name
