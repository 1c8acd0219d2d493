"""OpenTelemetry spans with OpenInference names."""

from __future__ import annotations

from clew.message import Usage
from clew.transcripts.records import Start
from clew_evals.readers.trail_otel import read, sniff
from tests.transcripts.telling import document, tell


def span(id_: str, kind: str | None, *children: dict, **attributes) -> dict:
    attributes = {key.replace("__", "."): value for key, value in attributes.items()}
    held = {**attributes, "openinference.span.kind": kind}
    return {
        "trace_id": "t1",
        "span_id": id_,
        "timestamp": "now",
        "span_attributes": held,
        "child_spans": list(children),
    }


def asked(*messages: tuple[str, str], reply: str = "", **more) -> dict:
    fields: dict = {
        "llm.model_name": "m",
        "llm.token_count.prompt": "9",
        "llm.token_count.completion": "2",
        **more,
    }
    for i, (role, content) in enumerate(messages):
        fields |= {
            f"llm.input_messages.{i}.message.role": role,
            f"llm.input_messages.{i}.message.content": content,
        }
    fields |= {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": reply,
    }
    return span("l", "LLM", **fields)


def trace(*spans: dict) -> dict:
    return {"trace_id": "t1", "spans": list(spans)}


def test_each_agents_longest_call_is_its_session():
    first = asked(("system", "S"), ("user", "task"), reply="one")
    second = asked(("system", "S"), ("user", "task"), ("assistant", "one"), reply="two")
    inner = span("a1", "AGENT", asked(("user", "sub"), reply="x"), smolagents__task="find it")
    source = document(trace(span("root", None, first, inner, second)))
    assert sniff(source)
    records = list(read(source))
    assert tell(records) == [
        "start t1",
        "#0 system: S",
        "#1 user: task",
        "#2 assistant: one",
        "#3 assistant: two",
        "start t1/a1",
        "#0 user: sub",
        "#1 assistant: x",
    ]
    assert records[5] == Start("t1/a1", "trail-otel", "find it", model="m", time="now", parent_id="t1")
    assert (records[4].usage, records[3].usage) == (Usage(9, 2), None)


def test_calls_written_out_as_python_are_read_in_any_role():
    function = {"name": "search", "arguments": {"q": "x"}}
    written = f"Calling tools:\n{[{'id': 'c1', 'type': 'function', 'function': function}]}"
    code = "Calling tools:\n[{'id': 'c2', 'function': {'name': 'python', 'arguments': 'print(1)'}}]"
    messages = [
        ("user", "New task: x"),
        ("tool-call", written),
        ("tool-response", "Call id: c1\nObservation:\nfound"),
        ("user", code),
        ("user", "Call id: c2\nError:\nno"),
        ("user", "Read the above conversation"),
        ("tool-call", "Calling tools:\n[broken"),
    ]
    assert tell(read(document(trace(asked(*messages, reply="done"))))) == [
        "start t1",
        "#0 user: New task: x",
        '#1 assistant: search({"q": "x"})=c1',
        "#2 tool: c1> Observation:\nfound",
        '#3 assistant: python({"code": "print(1)"})=c2',
        "#4 tool: c2!> Error:\nno",
        "#5 user/injected: <untrusted>Read the above conversation",
        "#6 assistant: Calling tools:\n[broken",
        "#7 assistant: done",
    ]


def test_calls_and_parts_in_fields_of_their_own_are_read():
    reply = "llm.output_messages.0.message."
    call = f"{reply}tool_calls.0.tool_call."
    fields = {f"{call}id": "c1", f"{call}function.name": "search", f"{call}function.arguments": '{"q": 1}'}
    asking = asked(("user", "task"), **fields)
    del asking["span_attributes"][f"{reply}content"]
    asking["span_attributes"][f"{reply}contents.0.message_content.text"] = "Looking."
    assert tell(read(document(trace(asking))))[2:] == ['#1 assistant: Looking. | search({"q": 1})=c1']
