"""Recognise "request too long" errors of many providers, and read the token counts they state."""

from __future__ import annotations

import re
from typing import NamedTuple

from clew.message import JsonObject
from clew.providers.clients.api import whole

_CODES = ("context_length_exceeded", "exceed_context_size_error", "request_too_large")

# Providers' messages, with the numbers if they state them.
_WORDED = tuple(
    re.compile(pattern, re.I | re.S)
    for pattern in (
        # Anthropic
        r"prompt is too long(?:: (?P<tokens>[\d,]+) tokens > (?P<limit>[\d,]+))?",
        r"exceed context limit: (?P<tokens>[\d,]+) \+ [\d,]+ > (?P<limit>[\d,]+)",
        # OpenAI, vLLM, DeepSeek, OpenRouter
        r"maximum context length is (?P<limit>[\d,]+) tokens.*?"
        r"(?:resulted in|requested(?: about)?|request has|contains) (?P<tokens>[\d,]+)",
        r"configured limit of (?P<limit>[\d,]+) tokens.*?resulted in (?P<tokens>[\d,]+)",
        r"exceeds the context window",
        r"context[ _]length[ _]exceeded",
        # OpenAI, if one request exceeds the tokens per minute: waiting does not help
        r"request too large.*?limit (?P<limit>[\d,]+), requested (?P<tokens>[\d,]+)",
        # Gemini, xAI, Mistral, Groq, Bedrock
        r"input token count \((?P<tokens>[\d,]+)\) exceeds[^(]*\((?P<limit>[\d,]+)\)",
        r"maximum prompt length is (?P<limit>[\d,]+) but the request contains (?P<tokens>[\d,]+)",
        r"contains (?P<tokens>[\d,]+) tokens.*?(?P<limit>[\d,]+) maximum context length",
        r"reduce the length of the messages",
        r"input is too long for requested model",
        # llama.cpp, LM Studio
        r"request \((?P<tokens>[\d,]+) tokens\) exceeds the available context size \((?P<limit>[\d,]+)",
        r"exceeds the available context size",
        r"greater than the context length",
    )
)


class Length(NamedTuple):
    """The length of a request and the limit, in tokens; None for what the provider does not state."""

    tokens: int | None = None
    limit: int | None = None


def told_length(code: str, message: str, fields: JsonObject) -> Length | None:
    """Return the numbers in an error, or None if the error is not about length."""
    found = next(filter(None, (pattern.search(message) for pattern in _WORDED)), None)
    if found is None and code not in _CODES:
        return None
    numbers = found.groupdict() if found else {}
    tokens = _number(numbers.get("tokens")) or whole(fields.get("n_prompt_tokens"))  # llama.cpp's fields
    limit = _number(numbers.get("limit")) or whole(fields.get("n_ctx"))
    return Length(tokens or None, limit or None)


def _number(text: str | None) -> int:
    return int(text.replace(",", "")) if text else 0
