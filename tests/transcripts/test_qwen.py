"""Qwen Code: records in a tree, whose words, compression, rewinds."""

from __future__ import annotations

import json

import pytest

from clew.message import Origin, Role, ToolCall, Usage
from clew.transcripts.readers.qwen import read, sniff
from clew.transcripts.records import Boundary, Dropped, Problem, Start
from clew.transcripts.source import open_source
from tests.transcripts.claude_lines import labels


def record(kind: str, uuid: str, parent: str | None, *parts: dict, **fields) -> dict:
    role = "model" if kind == "assistant" else "user"
    base = {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s1",
        "cwd": "/p",
        "timestamp": "t",
    }
    return {**base, **({"message": {"role": role, "parts": list(parts)}} if parts else {}), **fields}


def chat(*lines: dict) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def records(*lines: dict) -> list:
    return list(read(open_source(chat(*lines))))[1:]


def test_a_conversation_is_recognised_and_read():
    call = {"functionCall": {"id": "c1", "name": "read_file", "args": {"path": "a.py"}}}
    answer = {"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "import x"}}}
    usage = {
        "promptTokenCount": 1000,
        "candidatesTokenCount": 50,
        "thoughtsTokenCount": 5,
        "cachedContentTokenCount": 400,
    }
    source = open_source(
        chat(
            record("user", "u1", None, {"text": "fix it"}),
            record("assistant", "a1", "u1", {"text": "Reading."}, call, model="qwen-x", usageMetadata=usage),
            record("tool_result", "t1", "a1", answer),
        )
    )
    assert sniff(source)
    start, said, reply, result = list(read(source))
    assert start == Start("s1", "qwen-code", directory="/p", time="t")
    assert (said.message.origin, said.message.text) == (Origin.SPOKEN, "fix it")
    assert [part.call_id for part in reply.message.parts if isinstance(part, ToolCall)] == ["c1"]
    assert (reply.model, reply.usage) == ("qwen-x", Usage(1000, 55, cache_read_tokens=400))
    assert (result.message.role, next(result.message.results).call_id) == (Role.TOOL, "c1")


def test_an_answer_beside_its_message_is_read_too():
    answer = {"callId": "c1", "name": "bash", "result": "boom", "status": "error"}
    (entry,) = records(record("tool_result", "t1", None, toolCallResult=answer))
    (result,) = entry.message.results
    assert (result.call_id, result.name, result.text, result.is_error) == ("c1", "bash", "boom", True)


@pytest.mark.parametrize("fields", [{"subtype": "notification"}, {"subtype": "cron"}, {"provenance": "hook"}])
def test_what_no_person_typed_is_not_the_persons(fields):
    (entry,) = records(record("user", "u1", None, {"text": "go"}, **fields))
    assert entry.message.origin is Origin.INJECTED


def test_words_typed_while_the_model_works_are_the_persons():
    (entry,) = records(record("user", "u1", None, {"text": "stop"}, subtype="mid_turn_user_message"))
    assert entry.message.origin is Origin.SPOKEN


def test_what_the_harness_adds_to_typed_words_is_cut_off():
    (entry,) = records(
        record(
            "user",
            "u1",
            None,
            {"text": "see @a.py\n--- content ---"},
            systemPayload={"displayText": "see @a.py"},
        )
    )
    assert labels(entry.message) == [("user", "see @a.py"), ("semi-trusted", "\n--- content ---")]


def test_a_sub_agent_is_kept_apart():
    told = records(
        record("user", "u1", None, {"text": "go"}),
        record("user", "x1", None, {"text": "look"}, isSidechain=True, agentId="ag"),
        record("assistant", "a1", "u1", {"text": "done"}),
    )
    assert [(entry.id, entry.sidechain, entry.message.origin) for entry in told] == [
        ("u1", None, Origin.SPOKEN),
        ("x1", "ag", Origin.INJECTED),
        ("a1", None, Origin.SPOKEN),
    ]


def test_going_back_to_an_older_record_drops_what_came_after_it():
    told = records(
        record("user", "u1", None, {"text": "one"}),
        record("assistant", "a1", "u1", {"text": "two"}),
        record("system", "s1", "u1", subtype="rewind"),
        record("user", "u2", "s1", {"text": "another"}),
    )
    assert [r.id if not isinstance(r, Dropped) else r for r in told] == [
        "u1",
        "a1",
        Dropped(("a1",), 3),
        "u2",
    ]


def test_a_compression_is_a_boundary_and_its_history_a_summary():
    info = {
        "originalTokenCount": 4096,
        "newTokenCount": 1024,
        "triggerReason": "token_limit",
        "compressionStatus": 1,
    }
    made = [
        {"role": "user", "parts": [{"text": "<state_snapshot>"}]},
        {"role": "model", "parts": [{"text": "Got it."}]},
    ]
    told = records(
        record("user", "u1", None, {"text": "one"}),
        record(
            "system",
            "c1",
            "u1",
            subtype="chat_compression",
            systemPayload={"info": info, "compressedHistory": made},
        ),
    )
    assert told[1] == Boundary("c1", 2, "t", "token_limit", 4096, 1024)
    assert [(entry.id, entry.message.origin) for entry in told[2:]] == [
        ("L2.1", Origin.SUMMARY),
        ("L2.2", Origin.SUMMARY),
    ]


@pytest.mark.parametrize("status", [2, 3, "COMPRESSION_FAILED_INFLATED_TOKEN_COUNT"])
def test_a_compression_that_failed_is_none(status):
    info = {"compressionStatus": status}
    line = record("system", "c1", None, subtype="chat_compression", systemPayload={"info": info})
    assert records(line) == []


def test_an_unknown_record_is_said_once():
    assert records(record("brand_new", "x", None), record("brand_new", "y", "x")) == [
        Problem("a record of the unknown type 'brand_new'", 1)
    ]
