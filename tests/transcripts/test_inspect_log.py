"""Inspect: samples of an evaluation."""

from __future__ import annotations

from clew.transcripts.records import Start
from clew_evals.readers.inspect_log import read, sniff
from tests.transcripts.telling import document, tell


def log(*messages: dict, **sample) -> dict:
    evaluation = {"task": "browser", "model": "openai/gpt-4o", "created": "2025-05-12"}
    samples = [{"id": 1, "epoch": 1, "messages": list(messages), **sample}]
    return {"version": 2, "status": "success", "eval": evaluation, "samples": samples}


def told(*messages: dict, **sample) -> list[str]:
    return tell(read(document(log(*messages, **sample))))[1:]


def test_a_sample_is_a_session():
    source = document(log())
    assert sniff(source)
    assert not sniff(document({"version": 2, "status": "success"}))
    assert list(read(source)) == [Start("1/1", "inspect", "browser 1/1", None, "openai/gpt-4o", "2025-05-12")]


def test_calls_results_and_failures_are_read():
    call = {"id": "c1", "function": "click", "arguments": {"x": 1}}
    failed = {
        "role": "tool",
        "tool_call_id": "c2",
        "function": "click",
        "content": "",
        "error": {"message": "timeout"},
    }
    messages = [
        {"id": "a", "role": "system", "content": "Be good."},
        {"id": "b", "role": "assistant", "content": "ok", "tool_calls": [call]},
        {"id": "c", "role": "tool", "tool_call_id": "c1", "function": "click", "content": "done"},
        failed,
    ]
    assert told(*messages) == [
        "a system: Be good.",
        'b assistant: ok | click({"x": 1})=c1',
        "c tool: c1> done",
        "#3 tool: c2!> timeout",
    ]


def test_content_stored_beside_the_messages_is_put_back():
    reasoning = {"type": "reasoning", "reasoning": "attachment://h1", "signature": "sig"}
    image = {"type": "image", "image": "data:image/png;base64,aGk="}
    messages = [
        {"id": "a", "role": "user", "content": [{"type": "text", "text": "attachment://h2"}, image]},
        {"id": "b", "role": "assistant", "content": [reasoning, {"type": "hologram"}]},
        {"id": "b", "role": "user", "content": "attachment://gone"},
    ]
    assert told(*messages, attachments={"h1": "hm", "h2": "look"}) == [
        "a user: look | Media",
        "b assistant: ~hm~ [sig] | Unknown",
        "b~2 user: attachment://gone",
        "problem at 2: the id 'b' is used more than once; later ones are numbered",
    ]
