"""Facts that a person chose to keep word for word: quotes of a message, with that message's label.

A kept fact is not a rule. Every digest quotes it under its turn, and what a tool said stays a tool's words,
however it was kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.errors import NotFound
from clew.message import Cite, Trust


@dataclass(frozen=True, slots=True)
class KeptFact:
    """A passage that a person keeps."""

    id: str
    """``k1``, ``k2``, …"""
    quote: str
    """Verbatim."""
    source: Cite
    trust: Trust
    """Of the message it is in."""


@dataclass(slots=True)
class KeptFacts:
    """Keeps the facts, oldest first."""

    held: dict[str, KeptFact] = field(default_factory=dict)
    count: int = 0

    @property
    def all(self) -> tuple[KeptFact, ...]:
        """Return the facts that are kept now."""
        return tuple(self.held.values())

    def get(self, id_: str) -> KeptFact:
        """Return a fact by its id."""
        try:
            return self.held[id_]
        except KeyError:
            raise NotFound(f"no fact {id_} is kept", "the page lists those that are") from None

    def keep(self, quote: str, source: Cite, trust: Trust) -> KeptFact:
        """Keep a passage; one that is kept already is returned."""
        for known in self.held.values():
            if (known.quote, known.source) == (quote, source):
                return known
        self.count += 1
        fact = self.held[f"k{self.count}"] = KeptFact(f"k{self.count}", quote, source, trust)
        return fact

    def drop(self, id_: str) -> KeptFact:
        """Keep a passage no longer; it stays in the log."""
        return self.held.pop(self.get(id_).id)
