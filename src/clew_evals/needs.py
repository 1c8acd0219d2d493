"""``Needs``: everything that a view of one cut is asked for. ``find_needs.py`` finds it.

The largest part are probes. The user says "port 8123" early on, the session is cut, and later the agent types
``curl localhost:8123``: then ``8123`` is a probe, and a view of the first part ought to hold it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from clew_evals.finished_work import NOTHING_SETTLED, FinishedWork
from clew_evals.next_action import NextCall
from clew_evals.obligations import Superseded
from clew_evals.passages import PassageSpeaker
from clew_evals.questions import ReaderQuestion


@dataclass(frozen=True, slots=True)
class Needs:
    """What the continuation needs, and what the session has laid on its agent."""

    probes: tuple[Probe, ...]
    constraints: tuple[str, ...]
    """Labelled sentences before the cut: standing rules and decisions."""
    decisions: tuple[str, ...]
    """Those of them that are decisions."""
    rules: tuple[str, ...]
    """Rules as the ledger finds them."""
    open: tuple[str, ...]
    """Tasks of the agent's plan that are not ended."""
    files: tuple[str, ...]
    """Changed by calls."""
    failed: tuple[str, ...]
    """What the last failed calls returned."""
    tests: tuple[str, ...]
    """The outcome of the last test run."""
    superseded: tuple[Superseded, ...]
    """Values that an edit replaced."""
    questions: tuple[ReaderQuestion, ...] = ()
    """About the history, needed later or not."""
    next_calls: tuple[NextCall, ...] = ()
    """The first calls after the cut."""
    reports: tuple[tuple[str, ...], ...] = ()
    """The agent's end-of-turn reports, each as its sentences..."""
    report_tokens: int = 0
    """...and what they take together."""
    settled: FinishedWork = NOTHING_SETTLED
    """The goal, and what is over."""


RARE_MENTIONS = 3
FAR_SHARE = 0.25
HARD_SHARE = 0.10


class Fetch(NamedTuple):
    """A tool result that could be fetched again for a value that was lost."""

    turn: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Probe:
    """A value that the session turned out to need again."""

    kind: str
    value: str
    key: str
    """What must be found in a view: of a path its last two components."""
    origin: PassageSpeaker
    """Who named it first."""
    first_turn: int
    last_turn: int
    """Of the messages that are compacted, counted from 0."""
    use_turn: int
    use: str
    """Where the agent wrote it: ``text``, ``thinking``, or the tool and the argument (``Bash.command``)."""
    question: str
    """The words around its use, with a gap in its place: ``curl localhost:____ | head``."""
    mentions: int
    gap_share: float
    """Of what is compacted, the share between its last mention and the cut."""
    refetched: bool
    """A tool had to show it again before the agent wrote it."""
    fetch: Fetch | None
    """The smallest tool result that holds it: what losing the value costs."""
    lines: tuple[str, ...] = field(repr=False)
    """Where it was said: first, last, and some between."""

    @property
    def rare(self) -> bool:
        """Whether it was said at most three times."""
        return self.mentions <= RARE_MENTIONS

    @property
    def far(self) -> bool:
        """Whether it was last said more than a quarter of the compacted part ago."""
        return self.gap_share > FAR_SHARE

    @property
    def hard(self) -> bool:
        """Whether it is rare and no short tail would hold it."""
        return self.rare and self.gap_share > HARD_SHARE
