"""The public interface: ``clew.compact`` for lists, and ``Session`` for a conversation on a store."""

from clew.compaction.decide import Attempt, Outcome
from clew.session.compact_list import compact, compact_async
from clew.session.compact_session import Request
from clew.session.compactor import Compactor
from clew.session.fit import Fitted
from clew.session.history import Compaction
from clew.session.provenance import Expansion, Explanation, Quote
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
