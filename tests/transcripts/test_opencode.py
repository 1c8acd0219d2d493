"""opencode: exports, both tables of its database, the older folder."""

from __future__ import annotations

import json
import sqlite3

import pytest

from clew.message import Usage
from clew.transcripts.readers.opencode import read, sniff
from clew.transcripts.records import Entry, Start
from clew.transcripts.source import open_source
from tests.transcripts.telling import document, tell

INFO = {
    "id": "ses_1",
    "projectID": "p",
    "directory": "/p",
    "title": "Fix",
    "time": {"created": 1785000000000},
}


def text(words: str, **fields) -> dict:
    return {"type": "text", "text": words, **fields}


def tool(call_id: str, **state) -> dict:
    state = {"status": "completed", "input": {"path": "a"}, "output": "out", **state}
    return {"id": f"prt_{call_id}", "type": "tool", "tool": "read", "callID": call_id, "state": state}


def said(id_: str, role: str, *parts: dict, **info) -> dict:
    return {"info": {"id": id_, "role": role, **info}, "parts": list(parts)}


def told(*messages: dict, **info) -> list[str]:
    return tell(read(document({"info": {**INFO, **info}, "messages": list(messages)})))[1:]


def test_an_export_begins_with_its_info():
    source = document({"info": {**INFO, "parentID": "ses_0"}, "messages": [said("m1", "user", text("hi"))]})
    assert sniff(source)
    start = next(read(source))
    assert start == Start("ses_1", "opencode", "Fix", "/p", None, "2026-07-25T17:20:00.000Z", "ses_0")


def test_a_tool_part_is_parted_into_the_call_and_its_result():
    parts = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "hm"},
        text("Reading."),
        tool("c1"),
        tool("c2", status="error", error="no"),
    ]
    assert told(said("m1", "assistant", *parts)) == [
        'm1 assistant: ~hm~ | Reading. | read({"path": "a"})=c1 | read({"path": "a"})=c2',
        "m1:results tool: c1> out | c2!> no",
    ]


def test_a_new_step_after_tools_is_a_new_answer():
    step = {"type": "step-start"}
    assert told(said("m1", "assistant", step, tool("c1"), step, text("Done."))) == [
        'm1 assistant: read({"path": "a"})=c1',
        "m1:results tool: c1> out",
        "m1:2 assistant: Done.",
    ]


def test_a_call_that_still_runs_has_no_result():
    assert told(said("m1", "assistant", tool("c1", status="running"))) == [
        'm1 assistant: read({"path": "a"})=c1'
    ]


def test_outputs_that_the_model_no_longer_sees_are_recovered_and_marked():
    hidden = tool("c1", time={"start": 1, "end": 2, "compacted": 3})
    assert (
        told(said("m1", "assistant", hidden, tool("c2")))[1] == "m1:results tool: c1> out | c2> out hides c1"
    )


def test_a_compaction_is_a_boundary_with_its_summary_and_what_it_kept():
    messages = [
        said("m1", "user", text("a")),
        said("m2", "user", text("b")),
        said("m3", "assistant", text("c")),
        said("m4", "user", {"type": "compaction", "auto": True, "tail_start_id": "m2"}),
        said("m5", "assistant", text("## Goal"), summary=True, finish="stop", parentID="m4"),
        said("m6", "user", text("go on", synthetic=True)),
    ]
    assert told(*messages)[3:] == [
        "boundary m4 by auto keeps m2,m3",
        "m5 assistant/summary: ## Goal",
        "m6 user/injected: go on",
    ]


def test_a_compaction_that_failed_counts_for_nothing():
    failed = said("m2", "assistant", text("## Go"), summary=True, error={"name": "APIError"})
    assert told(said("m1", "user", {"type": "compaction", "auto": False}), failed) == ["m2 assistant: ## Go"]


def test_words_that_are_not_the_persons_are_marked():
    subtask = {"type": "subtask", "prompt": "review it", "agent": "general"}
    mixed = said("m1", "user", text("typed"), text("file text", synthetic=True))
    assert told(mixed, said("m2", "user", subtask)) == [
        "m1 user: typed | <semi-trusted>file text",
        "m2 user/injected: review it",
    ]


def test_ids_that_repeat_are_made_unique_and_told_once():
    messages = [said("REDACTED", "assistant", tool("REDACTED"), tool("REDACTED")) for _ in range(3)]
    records = list(read(document({"info": INFO, "messages": messages})))
    entries = [record for record in records if isinstance(record, Entry)]
    assert len({entry.id for entry in entries}) == 6
    assert len({call.call_id for entry in entries for call in entry.message.calls}) == 6
    assert [line for line in tell(records) if line.startswith("problem")] == [
        "problem at 1: the id 'REDACTED' is used more than once; later ones are numbered"
    ]


def test_what_was_reverted_is_dropped():
    messages = [
        said("m1", "user", text("a")),
        said("m2", "user", text("b")),
        said("m3", "assistant", text("c")),
    ]
    assert told(*messages, revert={"messageID": "m2"})[-1] == "dropped m2,m3"
    assert told(*messages, revert={"messageID": "m2", "partID": "p"})[-1] == "dropped m3"


def test_tokens_and_signatures_are_kept():
    tokens = {"input": 6, "output": 8, "reasoning": 4, "total": 2028, "cache": {"read": 10, "write": 2000}}
    signed = {"type": "reasoning", "text": "hm", "metadata": {"anthropic": {"signature": "sig"}}}
    entry = list(
        read(
            document(
                {"info": INFO, "messages": [said("m1", "assistant", signed, tokens=tokens, modelID="c")]}
            )
        )
    )[1]
    assert (entry.model, entry.usage, entry.message.parts[0].signature) == (
        "c",
        Usage(2016, 12, 10, 2000),
        "sig",
    )


def test_an_unknown_part_is_carried_and_told():
    assert told(said("m1", "assistant", {"type": "hologram"})) == [
        "problem at 0: a part of the unknown type 'hologram', kept unchanged",
        "m1 assistant: Unknown",
    ]


# The database ----------------------------------------------------------------------------------------

SCHEMA = """
CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT,
    revert TEXT, model TEXT, time_created INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, data TEXT);
"""


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "opencode.db"
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA)
    rows = [
        ("ses_1", "p", None, "/p", "One", None, None, 1),
        ("ses_2", "p", "ses_1", "/p", "Two", None, None, 2),
    ]
    connection.executemany("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    connection.execute("INSERT INTO message VALUES ('m1', 'ses_1', 1, ?)", (json.dumps({"role": "user"}),))
    connection.execute("INSERT INTO part VALUES ('p1', 'm1', 'ses_1', ?)", (json.dumps(text("hi")),))
    connection.execute("INSERT INTO part VALUES ('p2', 'm1', 'ses_1', '{torn')")
    events = [
        ("system", {"text": "Be good."}),
        ("user", {"text": "go"}),
        ("assistant", {"content": [{"type": "text", "text": "ok"}, EVENT_TOOL]}),
        ("shell", {"command": "ls", "output": "a"}),
        ("compaction", {"reason": "auto", "summary": "## Goal", "recent": "[User]: go"}),
        ("synthetic", {"text": "continue"}),
        ("model-switched", {}),
        ("dream", {}),
    ]
    for i, (kind, data) in enumerate(events):
        connection.execute(
            "INSERT INTO session_message VALUES (?, 'ses_2', ?, ?, ?)", (f"e{i}", kind, i, json.dumps(data))
        )
    connection.commit()
    connection.close()
    return path


EVENT_TOOL = {
    "type": "tool",
    "id": "c1",
    "name": "read",
    "state": {"status": "completed", "input": {"p": 1}, "content": [{"type": "text", "text": "out"}]},
    "time": {"created": 1, "pruned": 2},
}


def test_every_session_of_a_database_is_read_from_either_table(database):
    source = open_source(database)
    assert sniff(source)
    records = tell(read(source))
    assert records[1].startswith("problem at None: data of 'p2' is not JSON")
    assert records[:1] + records[2:] == [
        "start ses_1",
        "m1 user: hi",
        "start ses_2",
        "e0 system: Be good.",
        "e1 user: go",
        'e2 assistant: ok | read({"p": 1})=c1',
        "e2:results tool: c1> out hides c1",
        "e3 user/injected: <untrusted>$ ls\na",
        "boundary e4:compaction by auto keeps nothing",
        "e4 user/summary: ## Goal\n\n[User]: go",
        "e5 user/injected: continue",
        "problem at None: a row of the unknown type 'dream' (e7)",
    ]


def test_a_database_is_read_from_bytes_and_leaves_no_trace(database):
    before = sorted(path.name for path in database.parent.iterdir())
    assert tell(read(open_source(database.read_bytes()))) == tell(read(open_source(database)))
    assert sorted(path.name for path in database.parent.iterdir()) == before


def test_a_damaged_database_is_a_problem(database):
    data = database.read_bytes()
    broken = data[:100] + bytes(len(data) - 100)
    assert not sniff(open_source(broken))
    assert [line.split(":")[1] for line in tell(read(open_source(broken)))] == [
        " the database cannot be read further"
    ]


def test_the_older_folder_of_files_is_read(tmp_path):
    def write(path: str, value: object) -> None:
        file = tmp_path / "storage" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value if isinstance(value, str) else json.dumps(value))

    write("session/p/ses_1.json", INFO)
    write("message/ses_1/msg_1.json", {"id": "msg_1", "role": "user"})
    write("message/ses_1/msg_2.json", "{torn")
    write("part/msg_1/prt_1.json", text("hi"))
    source = open_source(tmp_path)
    assert sniff(source)
    start, entry, problem = tell(read(source))
    assert (start, entry) == ("start ses_1", "msg_1 user: hi")
    assert problem.startswith("problem at None: msg_2.json is not JSON")


def test_the_parts_of_one_reasoning_item_share_its_sealed_data_once():
    def part(words: str, item: str) -> dict:
        sealed = {"itemId": item, "reasoningEncryptedContent": "sealed" * 100}
        return {"type": "reasoning", "text": words, "metadata": {"openai": sealed}}

    parts = [*(part(f"thought {n}", "rs_1") for n in range(40)), part("another", "rs_2"), text("Done.")]
    entry = list(read(document({"info": INFO, "messages": [said("m1", "assistant", *parts)]})))[1]
    first, second, _ = entry.message.parts
    assert (first.item_id, first.signature, first.text.count("thought")) == ("rs_1", "sealed" * 100, 40)
    assert (second.item_id, second.text) == ("rs_2", "another")
