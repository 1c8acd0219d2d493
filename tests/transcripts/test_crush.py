"""Crush: its database."""

from __future__ import annotations

import json
import sqlite3

import pytest

from clew.transcripts.readers.crush import read, sniff
from clew.transcripts.records import Start
from clew.transcripts.source import open_source
from tests.transcripts.telling import tell

SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT, message_count INTEGER,
    created_at INTEGER, summary_message_id TEXT);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT, model TEXT,
    created_at INTEGER, is_summary_message INTEGER DEFAULT 0);
"""


def part(kind: str, **data) -> dict:
    return {"type": kind, "data": data}


@pytest.fixture
def crush(tmp_path):
    """Write a database of one session with these messages, and return it opened."""

    def write(*messages: tuple[str, list | str], summary: str | None = None):
        path = tmp_path / "crush.db"
        connection = sqlite3.connect(path)
        connection.executescript(SCHEMA)
        connection.execute("INSERT INTO sessions VALUES ('s1', 's0', 'Fix', 9, 1785000000, ?)", (summary,))
        for i, (role, parts) in enumerate(messages):
            text = parts if isinstance(parts, str) else json.dumps(parts)
            row = (f"m{i}", role, text, i)
            connection.execute("INSERT INTO messages VALUES (?, 's1', ?, ?, 'gpt', ?, 0)", row)
        connection.commit()
        connection.close()
        return open_source(path)

    return write


def test_parts_are_read(crush):
    source = crush(
        ("user", [part("text", text="go"), part("binary", Path="/a.png", MIMEType="image/png", Data="aGk=")]),
        (
            "assistant",
            [
                part("reasoning", thinking="hm", signature="sig"),
                part("text", text=""),
                part("tool_call", id="c1", name="bash", input='{"command":"ls"}', finished=True),
                part("finish", reason="tool_use"),
            ],
        ),
        ("tool", [part("tool_result", tool_call_id="c1", name="bash", content="a", is_error=True)]),
        ("user", [part("shell_command", command="ls", output="a")]),
        ("assistant", [part("finish", reason="canceled")]),
        ("assistant", "[torn"),
    )
    assert sniff(source)
    start, *records = read(source)
    assert start == Start("s1", "crush", "Fix", time="2026-07-25T17:20:00.000Z", parent_id="s0")
    assert tell(records)[:4] == [
        "m0 user: go | Media",
        'm1 assistant: ~hm~ [sig] | bash({"command":"ls"})=c1',
        "m2 tool: c1!> a",
        "m3 user/injected: <untrusted>$ ls\na",
    ]
    assert tell(records)[4].startswith("problem at None: parts of 'm5' is not JSON")


def test_the_summary_begins_a_new_context(crush):
    source = crush(
        ("user", [part("text", text="a")]), ("assistant", [part("text", text="so far: a")]), summary="m1"
    )
    assert tell(read(source))[1:] == [
        "m0 user: a",
        "boundary m1:boundary keeps nothing",
        "m1 assistant/summary: so far: a",
    ]
