"""goose: its database, and what its compactions mark in it."""

from __future__ import annotations

import json
import sqlite3

import pytest

from clew.transcripts.readers.goose import read, sniff
from clew.transcripts.records import Start
from clew.transcripts.source import open_source
from tests.transcripts.telling import tell

SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, working_dir TEXT, created_at TEXT,
    model_config_json TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT,
    created_timestamp INTEGER, metadata_json TEXT);
"""
SHOWN, UNSEEN, MODEL_ONLY, NOBODY = (True, True), (True, False), (False, True), (False, False)


def text(words: str) -> list[dict]:
    return [{"type": "text", "text": words}]


@pytest.fixture
def goose(tmp_path):
    """Write a database of one session with these messages, and return it opened."""

    def write(*messages: tuple[str, list, tuple[bool, bool]]):
        path = tmp_path / "sessions.db"
        connection = sqlite3.connect(path)
        connection.executescript(SCHEMA)
        model = json.dumps({"model_name": "m"})
        connection.execute(
            "INSERT INTO sessions VALUES ('s1', 'Fix', '', '/p', '2026-08-01 10:00:00', ?)", (model,)
        )
        for i, (role, content, (shown, seen)) in enumerate(messages):
            marks = json.dumps({"userVisible": shown, "agentVisible": seen})
            row = (f"m{i}", role, json.dumps(content), marks)
            connection.execute("INSERT INTO messages VALUES (NULL, ?, 's1', ?, ?, 1785000000, ?)", row)
        connection.commit()
        connection.close()
        return open_source(path)

    return write


def test_a_session_begins_with_its_row(goose):
    source = goose(("user", text("hi"), SHOWN))
    assert sniff(source)
    start, entry = read(source)
    assert start == Start("s1", "goose", "Fix", "/p", "m", "2026-08-01 10:00:00")
    assert entry.time == "2026-07-25T17:20:00.000Z"


def test_content_blocks_are_read(goose):
    call = {
        "type": "toolRequest",
        "id": "c1",
        "toolCall": {"status": "success", "value": {"name": "shell", "arguments": {"command": "ls"}}},
    }
    result = {
        "type": "toolResponse",
        "id": "c1",
        "toolResult": {"status": "success", "value": {"content": text("a"), "isError": True}},
    }
    failed = {"type": "toolResponse", "id": "c2", "toolResult": {"status": "error", "error": "no"}}
    notice = {"type": "systemNotification", "msg": "compacting"}
    source = goose(
        ("assistant", [{"type": "thinking", "thinking": "hm", "signature": "sig"}, *text("ok"), call], SHOWN),
        ("user", [result, failed], SHOWN),
        ("assistant", [notice], SHOWN),
        ("user", [{"type": "image", "data": "aGk=", "mimeType": "image/png"}, {"type": "hologram"}], SHOWN),
    )
    assert tell(read(source))[1:] == [
        'm0 assistant: ~hm~ [sig] | ok | shell({"command": "ls"})=c1',
        "m1 tool: c1!> a | c2!> no",
        "m3 user: Media | Unknown",
    ]


def test_a_compaction_hides_what_is_marked_and_its_summary_is_a_machines(goose):
    source = goose(
        ("user", text("a"), UNSEEN),
        ("assistant", text("b"), UNSEEN),
        ("user", text("so far: a, b"), MODEL_ONLY),
        ("assistant", text("Going on."), MODEL_ONLY),
        ("user", text("c"), SHOWN),
    )
    assert tell(read(source))[1:] == [
        "m0 user: a",
        "m1 assistant: b",
        "boundary m2:boundary keeps nothing",
        "m2 user/summary: so far: a, b",
        "m3 assistant/injected: Going on.",
        "m4 user: c",
    ]


def test_an_earlier_compaction_is_still_a_boundary_and_hidden_words_stay_the_persons(goose):
    source = goose(
        ("user", text("a"), UNSEEN),
        ("user", text("s1"), NOBODY),
        ("assistant", text("Going on."), NOBODY),
        ("user", text("b"), NOBODY),
        ("user", text("s2"), MODEL_ONLY),
        ("assistant", text("Going on."), MODEL_ONLY),
        ("user", text("b"), SHOWN),
    )
    told = tell(read(source))
    assert [line for line in told if "boundary" in line or " user" in line] == [
        "m0 user: a",
        "boundary m1:boundary keeps nothing",
        "m1 user/summary: s1",
        "m3 user: b",
        "boundary m4:boundary keeps nothing",
        "m4 user/summary: s2",
        "m6 user: b",
    ]


def test_a_summary_of_some_calls_keeps_what_is_still_seen(goose):
    source = goose(
        ("user", text("a"), SHOWN), ("assistant", text("b"), UNSEEN), ("user", text("did b"), MODEL_ONLY)
    )
    assert tell(read(source))[3:] == ["boundary m2:boundary keeps m0", "m2 user/summary: did b"]
