"""What is compared: a policy makes a smaller view of a cut.

``EvalPolicy("tail", tail)`` with ``def tail(cut): ...`` is one; ``POLICIES`` has them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from clew.message import Item
from clew_evals.cuts import Cut
from clew_evals.probe import Probe

Compact: TypeAlias = Callable[[Cut], Sequence[Item]]
"""Returns what replaces ``cut.items``, within ``cut.budget_tokens``."""

Recall: TypeAlias = Callable[[Cut, Probe], str]
"""Returns the text that a search for the probe's value finds."""


@dataclass(frozen=True, slots=True)
class EvalPolicy:
    """A named way to compact."""

    name: str
    compact: Compact
    begin: Callable[[], Compact] | None = None
    """Makes a compactor with a memory of its own, for sessions that are compacted again and again: it is
    then given its last view with what came after. Without it ``compact`` is used, which remembers nothing."""
    recall: Recall | None = None
    """Searches what was dropped for a value itself; None if nothing can be searched."""
    recall_by_words: Recall | None = None
    """Searches it for the words around the value's use."""
    keeps_budget: bool = True
    """False for policies that cannot aim at a size; their share is what they took."""
    sees_future: bool = False
    """The policy sees what will be needed: a ceiling, not a contender."""
    is_cheat: bool = False
    """Made to win the measure and nothing else."""

    def started(self) -> Compact:
        """Return a compactor for one session."""
        return self.begin() if self.begin else self.compact
