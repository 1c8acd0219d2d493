"""Recognise the vendor of the model in a request: many servers use OpenAI's formats with other rules."""

from __future__ import annotations

import re

from clew.message import JsonObject
from clew.providers.shapes import as_text

# gpt-5.2, openai/gpt-4o, o3-mini, chatgpt-4o-latest, codex-mini; not gpt-oss, which other vendors serve.
_OPENAI = re.compile(r"(?:openai[/.])?(?:gpt-(?!oss)|o\d(?:-|$)|chatgpt-|codex-|computer-use-)")
_DEEPSEEK = re.compile(r"(?:deepseek[/.])?deepseek-")


def may_be_openai(body: JsonObject) -> bool:
    """Whether the request is for one of OpenAI's models, or names no model."""
    model = as_text(body.get("model")).lower()
    return not model or _OPENAI.match(model) is not None


def is_deepseek(body: JsonObject) -> bool:
    """Whether the request is for one of DeepSeek's models."""
    return _DEEPSEEK.match(as_text(body.get("model")).lower()) is not None
