"""Providers: wire formats, their rules, conversion between them, and clients for language models.

A name is imported from its module when it is first used, so that importing this package loads no provider.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.providers.anthropic import ANTHROPIC
    from clew.providers.body import Body, check
    from clew.providers.clients import open_async_model, open_model
    from clew.providers.conversion import Converted, convert
    from clew.providers.conversion.targets import ConversionLoss, ConversionLossKind, ConversionOptions
    from clew.providers.formats import WIRES, Guess, detect, wire_named
    from clew.providers.gemini import GEMINI
    from clew.providers.model import (
        Ask,
        AsyncModel,
        Model,
        Piece,
        Reply,
        Stop,
        Streamed,
        StreamingModel,
    )
    from clew.providers.openai_chat import OPENAI
    from clew.providers.openai_responses import RESPONSES
    from clew.providers.remote import PATIENCE, AsyncRemoteModel, Patience, RemoteModel
    from clew.providers.rules import (
        ApiRule,
        CheckReport,
        CheckScope,
        RuleFinding,
        RuleLevel,
        Unverified,
        Violation,
    )
    from clew.providers.wire import Wire

_NAMES = {
    "anthropic": ("ANTHROPIC",),
    "body": ("Body", "check"),
    "clients": (
        "open_async_model",
        "open_model",
    ),
    "conversion": (
        "Converted",
        "convert",
    ),
    "conversion.targets": (
        "ConversionOptions",
        "ConversionLoss",
        "ConversionLossKind",
    ),
    "formats": (
        "WIRES",
        "Guess",
        "detect",
        "wire_named",
    ),
    "gemini": ("GEMINI",),
    "model": (
        "Ask",
        "AsyncModel",
        "Model",
        "Piece",
        "Reply",
        "Stop",
        "Streamed",
        "StreamingModel",
    ),
    "openai_chat": ("OPENAI",),
    "openai_responses": ("RESPONSES",),
    "remote": (
        "PATIENCE",
        "AsyncRemoteModel",
        "Patience",
        "RemoteModel",
    ),
    "rules": (
        "RuleFinding",
        "RuleLevel",
        "CheckReport",
        "ApiRule",
        "CheckScope",
        "Unverified",
        "Violation",
    ),
    "wire": ("Wire",),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "ANTHROPIC",
    "GEMINI",
    "OPENAI",
    "PATIENCE",
    "RESPONSES",
    "WIRES",
    "ApiRule",
    "Ask",
    "AsyncModel",
    "AsyncRemoteModel",
    "Body",
    "CheckReport",
    "CheckScope",
    "ConversionLoss",
    "ConversionLossKind",
    "ConversionOptions",
    "Converted",
    "Guess",
    "Model",
    "Patience",
    "Piece",
    "RemoteModel",
    "Reply",
    "RuleFinding",
    "RuleLevel",
    "Stop",
    "Streamed",
    "StreamingModel",
    "Unverified",
    "Violation",
    "Wire",
    "check",
    "convert",
    "detect",
    "open_async_model",
    "open_model",
    "wire_named",
]


def __getattr__(name: str) -> object:
    """Import a name from its module on first use."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
