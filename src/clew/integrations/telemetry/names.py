"""Attributes under the names of the GenAI conventions."""

from __future__ import annotations

from typing import Any

from clew.integrations.telemetry.moments import Value
from clew.message import Message

PROVIDERS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-chat": "openai",
    "responses": "openai",
    "gemini": "gcp.gemini",
}
"""The conventions' provider name of each wire format."""


def size(message: Message) -> dict[str, Value]:
    """Return the attributes of a message, without its text."""
    return {
        "clew.message.role": message.role.value,
        "clew.message.origin": message.origin.value,
        "clew.message.parts": [type(part).__name__ for part in message.parts],
        "clew.message.characters": len(message.text),
    }


def asked(whom: str, model: str) -> dict[str, Value]:
    """Return the attributes of a request: operation, provider and model."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": whom,
        "gen_ai.request.model": model,
    }


def usage(counted: Any) -> dict[str, Value]:  # noqa: ANN401 - JSON enters here
    """Return the token usage of a request; input tokens include those read from the cache."""
    names = {
        "input_tokens": "gen_ai.usage.input_tokens",
        "output_tokens": "gen_ai.usage.output_tokens",
        "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
        "cache_write_tokens": "gen_ai.usage.cache_write.input_tokens",
    }
    return {name: int(counted.get(key, 0)) for key, name in names.items()}


def model_of(by: str) -> str:
    """Return a model's own name from its full one, which may name a server: ``openai-chat/qwen@http://…``."""
    return (by.partition("/")[2] or by).partition("@")[0] or "unknown"


def provider(by: str, wire: str) -> str:
    """Return the conventions' name of a model's provider, by its full name or its wire format."""
    name = by.partition("/")[0] if "/" in by else wire or by
    return PROVIDERS.get(name, name or "unknown")
