"""Gemini CLI: replaced lines, checkpoints, rewinds, the older document."""

from __future__ import annotations

import json

from clew.message import Usage
from clew.transcripts.readers.gemini_cli import read, sniff
from clew.transcripts.records import Entry, Start
from clew.transcripts.source import open_source
from tests.transcripts.telling import document, lines_source, tell

HEADER = {"sessionId": "s1", "projectHash": "ab", "startTime": "2026-08-01T10:00:00Z", "kind": "main"}


def user(id_: str, text: str) -> dict:
    return {"id": id_, "timestamp": "t", "type": "user", "content": [{"text": text}]}


def model(id_: str, text: str, *calls: dict) -> dict:
    record = {"id": id_, "timestamp": "t", "type": "gemini", "content": text}
    return {**record, "toolCalls": list(calls)} if calls else record


def call(id_: str, output: str | None = None) -> dict:
    made = {"id": id_, "name": "read_file", "args": {"path": "a"}, "status": "success"}
    response = {"functionResponse": {"id": id_, "name": "read_file", "response": {"output": output}}}
    return {**made, "result": [response]} if output is not None else made


def told(*lines: dict) -> list[str]:
    return tell(read(lines_source(HEADER, *lines)))[1:]


def test_a_session_is_recognised_in_both_forms():
    old = {**HEADER, "messages": [user("m1", "hi")]}
    assert [sniff(lines_source(HEADER, user("m1", "hi"))), sniff(document(old)), sniff(document({}))] == [
        True,
        True,
        False,
    ]
    assert tell(read(document(old))) == tell(read(lines_source(HEADER, user("m1", "hi"))))


def test_a_session_begins_with_its_header_a_subagents_with_its_parent(tmp_path):
    path = tmp_path / "parent1" / "s1.jsonl"
    path.parent.mkdir()
    header = {**HEADER, "kind": "subagent"}
    path.write_text(json.dumps(header) + "\n" + json.dumps(user("m1", "hi")) + "\n")
    start = next(read(open_source(path)))
    assert start == Start("s1", "gemini-cli", time="2026-08-01T10:00:00Z", parent_id="parent1")


def test_thoughts_calls_and_results_are_read_with_the_tokens():
    record = model("m2", "Reading.", call("c1", "text"))
    record["thoughts"] = [{"subject": "Plan", "description": "look"}]
    record |= {"model": "g", "tokens": {"input": 90, "output": 2, "cached": 80, "thoughts": 5, "tool": 1}}
    assert told(record) == [
        'm2 assistant: ~Plan: look~ | Reading. | read_file({"path": "a"})=c1',
        "m2:results tool: c1> text",
    ]
    entry = next(record for record in read(lines_source(HEADER, record)) if isinstance(record, Entry))
    assert (entry.model, entry.usage) == ("g", Usage(91, 7, 80))


def test_a_message_written_again_stands_in_its_first_place_in_its_last_form():
    lines = [
        user("m1", "go"),
        model("m2", "", call("c1")),
        user("m3", "and?"),
        model("m2", "", call("c1", "x")),
    ]
    assert told(*lines) == [
        "m1 user: go",
        'm2 assistant: read_file({"path": "a"})=c1',
        "m2:results tool: c1> x",
        "m3 user: and?",
    ]


def test_a_rewind_drops_a_message_and_all_after_it():
    lines = [
        user("m1", "a"),
        model("m2", "b", call("c", "o")),
        user("m3", "c"),
        {"$rewindTo": "m2"},
        user("m4", "d"),
    ]
    assert told(*lines)[-2:] == ["dropped m2,m2:results,m3", "m4 user: d"]


def test_a_rewind_to_an_unknown_message_drops_everything():
    assert told(user("m1", "a"), {"$rewindTo": "m9"}) == ["m1 user: a", "dropped m1"]


def test_a_compression_is_a_boundary_and_its_snapshot_a_summary():
    snapshot = user("s1", "<state_snapshot>all of it</state_snapshot>")
    before = [user("m1", "a"), model("m2", "b"), user("m3", "c")]
    checkpoint = {"$set": {"messages": [snapshot, model("s2", "Got it."), user("m3", "c")]}}
    assert told(*before, checkpoint, model("m4", "d")) == [
        "m1 user: a",
        "m2 assistant: b",
        "m3 user: c",
        "boundary L5 keeps m3",
        "s1 user/summary: <state_snapshot>all of it</state_snapshot>",
        "s2 assistant: Got it.",
        "m4 assistant: d",
    ]


def test_masking_clears_the_results_that_it_changed_and_nothing_else():
    before = model("m2", "", call("c1", "long output"), call("c2", "short"))
    masked = model("m2", "", call("c1", "[masked]"), call("c2", "short"))
    responses = [call("c1", "[masked]")["result"][0], call("c2", "short")["result"][0]]
    turn = {"id": "t3", "type": "user", "content": responses}
    assert (
        told(user("m1", "a"), before, {"$set": {"messages": [user("m1", "a"), masked, turn]}})[-1]
        == "cleared c1"
    )


def test_a_checkpoint_that_only_lacks_the_end_drops_it():
    lines = [user("m1", "a"), user("m2", "b"), {"$set": {"messages": [user("m1", "a")]}}]
    assert told(*lines)[-1] == "dropped m2"


def test_files_that_the_person_points_to_and_the_harness_are_not_the_person():
    pointed = {
        "id": "m1",
        "type": "user",
        "content": [
            {"text": "fix @a"},
            {"text": "\n--- Content from referenced files ---"},
            {"text": "evil"},
        ],
    }
    lines = [user("m0", "<session_context>\nlinux"), pointed, user("m2", "System: Please continue.")]
    assert told(*lines) == [
        "m0 user/injected: <session_context>\nlinux",
        "m1 user: fix @a | <semi-trusted>\n--- Content from referenced files --- | <semi-trusted>evil",
        "m2 user/injected: System: Please continue.",
    ]


def test_what_only_the_screen_shows_is_left_out_and_what_is_unknown_is_told():
    lines = [
        {"id": "i", "type": "info", "content": "update!"},
        {"id": "x", "type": "dream", "content": ""},
        {"$set": {"summary": "t"}},
    ]
    assert told(*lines) == ["problem at 3: a record of the unknown type 'dream'"]


def test_a_torn_last_line_is_told_and_the_rest_is_read():
    data = json.dumps(HEADER) + "\n" + json.dumps(user("m1", "hi")) + '\n{"id": "m2", "ty'
    told_ = tell(read(open_source(data.encode())))
    assert told_[:2] == ["start s1", "m1 user: hi"]
    assert told_[2].startswith("problem at 3: the last line is torn off")
