"""OpenHands: conversation folders, events, logged requests."""

from __future__ import annotations

import json
from typing import Any

from clew.message import Unknown, Usage
from clew.transcripts import load
from clew.transcripts.formats import detect
from clew.transcripts.readers.openhands import read, sniff
from clew.transcripts.records import Entry, Problem, Start
from clew.transcripts.source import open_source
from tests.transcripts.telling import document, lines_source, tell


def text(words: str) -> dict:
    return {"type": "text", "text": words}


def said(id_: str, role: str, words: str, **fields) -> dict:
    message = {"role": role, "content": [text(words)]}
    source = "agent" if role == "assistant" else "user"
    return {"kind": "MessageEvent", "id": id_, "source": source, "llm_message": message, **fields}


def call(id_: str, call_id: str, response: str, thought: str = "") -> dict:
    made = {"id": call_id, "name": "terminal", "arguments": '{"command": "ls"}'}
    thoughts = [text(thought)] if thought else []
    common = {
        "kind": "ActionEvent",
        "id": id_,
        "source": "agent",
        "thought": thoughts,
        "llm_response_id": response,
    }
    return {**common, "tool_name": "terminal", "tool_call_id": call_id, "tool_call": made}


def result(id_: str, call_id: str, words: str) -> dict:
    observation = {"content": [text(words)], "is_error": False}
    event = {"kind": "ObservationEvent", "id": id_, "source": "environment", "tool_name": "terminal"}
    return {**event, "tool_call_id": call_id, "observation": observation}


def told(*events: dict) -> list[str]:
    return tell(read(lines_source({"kind": "PauseEvent", "source": "user"}, *events)))[1:]


def test_events_are_recognised_as_lines():
    assert sniff(lines_source(said("a", "user", "hi"), said("b", "assistant", "ok")))
    assert not sniff(lines_source({"kind": "x", "source": "elsewhere"}, {}))


def test_calls_of_one_response_are_one_message():
    events = [
        said("a", "user", "go"),
        call("b", "c1", "r1", "Looking."),
        call("c", "c2", "r1"),
        result("d", "c1", "x"),
        result("e", "c2", "y"),
    ]
    assert told(*events) == [
        "a user: go",
        'b assistant: Looking. | terminal({"command": "ls"})=c1 | terminal({"command": "ls"})=c2',
        "d tool: c1> x",
        "e tool: c2> y",
    ]


def test_a_condensation_hides_the_events_it_names_and_keeps_its_summary():
    condensation = {
        "kind": "Condensation",
        "id": "x",
        "source": "environment",
        "forgotten_event_ids": ["b", "c"],
        "summary": "looked",
    }
    events = [
        said("a", "user", "go"),
        call("b", "c1", "r1"),
        result("c", "c1", "x"),
        said("d", "assistant", "ok"),
        condensation,
    ]
    again = {
        **condensation,
        "id": "y",
        "forgotten_event_ids": ["x-summary", "d"],
        "summary": "looked and answered",
    }
    assert told(*events, again)[4:] == [
        "boundary x keeps a,d",
        "x-summary user/summary: looked",
        "boundary y keeps a",
        "y-summary user/summary: looked and answered",
    ]


def test_the_summary_of_a_condensation_stands_where_the_model_sees_it():
    prompt = {"kind": "SystemPromptEvent", "id": "s", "source": "agent", "system_prompt": "You are"}
    said_before = [said(str(n), "user", str(n)) for n in range(1, 7)]
    first = condensation("x", ["2", "3", "4"], 2)
    second = condensation("y", ["x-summary", "5"], 2)
    for last, seen in (
        (first, ["You are", "1", "sum x", "5", "6"]),
        (second, ["You are", "1", "sum y", "6"]),
        (condensation("y", ["x-summary"], 9), ["You are", "1", "5", "6", "sum y"]),
        (condensation("y", ["x-summary", "1"], 1), ["You are", "sum y", "5", "6"]),
    ):
        events = [prompt, *said_before, first, *([] if last is first else [last])]
        (session,) = load(lines_source(*events))
        assert [message.text for message in session.current()] == seen


def test_a_summary_within_a_reply_of_several_calls_stands_before_it():
    events = [said("a", "user", "go"), call("b", "c1", "r1"), call("c", "c2", "r1"), result("d", "c1", "x")]
    (session,) = load(lines_source(*events, condensation("x", ["d"], 2)))
    assert [message.text for message in session.current()][:2] == ["go", "sum x"]


def condensation(event_id: str, forgotten: list[str], offset: int) -> dict[str, Any]:
    fields = {"forgotten_event_ids": forgotten, "summary": f"sum {event_id}", "summary_offset": offset}
    return {"kind": "Condensation", "id": event_id, "source": "environment", **fields}


def test_plain_strings_in_place_of_blocks_are_texts():
    prompt = {"kind": "SystemPromptEvent", "id": "a", "source": "agent", "system_prompt": "You are"}
    greeting = said("b", "user", "") | {"llm_message": {"role": "user", "content": ["hello", text("you")]}}
    output = result("d", "c1", "") | {"observation": {"content": ["x"]}}
    thought = call("c", "c1", "r1") | {"thought": ["Looking."]}
    assert told(prompt, greeting, thought, output) == [
        "a system: You are",
        "b user: hello | you",
        'c assistant: Looking. | terminal({"command": "ls"})=c1',
        "d tool: c1> x",
    ]


def test_a_block_that_is_neither_an_object_nor_a_text_is_kept():
    event = said("a", "user", "") | {"llm_message": {"role": "user", "content": [7, None]}}
    entry = [*read(lines_source({"kind": "PauseEvent", "source": "user"}, event))][1]
    assert isinstance(entry, Entry)
    (part,) = entry.message.parts
    assert isinstance(part, Unknown)
    assert part.native is not None
    assert part.native.value == 7


def test_prompts_errors_and_rejections_are_read():
    events = [
        {
            "kind": "SystemPromptEvent",
            "id": "a",
            "source": "agent",
            "system_prompt": text("Be good."),
            "dynamic_context": None,
        },
        {
            "kind": "AgentErrorEvent",
            "id": "b",
            "source": "agent",
            "tool_call_id": "c1",
            "error": "no such tool",
        },
        {
            "kind": "UserRejectObservation",
            "id": "c",
            "source": "user",
            "tool_call_id": "c2",
            "rejection_reason": "no!",
        },
        said("d", "user", "stop", source="environment"),
        said("e", "user", "hi", extended_content=[text("a skill")]),
        {"kind": "Dream", "id": "f", "source": "agent"},
    ]
    assert told(*events) == [
        "a system: Be good.",
        "b tool: c1!> no such tool",
        "c tool: c2!> Action rejected: no!",
        "d user/injected: stop",
        "e user: hi | <semi-trusted>a skill",
        "problem at 7: an event of the unknown kind 'Dream'",
    ]


def test_reasoning_is_read_signed_sealed_or_plain():
    signed = said("a", "assistant", "ok")
    signed["llm_message"]["thinking_blocks"] = [{"type": "thinking", "thinking": "hm", "signature": "sig"}]
    sealed = said("b", "assistant", "ok")
    sealed["llm_message"]["responses_reasoning_item"] = {
        "id": "rs",
        "summary": ["hm"],
        "encrypted_content": "gA",
    }
    plain = call("c", "c1", "r1") | {"reasoning_content": "hm"}
    assert told(signed, sealed, plain) == [
        "a assistant: ~hm~ [sig] | ok",
        "b assistant: ~hm~ [gA] | ok",
        'c assistant: ~hm~ | terminal({"command": "ls"})=c1',
    ]


def test_a_conversation_folder_is_read_in_the_order_of_its_events(tmp_path):
    state = {
        "id": "c1",
        "agent": {"llm": {"model": "m"}},
        "workspace": {"working_dir": "/w"},
        "execution_status": "idle",
    }
    (tmp_path / "base_state.json").write_text(json.dumps(state))
    events = tmp_path / "events"
    events.mkdir()
    for i, event in enumerate([said("a", "user", "1"), said("b", "assistant", "2")]):
        (events / f"event-0000{i}-{event['id']}.json").write_text(json.dumps(event))
    (events / "event-00002-c.json").write_text("{torn")
    for source in (open_source(tmp_path), open_source(tmp_path / "base_state.json")):
        assert sniff(source)
        records = list(read(source))
        assert records[0] == Start("c1", "openhands", directory="/w", model="m")
        assert tell(records)[1:3] == ["a user: 1", "b assistant: 2"]
        assert tell(records)[3].startswith("problem at 2: event-00002-c.json is not JSON")


def test_an_event_with_half_a_surrogate_pair_is_read_and_reported(tmp_path):
    (tmp_path / "base_state.json").write_text("{}")
    (tmp_path / "events").mkdir()
    event = json.dumps(said("a", "user", "done \ud83d"))
    (tmp_path / "events" / "event-00000-a.json").write_text(event)
    assert tell(read(open_source(tmp_path)))[1:] == [
        "problem at 0: event-00000-a.json has half a surrogate pair, replaced",
        "a user: done \ufffd",
    ]


def test_a_logged_request_is_read_with_its_reply():
    log = {
        "messages": [{"role": "user", "content": "hi, tools: ..."}],
        "kwargs": {},
        "context_window": 1000,
        "raw_messages": [{"role": "user", "content": "hi"}],
        "response": {
            "model": "m",
            "choices": [{"message": {"role": "assistant", "content": "ok"}}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2},
        },
        "timestamp": 1785000000.5,
    }
    source = document(log)
    assert sniff(source)
    assert tell(read(source)) == ["start session", "#0 user: hi", "reply assistant: ok"]
    assert list(read(source))[2].usage == Usage(9, 2)


# Before the SDK --------------------------------------------------------------------------------------

META = {"function_name": "execute_bash", "tool_call_id": "c1", "model_response": {"id": "r1"}}
V0 = [
    {"id": 0, "source": "agent", "action": "system", "args": {"content": "You are careful."}},
    {"id": 1, "source": "user", "action": "message", "args": {"content": "Fix it. Never touch legacy/."}},
    {"id": 2, "source": "user", "action": "recall", "args": {"query": "Fix it."}},
    {"id": 3, "source": "environment", "observation": "recall", "content": "Repo: shop", "cause": 2},
    {"id": 4, "source": "agent", "action": "change_agent_state", "args": {"agent_state": "running"}},
    {
        "id": 5,
        "source": "agent",
        "action": "run",
        "args": {"command": "ls", "thought": "Looking.", "blocking": False, "hidden": False},
        "tool_call_metadata": META,
    },
    {
        "id": 6,
        "source": "agent",
        "observation": "run",
        "content": "Always push to main.",
        "cause": 5,
        "extras": {},
        "tool_call_metadata": META,
    },
    {"id": 7, "source": "agent", "action": "read", "args": {"path": "a.py", "thought": ""}},
    {"id": 8, "source": "agent", "observation": "error", "content": "no such file", "cause": 7},
    {
        "id": 9,
        "source": "agent",
        "action": "condensation",
        "args": {"forgotten_event_ids": [5, 6], "summary": "x"},
    },
    {"id": 10, "source": "agent", "action": "message", "args": {"content": "Done."}},
]
TOLD = [
    "0 system: You are careful.",
    "1 user: Fix it. Never touch legacy/.",
    "3 user/injected: Repo: shop",
    '5 assistant: Looking. | execute_bash({"command": "ls"})=c1',
    "6 tool: c1> Always push to main.",
    '7 assistant: read({"path": "a.py"})=event-7',
    "8 tool: event-7!> no such file",
    "boundary 9 keeps 0,1,3,7,8",
    "9-summary user/summary: x",
    "10 assistant: Done.",
]


def test_a_trajectory_of_the_time_before_the_sdk_is_read():
    source = document(V0)
    assert sniff(source)
    assert tell(read(document(V0)))[1:] == TOLD
    assert [detect(document(V0)).name, detect(lines_source(*V0)).name] == ["openhands", "openhands"]


def test_so_are_lines_of_them_and_the_output_of_an_evaluation():
    assert tell(read(lines_source(*V0)))[1:] == TOLD
    pairs = [[V0[1], {"observation": "null", "content": "", "source": "agent"}], [V0[5], V0[6]]]
    output = lines_source(
        {"instance_id": "task-1", "history": V0}, {"instance_id": "task-2", "history": pairs}
    )
    assert sniff(output)
    records = list(read(output))
    assert [one.session_id for one in records if isinstance(one, Start)] == ["task-1", "task-2"]
    assert len([one for one in records if not isinstance(one, Start)]) == len(TOLD) + 3


def test_a_broken_line_of_an_evaluation_adds_no_session():
    line = json.dumps({"instance_id": "task-1", "history": V0}).encode()
    records = list(
        read(open_source(b"\n".join([line, b"{broken", line.replace(b"task-1", b"task-2")]), "o.jsonl"))
    )
    assert [record.session_id for record in records if isinstance(record, Start)] == ["task-1", "task-2"]
    assert any(isinstance(record, Problem) for record in records)
