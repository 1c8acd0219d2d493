"""What else can call for a compaction, besides pressure: small values that say why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Trigger(StrEnum):
    """What a compaction was called for by."""

    PRESSURE = "pressure"
    OVERSIZED = "oversized"
    MILESTONE = "milestone"
    PHASE = "phase"
    PAUSE = "pause"
    RESUMED = "resumed"
    AGENT = "agent"
    MANUAL = "manual"
    """The user asked."""


class Phase(StrEnum):
    """The phases that work goes through, be it a plan that is executed or a workflow of packets."""

    PLANNING = "planning"
    EXECUTION = "execution"
    VERIFICATION = "verification"
    INTEGRATION = "integration"


class Pause(StrEnum):
    """What work waits for."""

    APPROVAL = "an approval"
    HAND_OFF = "a hand-off"


class Asker(StrEnum):
    """Who wants a compaction."""

    USER = "user"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class ResultArrived:
    """A tool has answered; it matters when the answer is oversized."""

    tokens: int
    tool: str = "a tool"

    @property
    def why(self) -> str:
        """Return the reason in words for people."""
        return f"one result of {self.tool} has {self.tokens:,} tokens"


@dataclass(frozen=True, slots=True)
class Milestone:
    """Something is done and will not be gone back to."""

    name: str
    trigger = Trigger.MILESTONE

    @property
    def why(self) -> str:
        """Return the reason in words for people."""
        return f"a milestone is reached: {self.name}"


@dataclass(frozen=True, slots=True)
class PhaseChanged:
    """The work goes on in another way."""

    before: Phase
    after: Phase
    trigger = Trigger.PHASE

    @property
    def why(self) -> str:
        """Return the reason in words for people."""
        return f"the work goes from {self.before} to {self.after}"


@dataclass(frozen=True, slots=True)
class Paused:
    """The work waits for a person or goes to another agent."""

    waits_for: Pause
    trigger = Trigger.PAUSE

    @property
    def why(self) -> str:
        """Return the reason in words for people."""
        return f"the work pauses for {self.waits_for}"


@dataclass(frozen=True, slots=True)
class Resumed:
    """The work goes on after a pause; it matters when the pause was long."""

    after_seconds: float
    trigger = Trigger.RESUMED

    @property
    def why(self) -> str:
        """Return the reason in words for people."""
        minutes = round(self.after_seconds / 60)
        length = f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min"
        return f"the work resumes after {length}"


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody wants it."""

    by: Asker

    @property
    def trigger(self) -> Trigger:
        """Return whose wish it is."""
        return Trigger.MANUAL if self.by is Asker.USER else Trigger.AGENT

    @property
    def why(self) -> str:
        """Return the reason in words for people."""
        return f"the {self.by} asked for it"


Boundary: TypeAlias = Milestone | PhaseChanged | Paused | Resumed | Asked
"""A good moment: something ends, so what led there can be condensed."""
Signal: TypeAlias = ResultArrived | Boundary
