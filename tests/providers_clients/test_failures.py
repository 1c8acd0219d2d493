"""What error responses mean, in the words of those who send them."""

from __future__ import annotations

import pytest

from clew.errors import ContextTooLong, ModelBusy, ModelFailed, ModelRefused
from clew.providers.api import error_for_response, error_in_body, retry_after, without_keys

# As their users reported them.
TOO_LONG = {
    "prompt is too long: 208310 tokens > 200000 maximum": (208_310, 200_000),
    "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or "
    "`max_tokens` and try again": (178_959, 200_000),
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. "
    "Please reduce the length of the messages.": (204_308, 128_000),
    "This model's maximum context length is 4097 tokens, however you requested 4322 tokens (4066 in your "
    "prompt; 256 for the completion).": (4_322, 4_097),
    "This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens "
    "(42832 of text input).": (42_832, 32_768),
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 289650 tokens. "
    "Please reduce the length of the messages.": (289_650, 272_000),
    "Your input exceeds the context window of this model. Please adjust your input and try again.": (
        None,
        None,
    ),
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).": (
        1_196_265,
        1_048_575,
    ),
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.": (
        537_812,
        131_072,
    ),
    "Prompt contains 40,000 tokens, too large for model with 32,768 maximum context length": (40_000, 32_768),
    "request (9031 tokens) exceeds the available context size (8192 tokens), try increasing it": (
        9_031,
        8_192,
    ),
    "Please reduce the length of the messages or completion.": (None, None),
    "Input is too long for requested model.": (None, None),
    "prompt is too long: , tokens > 200,000": (None, 200_000),
    f"prompt is too long: {'9' * 5_000} tokens > 200000": (None, 200_000),
}


@pytest.mark.parametrize(("message", "numbers"), TOO_LONG.items())
def test_each_provider_is_understood_when_a_request_is_too_long(message, numbers):
    error = error_for_response(400, {}, {"error": {"message": message}})
    assert isinstance(error, ContextTooLong)
    assert (error.tokens, error.limit) == numbers


def test_llama_cpp_gives_the_numbers_apart_from_the_words():
    told = {
        "type": "exceed_context_size_error",
        "message": "too long",
        "n_prompt_tokens": 9031,
        "n_ctx": 8192,
    }
    error = error_for_response(400, {}, {"error": told})
    assert (type(error), error.tokens, error.limit) == (ContextTooLong, 9_031, 8_192)


@pytest.mark.parametrize(
    ("body", "numbers"),
    [
        (
            [{"error": {"message": "The input token count (1196265) exceeds the maximum (1048575)."}}],
            (1_196_265, 1_048_575),
        ),
        (
            {"error": "Bad Request", "message": "prompt is too long: 210000 tokens > 200000 maximum"},
            (210_000, 200_000),
        ),
    ],
)
def test_a_request_is_too_long_in_bodies_of_other_shapes(body, numbers):
    error = error_for_response(400, {}, body)
    assert isinstance(error, ContextTooLong)
    assert (error.tokens, error.limit) == numbers


def test_one_request_larger_than_a_minutes_tokens_is_too_long_not_too_early():
    message = "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 50123."
    error = error_for_response(
        429, {"retry-after": "1"}, {"error": {"message": message, "code": "rate_limit_exceeded"}}
    )
    assert (type(error), error.tokens, error.limit) == (ContextTooLong, 50_123, 30_000)


def test_no_money_left_is_a_refusal_that_no_waiting_changes():
    assert isinstance(error_for_response(429, {}, {"error": {"code": "insufficient_quota"}}), ModelRefused)


def test_overload_is_known_by_its_name_whatever_the_status():
    assert isinstance(error_for_response(500, {}, {"error": {"type": "overloaded_error"}}), ModelBusy)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"error": {"type": "api_error", "message": "broken"}}, "500 api_error: broken"),
        ({"type": "api_error", "message": "broken"}, "500 api_error: broken"),
        ({"error": "model not loaded"}, "500: model not loaded"),
        ({"detail": "broken"}, "500: broken"),
        ({"error": {"code": 17, "message": ["odd"]}}, "500"),
        ("<html>\n  <b>Bad gateway</b>", "500: <html> <b>Bad gateway</b>"),
        (["odd"], "500: odd"),
        (["odd", "even"], "500"),
        ([{"error": {"code": 500, "message": "broken"}}], "500: broken"),
        ({"error": "Bad Gateway", "message": "broken"}, "500: Bad Gateway: broken"),
        (None, "500"),
    ],
)
def test_an_error_body_of_any_shape_is_told_in_a_line(body, detail):
    error = error_for_response(500, {}, body)
    assert (type(error), error.detail) == (ModelFailed, detail)


def test_a_long_error_is_cut():
    assert len(error_for_response(500, {}, "x" * 10_000).detail) == 400


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "nan", "retry-after": "1"}, 1.0),
        ({"retry-after": "Sun, 15 Nov 2026 10:00:30 GMT", "date": "Sun, 15 Nov 2026 10:00:00 GMT"}, 30.0),
        ({"retry-after": "Sun, 15 Nov 2026 10:00:30 GMT"}, None),
    ],
)
def test_how_long_to_wait_is_read_as_seconds_milliseconds_or_a_date(headers, seconds):
    assert retry_after(headers) == seconds


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"error": {"code": 402, "message": "no credits"}}, ModelRefused),
        ({"error": {"code": 429, "message": "slow"}}, ModelBusy),
        ({"error": {"code": "server_error", "message": "oh"}}, ModelFailed),
        ({"error": {"code": float("nan"), "message": "oh"}}, ModelFailed),
        ({"error": "oh"}, ModelFailed),
        ({"id": "x"}, ModelFailed),
        ({}, ModelFailed),
    ],
)
def test_an_error_that_comes_as_an_answer_is_that_error(value, error):
    assert type(error_in_body(value)) is error


@pytest.mark.parametrize(
    ("text", "blackened"),
    [
        ("Incorrect API key provided: sk-proj-ab****wxyz.", "Incorrect API key provided: [key]"),
        ("Bearer abc.def was refused", "Bearer [key] was refused"),
        ("my-own-secret is unknown", "[key] is unknown"),
        ("a task-oriented risk-averse desk-top", "a task-oriented risk-averse desk-top"),
    ],
)
def test_keys_are_blacked_out(text, blackened):
    assert without_keys(text, "my-own-secret") == blackened
