"""A home folder as agent tools leave it: sessions of Claude Code, Codex, Copilot CLI and opencode."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from clew.cli import main
from tests.transcripts.claude_lines import Lines

CLAUDE = "3f2a9c10-1111-4222-8333-444455556666"
CODEX = "019d7372-a0bb-72c0-847d-5e4439ef5efd"
COPILOT = "70b173ed-7b83-485a-b71a-5adb0591db07"
OPENCODE = "ses_20b57e9a4ffezfCGMGhuR8Hci7"
RULE = "Never modify files under legacy/."
MODEL = "claude-sonnet-4-5"
BEGIN = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
HOUR = 3600
MOVED = ("CLEW_HOME", "CLEW_STORE", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME")
"""Variables that would lead a tool, or clew, out of the home folder."""
GOLDEN = Path(__file__).parent / "golden"


def is_golden(name: str, text: str) -> bool:
    """Return True if a text is what the golden file holds; CLEW_WRITE_GOLDEN=1 writes it there instead."""
    path = GOLDEN / name
    if os.environ.get("CLEW_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8") == text


def claude_session() -> Lines:
    """Return a session of 60 calls with one compaction, whose summary forgot the rule and most values."""
    file = Lines(CLAUDE)
    clock = (BEGIN + timedelta(seconds=20 * n) for n in range(1000))

    def at() -> dict[str, str]:
        return {"timestamp": next(clock).strftime("%Y-%m-%dT%H:%M:%S.000Z"), "cwd": "/home/me/shop"}

    def call(
        n: int, name: str, given: dict[str, object], output: str, seen: int, *, error: bool = False
    ) -> None:
        block = {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": given}
        message = {
            "id": f"msg_{n}",
            "role": "assistant",
            "model": MODEL,
            "content": [block],
            "usage": {
                "input_tokens": 5,
                "cache_read_input_tokens": seen,
                "cache_creation_input_tokens": 2600,
                "output_tokens": 90,
            },
        }
        file.add("assistant", message=message, **at())
        file.answers(f"toolu_{n}", output, error, **at())

    file.user(f"Fix the price parser of the shop. {RULE} The staging server listens on port 8123.", **at())
    todo = [
        {"content": "Find where prices are parsed", "status": "completed"},
        {"content": "Round half up in the tax table", "status": "in_progress"},
        {"content": "Document the rounding rule in docs/prices.md", "status": "pending"},
    ]
    call(0, "TodoWrite", {"todos": todo}, "ok", 12_000)
    for n in range(1, 40):
        rows = "\n".join(f"rate_{n}_{i} = Decimal('{n}.{i:02}')  # table {n}, row {i}" for i in range(60))
        call(n, "Read", {"file_path": f"/home/me/shop/rates_{n}.py"}, rows, 12_000 + 2600 * n)
    edit = {
        "file_path": "/home/me/shop/tax_table.py",
        "old_string": "ROUND_DOWN",
        "new_string": "ROUND_HALF_UP",
    }
    call(40, "Edit", edit, "edited", 116_000)
    failed = "FAILED tests/test_tax.py::test_half: rate_17_42 is 17.4\n1 failed, 30 passed"
    call(41, "Bash", {"command": "pytest tests"}, failed, 118_000, error=True)
    file.says(
        "The failure comes from rate_17_42 in rates_17.py: its scale is wrong.", "msg_42", model=MODEL, **at()
    )
    boundary = {"trigger": "auto", "preTokens": 121_000, "postTokens": 1_200}
    file.add("system", parent=None, subtype="compact_boundary", compactMetadata=boundary, **at())
    summary = (
        "This session is being continued. Summary: the user wants the price parser of the shop fixed. "
        "Rates were read; rounding was changed in shop/tax_table.py; one test fails.\n"
        + "\n".join(
            f"{n}. The agent read the rate table number {n} and found nothing odd." for n in range(1, 40)
        )
    )
    file.user(summary, isCompactSummary=True, **at())
    file.user("Go on, and check it on the staging server.", **at())
    fix = {"file_path": "/home/me/shop/rates_17.py", "old_string": "a", "new_string": "b"}
    call(50, "Edit", fix, "edited", 16_000)
    call(51, "Bash", {"command": "curl localhost:8123/prices?row=rate_17_42"}, "17.42", 18_600)
    for n in range(52, 58):
        call(n, "Bash", {"command": f"pytest tests -k part_{n}"}, f"{n} passed", 16_000 + 2600 * (n - 50))
    file.says("All tests pass on the staging server.", "msg_60", model=MODEL, **at())
    return file


def codex_session() -> list[dict[str, object]]:
    """Return a short rollout with one compaction that kept what the user said."""

    def item(payload: dict[str, object]) -> dict[str, object]:
        return {"timestamp": "2026-11-01T08:00:00.000Z", "type": "response_item", "payload": payload}

    def user(text: str) -> dict[str, object]:
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}

    meta = {"id": CODEX, "cwd": "/home/me/bridge", "timestamp": "2026-11-01T08:00:00.000Z"}
    compacted = {"message": "The list is grouped.", "replacement_history": [user("Group the tool calls")]}
    return [
        {"timestamp": "2026-11-01T08:00:00.000Z", "type": "session_meta", "payload": meta},
        item(user("Group the tool calls")),
        item({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}),
        {"timestamp": "2026-11-01T08:10:00.000Z", "type": "compacted", "payload": compacted},
        item(user("Now sort them by time")),
    ]


def copilot_session() -> list[dict[str, object]]:
    """Return a session of two events."""

    def event(kind: str, n: int, **data: object) -> dict[str, object]:
        return {
            "type": kind,
            "id": f"e{n}",
            "parentId": None,
            "timestamp": "2026-10-31T08:00:00Z",
            "data": data,
        }

    start = event("session.start", 1, sessionId=COPILOT, context={"cwd": "/home/me/starcar"})
    return [start, event("user.message", 2, content="pick up where we left off")]


@dataclass(frozen=True)
class Home:
    """A home folder, and clew run inside it, in this process."""

    path: Path
    run: Callable[..., str]
    """Return what a command prints; ``columns`` sets the width, ``status`` what must come back."""


def make_home(path: Path) -> Path:
    """Write four sessions into a home folder, each of another age."""
    claude = path / ".claude/projects/-home-me-shop" / f"{CLAUDE}.jsonl"
    _write(claude, claude_session().records, 2 * HOUR)
    codex = path / ".codex/sessions/2026/11/01" / f"rollout-2026-11-01T08-00-00-{CODEX}.jsonl"
    _write(codex, codex_session(), 26 * HOUR)
    _write(path / ".copilot/session-state" / COPILOT / "events.jsonl", copilot_session(), 72 * HOUR)
    _opencode(path / ".local/share/opencode/opencode.db", 96 * HOUR)
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Home:
    """Return a home with four sessions."""
    path = make_home(tmp_path / "home")
    for name in MOVED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(path))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(path)

    def run(*args: str, columns: int = 80, status: int = 0) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        capsys.readouterr()
        assert main(args) == status, capsys.readouterr().err
        done = capsys.readouterr()
        return done.out if status == 0 else done.err

    return Home(path, run)


def _write(path: Path, records: list[dict[str, object]], age: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    os.utime(path, (time.time() - age,) * 2)


def _opencode(path: Path, age: float) -> None:
    path.parent.mkdir(parents=True)
    updated = int((time.time() - age) * 1000)
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE session (id, project_id, parent_id, directory, title, time_created, time_updated)"
        )
        db.execute("CREATE TABLE message (id, session_id, time_created, data)")
        db.execute("CREATE TABLE part (id, message_id, session_id, data)")
        for n, name in enumerate((OPENCODE, "ses_31a4b9127ffeWeR4XnP70FhbEV")):
            row = (name, "p", None, "/home/me/nimbus", f"Reports, part {n}", updated, updated - n * 3_600_000)
            db.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            db.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (f"m{n}", name, 1, '{"role": "user"}'))
            part = json.dumps({"type": "text", "text": f"show report {n}"})
            db.execute("INSERT INTO part VALUES (?, ?, ?, ?)", (f"p{n}", f"m{n}", name, part))
    db.close()
