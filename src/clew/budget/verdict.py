"""Decide whether to compact now, and why: pressure with hysteresis, signals, and when to stop instead.

``judge`` returns one of four verdicts: ``Calm`` (nothing to do), ``Warn``, ``Compact`` with a trigger and a
target, or ``Stop`` if compaction would not help. Each says why: "182,000 of 192,000 usable tokens are in use
(95%); the limit is 163,200: 85% of 192,000".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from clew.budget.levels import Fill, Levels, levels_for, reachable
from clew.budget.policy import DEFAULT, Allotment, Policy, Region, Slice
from clew.budget.signals import (
    Asker,
    Boundary,
    CompactionRequested,
    PhaseChanged,
    ResultArrived,
    Resumed,
    Signal,
    Trigger,
)
from clew.budget.state import FRESH, Stance, State, count, reading, text
from clew.message import JsonObject


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
    if fill.used_tokens and fill.fixed_tokens >= case.levels.full_at:
        return Stop(_too_much_fixed(fill), fill.fits)
    if fill.used_tokens <= fill.fixed_tokens:
        return Calm(f"{fill}, and nothing of it can be compacted")
    reasons: list[str] = []
    for answer in _answers(case, tuple(signals)):
        if isinstance(answer, Compact):
            return _past_breaker(case, answer)
        reasons.append(answer.why)
    return _calm_or_warn(case, reasons)


def _answers(case: _Case, signals: tuple[Signal, ...]) -> Iterator[Compact | Calm]:
    """Yield the reasons to compact, most urgent first; ``Calm`` says why a signal is ignored."""
    request = CompactionRequested(Asker.USER)
    if request in signals:
        yield Compact(request.trigger, request.why, _target_when_asked(case))
    yield from _pressure(case)
    yield from (
        oversized
        for signal in signals
        if isinstance(signal, ResultArrived) and (oversized := _oversized(case, signal))
    )
    yield from (_boundary(case, signal) for signal in signals if not isinstance(signal, ResultArrived))


def _pressure(case: _Case) -> Iterator[Compact]:
    used, levels = case.fill.used_tokens, case.levels
    full = used > levels.full_at
    if full or (used >= levels.compact_at and case.grown_enough):
        edge = "not even a summary call fits" if full else f"the limit is {levels.compact_at:,}: {levels.why}"
        yield Compact(Trigger.PRESSURE, f"{case.fill}; {edge}", levels.target)


def _oversized(case: _Case, result: ResultArrived) -> Compact | None:
    """Target that one result if it is too large: it is the newest, so shortening it now loses no cache."""
    most = case.policy.oversized.of(case.fill.window.usable_tokens)
    if result.tokens <= most:
        return None
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
        return Calm(f"{signal.why}, but {_waiting_reason(case)}")
    return Compact(signal.trigger, signal.why, _target_when_asked(case))


def _target_when_asked(case: _Case) -> int:
    """Return the target of a signal or request: half, or the pressure target if that is less."""
    used, levels = case.fill.used_tokens, case.levels
    return reachable(min(used // 2, levels.target), min(used, levels.compact_at), case.fill.fixed_tokens)


def _past_breaker(case: _Case, wish: Compact) -> Verdict:
    """Return the compaction, or a warning or a stop if earlier ones failed too often."""
    breaker = case.state.breaker
    match breaker.stance(case.fill.used_tokens, asked=wish.trigger is Trigger.MANUAL):
        case Stance.CLOSED:
            return wish
        case Stance.HALF_OPEN:
            why = f"{wish.why}; one more try after {breaker.failures} failures"
            return Compact(wish.trigger, why, wish.target_tokens)
        case Stance.OPEN if wish.trigger is Trigger.PRESSURE:
            return Stop(f"{case.fill}; {breaker.question}", case.fill.fits)
    return Warn(f"{wish.why}, but {breaker.question}")


def _calm_or_warn(case: _Case, reasons: list[str]) -> Calm | Warn:
    levels, used = case.levels, case.fill.used_tokens
    if used >= levels.compact_at:
        return Warn(f"{case.fill}, but {_waiting_reason(case)}")
    if used >= levels.warn_at:
        return Warn(f"{case.fill}; compacts from {levels.compact_at:,}: {levels.why}")
    return Calm("; ".join(reasons) or str(case.fill))


def _waiting_reason(case: _Case) -> str:
    after = case.state.after_tokens or 0
    due = min(after + case.levels.band, case.levels.full_at)
    return f"the last compaction left {after:,} and the next waits until {due:,}"


def _too_much_fixed(fill: Fill) -> str:
    return (
        f"what compaction never touches (system prompt, tools, pins, instructions, notes) has "
        f"{fill.fixed_tokens:,} tokens of {fill.window.usable_tokens:,} that a request may have; "
        "give a larger budget: a model with a larger window, fewer tools, fewer pins"
    )


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """How the window was split for one request, and the verdict."""

    allotment: Allotment
    verdict: Verdict

    def to_json(self) -> JsonObject:
        """Return the body of the event."""
        return {
            "window_tokens": self.allotment.window_tokens,
            "free_tokens": self.allotment.free_tokens,
            "slices": [
                {
                    "region": slice_.region.value,
                    "asked": slice_.asked,
                    "given": slice_.given,
                    "cut": slice_.cut,
                    "why": slice_.why,
                }
                for slice_ in self.allotment.slices
            ],
            "verdict": {"is": _NAMES[type(self.verdict)], **asdict(self.verdict)},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TokenBudget:
        """Read what ``to_json`` wrote; raise if the numbers do not add up."""
        with reading("a token budget"):
            slices = tuple(_slice(entry) for entry in value["slices"])
            allotment = Allotment(count(value["window_tokens"]), slices)
            if [slice_.region for slice_ in slices] != list(Region):
                raise ValueError("not every region once")
            if allotment.free_tokens != count(value["free_tokens"]):
                raise ValueError("the slices do not add up to the window")
            return cls(allotment, _verdict(value["verdict"]))


_NAMES: dict[type[Verdict], str] = {Calm: "calm", Warn: "warn", Compact: "compact", Stop: "stop"}


def _slice(entry: Mapping[str, Any]) -> Slice:
    asked, tokens, cut = (count(entry[name]) for name in ("asked", "given", "cut"))
    if asked - tokens != cut:
        raise ValueError(f"{asked} less {tokens} is not {cut}")
    return Slice(Region(entry["region"]), asked, tokens, text(entry["why"]))


def _verdict(entry: Mapping[str, Any]) -> Verdict:
    why = text(entry["why"])
    match entry["is"]:
        case "calm":
            return Calm(why)
        case "warn":
            return Warn(why)
        case "compact":
            return Compact(Trigger(entry["trigger"]), why, count(entry["target_tokens"]))
        case "stop":
            return Stop(why, entry["fits"] is True)
    raise ValueError(f"unknown verdict {entry['is']!r}")
