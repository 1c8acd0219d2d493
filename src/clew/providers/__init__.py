"""Providers: wire formats, their rules, conversion between them, and clients for language models.

A name is imported from its module when it is first used, so that importing this package loads no provider.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.providers.anthropic import ANTHROPIC
    from clew.providers.body import Body, check
    from clew.providers.conversion import Converted, convert
    from clew.providers.conversion.targets import ConversionLoss, ConversionLossKind, ConversionOptions
    from clew.providers.formats import WIRES, Guess, detect, wire_named
    from clew.providers.gemini import GEMINI
    from clew.providers.openai_chat import OPENAI
    from clew.providers.openai_responses import RESPONSES
    from clew.providers.rules import CheckReport, CheckScope, RuleLevel, Unverified, Violation
    from clew.providers.wire import Wire

_NAMES = {
    "anthropic": ("ANTHROPIC",),
    "body": ("Body", "check"),
    "conversion": ("Converted", "convert"),
    "conversion.targets": ("ConversionOptions", "ConversionLoss", "ConversionLossKind"),
    "formats": ("WIRES", "Guess", "detect", "wire_named"),
    "gemini": ("GEMINI",),
    "openai_chat": ("OPENAI",),
    "openai_responses": ("RESPONSES",),
    "rules": ("RuleLevel", "CheckReport", "CheckScope", "Unverified", "Violation"),
    "wire": ("Wire",),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "ANTHROPIC", "GEMINI", "OPENAI", "RESPONSES", "WIRES", "Body", "CheckReport", "CheckScope",
    "ConversionLoss", "ConversionLossKind", "ConversionOptions", "Converted", "Guess", "RuleLevel",
    "Unverified", "Violation", "Wire", "check", "convert", "detect", "wire_named",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Import a name from its module on first use."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
