"""The scripted server, as the official SDKs see it: whole and streamed, strict and honest."""

from __future__ import annotations

import contextlib
import json
import urllib.error
import urllib.request

import anthropic
import openai
import pytest

from clew.message import Message, Role, Text, Thinking, ToolCall, Usage
from clew.providers import RESPONSES
from clew.providers.model import Reply, Stop
from clew.testing import HangUp, HttpStatus, ScriptedServer, ScriptExhausted
from tests.providers_clients.lines import KEY

WORDS = "A long enough answer that is streamed in several pieces, with é and 漢字."
THINK, SAY = Thinking("Let me see, this may take a while.", "c2ln"), Text(WORDS)
CALL = ToolCall("call_1", "bash", {"command": "ls -la /tmp/a/very/long/path", "n": 1})
USAGE = Usage(input_tokens=100, output_tokens=20, cache_read_tokens=60, cache_write_tokens=30)
FULL = Reply(Message(Role.ASSISTANT, (THINK, SAY, CALL)), Stop.TOOL_CALL, USAGE)
HELLO = [{"role": "user", "content": "hello"}]


def anthropic_client(server: ScriptedServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.url, api_key=KEY, max_retries=0)


def openai_client(server: ScriptedServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY, max_retries=0)


# Whole and streamed are the same ---------------------------------------------------------------------


def test_anthropics_sdk_gathers_from_a_stream_what_it_reads_whole():
    asked = {"model": "claude-sonnet-4-6", "max_tokens": 64, "messages": HELLO}
    with ScriptedServer(FULL, FULL) as server, anthropic_client(server) as client:
        whole = client.messages.create(**asked)
        with client.messages.stream(**asked) as stream:
            gathered = stream.get_final_message()
    assert [block.type for block in whole.content] == ["thinking", "text", "tool_use"]
    assert (whole.content[1].text, whole.content[2].input) == (WORDS, CALL.arguments)
    assert (whole.usage.input_tokens, whole.usage.cache_read_input_tokens) == (10, 60)
    assert {**gathered.to_dict(), "id": ""} == {**whole.to_dict(), "id": ""}


def test_openais_sdk_gathers_from_a_chat_stream_what_it_reads_whole():
    asked = {"model": "gpt-4o", "messages": HELLO}
    with ScriptedServer(FULL, FULL) as server, openai_client(server) as client:
        whole = client.chat.completions.create(**asked)
        with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
            gathered = stream.get_final_completion()
    message, other = whole.choices[0].message, gathered.choices[0].message
    assert (message.content, message.tool_calls[0].function.arguments) == (WORDS, json.dumps(CALL.arguments))
    assert (other.content, other.tool_calls[0].function.arguments) == (WORDS, json.dumps(CALL.arguments))
    assert whole.choices[0].finish_reason == gathered.choices[0].finish_reason == "tool_calls"
    assert whole.usage == gathered.usage


def test_openais_sdk_gathers_from_a_response_stream_what_it_reads_whole():
    asked = {"model": "gpt-5", "input": "hello"}
    with ScriptedServer(FULL, FULL) as server, openai_client(server) as client:
        whole = client.responses.create(**asked)
        with client.responses.stream(**asked) as stream:
            deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
            gathered = stream.get_final_response()
    assert [item.type for item in whole.output] == ["reasoning", "message", "function_call"]
    assert whole.output_text == gathered.output_text == "".join(deltas) == WORDS
    assert gathered.output[2].arguments == json.dumps(CALL.arguments)
    assert whole.usage == gathered.usage


def test_a_call_of_a_tool_that_takes_plain_text_is_streamed_to_openais_sdk():
    item = {
        "type": "custom_tool_call",
        "call_id": "c1",
        "name": "apply_patch",
        "input": "*** Begin Patch " * 5,
    }
    reply = Reply(Message(Role.ASSISTANT, RESPONSES.parse_item(item).parts), Stop.TOOL_CALL)
    asked = {"model": "gpt-5", "input": "hello"}
    with ScriptedServer(reply, reply) as server, openai_client(server) as client:
        whole = client.responses.create(**asked)
        events = list(client.responses.create(**asked, stream=True))
    assert (whole.output[0].type, whole.output[0].input) == ("custom_tool_call", item["input"])
    deltas = [one.delta for one in events if one.type == "response.custom_tool_call_input.delta"]
    assert "".join(deltas) == item["input"]
    assert len(deltas) > 1


def test_a_refusal_of_openais_is_a_block_of_its_own():
    item = {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    reply = Reply(Message(Role.ASSISTANT, RESPONSES.parse_item(item).parts))
    with ScriptedServer(reply) as server, openai_client(server) as client:
        whole = client.responses.create(model="gpt-5", input="hello")
    assert whole.output[0].content[0].refusal == "No."


# What it is told, and what it refuses ----------------------------------------------------------------


def test_requests_are_kept_as_they_came():
    with ScriptedServer("ok") as server, openai_client(server) as client:
        client.chat.completions.create(model="gpt-4o", messages=HELLO, max_completion_tokens=77)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert (
        json.loads(request.raw)
        == request.body
        == {
            "messages": HELLO,
            "model": "gpt-4o",
            "max_completion_tokens": 77,
        }
    )
    assert (request.ask.instruction, request.ask.max_output_tokens) == ("hello", 77)


def test_a_request_that_breaks_the_rules_is_refused_and_costs_no_line():
    orphan = [{"role": "tool", "tool_call_id": "c1", "content": "ok"}]
    with ScriptedServer("ok") as server, openai_client(server) as client:
        with pytest.raises(openai.BadRequestError, match="O1"):
            client.chat.completions.create(model="gpt-4o", messages=orphan)
        assert (
            client.chat.completions.create(model="gpt-4o", messages=HELLO).choices[0].message.content == "ok"
        )
    assert [request.check().refused for request in server.requests] == [True, False]


def test_a_lenient_server_takes_it():
    orphan = [{"role": "tool", "tool_call_id": "c1", "content": "ok"}]
    with ScriptedServer("ok", strict=False) as server, openai_client(server) as client:
        assert (
            client.chat.completions.create(model="gpt-4o", messages=orphan).choices[0].message.content == "ok"
        )


def ask_twice(server: ScriptedServer) -> None:
    """Ask as a client does that survives a broken server."""
    with server, openai_client(server) as client, contextlib.suppress(openai.InternalServerError):
        client.chat.completions.create(model="gpt-4o", messages=HELLO)
        client.chat.completions.create(model="gpt-4o", messages=HELLO)


def test_one_request_too_many_fails_the_test_and_not_only_the_client():
    with pytest.raises(ScriptExhausted, match="request 2"):
        ask_twice(ScriptedServer("ok"))


def test_an_error_has_the_providers_shape():
    with ScriptedServer(HttpStatus(529), HttpStatus(429)) as server, anthropic_client(server) as client:
        with pytest.raises(anthropic.APIStatusError) as raised:
            client.messages.create(model="claude-sonnet-4-6", max_tokens=9, messages=HELLO)
        assert (raised.value.type, raised.value.api_message) == ("overloaded_error", "scripted")
        with pytest.raises(anthropic.RateLimitError):
            client.messages.create(model="claude-sonnet-4-6", max_tokens=9, messages=HELLO)


def test_a_server_can_hang_up():
    hung_up = pytest.raises(openai.APIConnectionError)
    with ScriptedServer(HangUp()) as server, openai_client(server) as client, hung_up:
        client.chat.completions.create(model="gpt-4o", messages=HELLO)


def test_an_unknown_address_is_not_found():
    with ScriptedServer() as server, pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(urllib.request.Request(f"{server.url}/v2/nothing", data=b"{}"))
    with raised.value:
        assert raised.value.code == 404


def test_what_is_not_json_is_refused():
    with ScriptedServer() as server, pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(urllib.request.Request(f"{server.url}/v1/messages", data=b"{"))
    with raised.value:
        assert raised.value.code == 400
