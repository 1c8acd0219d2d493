"""Decide whether to compact now, and why: pressure with hysteresis, signals, and when to stop instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from clew.budget.breaker import Stance
from clew.budget.levels import Fill, Levels, levels_for, reachable
from clew.budget.policy import DEFAULT, Policy
from clew.budget.signals import Asked, Asker, Boundary, PhaseChanged, ResultArrived, Resumed, Signal, Trigger
from clew.budget.state import FRESH, State


@dataclass(frozen=True, slots=True)
class Calm:
    """Nothing to do."""

    why: str


@dataclass(frozen=True, slots=True)
class Warn:
    """Continue, but warn the user or the agent."""

    why: str


@dataclass(frozen=True, slots=True)
class Compact:
    """Compact before the next request."""

    trigger: Trigger
    why: str
    target_tokens: int
    """The tokens to leave in the window; always fewer than are in use."""

    @property
    def must(self) -> bool:
        """Whether it runs even if it does not pay: the window is full, or the user asked."""
        return self.trigger in (Trigger.PRESSURE, Trigger.MANUAL)


@dataclass(frozen=True, slots=True)
class Stop:
    """Compaction would not help: ask for a narrower task or a larger budget."""

    why: str
    fits: bool
    """Whether the next request still fits; if not, do not send it."""


Verdict: TypeAlias = Calm | Warn | Compact | Stop


@dataclass(frozen=True, slots=True)
class _Case:
    """The input of a verdict."""

    fill: Fill
    policy: Policy
    state: State
    levels: Levels

    @property
    def grown_enough(self) -> bool:
        """Whether at least ``band`` tokens were added since the last compaction."""
        after = self.state.after_tokens
        return after is None or self.fill.used_tokens >= after + self.levels.band


def judge(
    fill: Fill, policy: Policy = DEFAULT, signals: Iterable[Signal] = (), state: State = FRESH
) -> Verdict:
    """Return whether to compact now. Pure: the same arguments give the same verdict.

    The user's request comes first, then pressure, an oversized result, and other signals. Between two
    automatic compactions at least ``band`` tokens must be added, unless the window is full.
    """
    if state.is_compacting(fill.at_unix_s):
        return Calm("a compaction is already running")
    case = _Case(fill, policy, state, levels_for(fill, policy, state.results))
    if fill.used_tokens and fill.fixed_tokens >= case.levels.compact_at:
        return Stop(_too_much_fixed(case), _fits(fill))
    if fill.used_tokens <= fill.fixed_tokens:
        return Calm(f"{fill}, and nothing of it can be compacted")
    held: list[str] = []
    for wish in _wishes(case, tuple(signals)):
        if isinstance(wish, Compact):
            return _past_breaker(case, wish)
        held.append(wish.why)
    return _otherwise(case, held)


def _wishes(case: _Case, signals: tuple[Signal, ...]) -> Iterator[Compact | Calm]:
    """Yield the reasons to compact, most urgent first; ``Calm`` says why a signal is ignored."""
    asked = Asked(Asker.USER)
    if asked in signals:
        yield Compact(asked.trigger, asked.why, _half(case))
    yield from _pressure(case)
    yield from (_oversized(case, signal) for signal in signals if isinstance(signal, ResultArrived))
    yield from (_boundary(case, signal) for signal in signals if not isinstance(signal, ResultArrived))


def _pressure(case: _Case) -> Iterator[Compact]:
    used, levels = case.fill.used_tokens, case.levels
    full = used > levels.full_at
    if full or (used >= levels.compact_at and case.grown_enough):
        edge = "not even a summary call fits" if full else f"the limit is {levels.compact_at:,}: {levels.why}"
        yield Compact(Trigger.PRESSURE, f"{case.fill}; {edge}", levels.target)


def _oversized(case: _Case, result: ResultArrived) -> Compact | Calm:
    """Target that one result: it is the newest, so shortening it now loses no cache."""
    most = case.policy.oversized.of(case.fill.window.usable_tokens)
    if result.tokens <= most:
        return Calm(f"{result.why}, and up to {most:,} are allowed")
    target = case.fill.used_tokens - result.tokens + most
    return Compact(
        Trigger.OVERSIZED, f"{result.why}, more than {most:,}", max(target, case.fill.fixed_tokens)
    )


def _boundary(case: _Case, signal: Boundary) -> Compact | Calm:
    start = case.policy.boundary_from.of(case.fill.window.usable_tokens)
    match signal:
        case PhaseChanged(before, after) if before is after:
            return Calm(f"{signal.why}: no change")
        case Resumed(seconds) if seconds < case.policy.long_pause_seconds:
            return Calm(f"{signal.why}: not long")
    if case.fill.used_tokens < start:
        return Calm(f"{signal.why}, but {case.fill}: too little to gain below {start:,}")
    if not case.grown_enough:
        return Calm(f"{signal.why}, but {_held(case)}")
    return Compact(signal.trigger, signal.why, _half(case))


def _half(case: _Case) -> int:
    """Return the target of a signal or request: half, or the pressure target if that is less."""
    used, levels = case.fill.used_tokens, case.levels
    return reachable(min(used // 2, levels.target), min(used, levels.compact_at), case.fill.fixed_tokens)


def _past_breaker(case: _Case, wish: Compact) -> Verdict:
    breaker = case.state.breaker
    match breaker.stance(case.fill.used_tokens, asked=wish.trigger is Trigger.MANUAL):
        case Stance.CLOSED:
            return wish
        case Stance.HALF_OPEN:
            why = f"{wish.why}; one more try after {breaker.failures} failures"
            return Compact(wish.trigger, why, wish.target_tokens)
        case Stance.OPEN if wish.trigger is Trigger.PRESSURE:
            return Stop(f"{case.fill}; {breaker.question}", _fits(case.fill))
    return Warn(f"{wish.why}, but {breaker.question}")


def _otherwise(case: _Case, held: list[str]) -> Calm | Warn:
    levels, used = case.levels, case.fill.used_tokens
    if used >= levels.compact_at:
        return Warn(f"{case.fill}, but {_held(case)}")
    if used >= levels.warn_at:
        return Warn(f"{case.fill}; compacts from {levels.compact_at:,}: {levels.why}")
    return Calm("; ".join(held) or str(case.fill))


def _held(case: _Case) -> str:
    after = case.state.after_tokens or 0
    due = min(after + case.levels.band, case.levels.full_at)
    return f"the last compaction left {after:,} and the next waits until {due:,}"


def _too_much_fixed(case: _Case) -> str:
    fill, levels = case.fill, case.levels
    return (
        f"what compaction never touches (system prompt, tools, pins, instructions, notes) has "
        f"{fill.fixed_tokens:,} tokens, and compaction is due at {levels.compact_at:,} ({levels.why}); "
        "give a larger budget: a model with a larger window, fewer tools, fewer pins"
    )


def _fits(fill: Fill) -> bool:
    return fill.used_tokens <= fill.window.usable_tokens
