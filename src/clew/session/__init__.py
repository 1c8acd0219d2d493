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
    from clew.session.result import CompactResult, Options
    from clew.session.session import Session

_MODULE_OF = {
    "DigestAttempt": "clew.compaction.decide",
    "CompactResult": "clew.session.result",
    "Compaction": "clew.session.history",
    "Compactor": "clew.session.compactor",
    "Expansion": "clew.session.provenance",
    "Explanation": "clew.session.provenance",
    "FitResult": "clew.session.fit",
    "Options": "clew.session.result",
    "DecidedCompaction": "clew.compaction.decide",
    "Quote": "clew.session.provenance",
    "Request": "clew.session.fit",
    "Session": "clew.session.session",
    "compact": "clew.session.compact_list",
    "compact_async": "clew.session.compact_list",
}

__all__ = [
    "CompactResult",
    "Compaction",
    "Compactor",
    "DecidedCompaction",
    "DigestAttempt",
    "Expansion",
    "Explanation",
    "FitResult",
    "Options",
    "Quote",
    "Request",
    "Session",
    "compact",
    "compact_async",
]


if not TYPE_CHECKING:  # a type checker would accept any name of a module with __getattr__

    def __getattr__(name: str) -> object:
        """Import a name from its module on first use."""
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'clew.session' has no attribute {name!r}")
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
        globals()[name] = value
        return value
