"""What answers say, read from bodies as providers send them."""

from __future__ import annotations

import pytest

from clew.message import JsonObject, Usage
from clew.providers.anthropic.client import AnthropicMessages
from clew.providers.model import Reply, Stop
from clew.providers.openai_chat.client import OpenaiChat
from clew.providers.openai_responses.client import OpenaiResponses

CLAUDE, CHAT, GPT = AnthropicMessages("claude-sonnet-4-6"), OpenaiChat("gpt-4o"), OpenaiResponses("gpt-5")


def chat(message: JsonObject, reason: str = "stop") -> Reply:
    return CHAT.reply({"choices": [{"message": message, "finish_reason": reason}]})


def response(*items: JsonObject, **fields: object) -> Reply:
    return GPT.reply({"status": "completed", "output": list(items), **fields})


def test_a_refusal_over_chat_is_one_though_its_reason_is_stop():
    reply = chat({"role": "assistant", "content": None, "refusal": "I cannot."})
    assert (reply.text, reply.stop) == ("I cannot.", Stop.REFUSED)


def test_a_refusal_over_responses_is_one_though_its_status_is_completed():
    refusal = {"type": "refusal", "refusal": "I cannot."}
    reply = response({"type": "message", "role": "assistant", "content": [refusal]})
    assert (reply.text, reply.stop) == ("I cannot.", Stop.REFUSED)


def test_the_open_reasoning_of_other_servers_is_thinking():
    reply = chat({"role": "assistant", "content": "4", "reasoning_content": "2 + 2"})
    assert (reply.text, reply.thought) == ("4", True)


def test_a_tool_that_the_provider_ran_is_no_call_to_us():
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "found"}]}
    reply = response(search, said)
    assert (reply.text, reply.stop) == ("found", Stop.END)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", Stop.END),
        ("stop_sequence", Stop.END),
        ("max_tokens", Stop.MAX_TOKENS),
        ("model_context_window_exceeded", Stop.MAX_TOKENS),
        ("tool_use", Stop.TOOL_CALL),
        ("refusal", Stop.REFUSED),
        ("pause_turn", Stop.OTHER),
        ("something_new", Stop.OTHER),
        (None, Stop.OTHER),
    ],
)
def test_anthropics_reasons_are_known(reason: str | None, stop: Stop):
    assert CLAUDE.reply({"content": [], "stop_reason": reason}).stop is stop


@pytest.mark.parametrize(
    ("fields", "stop"),
    [
        ({}, Stop.END),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, Stop.MAX_TOKENS),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, Stop.REFUSED),
        ({"status": "incomplete", "incomplete_details": None}, Stop.OTHER),
        ({"status": "cancelled"}, Stop.OTHER),
    ],
)
def test_the_states_of_a_response_are_known(fields: JsonObject, stop: Stop):
    assert response(**fields).stop is stop


@pytest.mark.parametrize(
    ("reply", "usage"),
    [
        (
            CLAUDE.reply(
                {
                    "content": [],
                    "usage": {
                        "input_tokens": 5,
                        "cache_read_input_tokens": 80,
                        "cache_creation_input_tokens": 15,
                        "output_tokens": 7,
                    },
                }
            ),
            Usage(100, 7, 80, 15),
        ),
        (
            response(
                usage={"input_tokens": 100, "input_tokens_details": {"cached_tokens": 80}, "output_tokens": 7}
            ),
            Usage(100, 7, 80, 0),
        ),
        (CLAUDE.reply({"content": [], "usage": None}), Usage()),
        (CLAUDE.reply({"content": [], "usage": {"input_tokens": True, "output_tokens": "7"}}), Usage()),
    ],
)
def test_input_counts_what_came_from_the_cache_whoever_counts(reply: Reply, usage: Usage):
    assert reply.usage == usage
