"""Input and output types of the diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from clew.budget import Allotment
from clew.compaction.plan import Plan
from clew.compaction.verify import Report
from clew.message import JsonObject
from clew.request.cache.call import Call
from clew.request.piece import Contribution


class Made(Protocol):
    """A compaction that took effect, as ``Session.trace()`` returns them."""

    @property
    def time(self) -> str:
        """Return when it was made."""

    @property
    def plan(self) -> Plan:
        """Return what it changed."""

    @property
    def report(self) -> Report:
        """Return the verification report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The current state of a request and its session."""

    allotment: Allotment
    contributions: Sequence[Contribution] = ()
    """``Assembled.contributions``."""
    compactions: Sequence[Made] = ()
    """The active ones, oldest first."""
    compact_at_tokens: int | None = None
    last_call: Call | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A diagnostic result: text for people, ``value`` for programs."""

    text: str
    value: JsonObject
