from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Turn = tuple[str, str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A computer with nothing on it, on which clew keeps its files apart."""
    for name in (
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "PI_CODING_AGENT_DIR",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in ("CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR", "CLEW_HOOK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "clew"))
    return tmp_path


@pytest.fixture
def session(home: Path) -> Callable[..., Path]:
    """Write a session as Claude Code does; turns are pairs of who spoke and what."""

    def write(*turns: Turn, name: str = "s1", cwd: str = "/project") -> Path:
        path = home / ".claude" / "projects" / "-project" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines, parent = [], None
        for number, (who, text) in enumerate(turns):
            record = _record(who, text, number)
            place = {"parentUuid": parent, "uuid": f"u{number}", "sessionId": name, "cwd": cwd}
            lines.append(
                json.dumps(
                    {**place, "timestamp": f"2026-11-01T10:{number % 60:02}:00Z", **record},
                    separators=(",", ":"),
                )
            )
            parent = f"u{number}"
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def _record(who: str, text: str, number: int) -> dict[str, Any]:
    if who == "user":
        return {"type": "user", "message": {"role": "user", "content": text}}
    if who == "result":
        content = [{"type": "tool_result", "tool_use_id": f"t{number - 1}", "content": text}]
        return {"type": "user", "message": {"role": "user", "content": content}}
    block: dict[str, Any] = {"type": "text", "text": text}
    if who == "call":
        block = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": text}}
    message = {"id": f"msg{number}", "role": "assistant", "model": "claude", "content": [block]}
    return {"type": "assistant", "message": message}
