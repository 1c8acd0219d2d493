"""The sections of a request (the twelve tiers of a context), and pieces of text for them.

A *piece* is a text for one section: ``Piece(INSTRUCTIONS, text, "AGENTS.md (project)", Trust.USER)`` goes
into the system prompt under the heading "Instructions for this work". Stable content comes first and content
that changes every turn comes last, so that the prompt cache can read everything sent before. Stable sections
must not contain a clock or an id of the request.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from clew.budget import Limit, Region
from clew.errors import InputError
from clew.message import JsonObject, Trust


class PiecePosition(StrEnum):
    """Where in a request a section goes, in the order in which caches read it."""

    TOOLS = "tools"
    """Stays the same at least from one compaction to the next."""
    SYSTEM = "system"
    """The same."""
    HISTORY = "history"
    """Grows only at its end until a compaction."""
    END = "end"
    """After the last message: can change every turn, is seen last by the model, never cached."""


class Owner(StrEnum):
    """Who is responsible for the content of a section."""

    PROVIDER = "provider"
    DEVELOPER = "developer"
    USER = "user"
    AGENT = "agent"
    HARNESS = "harness"
    OUTSIDE = "outside"
    """Tools, files and web pages."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a request."""

    name: str
    tier: int
    """Its number among the twelve tiers; task and rules share one, and so do instructions and memory."""
    heading: str
    """The heading the model reads above it; empty for none."""
    owner: Owner
    least: Trust
    """The minimum trust of its content."""
    place: PiecePosition
    region: Region
    """The region of the window that it counts towards."""
    most: Limit | None = None
    """Limit as a part of the usable window; None if it is never cut here. The defaults were chosen by hand.
    """


_TOOLS, _SYSTEM, _HISTORY, _END = PiecePosition

SYSTEM_PROMPT = Section("policy", 1, "", Owner.PROVIDER, Trust.SYSTEM, _SYSTEM, Region.SYSTEM)
"""The session's own system prompt; its name is "policy" in logs."""
ORGANIZATION = Section(
    "organization", 2, "Policy of the organization", Owner.DEVELOPER, Trust.DEVELOPER, _SYSTEM, Region.SYSTEM
)
CONTRACT = Section("contract", 3, "", Owner.DEVELOPER, Trust.DEVELOPER, _SYSTEM, Region.SYSTEM)
TASK = Section("task", 4, "", Owner.USER, Trust.USER, _HISTORY, Region.HISTORY)
RULES = Section("rules", 4, "", Owner.USER, Trust.USER, _END, Region.PINNED)
PLAN = Section(
    "plan", 5, "State of the work", Owner.HARNESS, Trust.UNTRUSTED, _END, Region.HISTORY,
    Limit(share=0.05, tokens=2_000),
)  # fmt: skip
INSTRUCTIONS = Section(
    "instructions", 6, "Instructions for this work", Owner.USER, Trust.USER, _SYSTEM, Region.INSTRUCTIONS,
    Limit(share=0.15),
)  # fmt: skip
MEMORY = Section(
    "memory", 6, "", Owner.HARNESS, Trust.UNTRUSTED, _END, Region.MEMORY, Limit(share=0.10, tokens=500)
)
RETRIEVED = Section(
    "retrieved", 7, "Found for this request", Owner.OUTSIDE, Trust.UNTRUSTED, _END, Region.TOOL_OUTPUTS,
    Limit(share=0.10, tokens=4_000),
)  # fmt: skip
SKILLS = Section(
    "skills", 8, "Skills that can be opened", Owner.DEVELOPER, Trust.USER, _SYSTEM, Region.SYSTEM,
    Limit(share=0.03, tokens=2_000),
)  # fmt: skip
TOOLS = Section("tools", 9, "", Owner.DEVELOPER, Trust.DEVELOPER, _TOOLS, Region.TOOLS)
OBSERVATIONS = Section("observations", 10, "", Owner.OUTSIDE, Trust.UNTRUSTED, _HISTORY, Region.TOOL_OUTPUTS)
HISTORY = Section("history", 11, "", Owner.AGENT, Trust.UNTRUSTED, _HISTORY, Region.HISTORY)
PINNED = Section("pinned", 11, "", Owner.USER, Trust.UNTRUSTED, _HISTORY, Region.PINNED)
"""The rules in a digest: a part of the history that takes no pieces and has a region of its own."""
REMINDERS = Section(
    "reminders", 12, "Now", Owner.HARNESS, Trust.UNTRUSTED, _END, Region.HISTORY,
    Limit(share=0.02, tokens=500),
)  # fmt: skip

SECTIONS = (
    *(SYSTEM_PROMPT, ORGANIZATION, CONTRACT, TASK, RULES, PLAN, INSTRUCTIONS, MEMORY),
    *(RETRIEVED, SKILLS, TOOLS, OBSERVATIONS, HISTORY, REMINDERS),
)
"""All sections, in tier order."""


def sent_order(section: Section) -> tuple[int, int]:
    """Return a key that sorts sections in request order: by place, then by tier."""
    return list(PiecePosition).index(section.place), section.tier


def _position(section: Section, *, late: bool) -> PiecePosition:
    """Return where in the request a text of a section goes; a late one goes to the end."""
    return PiecePosition.END if late else section.place


@dataclass(frozen=True, slots=True)
class Piece:
    """Text for one section of a request.

    A piece with trust SEMI_TRUSTED or below is fenced as data, unless it is the harness's ``own`` text, which
    marks its quotes itself.
    """

    section: Section
    text: str
    source: str
    """Where it comes from, for people and for the record: a path, ``w3``, ``m12@another``."""
    trust: Trust
    own: bool = False
    """Written by the harness itself."""
    late: bool = False
    """Added after the last compaction: placed last, since earlier it would invalidate the cache."""
    cuttable: bool = False
    """If it does not fit as a whole, its beginning is still useful."""

    def __post_init__(self) -> None:
        """Raise InputError if the section takes no pieces or requires more trust."""
        if self.section is SYSTEM_PROMPT or self.section.place in (
            PiecePosition.TOOLS,
            PiecePosition.HISTORY,
        ):
            raise InputError(f"section {self.section.name} takes no pieces", "use Parts.tools or Parts.view")
        if self.trust < self.section.least:
            raise InputError(
                f"{self.source} is {self.trust.label}; section {self.section.name} requires at least "
                f"{self.section.least.label}",
                "add it as retrieved data",
            )

    @property
    def place(self) -> PiecePosition:
        """Return where in the request it goes."""
        return _position(self.section, late=self.late)

    @property
    def fenced(self) -> bool:
        """Whether it is put between fences, as data."""
        return self.trust <= Trust.SEMI_TRUSTED and not self.own


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one source asked for in a request, and what it got."""

    section: Section
    source: str
    trust: Trust
    asked: int
    """Tokens."""
    given: int
    why: str = ""
    """Why it was cut or left out; empty if it was not."""
    late: bool = False
    """As of its ``Piece``."""

    @property
    def place(self) -> PiecePosition:
        """Return where in the request it is."""
        return _position(self.section, late=self.late)

    @property
    def cut(self) -> int:
        """Return the tokens that were asked for and not given."""
        return self.asked - self.given

    def to_json(self) -> JsonObject:
        """Return it as JSON for the log."""
        return {
            "section": self.section.name,
            "tier": self.section.tier,
            "source": self.source,
            "trust": self.trust.label,
            "asked": self.asked,
            "given": self.given,
            "cut": self.cut,
            "why": self.why,
        }
