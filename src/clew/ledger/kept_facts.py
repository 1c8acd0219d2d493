"""Passages that a person chose to keep: every digest quotes them, each with its message's trust label.

``ledger.facts.keep(quote, source, trust)`` returns the ``KeptFact`` ``k1``; ``drop("k1")`` stops quoting it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.errors import NotFound
from clew.message import Cite, Trust


@dataclass(frozen=True, slots=True)
class KeptFact:
    """A passage that a person chose to keep."""

    id: str
    """``k1``, ``k2``, …"""
    quote: str
    """Verbatim."""
    source: Cite
    trust: Trust
    """The label of its message."""


@dataclass(slots=True)
class KeptFacts:
    """The kept facts, oldest first."""

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
        """Keep a passage; if it is kept already, return the existing fact."""
        for known_fact in self.held.values():
            if (known_fact.quote, known_fact.source) == (quote, source):
                return known_fact
        self.count += 1
        fact = self.held[f"k{self.count}"] = KeptFact(f"k{self.count}", quote, source, trust)
        return fact

    def drop(self, id_: str) -> KeptFact:
        """Stop keeping a passage; it stays in the log."""
        return self.held.pop(self.get(id_).id)
