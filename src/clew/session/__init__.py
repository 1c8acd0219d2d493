"""The public interface: ``clew.compact`` for lists, and ``Session`` for a conversation on a store."""

from clew.compaction.decide import Attempt, Outcome
from clew.session.compacting import Request
from clew.session.compactor import Compactor
from clew.session.fit import Fitted
from clew.session.look import Expansion, Explanation, Quote
from clew.session.plain import compact, compact_async
from clew.session.record import Compaction
from clew.session.result import CompactResult, Options
from clew.session.session import Session

__all__ = [
    "Attempt",
    "CompactResult",
    "Compaction",
    "Compactor",
    "Expansion",
    "Explanation",
    "Fitted",
    "Options",
    "Outcome",
    "Quote",
    "Request",
    "Session",
    "compact",
    "compact_async",
]
