"""A real model, small and weak, at the end of the OpenAI-compatible line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clew.errors import ContextTooLong
from clew.message import Role, text_message
from clew.providers.clients import open_model
from clew.providers.model import Ask, Model, Stop
from tests.local_model import served

WINDOW_TOKENS = 2_048

pytestmark = [pytest.mark.local_model, pytest.mark.slow]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(WINDOW_TOKENS) as address:
        yield address


@pytest.fixture(params=["openai-chat/smollm2@{}/v1", "openai/smollm2@{}/v1", "anthropic/smollm2@{}"])
def model(request: pytest.FixtureRequest, address: str) -> Iterator[Model]:
    opened = open_model(request.param.format(address), window_tokens=WINDOW_TOKENS)
    yield opened
    opened.close()


def test_a_real_model_answers_and_says_what_it_cost(model: Model):
    reply = model.ask(
        Ask(system="Answer in one word.", instruction="What is the capital of France?", max_output_tokens=24)
    )
    assert "Paris" in reply.text
    assert reply.stop in (Stop.END, Stop.MAX_TOKENS)
    assert reply.usage.input_tokens > 10
    assert 0 < reply.usage.output_tokens <= 24


def test_what_a_real_model_cannot_hold_is_too_long_by_so_many_tokens(model: Model):
    with pytest.raises(ContextTooLong) as raised:
        model.ask(Ask(messages=(text_message(Role.USER, "word " * 3_000),), instruction="Summarise."))
    assert raised.value.limit == WINDOW_TOKENS
    assert raised.value.tokens > 3_000


def test_a_question_about_a_session_is_read_from_the_cache_that_the_session_filled(model: Model):
    if model.name.startswith("openai/"):
        pytest.skip("this server's Responses API does not take the assistant's words as plain text")
    said_before = tuple(
        text_message(role, f"{role.value} speaks of item {i}, its size and its colour.")
        for i in range(20)
        for role in (Role.USER, Role.ASSISTANT)
    )
    history = (*said_before, text_message(Role.USER, "Go on."))
    first = model.ask(Ask(messages=history, max_output_tokens=1))
    asked = model.ask(Ask(messages=history, instruction="Summarise.", max_output_tokens=1))
    assert asked.usage.cache_read_tokens > 0.95 * first.usage.input_tokens
