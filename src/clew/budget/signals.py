"""Signals that can trigger a compaction before the window is full: milestones, phases, pauses, requests.

``Milestone("login works")`` triggers one if the window is at least 40 % full: what led to the milestone can
be condensed. Its ``why`` becomes the reason in the log: "milestone reached: login works".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Trigger(StrEnum):
    """What triggered a compaction."""

    PRESSURE = "pressure"
    OVERSIZED = "oversized"
    MILESTONE = "milestone"
    PHASE = "phase"
    PAUSE = "pause"
    RESUMED = "resumed"
    AGENT = "agent"
    MANUAL = "manual"
    """The user asked for it."""


class Phase(StrEnum):
    """The phases of a piece of work."""

    PLANNING = "planning"
    EXECUTION = "execution"
    VERIFICATION = "verification"
    INTEGRATION = "integration"


class Pause(StrEnum):
    """What the work waits for."""

    APPROVAL = "an approval"
    HAND_OFF = "a hand-off"


class Asker(StrEnum):
    """Who asked for a compaction."""

    USER = "user"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class ResultArrived:
    """A tool result arrived; triggers a compaction if it is oversized."""

    tokens: int
    tool: str = "a tool"

    @property
    def why(self) -> str:
        """Return the reason as text."""
        return f"one result of {self.tool} has {self.tokens:,} tokens"


@dataclass(frozen=True, slots=True)
class Milestone:
    """A piece of work is finished."""

    name: str
    trigger = Trigger.MILESTONE

    @property
    def why(self) -> str:
        """Return the reason as text."""
        return f"milestone reached: {self.name}"


@dataclass(frozen=True, slots=True)
class PhaseChanged:
    """The work moved to another phase."""

    before: Phase
    after: Phase
    trigger = Trigger.PHASE

    @property
    def why(self) -> str:
        """Return the reason as text."""
        return f"the work moves from {self.before} to {self.after}"


@dataclass(frozen=True, slots=True)
class Paused:
    """The work waits for a person or is handed to another agent."""

    waits_for: Pause
    trigger = Trigger.PAUSE

    @property
    def why(self) -> str:
        """Return the reason as text."""
        return f"the work pauses for {self.waits_for}"


@dataclass(frozen=True, slots=True)
class Resumed:
    """The work continues after a pause; triggers a compaction if the pause was long."""

    after_seconds: float
    trigger = Trigger.RESUMED

    @property
    def why(self) -> str:
        """Return the reason as text."""
        minutes = round(self.after_seconds / 60)
        length = f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min"
        return f"the work resumes after {length}"


@dataclass(frozen=True, slots=True)
class CompactionRequested:
    """The user or the agent asked for a compaction."""

    by: Asker

    @property
    def trigger(self) -> Trigger:
        """Return the trigger, by who asked."""
        return Trigger.MANUAL if self.by is Asker.USER else Trigger.AGENT

    @property
    def why(self) -> str:
        """Return the reason as text."""
        return f"the {self.by} asked for it"


Boundary: TypeAlias = Milestone | PhaseChanged | Paused | Resumed | CompactionRequested
"""A good moment to compact: something ended, so the steps that led there can be condensed."""
Signal: TypeAlias = ResultArrived | Boundary
