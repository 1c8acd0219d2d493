"""Everything that a view is asked for at one cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from clew_evals.next_action import NextCall
from clew_evals.obligations import Superseded
from clew_evals.probe import Probe
from clew_evals.questions import ReaderQuestion
from clew_evals.redo import NOTHING_SETTLED, FinishedWork


class Label(NamedTuple):
    """A sentence of the user's that people read and found to be a rule or a decision."""

    text: str
    is_decision: bool


Labels: TypeAlias = Mapping[str, Sequence[Label]]
"""By the name of the session's file, without ``.zst`` or ``.gz``."""


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
