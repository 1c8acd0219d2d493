"""``Piece``: text that a part of clew wants in a request. ``Contribution``: how much of it got in."""

from __future__ import annotations

from dataclasses import dataclass

from clew.errors import InputError
from clew.message import JsonObject, Trust
from clew.request.sections import POLICY, Place, Section


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
        if self.section is POLICY or self.section.place in (Place.TOOLS, Place.HISTORY):
            raise InputError(f"section {self.section.name} takes no pieces", "use Parts.tools or Parts.view")
        if self.trust < self.section.least:
            raise InputError(
                f"{self.source} is {self.trust.label}; section {self.section.name} requires at least "
                f"{self.section.least.label}",
                "add it as retrieved data",
            )

    @property
    def place(self) -> Place:
        """Return where in the request it goes."""
        return Place.END if self.late else self.section.place

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
