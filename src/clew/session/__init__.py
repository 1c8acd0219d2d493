"""The public interface: ``clew.compact`` for lists, and ``Session`` for a conversation on a store.

Modules are imported when one of their names is first used: a call that compacts nothing needs few of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.compaction.decide import DecidedCompaction, DigestAttempt
    from clew.session.compact_list import compact, compact_async
    from clew.session.compactor import Compactor
    from clew.session.fit import FitResult, Request
    from clew.session.history import Compaction
    from clew.session.provenance import Expansion, Explanation, Quote
    from clew.session.result import CompactResult
    from clew.session.session import Session

__all__ = [
    "CompactResult", "Compaction", "Compactor", "DecidedCompaction", "DigestAttempt", "Expansion",
    "Explanation", "FitResult", "Quote", "Request", "Session", "compact", "compact_async",
]  # fmt: skip

_NAMES = {
    "clew.compaction.decide": ("DecidedCompaction", "DigestAttempt"),
    "clew.session.compact_list": ("compact", "compact_async"),
    "clew.session.compactor": ("Compactor",),
    "clew.session.fit": ("FitResult", "Request"),
    "clew.session.history": ("Compaction",),
    "clew.session.provenance": ("Expansion", "Explanation", "Quote"),
    "clew.session.result": ("CompactResult",),
    "clew.session.session": ("Session",),
}

if not TYPE_CHECKING:  # a type checker would accept any name of a module with __getattr__

    def __getattr__(name: str) -> object:
        """Import a name from its module on first use."""
        module = next((module for module, names in _NAMES.items() if name in names), None)
        if module is None:
            raise AttributeError(f"module 'clew.session' has no attribute {name!r}")
        value = globals()[name] = getattr(importlib.import_module(module), name)
        return value
