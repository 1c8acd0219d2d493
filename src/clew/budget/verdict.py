"""Decide whether to compact now, and why: pressure with hysteresis, signals, and when to stop instead.

``levels_for(fill, policy, results)`` gives the sizes at which to warn, to compact and to stop: ``compact_at``
is 163,200 of 192,000 usable tokens by default. ``judge`` compares the fill with them and returns one of four
verdicts: ``Calm`` (nothing to do), ``Warn``, ``Compact`` with a trigger and a target, or ``Stop`` if
compaction would not help. Each says why: "182,000 of 192,000 usable tokens are in use (95%); the limit is
163,200: 85% of 192,000".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from clew.budget.policy import DEFAULT, FIXED, Allotment, Policy, Region, Slice, Window
from clew.budget.state import (
    FRESH,
    Asker,
    Boundary,
    CompactionRequested,
    PhaseChanged,
    ResultArrived,
    ResultSizes,
    Resumed,
    Signal,
    Stance,
    State,
    Trigger,
    count,
    reading,
    text,
)
from clew.message import JsonObject

LEAST_GROWTH = 0.25
"""The share of the usable window that must be added before the next compaction, even if the last one left too
much; keeps compactions from following each other too closely. Chosen by hand."""
LEAST_LEFT = 1_000
"""Tokens that a compaction under pressure leaves beside what it never touches, if there is room: a few
hundred for goal, rules and open work, the rest for the last messages. Chosen by hand."""
_UNTOUCHED = (*FIXED, Region.INSTRUCTIONS, Region.MEMORY)
"""Regions that compaction never touches."""
_COMPACTABLE = (Region.HISTORY, Region.TOOL_OUTPUTS)
"""Regions that it makes smaller."""


@dataclass(frozen=True, slots=True)
class Fill:
    """How full a window is before a request, with everything that would be sent."""

    window: Window
    used_tokens: int
    """Tokens of the next request, new input and tool results included."""
    fixed_tokens: int = 0
    """Of these, tokens that compaction never touches: system prompt, tools, pins, instructions, notes."""
    at_unix_s: float = 0.0
    """Time of the measurement."""

    @classmethod
    def of(cls, allotment: Allotment, at_unix_s: float = 0.0) -> Fill:
        """Return the fill before any compaction: history counts in full, uncut."""
        fixed = sum(allotment.of(region).given for region in _UNTOUCHED)
        history = sum(allotment.of(region).asked for region in _COMPACTABLE)
        window = Window(allotment.window_tokens, allotment.of(Region.REPLY).given)
        return cls(window, fixed + history, fixed, at_unix_s)

    @property
    def fits(self) -> bool:
        """Whether the next request fits as it is."""
        return self.used_tokens <= self.window.usable_tokens

    def __str__(self) -> str:
        usable = self.window.usable_tokens
        share = f" ({self.used_tokens / usable:.0%})" if usable else ""
        return f"{self.used_tokens:,} of {usable:,} usable tokens are in use{share}"


@dataclass(frozen=True, slots=True)
class Levels:
    """The thresholds of a window, in tokens."""

    target: int
    """The size that a compaction under pressure leaves."""
    warn_at: int
    compact_at: int
    full_at: int
    """Above this not even a summary request fits."""
    why: str
    """The reason for ``compact_at``."""
    band: int
    """Tokens that must be added between two compactions."""


def levels_for(fill: Fill, policy: Policy, results: ResultSizes) -> Levels:
    """Return the policy's thresholds, lowered if the reserves need more room.

    With 192,000 usable tokens and nothing fixed, the default policy warns at 144,000 (75 %), compacts at
    163,200 (85 %) down to 57,600 (30 %), and is full at 184,000: 8,000 are kept for a summary request.

    There are two reserves, for a summary request and for the next tool result. If what compaction never
    touches (``fixed``) fills most of the window, each takes at most half of what is left; and if compaction
    would start so low that nothing could stay, it starts at half of the room instead.
    """
    usable, fixed = fill.window.usable_tokens, fill.fixed_tokens
    summary_call = min(policy.summary_call.of(usable), max(0, usable - fixed) // 2)
    full_at = usable - summary_call
    room = max(0, full_at - fixed)
    next_result = min(results.expected_tokens(policy, usable), room // 2)
    least_left = min(LEAST_LEFT, room // 3)
    lowest = fixed + 2 * least_left
    by_policy, by_reserves = policy.compact_at.of(usable), full_at - next_result
    if min(by_policy, by_reserves) < lowest:
        compact_at = max(lowest, fixed + room // 2)
        why = f"half of the room beside {fixed:,} that compaction never touches"
    elif by_policy <= by_reserves:
        compact_at, why = by_policy, policy.compact_at.why(usable)
    else:
        compact_at = by_reserves
        why = f"leaves {next_result:,} for the next tool result and {summary_call:,} for a summary"
    target = max(_target(compact_at, fixed, policy, usable), fixed + least_left)
    return Levels(
        target=target,
        warn_at=min(policy.warn_at.of(usable), compact_at * 9 // 10),
        compact_at=compact_at,
        full_at=full_at,
        why=why,
        band=min(compact_at - target, round(LEAST_GROWTH * usable)),
    )


NARROWEST_BAND = 0.75
"""The largest share of ``compact_at`` that the default target may be; chosen by hand.

Of 192,000 usable tokens the default target is 57,600. If a person sets ``compact_at`` to 80,000, that is 72 %
of it and stays. With 70,000 it would be 82 %, and compactions would soon follow each other: the target is
24,705, as far below 70,000 as the default target is below the default threshold (30 to 85)."""


def _target(compact_at: int, fixed_tokens: int, policy: Policy, usable_tokens: int) -> int:
    """Return the target, lowered in proportion if ``compact_at`` was lowered."""
    high, low = policy.compact_at.of(usable_tokens), policy.down_to.of(usable_tokens)
    is_default = policy.down_to == DEFAULT.down_to
    if low >= high or (is_default and low > high * NARROWEST_BAND):
        high, low = DEFAULT.compact_at.of(100), DEFAULT.down_to.of(100)
    return reachable(compact_at * low // high, compact_at, fixed_tokens)


def reachable(target_tokens: int, used_tokens: int, fixed_tokens: int) -> int:
    """Return a target that can be met: at least a fifth of the compactable tokens stays (chosen by hand)."""
    return max(target_tokens, fixed_tokens + max(0, used_tokens - fixed_tokens) // 5)


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
