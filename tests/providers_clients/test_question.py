"""What is sent for a question: the session's own request, and the instruction behind it."""

from __future__ import annotations

import json

import anthropic
import openai
import pytest
from hypothesis import given, settings

from clew.errors import InputError
from clew.message import Message, Native, Role, Text, ToolCall, ToolResult, pair, text_message
from clew.providers import WIRES, Body
from clew.providers.anthropic.client import AnthropicMessages
from clew.providers.clients import open_model
from clew.providers.model import Ask
from clew.providers.openai_chat.client import OpenaiChat
from clew.providers.openai_responses.client import OpenaiResponses
from clew.testing import HttpStatus, ScriptedServer
from tests.conftest import tries
from tests.providers.recorded import accepted
from tests.providers_clients.lines import ANTHROPIC, CHAT, KEY, RESPONSES, Line, ask_sync, each_line
from tests.strategies import ordinary_histories, wild_histories

APIS = {
    "anthropic": AnthropicMessages("claude-sonnet-4-6"),
    "openai": OpenaiChat("gpt-4o"),
    "responses": OpenaiResponses("gpt-5"),
}
each_wire = pytest.mark.parametrize("wire", APIS)

SYSTEM = [{"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}}]
MARKED = {"type": "text", "text": "Fix it, é\u2028 and all.", "cache_control": {"type": "ephemeral"}}
TOOL = {"name": "bash", "description": "Run.", "input_schema": {"type": "object", "properties": {}}}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"b": 1, "a": 2.0}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
TURNS = [
    {"role": "user", "content": [MARKED]},
    {"role": "assistant", "content": [CALL]},
    {"role": "user", "content": [RESULT]},
]


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def about(raw: bytes, wire: str) -> Ask:
    """Return a question about the session that sent this request."""
    body = Body.parse(raw, WIRES[wire])
    rest = Native(wire, body.rest)
    return Ask(messages=body.messages, system=body.system, rest=rest, instruction="Summarise.")


def assert_same_prefix(server: ScriptedServer, *shared: str) -> None:
    """Compare two requests byte by byte: all the same, and one more message in the second."""
    plain, asked = server.requests
    key = plain.server_side.wire.list_key
    assert compact(plain.body[key])[:-1] in asked.raw.decode()
    assert len(asked.body[key]) == len(plain.body[key]) + 1
    for field in shared:
        assert f'"{field}":{compact(plain.body[field])}' in asked.raw.decode()


# The shared prefix -----------------------------------------------------------------------------------


def test_a_question_to_anthropic_is_the_sessions_own_request_with_one_message_more():
    with ScriptedServer("fine", "summary") as server:
        with anthropic.Anthropic(base_url=server.url, api_key=KEY) as client:
            client.messages.create(
                model="claude-sonnet-4-6", max_tokens=64, system=SYSTEM, tools=[TOOL], messages=TURNS
            )
        ask_sync(ANTHROPIC, server, about(server.requests[0].raw, "anthropic"))
    assert_same_prefix(server, "model", "system", "tools")
    assert server.requests[1].body["messages"][-1] == {"role": "user", "content": "Summarise."}


def test_a_question_over_chat_is_the_sessions_own_request_with_one_message_more():
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{ "a":1 }'}}
    messages = [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ]
    tools = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
    with ScriptedServer("fine", "summary") as server:
        with openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY) as client:
            client.chat.completions.create(
                model="gpt-4o", messages=messages, tools=tools, prompt_cache_key="s1"
            )
        ask_sync(CHAT, server, about(server.requests[0].raw, "openai"))
    assert_same_prefix(server, "model", "tools", "prompt_cache_key")


def test_a_question_over_responses_is_the_sessions_own_request_with_one_message_more():
    items = [
        {"role": "user", "content": "Fix it."},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"},
        {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    ]
    tools = [{"type": "function", "name": "bash", "parameters": {"type": "object"}, "strict": False}]
    with ScriptedServer("fine", "summary") as server:
        with openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY) as client:
            client.responses.create(
                model="gpt-5", instructions="You are an agent.", input=items, tools=tools, store=False
            )
        ask_sync(RESPONSES, server, about(server.requests[0].raw, "responses"))
    assert_same_prefix(server, "model", "instructions", "tools", "store")


@each_wire
def test_whatever_was_really_sent_is_the_prefix_of_a_question_about_it(wire: str):
    requests = [one for one in accepted(wire) if isinstance(one.body.get(WIRES[wire].list_key), list)]
    for one in requests:
        body = Body.parse(one.body, WIRES[wire])
        if pair(body.messages).dangling:
            continue
        asked = APIS[wire].body(Ask(messages=body.messages, system=body.system, instruction="Summarise."))
        assert asked[WIRES[wire].list_key][:-1] == one.body[WIRES[wire].list_key], one.file
    assert len(requests) > 50


def test_another_model_gets_none_of_the_sessions_own_fields():
    rest = Native(
        "anthropic", {"model": "claude-opus-4-1", "thinking": {"type": "enabled", "budget_tokens": 2048}}
    )
    asked = APIS["anthropic"].body(Ask(instruction="go", rest=rest))
    assert "thinking" not in asked


def test_nor_does_another_wire():
    rest = Native("anthropic", {"tools": [TOOL]})
    assert "tools" not in APIS["openai"].body(Ask(instruction="go", rest=rest))


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "bash"}])
def test_a_choice_that_forces_a_call_is_left_behind(choice: dict[str, str]):
    rest = Native("anthropic", {"tools": [TOOL], "tool_choice": choice})
    assert "tool_choice" not in APIS["anthropic"].body(Ask(instruction="go", rest=rest))


def test_the_sessions_effort_is_kept_and_its_schema_is_not():
    rest = Native("anthropic", {"output_config": {"effort": "low", "format": {"type": "json_schema"}}})
    asked = APIS["anthropic"].body(Ask(instruction="go", rest=rest))
    assert asked["output_config"] == {"effort": "low"}


def test_an_azure_client_asks_its_own_address():
    with (
        ScriptedServer("ok") as server,
        openai.AzureOpenAI(azure_endpoint=server.url, api_key=KEY, api_version="2025-01-01") as client,
    ):
        assert open_model("openai-chat/gpt-4o", client=client).ask(Ask(instruction="go")).text == "ok"
    assert server.requests[0].path == "/openai/deployments/gpt-4o/chat/completions"


# Every session can be asked about --------------------------------------------------------------------


@each_wire
@given(history=ordinary_histories())
@settings(max_examples=tries(20, 60))
def test_no_api_refuses_a_question_about_an_ordinary_session(wire: str, history: list[Message]):
    asked = APIS[wire].body(Ask(messages=tuple(history), instruction="Summarise."))
    assert WIRES[wire].check(asked).rule_ids == ()


@each_wire
@given(history=wild_histories)
@settings(max_examples=tries(24, 120))
def test_no_api_refuses_a_question_about_any_session(wire: str, history: list[Message]):
    asked = APIS[wire].body(Ask(messages=tuple(history), instruction="Summarise.", system="Be brief."))
    assert WIRES[wire].check(asked).rule_ids == ()


@each_wire
@pytest.mark.parametrize("native", [False, True])
def test_a_call_that_still_waits_is_answered_before_the_question(wire: str, native: bool):
    waiting = [text_message(Role.USER, "go"), Message(Role.ASSISTANT, (ToolCall("c1", "bash", {}),))]
    if native:
        waiting = WIRES[wire].parse(WIRES[wire].render(waiting))
    asked = APIS[wire].body(Ask(messages=tuple(waiting), instruction="Summarise."))
    assert WIRES[wire].check(asked).rule_ids == ()
    assert "Summarise." in json.dumps(asked[WIRES[wire].list_key][-1])


def test_tools_that_a_history_calls_are_defined_for_anthropic_and_may_not_be_called():
    history = (
        text_message(Role.USER, "go"),
        Message(Role.ASSISTANT, (ToolCall("c1", "bash", {}), ToolCall("c2", "read", {}))),
        Message(Role.TOOL, (ToolResult("c1", (Text("ok"),)), ToolResult("c2", (Text("ok"),)))),
    )
    asked = APIS["anthropic"].body(Ask(messages=history, instruction="Summarise."))
    assert [tool["name"] for tool in asked["tools"]] == ["bash", "read"]
    assert asked["tool_choice"] == {"type": "none"}


def test_a_question_without_an_instruction_is_the_messages_alone():
    asked = APIS["openai"].body(Ask(messages=(text_message(Role.USER, "hello"),)))
    assert asked["messages"] == [{"role": "user", "content": "hello"}]


@each_wire
def test_nothing_to_ask_is_an_error(wire: str):
    with pytest.raises(InputError, match="nothing is asked"):
        APIS[wire].body(Ask(system="Be brief."))


@pytest.mark.parametrize(("session", "stored"), [({}, False), ({"store": True}, True)])
def test_openai_stores_a_question_only_where_it_stores_the_session(session: dict[str, bool], stored: bool):
    asked = APIS["responses"].body(Ask(instruction="go", rest=Native("responses", session)))
    assert asked["store"] is stored


# Temperature and length ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("api", "sent"),
    [
        (AnthropicMessages("claude-sonnet-4-6"), True),
        (AnthropicMessages("claude-opus-4-7"), False),
        (AnthropicMessages("claude-opus-9-9"), False),
        (AnthropicMessages("qwen3-coder"), True),
        (OpenaiChat("gpt-4o"), True),
        (OpenaiChat("gpt-5.2"), False),
        (OpenaiChat("gpt-5-chat-latest"), True),
        (OpenaiChat("o3-mini"), False),
        (OpenaiChat("llama3"), True),
        (OpenaiResponses("gpt-4.1"), True),
        (OpenaiResponses("gpt-6-sol"), False),
    ],
    ids=lambda value: getattr(value, "model", value),
)
def test_the_temperature_is_sent_to_models_that_take_one(api: OpenaiChat, sent: bool):
    assert ("temperature" in api.body(Ask(instruction="go"))) is sent


def test_no_temperature_goes_with_thinking():
    rest = Native("anthropic", {"thinking": {"type": "enabled", "budget_tokens": 2_000}})
    asked = APIS["anthropic"].body(Ask(instruction="go", rest=rest, max_output_tokens=1_000))
    assert ("temperature" in asked, asked["max_tokens"]) == (False, 3_000)
    assert WIRES["anthropic"].check(asked).rule_ids == ()


@pytest.mark.parametrize(
    ("api", "field", "tokens"),
    [
        (OpenaiChat("gpt-4o"), "max_completion_tokens", 1_000),
        (OpenaiChat("llama3", limit_field="max_tokens"), "max_tokens", 1_000),
        (OpenaiResponses("gpt-5"), "max_output_tokens", 9_192),
        (AnthropicMessages("claude-fable-5"), "max_tokens", 9_192),
        (AnthropicMessages("claude-opus-9-9"), "max_tokens", 9_192),
        (AnthropicMessages("qwen3-coder"), "max_tokens", 1_000),
        (AnthropicMessages("claude-3-haiku-20240307"), "max_tokens", 1_000),
    ],
    ids=lambda value: getattr(value, "model", value),
)
def test_room_for_thinking_is_added_to_the_length_of_the_answer(api: OpenaiChat, field: str, tokens: int):
    assert api.body(Ask(instruction="go", max_output_tokens=1_000))[field] == tokens


def test_no_more_is_asked_for_than_a_model_can_say():
    assert (
        APIS["openai"].body(Ask(instruction="go", max_output_tokens=99_999))["max_completion_tokens"]
        == 16_384
    )


@each_line
def test_a_temperature_that_is_refused_is_spared(line: Line):
    if line is RESPONSES:
        line = line._replace(model="gpt-4.1")
    refusal = "Unsupported parameter: 'temperature' is not supported with this model."
    with ScriptedServer(HttpStatus(400, refusal), "ok") as server:
        assert ask_sync(line, server, Ask(instruction="go")).text == "ok"
    assert ["temperature" in request.body for request in server.requests] == [True, False]


def test_the_length_of_the_answer_is_called_by_its_other_name_where_the_first_is_refused():
    refusal = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    with ScriptedServer(HttpStatus(400, refusal), "ok") as server:
        ask_sync(CHAT, server, Ask(instruction="go", max_output_tokens=100))
    assert [request.body.get("max_completion_tokens") for request in server.requests] == [None, 100]
