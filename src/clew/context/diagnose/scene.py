"""What the diagnostics look at, and what they answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from clew.budget import Allotment
from clew.context.cache.call import Call
from clew.context.piece import Contribution
from clew.message import JsonObject
from clew.plan import Plan
from clew.verify import Report


class Made(Protocol):
    """A compaction that took effect; ``Session.trace()`` returns such."""

    @property
    def time(self) -> str:
        """Return when it was made."""

    @property
    def plan(self) -> Plan:
        """Return what it did."""

    @property
    def report(self) -> Report:
        """Return what the checks said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A request and its session, as they stand now."""

    allotment: Allotment
    contributions: Sequence[Contribution] = ()
    """``Assembled.contributions``."""
    compactions: Sequence[Made] = ()
    """Those in force, oldest first."""
    compact_at_tokens: int | None = None
    last_call: Call | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """An answer for people and for programs."""

    text: str
    value: JsonObject
