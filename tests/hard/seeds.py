"""Small sound inputs of every kind that clew reads: what fuzzing and mutation start from."""

from __future__ import annotations

import io
import json
import sqlite3
from pathlib import Path

from clew.compaction.plan import Claim, ClaimKind, Digest, RuleQuote
from clew.compaction.plan.render import render_digest
from clew.log import export_session, message_event
from clew.log.protocol import Ctx
from clew.log.store import MemoryStore
from clew.message import Cite, Role, Trust, text_message
from clew.session.handoff_headings import Handoff, render_handoff

FIXTURES = Path(__file__).parents[1] / "fixtures" / "transcripts"


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def claude_code() -> bytes:
    def record(kind, uuid, parent, content, **more):
        message = {"role": kind, "content": content, "id": f"msg-{uuid}"}
        return {
            "type": kind,
            "uuid": uuid,
            "parentUuid": parent,
            "sessionId": "s",
            "message": message,
            **more,
        }

    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "a.py", "is_error": False}
    typed = "<system-reminder>be brief</system-reminder>fix it <command-args>x</command-args>"
    return lines(
        {"type": "summary", "leafUuid": "u1", "summary": "A title"},
        record("user", "u1", None, typed),
        record("assistant", "a1", "u1", [{"type": "thinking", "thinking": "hm", "signature": "s"}]),
        record("assistant", "a2", "a1", [call]),
        record("user", "u2", "a2", [answer], toolUseResult={"stdout": "a.py"}),
        {"type": "queue-operation", "operation": "enqueue", "content": "wait", "sessionId": "s"},
        {"type": "system", "subtype": "compact_boundary", "uuid": "b1", "parentUuid": None, "sessionId": "s"},
        record("user", "u3", "b1", "This session is being continued", isCompactSummary=True),
        record("user", "u4", "u1", "side", isSidechain=True, agentId="ag"),
    )


def codex() -> bytes:
    def item(**payload):
        return {"timestamp": "t", "type": "response_item", "payload": payload}

    words = [{"type": "input_text", "text": "<environment_context>x</environment_context>"}]
    return lines(
        {"timestamp": "t", "type": "session_meta", "payload": {"id": "t1", "cwd": "/p"}},
        item(type="message", role="user", content=words),
        item(type="reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="x"),
        item(type="function_call", call_id="c", name="shell", arguments='{"command": ["ls"]}'),
        item(
            type="function_call_output", call_id="c", output='{"output": "a", "metadata": {"exit_code": 0}}'
        ),
        {"timestamp": "t", "type": "compacted", "payload": {"message": "so far"}},
        {"timestamp": "t", "type": "event_msg", "payload": {"type": "token_count", "info": {}}},
    )


def copilot() -> bytes:
    def event(kind, event_id, **data):
        return {"type": kind, "id": event_id, "parentId": None, "timestamp": "t", "data": data}

    call = {"toolCallId": "c", "name": "bash", "arguments": {"command": "ls"}}
    return lines(
        event("session.start", "e0", sessionId="s", context={"cwd": "/p"}),
        event("user.message", "e1", content="fix it", transformedContent="<x>fix it</x>"),
        event("assistant.message", "e2", content="I look.", toolRequests=[call], messageId="m"),
        event("tool.execution_complete", "e3", toolCallId="c", success=True, result={"content": "a.py"}),
        event("session.compaction_complete", "e4", summaryContent="so far", success=True),
    )


def qwen() -> bytes:
    def record(kind, uuid, parent, *parts):
        message = {"role": "model" if kind == "assistant" else "user", "parts": list(parts)}
        return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message}

    call = {"functionCall": {"id": "c1", "name": "ls", "args": {}}}
    answer = {"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a"}}}
    return lines(
        record("user", "u1", None, {"text": "fix it"}),
        record("assistant", "a1", "u1", {"text": "Reading."}, call),
        record("tool_result", "t1", "a1", answer),
    )


def _database(script: str, *rows: tuple[str, tuple[object, ...]]) -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.executescript(f"PRAGMA page_size = 512; {script}")
    for table, row in rows:
        connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    connection.commit()
    return connection.serialize()


def goose() -> bytes:
    call = {"status": "success", "value": {"name": "shell", "arguments": {"command": "ls"}}}
    answer = {"status": "success", "value": [{"type": "text", "text": "a"}]}
    told = (
        ("user", [{"type": "text", "text": "hi"}]),
        ("assistant", [{"type": "toolRequest", "id": "c", "toolCall": call}]),
        ("user", [{"type": "toolResponse", "id": "c", "toolResult": answer}]),
    )
    return _database(
        "CREATE TABLE sessions (id TEXT, name TEXT, working_dir TEXT, created_at TEXT);"
        "CREATE TABLE messages (id INTEGER, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT,"
        " created_timestamp INTEGER, metadata_json TEXT)",
        ("sessions", ("s", "A name", "/p", "2026-01-01")),
        *(
            ("messages", (i, f"m{i}", "s", who, json.dumps(said), 1, "{}"))
            for i, (who, said) in enumerate(told)
        ),
    )


def crush() -> bytes:
    told = (
        ("user", [{"type": "text", "data": {"text": "hi"}}]),
        ("assistant", [{"type": "tool_call", "data": {"id": "c", "name": "bash", "input": "{}"}}]),
        ("tool", [{"type": "tool_result", "data": {"tool_call_id": "c", "content": "a"}}]),
    )
    return _database(
        "CREATE TABLE sessions (id TEXT, message_count INTEGER, created_at INTEGER, summary_message_id TEXT);"
        "CREATE TABLE messages (id TEXT, session_id TEXT, role TEXT, parts TEXT, created_at INTEGER)",
        ("sessions", ("s", 3, 1, None)),
        *(("messages", (f"m{i}", "s", who, json.dumps(said), i)) for i, (who, said) in enumerate(told)),
    )


def opencode() -> bytes:
    tool = {"type": "tool", "callID": "c", "tool": "bash", "state": {"status": "completed", "output": "a"}}
    return _database(
        "CREATE TABLE session (id TEXT, project_id TEXT, directory TEXT, time_created INTEGER, revert TEXT,"
        " model TEXT);"
        "CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);"
        "CREATE TABLE part (id TEXT, message_id TEXT, data TEXT);"
        "CREATE TABLE session_message (id TEXT, session_id TEXT, type TEXT, seq INTEGER, data TEXT)",
        ("session", ("s", "p", "/p", 1, None, "{}")),
        ("message", ("m1", "s", 1, json.dumps({"role": "user"}))),
        ("part", ("p1", "m1", json.dumps({"type": "text", "text": "hi"}))),
        ("message", ("m2", "s", 2, json.dumps({"role": "assistant"}))),
        ("part", ("p2", "m2", json.dumps(tool))),
        ("session_message", ("e1", "s", "user", 1, json.dumps({"text": "hi"}))),
    )


def digest() -> Digest:
    claim = Claim("d1.1", ClaimKind.FACT, "the port is 8080", (Cite("m2"),), Trust.UNTRUSTED)
    pin = RuleQuote("p1", "Never touch legacy/.", Cite("m1"), Trust.USER)
    return Digest("d1", 1, ("m1", "m2"), "abc", (claim,), (pin,))


def export() -> bytes:
    store, ctx, file = MemoryStore(), Ctx(workspace="w", session="s"), io.BytesIO()
    store.append(
        ctx,
        [message_event(text_message(Role.USER, "hi")), message_event(text_message(Role.ASSISTANT, "yes"))],
        None,
    )
    export_session(store, ctx, file)
    return file.getvalue()


def of_readers() -> dict[str, list[bytes]]:
    """Return sound sessions by the name of their format."""
    found: dict[str, list[bytes]] = {}
    for path in sorted(FIXTURES.iterdir()):
        if path.name != "README.md":
            found.setdefault(path.name.split(".")[0], []).append(path.read_bytes())
    made = {"claude-code": claude_code, "codex": codex, "copilot-cli": copilot, "qwen-code": qwen}
    made |= {"goose": goose, "crush": crush, "opencode": opencode}
    for name, make in made.items():
        found.setdefault(name, []).append(make())
    return found


def of_parsers() -> dict[str, list[bytes]]:
    """Return sound inputs of everything else that reads text of others."""
    lists = [path.read_bytes() for path in FIXTURES.glob("*.json") if path.stem in _WIRES]
    return {
        "digest": [render_digest(digest()).encode()],
        "handoff": [render_handoff(Handoff(("Refactor billing.",), pending_tasks=("a\n\n- b",))).encode()],
        "import": [export()],
        "check": lists,
        "convert": lists,
        "detect": [session for sessions in of_readers().values() for session in sessions],
    }


_WIRES = ("anthropic", "responses", "gemini")
