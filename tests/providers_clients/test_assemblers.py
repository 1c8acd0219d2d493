"""Streams that mean no good: arguments nested without end, and answers that never end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from itertools import repeat

import pytest

from clew.errors import ModelFailed
from clew.message import Json, JsonObject
from clew.providers.anthropic.client import AnthropicAssembler, AnthropicMessages
from clew.providers.api import Api
from clew.providers.model import StreamAssembler
from clew.providers.openai_chat.client import ChatAssembler, OpenaiChat
from clew.providers.openai_responses.client import OpenaiResponses
from clew.providers.remote import (
    CHARACTERS_PER_TOKEN,
    EVENT_CHARACTERS,
    EXTRA_CHARACTERS,
    Patience,
    stream_reply,
)

MANY = 200_000


def block_delta(delta: JsonObject) -> JsonObject:
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def chat_delta(delta: JsonObject) -> JsonObject:
    return {"choices": [{"delta": delta}]}


def chat_arguments(text: str) -> JsonObject:
    call: Json = {"index": 0, "function": {"arguments": text}}
    return chat_delta({"tool_calls": [call]})


DELTAS: dict[str, tuple[Api, Callable[[str], JsonObject]]] = {
    "words": (AnthropicMessages("claude-x"), lambda text: block_delta({"type": "text_delta", "text": text})),
    "arguments": (
        AnthropicMessages("claude-x"),
        lambda text: block_delta({"type": "input_json_delta", "partial_json": text}),
    ),
    "chat words": (OpenaiChat("gpt-4o"), lambda text: chat_delta({"content": text})),
    "chat arguments": (OpenaiChat("gpt-4o"), chat_arguments),
    "responses": (
        OpenaiResponses("gpt-5"),
        lambda text: {"type": "response.output_text.delta", "delta": text},
    ),
    "nothing at all": (AnthropicMessages("claude-x"), lambda _text: {"type": "ping"}),
}


@pytest.mark.parametrize("kind", DELTAS)
def test_an_answer_that_never_ends_is_cut_off_at_a_multiple_of_its_limit(kind: str):
    api, delta = DELTAS[kind]
    taken: list[int] = []

    def events(_send: object) -> Iterator[JsonObject]:
        for event in repeat(delta("x" * 1_000)):
            taken.append(1)
            yield event

    with pytest.raises(ModelFailed, match="goes on far beyond its limit"):
        list(stream_reply(api, api.fields(10), Patience(tries=1), events))
    size = EVENT_CHARACTERS if kind == "nothing at all" else 1_000
    assert len(taken) <= (CHARACTERS_PER_TOKEN * 10 + EXTRA_CHARACTERS) // size + 1


@pytest.mark.parametrize("nested", ["[" * 60_000 + "]" * 60_000, "[" * 60_000, "9" * 5_000])
def test_arguments_that_cannot_be_read_are_a_failure(nested: str):
    assembler = AnthropicAssembler()
    for event in (
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t"}},
        block_delta({"type": "input_json_delta", "partial_json": f'{{"query":{nested}}}'}),
        {"type": "message_stop"},
    ):
        list(assembler.add(event))
    with pytest.raises(ModelFailed, match="arguments of a tool call"):
        assembler.body()


@pytest.mark.parametrize(
    ("assembler", "delta", "end"),
    [
        (AnthropicAssembler(), DELTAS["arguments"][1], {"type": "message_stop"}),
        (ChatAssembler(), chat_arguments, {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
    ],
    ids=["anthropic", "chat"],
)
def test_many_small_pieces_are_put_together_in_little_time(
    assembler: StreamAssembler, delta: Callable[[str], JsonObject], end: JsonObject
):
    """Where each piece copied all that came before it, this would take minutes."""
    began = time.process_time()
    list(assembler.add(delta('{"a":"')))
    for _ in range(MANY):
        list(assembler.add(delta("x" * 20)))
    for last in (delta('"}'), end):
        list(assembler.add(last))
    text = json.dumps(assembler.body())
    assert text.count("x") >= 20 * MANY
    assert time.process_time() - began < 20
