"""The budget's state between requests, and signals that can trigger a compaction before the window is full.

The state (failed compactions, sizes of tool results, the running compaction) is stored with the session, so
that after a restart a compaction that failed three times is not tried again (``Breaker``), and the room for
the next tool result fits this session's results (``ResultSizes``).

The mark of a running compaction (``Lease``) keeps one open session from compacting inside its own compaction.
It is not logged when a compaction begins, so another process does not see it: of two processes that compact
at once, the first to append wins, and the other gets ``StalePlan``.

``Milestone("login works")`` triggers a compaction if the window is at least 40 % full: what led to the
milestone can be condensed. Its ``why`` becomes the reason in the log: "milestone reached: login works".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from math import isfinite
from typing import Any, TypeAlias

from clew.budget.policy import Policy
from clew.errors import CompactionUnderWay, InputError
from clew.message import Json, JsonObject


class Trigger(StrEnum):
    """What triggered a compaction."""

    PRESSURE = "pressure"
    OVERSIZED = "oversized"
    MILESTONE = "milestone"
    PHASE = "phase"
    PAUSE = "pause"
    RESUMED = "resumed"
    AGENT = "agent"
    MANUAL = "manual"
    """The user asked for it."""


class Phase(StrEnum):
    """The phases of a piece of work."""

    PLANNING = "planning"
    EXECUTION = "execution"
    VERIFICATION = "verification"
    INTEGRATION = "integration"


class Pause(StrEnum):
    """What the work waits for."""

    APPROVAL = "an approval"
    HAND_OFF = "a hand-off"


class Asker(StrEnum):
    """Who asked for a compaction."""

    USER = "user"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class ResultArrived:
    """A tool result arrived; triggers a compaction if it is oversized."""

    tokens: int
    tool: str = "a tool"

    @property
    def why(self) -> str:
        """Return the reason as text."""
        return f"one result of {self.tool} has {self.tokens:,} tokens"


@dataclass(frozen=True, slots=True)
class Milestone:
    """A piece of work is finished."""

    name: str
    trigger = Trigger.MILESTONE

    @property
    def why(self) -> str:
        """Return the reason as text."""
        return f"milestone reached: {self.name}"


@dataclass(frozen=True, slots=True)
class PhaseChanged:
    """The work moved to another phase."""

    before: Phase
    after: Phase
    trigger = Trigger.PHASE

    @property
    def why(self) -> str:
        """Return the reason as text."""
        return f"the work moves from {self.before} to {self.after}"


@dataclass(frozen=True, slots=True)
class Paused:
    """The work waits for a person or is handed to another agent."""

    waits_for: Pause
    trigger = Trigger.PAUSE

    @property
    def why(self) -> str:
        """Return the reason as text."""
        return f"the work pauses for {self.waits_for}"


@dataclass(frozen=True, slots=True)
class Resumed:
    """The work continues after a pause; triggers a compaction if the pause was long."""

    after_seconds: float
    trigger = Trigger.RESUMED

    @property
    def why(self) -> str:
        """Return the reason as text."""
        minutes = round(self.after_seconds / 60)
        length = f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min"
        return f"the work resumes after {length}"


@dataclass(frozen=True, slots=True)
class CompactionRequested:
    """The user or the agent asked for a compaction."""

    by: Asker

    @property
    def trigger(self) -> Trigger:
        """Return the trigger, by who asked."""
        return Trigger.MANUAL if self.by is Asker.USER else Trigger.AGENT

    @property
    def why(self) -> str:
        """Return the reason as text."""
        return f"the {self.by} asked for it"


Boundary: TypeAlias = Milestone | PhaseChanged | Paused | Resumed | CompactionRequested
"""A good moment to compact: something ended, so the steps that led there can be condensed."""
Signal: TypeAlias = ResultArrived | Boundary


TRIES = 3
"""Consecutive failures after which the breaker opens; chosen by hand."""
GROWTH = 0.10
"""If the window grew by this share since the last failure, one more try is allowed; chosen by hand."""
LEAST_PROGRESS = 0.05
"""A compaction that misses its target and frees less than this share counts as failed; chosen by hand."""


class Stance(StrEnum):
    """Whether a compaction may be tried."""

    CLOSED = "closed"
    """It may be tried."""
    HALF_OPEN = "half open"
    """One try: another failure opens the breaker again."""
    OPEN = "open"
    """It may not be tried."""


@dataclass(frozen=True, slots=True)
class Breaker:
    """The record of failed compactions, stored as JSON so that it survives a restart."""

    failures: int = 0
    """Consecutive failures."""
    failed_at_tokens: int = 0
    """Tokens in the window at the last failure."""
    reason: str = ""
    """Reason of the last failure."""

    def stance(self, used_tokens: int, asked: bool = False) -> Stance:
        """Return whether a compaction may be tried now; ``asked`` if a person wants it."""
        if self.failures < TRIES:
            return Stance.CLOSED
        grown = used_tokens - self.failed_at_tokens > GROWTH * self.failed_at_tokens
        return Stance.HALF_OPEN if asked or grown else Stance.OPEN

    def failed(self, used_tokens: int, reason: str) -> Breaker:
        """Return the breaker after a failed compaction."""
        return Breaker(self.failures + 1, used_tokens, reason)

    def ended(self, before_tokens: int, after_tokens: int, target_tokens: int) -> Breaker:
        """Return the breaker after a compaction that took effect; one that frees too little has failed."""
        freed = before_tokens - after_tokens
        reached = after_tokens <= target_tokens
        if freed > 0 and (reached or freed >= LEAST_PROGRESS * before_tokens):
            return Breaker()
        left = f"it left {after_tokens:,} of {before_tokens:,} tokens"
        return self.failed(after_tokens, f"{left}, the target was {target_tokens:,}")

    @property
    def question(self) -> str:
        """Return the question to a person, with the reason."""
        times = "once" if self.failures == 1 else f"{self.failures} times in a row"
        return (
            f"compaction failed {times} (last: {self.reason}); give a narrower task, or a larger budget: "
            "a model with a larger window, fewer tools, fewer pins"
        )

    def to_json(self) -> JsonObject:
        """Return it as plain JSON."""
        return {"failures": self.failures, "failed_at_tokens": self.failed_at_tokens, "reason": self.reason}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Breaker:
        """Read what ``to_json`` wrote."""
        with reading("a breaker"):
            return cls(count(value["failures"]), count(value["failed_at_tokens"]), text(value["reason"]))


ENOUGH = 100
"""The number of results from which the largest 1 % are at least one and are treated as outliers."""


@dataclass(frozen=True, slots=True)
class ResultSizes:
    """A histogram of a session's tool result sizes, rounded up by at most a quarter to stay small."""

    counts: tuple[tuple[int, int], ...] = ()
    """Pairs of bucket size in tokens and number of results, ascending."""
    largest_tokens: int = 0

    @property
    def results(self) -> int:
        """Return the number of results."""
        return sum(times for _, times in self.counts)

    def add(self, tokens: int) -> ResultSizes:
        """Return the histogram with one more result; results that arrive together count as one."""
        counts = dict(self.counts)
        size = _rounded_up(tokens)
        counts[size] = counts.get(size, 0) + 1
        return ResultSizes(tuple(sorted(counts.items())), max(self.largest_tokens, tokens))

    @property
    def p99_tokens(self) -> int:
        """Return the 99th percentile of the sizes."""
        left = self.results // 100
        for size, times in reversed(self.counts):
            if times > left:
                return min(size, self.largest_tokens)
            left -= times
        return 0

    def expected_tokens(self, policy: Policy, usable_tokens: int) -> int:
        """Return the tokens to keep free for the next result.

        The policy's first guess or the largest so far, whichever is more; after ``ENOUGH`` results the 99th
        percentile, so that one giant result does not reduce the window for ever. Never more than the policy
        allows: larger results are shortened when they arrive.
        """
        if self.results < ENOUGH:
            learnt = max(policy.next_result.of(usable_tokens), self.largest_tokens)
        else:
            learnt = self.p99_tokens
        return min(learnt, policy.next_result_most.of(usable_tokens))

    def to_json(self) -> JsonObject:
        """Return the histogram as plain JSON."""
        return {"counts": [[size, times] for size, times in self.counts], "largest": self.largest_tokens}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ResultSizes:
        """Read what ``to_json`` wrote."""
        with reading("a record of result sizes"):
            counts = tuple((count(size), count(times)) for size, times in value["counts"])
            return cls(counts, count(value["largest"]))


def _rounded_up(tokens: int) -> int:
    """Round up to three leading bits, four bucket sizes per doubling: 9 to 10, 100 to 112, 1,000 to 1,024."""
    shift = max(0, tokens.bit_length() - 3)
    return -(-tokens >> shift) << shift


LEASE_SECONDS = 600.0
"""The longest that a compaction may take; a process that dies in one blocks the session no longer."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Marks a running compaction: its process, and when the lease expires."""

    holder: str
    until_unix_s: float


@dataclass(frozen=True, slots=True)
class State:
    """The budget's state of a session, stored as JSON so that it survives a restart."""

    results: ResultSizes = field(default_factory=ResultSizes)
    breaker: Breaker = field(default_factory=Breaker)
    after_tokens: int | None = None
    """Tokens that the last compaction left in the window; None before the first."""
    lease: Lease | None = None

    def is_compacting(self, at_unix_s: float) -> bool:
        """Whether a compaction is running."""
        return self.lease is not None and at_unix_s < self.lease.until_unix_s

    def begin(self, holder: str, at_unix_s: float, seconds: float = LEASE_SECONDS) -> State:
        """Return the state with a running compaction; raise ``CompactionUnderWay`` inside another."""
        if self.lease is not None and self.is_compacting(at_unix_s):
            raise CompactionUnderWay(f"{self.lease.holder} is compacting")
        return replace(self, lease=Lease(holder, at_unix_s + seconds))

    def ended(
        self,
        trigger: Trigger,
        before_tokens: int,
        after_tokens: int,
        target_tokens: int,
        holder: str | None = None,
    ) -> State:
        """Return the state after a compaction that took effect; the lease of another holder stays."""
        breaker = self.breaker.ended(before_tokens, after_tokens, target_tokens)
        # Shortening one result frees nothing else, so it must not delay the next compaction.
        left = self.after_tokens if trigger is Trigger.OVERSIZED else after_tokens
        return replace(self.released(holder), breaker=breaker, after_tokens=left)

    def failed(self, used_tokens: int, reason: str, holder: str | None = None) -> State:
        """Return the state after a failed or refused compaction, which left the view unchanged."""
        return replace(self.released(holder), breaker=self.breaker.failed(used_tokens, reason))

    def released(self, holder: str | None = None) -> State:
        """Return the state without the running compaction of this holder; None for any holder.

        A compaction that outlives its lease must not release that of the next one.
        """
        is_of_another = self.lease is not None and holder not in (None, self.lease.holder)
        return self if is_of_another else replace(self, lease=None)

    def undone(self, used_tokens: int) -> State:
        """Return the state after an undo, so that the restored messages are not compacted again at once."""
        return replace(self, after_tokens=used_tokens)

    def saw_result(self, tokens: int) -> State:
        """Return the state after a tool result; results of parallel calls count as one."""
        return replace(self, results=self.results.add(tokens))

    def to_json(self) -> JsonObject:
        """Return the state as plain JSON."""
        return {
            "results": self.results.to_json(),
            "breaker": self.breaker.to_json(),
            "after_tokens": self.after_tokens,
            "lease": None if self.lease is None else asdict(self.lease),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> State:
        """Read what ``to_json`` wrote."""
        with reading("the state of a budget"):
            after, lease = value["after_tokens"], value["lease"]
            if lease is not None:
                lease = Lease(text(lease["holder"]), unix_seconds(lease["until_unix_s"]))
            return cls(
                results=ResultSizes.from_json(value["results"]),
                breaker=Breaker.from_json(value["breaker"]),
                after_tokens=None if after is None else count(after),
                lease=lease,
            )


FRESH = State()
"""The state of a new session."""


# Reading JSON; ``verdict`` uses it too -------------------------------------------------------------------


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn errors about the JSON's shape into an ``InputError``."""
    try:
        yield
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as cause:
        raise InputError(f"this is not {what} ({cause!r})") from cause


def count(value: Json) -> int:
    """Return a non-negative integer; anything else is a ``ValueError``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def text(value: Json) -> str:
    """Return a string; anything else is a ``TypeError``."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def unix_seconds(value: Json) -> float:
    """Return a finite time; anything else is an error, for example infinity: a lease that never ends."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
        raise ValueError(f"{value!r} is not a time")
    return float(value)
