"""What the hook answers to pi, opencode and Gemini CLI, without these programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.cli import main
from clew.errors import NotFound
from clew.hosts import doctor, hook
from clew.hosts.session_notes import SessionNote, current_session, newest_note, read_note, write_note
from clew.transcripts.discover import Computer

RULE = "Never touch the files under legacy/."


def pi_session(path: Path, *turns: tuple[str, str]) -> Path:
    lines: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": "p1", "cwd": "/project", "timestamp": "2026-11-01T10:00:00Z"}
    ]
    for number, (role, text) in enumerate(turns):
        message = {
            "role": role,
            "content": [{"type": "text", "text": text}],
            "timestamp": 1_793_000_000_000 + number,
        }
        parent = f"e{number - 1}" if number else None
        lines.append(
            {
                "type": "message",
                "id": f"e{number}",
                "parentId": parent,
                "timestamp": "2026-11-01T10:00:00Z",
                "message": message,
            }
        )
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def test_pi_gets_a_digest_with_the_rules_word_for_word(home: Path) -> None:
    work = [("user", f"Part {n}: {'look at this file and tell me what it does. ' * 20}") for n in range(60)]
    path = pi_session(home / "p1.jsonl", ("user", f"Fix the parser. {RULE}"), ("assistant", "Yes."), *work)
    event = {"hook_event_name": "session_before_compact", "session_id": "p1", "transcript_path": str(path)}
    said = json.loads(hook.answer("pi", event))
    assert "<clew-digest" in said["summary"]
    assert f'- "{RULE}"' in said["summary"]
    assert len(said["summary"]) < path.stat().st_size / 3


def test_a_short_session_of_pi_is_kept_word_for_word(home: Path) -> None:
    path = pi_session(
        home / "p1.jsonl", ("user", f"Fix it. {RULE}"), ("assistant", "Done: the port is 8123.")
    )
    event = {"hook_event_name": "session_before_compact", "session_id": "p1", "transcript_path": str(path)}
    summary = json.loads(hook.answer("pi", event))["summary"]
    assert RULE in summary
    assert "the port is 8123" in summary


def test_tools_of_an_extension_are_answered(home: Path) -> None:
    path = pi_session(home / "p1.jsonl", ("user", f"Fix it. {RULE}"), ("assistant", "The port is 8123."))
    own = {"hook_event_name": "tool", "session_id": "p1", "transcript_path": str(path), "cwd": "/project"}

    def call(name: str, **given: object) -> str:
        return str(json.loads(hook.answer("pi", {**own, "name": name, "arguments": given}))["text"])

    assert "m2 assistant: The port is 8123." in call("recall", query="which port")
    assert RULE in call("rules")
    assert "unknown tool" in call("nope")
    assert "query is missing" in call("recall")


def exported(*turns: tuple[str, str]) -> dict[str, Any]:
    messages = [
        {
            "info": {
                "id": f"msg_{n:03}",
                "sessionID": "ses_1",
                "role": role,
                "time": {"created": 1_793_000_000_000 + n},
            },
            "parts": [
                {
                    "id": f"prt_{n:03}",
                    "sessionID": "ses_1",
                    "messageID": f"msg_{n:03}",
                    "type": "text",
                    "text": text,
                }
            ],
        }
        for n, (role, text) in enumerate(turns)
    ]
    return {"info": {"id": "ses_1", "directory": "/project", "projectID": ""}, "messages": messages}


def test_opencode_gets_what_to_keep_and_what_to_show_from_then_on(home: Path) -> None:
    own = {"session_id": "ses_1", "cwd": "/project"}
    assert json.loads(hook.answer("opencode", {**own, "hook_event_name": "resumed"})) == {"reminder": ""}
    all_ = exported(("user", f"Fix the parser. {RULE}"), ("assistant", "Done."))
    said = json.loads(hook.answer("opencode", {**own, "hook_event_name": "compacting", "export": all_}))
    assert f'"{RULE}"' in said["context"]
    assert f'"{RULE}"' in said["reminder"]
    again = json.loads(hook.answer("opencode", {**own, "hook_event_name": "resumed"}))
    assert again == {"reminder": said["reminder"]}


def gemini_session(path: Path, tokens: int) -> Path:
    head = {"sessionId": "g1", "projectHash": "h", "startTime": "2026-11-01T10:00:00Z", "kind": "main"}
    user = {
        "id": "1",
        "timestamp": "2026-11-01T10:00:01Z",
        "type": "user",
        "content": [{"text": f"Fix it. {RULE}"}],
    }
    model = {
        "id": "2",
        "timestamp": "2026-11-01T10:00:02Z",
        "type": "gemini",
        "content": "OK.",
        "tokens": {"input": tokens},
    }
    path.write_text("".join(f"{json.dumps(one, separators=(',', ':'))}\n" for one in (head, user, model)))
    return path


@pytest.mark.parametrize(("tokens", "comes"), [(500_000, False), (530_000, True)])
def test_gemini_gets_the_rules_with_the_prompt_that_brings_a_compression(
    home: Path, tokens: int, comes: bool
) -> None:
    path = gemini_session(home / "session-g1.jsonl", tokens)
    own = {"session_id": "g1", "transcript_path": str(path), "cwd": "/project"}
    assert hook.answer("gemini", {**own, "hook_event_name": "PreCompress", "trigger": "auto"}) == ""
    answer = hook.answer("gemini", {**own, "hook_event_name": "BeforeAgent", "prompt": "go on"})
    assert (RULE in answer) is comes


def test_gemini_gets_them_once_after_a_compression_that_was_asked_for(home: Path) -> None:
    own = {
        "session_id": "g1",
        "transcript_path": str(gemini_session(home / "session-g1.jsonl", 10)),
        "cwd": "/project",
    }
    hook.answer("gemini", {**own, "hook_event_name": "PreCompress", "trigger": "manual"})
    prompt = {**own, "hook_event_name": "BeforeAgent", "prompt": "go on"}
    assert RULE in hook.answer("gemini", prompt)
    assert hook.answer("gemini", prompt) == ""


def test_a_rule_that_a_person_took_off_is_not_put_back(session: Callable[..., Path]) -> None:
    path = session(
        ("user", "Fix the parser."), ("assistant", "Yes."), ("user", RULE), ("assistant", "Noted.")
    )
    note = SessionNote(
        "claude-code", "s1", str(path), "/project", taken_off=(RULE.upper(),), pinned=("Use tabs.",)
    )
    write_note(note)
    own = {"session_id": "s1", "transcript_path": str(path), "cwd": "/project"}
    text = hook.answer("claude-code", {**own, "hook_event_name": "PreCompact"})
    assert RULE not in text
    assert '"Use tabs."' in text


def test_the_session_that_was_written_to_last_is_the_current_one(
    session: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = session(("user", "One."), name="one")
    second = session(("user", "Two."), name="two")
    write_note(SessionNote("claude-code", "two", str(second), "/project", host_pid=1))
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "one")
    os.utime(first, (2_000_000_000, 2_000_000_000))
    assert current_session("/project").session == "one"
    os.utime(second, (2_000_000_100, 2_000_000_100))
    assert current_session("/project").session == "two"
    assert newest_note("/elsewhere", 1) is None


def test_a_session_id_is_not_a_file_pattern(
    session: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    session(("user", "One."), name="one")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "*")
    with pytest.raises(NotFound):
        current_session("/elsewhere")


def test_a_note_that_is_damaged_is_as_good_as_none(home: Path) -> None:
    write_note(SessionNote("codex", "x", pinned=("a",)))
    (path,) = (home / "clew" / "hosts" / "notes").iterdir()
    for text in ("", "[]", '{"tool": 1, "pinned": 7}', "{"):
        path.write_text(text)
        assert read_note("codex", "x").session == "x"


def test_doctor_says_what_is_missing(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as only_pi:
        only_pi.setattr("clew.hosts.doctor.shutil.which", lambda name: "/bin/pi" if name == "pi" else None)
        assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "the command `codex` was not found; its sessions can be read without it" in said
    assert "clew is not installed in it: `clew install pi`" in said
    main(["install", "claude-code"])
    capsys.readouterr()
    assert main(["doctor"]) == 0
    assert "✓ claude-code  installed; tested with" in capsys.readouterr().out
    (home / ".claude" / "skills" / "clew" / "hooks" / "hooks.json").unlink()
    assert main(["doctor", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert any(one["host"] == "claude-code" and "incomplete" in one["text"] for one in found)


CODEX_KEYS = ("pre_compact", "session_start")
"""How Codex names the events in the keys of its trusted hooks."""


def test_doctor_sees_whether_codex_trusts_each_hook(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = home / "codex"
    program.write_text("#!/bin/sh\nprintf 'codex 1.0 \\377\\n'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(home), prepend=os.pathsep)
    main(["install", "codex"])
    config = home / ".codex" / "config.toml"
    for key in CODEX_KEYS:
        found = [one.text for one in doctor.examine(Computer()) if one.host == "codex"]
        assert any("installed is codex 1.0 \ufffd" in text for text in found)
        assert "its hooks are not trusted yet: open /hooks in Codex once" in found
        trusted = f'[hooks.state."hooks.json:{key}:0:0"]\ntrusted_hash = "a"\n\n'
        config.write_bytes(trusted.encode() + config.read_bytes())
    assert not any("not trusted" in one.text for one in doctor.examine(Computer()))


def test_doctor_reports_a_file_that_is_not_utf_8_and_goes_on(home: Path) -> None:
    main(["install", "codex"])
    config = home / ".codex" / "config.toml"
    config.write_bytes(config.read_bytes() + b"# caf\xe9\n")
    found = list(doctor.examine(Computer()))
    assert any(one.host == "codex" and "config.toml is not TOML" in one.text for one in found)
    assert found[-1].host == "mcp"


def test_doctor_shows_the_error_of_a_hook_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = [sys.executable, "-c", "import sys; sys.exit('no módulo')"]
    monkeypatch.setattr(doctor, "command", lambda: broken)
    last = [one for one in doctor.examine(Computer()) if one.host == "mcp"][-1]
    assert last.text == "`clew mcp` failed: no módulo"
