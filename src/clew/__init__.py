"""clew decides what an LLM agent's model sees once a session outgrows its context window.

All public names are importable from here. Subpackages are imported when one of their names is first used, so
``import clew`` is fast and has no side effects.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from clew.errors import ClewError
    from clew.integrations.client import wrap
    from clew.log import fold, message_event
    from clew.log.protocol import Ctx, Event, Head, Store
    from clew.log.store import MemoryStore, SqliteStore
    from clew.message import (
        ApprovalAnswer,
        ApprovalRequest,
        Compacted,
        Media,
        Message,
        Origin,
        Role,
        Text,
        Thinking,
        ToolCall,
        ToolResult,
        Trust,
        Unknown,
        atoms,
        cut_points,
        pair,
        said,
        turns,
    )
    from clew.providers import WIRES, Body, Wire, convert, wire_named
    from clew.session import Compactor, CompactResult, Session, compact, compact_async
    from clew.tokens import TokenCounter, counter_for, model_named
    from clew.transcripts import Transcript, find_sessions, load, open_source, read

_ROOMS = {
    "errors": ("ClewError",),
    "integrations.client": ("wrap",),
    "log": ("fold", "message_event"),
    "message": (
        "ApprovalAnswer",
        "ApprovalRequest",
        "Compacted",
        "Media",
        "Message",
        "Origin",
        "Role",
        "Text",
        "Thinking",
        "ToolCall",
        "ToolResult",
        "Trust",
        "Unknown",
        "atoms",
        "cut_points",
        "pair",
        "said",
        "turns",
    ),
    "log.events": ("Ctx", "Event", "Head"),
    "log.protocol": ("Store",),
    "session": ("CompactResult", "Compactor", "Session", "compact", "compact_async"),
    "log.store": ("MemoryStore", "SqliteStore"),
    "tokens": ("TokenCounter", "counter_for", "model_named"),
    "transcripts": ("Transcript", "find_sessions", "load", "open_source", "read"),
    "providers": ("WIRES", "Body", "Wire", "convert", "wire_named"),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "WIRES",
    "ApprovalAnswer",
    "ApprovalRequest",
    "Body",
    "ClewError",
    "CompactResult",
    "Compacted",
    "Compactor",
    "Ctx",
    "Event",
    "Head",
    "Media",
    "MemoryStore",
    "Message",
    "Origin",
    "Role",
    "Session",
    "SqliteStore",
    "Store",
    "Text",
    "Thinking",
    "TokenCounter",
    "ToolCall",
    "ToolResult",
    "Transcript",
    "Trust",
    "Unknown",
    "Wire",
    "__version__",
    "atoms",
    "compact",
    "compact_async",
    "convert",
    "counter_for",
    "cut_points",
    "find_sessions",
    "fold",
    "load",
    "message_event",
    "model_named",
    "open_source",
    "pair",
    "read",
    "said",
    "turns",
    "wire_named",
    "wrap",
]


def __getattr__(name: str) -> object:
    """Import a public name from its subpackage on first use."""
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'clew' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"clew.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
