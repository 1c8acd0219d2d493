"""What somebody wants the model to see, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from clew.context.sections import POLICY, Place, Section
from clew.errors import InputError
from clew.message import JsonObject, Trust


@dataclass(frozen=True, slots=True)
class Piece:
    """Words for one section of a request.

    What is believed no more than semi-trusted is fenced as data, unless it is ``own`` text of the harness,
    which marks for itself what it quotes.
    """

    section: Section
    text: str
    source: str
    """Where it comes from, for people and for the record: a path, ``w3``, ``m12@another``."""
    trust: Trust
    own: bool = False
    """Written by the harness, in words of its own."""
    late: bool = False
    """It came after the last compaction: in the stable part it would change what is cached; it goes last."""
    cuttable: bool = False
    """Its beginning is worth having where all of it does not fit."""

    def __post_init__(self) -> None:
        """Refuse what would become an instruction and may not, and what only the session can say."""
        if self.section is POLICY or self.section.place in (Place.TOOLS, Place.HISTORY):
            raise InputError(f"{self.section.name} takes no pieces", "give it as Parts.tools or Parts.view")
        if self.trust < self.section.least:
            raise InputError(
                f"{self.source} is {self.trust.label}, and {self.section.name} takes nothing below "
                f"{self.section.least.label}",
                "give it as retrieved data",
            )

    @property
    def place(self) -> Place:
        """Return where it stands."""
        return Place.END if self.late else self.section.place

    @property
    def fenced(self) -> bool:
        """Tell whether it stands between fences, as data."""
        return self.trust <= Trust.SEMI_TRUSTED and not self.own


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one source asked for in a request, and what it was given."""

    section: Section
    source: str
    trust: Trust
    asked: int
    """Tokens."""
    given: int
    why: str = ""
    """Why it was cut or left out; empty where it was not."""
    late: bool = False

    @property
    def cut(self) -> int:
        """Return what was asked for and not given."""
        return self.asked - self.given

    def to_json(self) -> JsonObject:
        """Return it for the record."""
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
