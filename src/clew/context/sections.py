"""The sections of a request: the twelve tiers of a context, each with its place, its owner and its room.

What is stable stands first and what changes every turn last, so that a provider's cache can read all that
was sent before. No section of the stable part may hold a clock or an id of the request.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from clew.budget import Limit, Region
from clew.message import Trust


class Place(StrEnum):
    """Where in a request a section stands, in the order in which caches read it."""

    TOOLS = "tools"
    SYSTEM = "system"
    HISTORY = "history"
    END = "end"
    """Behind the last message: seen by the model last, and cached by nobody."""


class Stability(StrEnum):
    """How long the bytes of a section stay what they are."""

    STABLE = "stable"
    """From one compaction to the next, at the least."""
    APPENDED = "appended"
    """It grows at its end, and nowhere else until a compaction."""
    VOLATILE = "volatile"
    """It may be another every turn."""


class Owner(StrEnum):
    """Who answers for what a section says."""

    PROVIDER = "provider"
    DEVELOPER = "developer"
    USER = "user"
    AGENT = "agent"
    HARNESS = "harness"
    OUTSIDE = "outside"
    """Tools, files and pages: nobody here."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a request."""

    name: str
    tier: int
    """Which of the twelve tiers it is; the scoped instructions and the memory share one."""
    heading: str
    """What the model reads above it, where it has a heading."""
    owner: Owner
    least: Trust
    """The least label that its content must have: what is believed less never gets in."""
    place: Place
    region: Region
    """The part of the window that it counts for."""
    most: Limit | None = None
    """Of the usable window; None for what is never cut here."""

    @property
    def stability(self) -> Stability:
        """Return how long its bytes stay what they are: its place decides."""
        return _STABILITY[self.place]


_STABILITY = {
    Place.TOOLS: Stability.STABLE,
    Place.SYSTEM: Stability.STABLE,
    Place.HISTORY: Stability.APPENDED,
    Place.END: Stability.VOLATILE,
}

POLICY = Section("policy", 1, "", Owner.PROVIDER, Trust.SYSTEM, Place.SYSTEM, Region.SYSTEM)
ORGANIZATION = Section(
    "organization",
    2,
    "Policy of the organization",
    Owner.DEVELOPER,
    Trust.DEVELOPER,
    Place.SYSTEM,
    Region.SYSTEM,
)
CONTRACT = Section("contract", 3, "", Owner.DEVELOPER, Trust.DEVELOPER, Place.SYSTEM, Region.SYSTEM)
TASK = Section("task", 4, "", Owner.USER, Trust.USER, Place.HISTORY, Region.HISTORY)
PLAN = Section(
    "plan",
    5,
    "Where the work stands",
    Owner.HARNESS,
    Trust.UNTRUSTED,
    Place.END,
    Region.HISTORY,
    Limit(share=0.05, tokens=2_000),
)
INSTRUCTIONS = Section(
    "instructions",
    6,
    "Instructions for this work",
    Owner.USER,
    Trust.USER,
    Place.SYSTEM,
    Region.INSTRUCTIONS,
    Limit(share=0.15),
)
MEMORY = Section(
    "memory",
    6,
    "",
    Owner.HARNESS,
    Trust.UNTRUSTED,
    Place.END,
    Region.MEMORY,
    Limit(share=0.10, tokens=500),
)
RETRIEVED = Section(
    "retrieved",
    7,
    "Found for this request",
    Owner.OUTSIDE,
    Trust.UNTRUSTED,
    Place.END,
    Region.TOOL_OUTPUTS,
    Limit(share=0.10, tokens=4_000),
)
SKILLS = Section(
    "skills",
    8,
    "Skills that can be opened",
    Owner.DEVELOPER,
    Trust.USER,
    Place.SYSTEM,
    Region.SYSTEM,
    Limit(share=0.03, tokens=2_000),
)
TOOLS = Section("tools", 9, "", Owner.DEVELOPER, Trust.DEVELOPER, Place.TOOLS, Region.TOOLS)
OBSERVATIONS = Section(
    "observations", 10, "", Owner.OUTSIDE, Trust.UNTRUSTED, Place.HISTORY, Region.TOOL_OUTPUTS
)
HISTORY = Section("history", 11, "", Owner.AGENT, Trust.UNTRUSTED, Place.HISTORY, Region.HISTORY)
REMINDERS = Section(
    "reminders",
    12,
    "Now",
    Owner.HARNESS,
    Trust.UNTRUSTED,
    Place.END,
    Region.HISTORY,
    Limit(share=0.02, tokens=500),
)

SECTIONS = (
    *(POLICY, ORGANIZATION, CONTRACT, TASK, PLAN, INSTRUCTIONS, MEMORY),
    *(RETRIEVED, SKILLS, TOOLS, OBSERVATIONS, HISTORY, REMINDERS),
)
"""All of them, in the order of the tiers."""


def sent_order(section: Section) -> tuple[int, int]:
    """Return a key that sorts sections as a request holds them: by place, then by tier."""
    return list(Place).index(section.place), section.tier
