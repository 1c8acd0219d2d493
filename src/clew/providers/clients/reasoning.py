"""Recognise OpenAI's reasoning models by name."""

from __future__ import annotations

import re

from clew.providers.clients.question import THINKING_TOKENS

# o1, o3-mini, gpt-5, gpt-5.2-codex, codex-mini; not gpt-5-chat-latest, gpt-4o, or another vendor's model.
_REASONING = re.compile(r"(?:openai[/.])?(?:o\d|gpt-[5-9](?!\S*chat)|codex-)")


def thinking_tokens(model: str) -> int:
    """Return the tokens to add for thinking: 0 if the model does not reason and so accepts a temperature."""
    return THINKING_TOKENS if _REASONING.match(model.lower()) else 0
