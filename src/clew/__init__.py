"""clew decides what an LLM agent's model sees once a session outgrows its context window.

All public names are importable from here. Subpackages are imported when one of their names is first used, so
``import clew`` is fast and has no side effects.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from clew.budget import Limit, Policy, TokenBudget
    from clew.compaction.plan import Digest, Plan
    from clew.compaction.verify import Report
    from clew.errors import ClewError
    from clew.integrations.client import wrap
    from clew.log.protocol import Store
    from clew.log.store import MemoryStore, SqliteStore
    from clew.message import (
        Message,
        Role,
        Text,
        Thinking,
        ToolCall,
        ToolResult,
        Trust,
        Usage,
        cut_points,
        text_message,
    )
    from clew.providers import check, convert
    from clew.providers.model import Model
    from clew.rules.rule import Rule
    from clew.session import Compaction, Compactor, CompactResult, Session, compact, compact_async
    from clew.transcripts import find_sessions, load

_MODULES = {
    "budget": ("Limit", "Policy", "TokenBudget"),
    "compaction.plan": ("Digest", "Plan"),
    "compaction.verify": ("Report",),
    "errors": ("ClewError",),
    "integrations.client": ("wrap",),
    "log.protocol": ("Store",),
    "log.store": ("MemoryStore", "SqliteStore"),
    "message": (
        "Message",
        "Role",
        "Text",
        "Thinking",
        "ToolCall",
        "ToolResult",
        "Trust",
        "Usage",
        "cut_points",
        "text_message",
    ),
    "providers": ("check", "convert"),
    "providers.model": ("Model",),
    "rules.rule": ("Rule",),
    "session": ("CompactResult", "Compaction", "Compactor", "Session", "compact", "compact_async"),
    "transcripts": ("find_sessions", "load"),
}
"""The module of each public name, imported when the name is first used."""
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "ClewError",
    "CompactResult",
    "Compaction",
    "Compactor",
    "Digest",
    "Limit",
    "MemoryStore",
    "Message",
    "Model",
    "Plan",
    "Policy",
    "Report",
    "Role",
    "Rule",
    "Session",
    "SqliteStore",
    "Store",
    "Text",
    "Thinking",
    "TokenBudget",
    "ToolCall",
    "ToolResult",
    "Trust",
    "Usage",
    "__version__",
    "check",
    "compact",
    "compact_async",
    "convert",
    "cut_points",
    "find_sessions",
    "load",
    "text_message",
    "wrap",
]


if not TYPE_CHECKING:  # a type checker would accept any name of a module with __getattr__

    def __getattr__(name: str) -> object:
        """Import a public name from its subpackage on first use."""
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'clew' has no attribute {name!r}")
        value = getattr(importlib.import_module(f"clew.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
