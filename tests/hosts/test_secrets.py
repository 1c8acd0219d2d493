"""A session with a secret in every kind of field: nothing that clew writes, shows or answers holds it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from clew.cli import main
from clew.hosts import hook
from clew.hosts.session_notes import CurrentSession, log_failure
from clew.hosts.tools import NeedsConsent, SessionTools
from clew.log.store import SqliteStore
from clew.message import Role, text_message
from clew.session import Session

KEY = "sk-proj-abcD3fGhIjKlMnOpQrStUvWxYz0123456789ABCD"
PASSWORD = "h7Kq2vXw9zPq"
BOTH = f"password={PASSWORD} {KEY}"
RULE = f"Never print {BOTH} anywhere."
LONG = f"{'Rotate the credentials of the billing service, of its workers and of the cron jobs. ' * 2}{BOTH}"
"""Cut by clew in the middle of the secrets."""


def _records(cwd: str) -> Iterator[str]:
    """Yield the lines of a Claude Code session."""
    todo = {"content": LONG, "status": "pending", "activeForm": BOTH}
    failed = f"Error: login failed with {BOTH}\nFAILED tests/test_a.py::test_x - {BOTH}\n1 failed"
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("TodoWrite", {"todos": [todo]}, "ok"),
        ("Bash", {"command": f"PASSWORD={PASSWORD} pytest -k {KEY}", "description": BOTH}, failed),
        ("Write", {"file_path": f"{cwd}/{KEY}.py", "content": BOTH}, "ok"),
    ]
    turns: list[tuple[str, Any]] = [("user", f"Fix billing with {BOTH}. {RULE}")]
    for number, (name, given, result) in enumerate(calls):
        text = {"type": "text", "text": f"I decided to use {BOTH} here. TODO: rotate {BOTH} later."}
        call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
        turns += [("assistant", [text, call]), ("user", [answer | {"is_error": result is failed}])]
    turns += [("assistant", [{"type": "text", "text": f"Shall I push {BOTH}?"}]), ("user", f"Yes. {LONG}")]
    turns += [("assistant", [{"type": "thinking", "thinking": BOTH, "signature": ""}])]
    yield json.dumps({"type": "summary", "summary": f"Title {BOTH}", "leafUuid": "u1"})
    for number, (role, content) in enumerate(turns):
        message = {"id": f"msg{number}", "role": role, "model": f"claude-{KEY}", "content": content}
        place = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "sessionId": "s1"}
        about = {"cwd": cwd, "gitBranch": KEY, "timestamp": f"2026-11-01T10:{number:02}:00Z"}
        yield json.dumps({"type": role, **place, **about, "message": message}, separators=(",", ":"))


@pytest.fixture
def path(home: Path) -> Path:
    folder = home / ".claude" / "projects" / "-project"
    folder.mkdir(parents=True)
    path = folder / "s1.jsonl"
    path.write_text("\n".join(_records(str(home / f"proj-{KEY}"))) + "\n")
    return path


def shown(text: str) -> set[str]:
    """Return the planted secrets, or halves of them, that a text shows."""
    return {part for part in (KEY[:24], KEY[-16:], PASSWORD[:8]) if part in text}


def written(home: Path, but: Path) -> dict[str, set[str]]:
    """Return the files below a folder that hold a planted secret, and which."""
    files = (file for file in home.rglob("*") if file.is_file() and file != but)
    held = {str(file.relative_to(home)): shown(file.read_text("latin-1")) for file in files}
    return {name: found for name, found in held.items() if found}


def test_no_hook_and_no_note_of_one_shows_a_secret(path: Path, home: Path) -> None:
    def event(event_name: str, **more: Any) -> dict[str, Any]:
        own = {"session_id": "s1", "transcript_path": str(path), "cwd": "/project"}
        return {"hook_event_name": event_name, **own, **more}

    told = hook.answer("claude-code", event("PreCompact"))
    assert "[secret:" in told
    told += hook.answer("claude-code", event("SessionStart", source="compact"))
    told += hook.answer("claude-code", event("PostCompact", compact_summary="Nothing is kept."))
    told += hook.answer("pi", event("session_before_compact")) + hook.answer(
        "pi", event("tool", name="rules")
    )
    assert shown(told) == set()
    assert list((home / "clew" / "hosts" / "notes").glob("*.json"))
    assert written(home, path) == {}


def test_an_error_that_quotes_the_session_is_logged_without_its_secrets(home: Path) -> None:
    log_failure(f"hook claude-code: KeyError: 'Fix it with {BOTH}'")
    log = home / "clew" / "hosts" / "hook.log"
    assert "KeyError" in log.read_text()
    assert written(home, home) == {}


def test_no_tool_answers_with_a_secret_and_what_it_keeps_is_masked(path: Path, home: Path) -> None:
    tools = SessionTools("/project", CurrentSession("claude-code", "s1", path, "/project"))
    asked: list[tuple[str, dict[str, Any]]] = [
        ("recall", {"query": "billing password"}),
        ("expand", {"ref": "m1"}),
        ("rules", {}),
        ("pin", {"quote": f"Use {BOTH} always."}),
        ("remember", {"text": f"The key is {BOTH}."}),
        ("rules", {}),
        ("progress", {}),
        ("pin", {"quote": RULE, "remove": True}),
        ("rules", {}),
    ]
    told = ""
    for name, given in asked:
        told = tools.call(name, given, consent=True)
        with suppress(NeedsConsent):
            told += tools.call(name, given)
        try:
            tools.call(name, given)
        except NeedsConsent as question:
            told += str(question)
        assert shown(told) == set(), name
    assert "- removed:" in told
    assert '- [m1] "Never print' not in told, "the rule that was removed by its words is still listed"
    tools.close()
    assert written(home, path) == {}


COMMANDS = [
    ["sessions"],
    ["sessions", "--json"],
    ["import", "FILE"],
    ["show", "claude-code:s1", "--json"],
    ["rules", "claude-code:s1", "add", f"Never use {BOTH}."],
    ["rules", "claude-code:s1"],
    ["map", "FILE", "--json"],
    ["handoff", "FILE"],
    ["compact", "claude-code:s1", "--json", "--target", "600"],
    ["trace", "claude-code:s1"],
    ["recall", "billing"],
    ["export", "claude-code:s1", "-o", "session.clew.jsonl"],
]


def test_no_command_shows_or_writes_a_secret_of_any_field(
    path: Path, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    for words in COMMANDS:
        with suppress(SystemExit):
            main([str(path) if word == "FILE" else word for word in words])
        assert shown("".join(capsys.readouterr())) == set(), words
    assert (home / "session.clew.jsonl").exists()
    assert written(home, path) == {}


def test_no_event_of_a_session_holds_a_secret(home: Path) -> None:
    with SqliteStore(home / "log.db") as store, Session.open("s", store, window=20_000) as session:
        session.project = f"/srv/{KEY}"
        session.set_model(f"openai/{KEY}")
        session.add(text_message(Role.USER, f"Fix it with {BOTH}."), about={"password": PASSWORD})
        session.checkpoint(f"rotated {BOTH}")
        pin = session.pin(f"Use {BOTH}.")
        session.unpin(pin.id, why=BOTH)
        session.record("call", {"model": KEY, "stop": BOTH})
        session.add(text_message(Role.ASSISTANT, "Done. " + "word " * 900), text_message(Role.USER, "Go on."))
        session.compact(target_tokens=500, focus=BOTH, reason=BOTH, forced=True)
        held = [stored.event for stored in session.events() if shown(repr(stored))]
        assert held == []
        about = sum(
            "model" in stored.event.body for stored in session.events() if stored.event.kind == "about"
        )
        assert about == 1, "the masked model is taken for another one"
    assert written(home, home) == {}
