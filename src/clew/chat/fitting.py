"""Making a request fit: measure the window, compact or warn, and squeeze where it must be."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from clew.budget import Calm, Compact, Fill, ResultArrived, Signal
from clew.chat.calls import Calls
from clew.chat.happenings import Answer, Compacted, Happening, Turn, Warned
from clew.chat.notice import notice_of
from clew.chat.request import Requests
from clew.errors import BudgetExceeded, CompactionRefused, StalePlan
from clew.request.assembled import Assembled
from clew.session import Compaction, Fitted, Request, Session

WARNING_STEP = 0.05
"""Of the usable window: how much fuller it gets before it is warned of again."""
SQUEEZED = 0.9
"""Of the room that there is, filled by a compaction that must be, whatever it would rather leave."""
MAKE_ROOM = "/compact makes room, /auto on lets clew do it when it is time"


@dataclass(slots=True)
class Fitting:
    """Keeps the requests of one chat within its window. ``auto`` says whether clew may compact unasked."""

    session: Session
    requests: Requests
    calls: Calls
    _warned_at: int = 0
    """How full the window was when that was last told, in steps."""

    def fitted(
        self, signals: tuple[Signal, ...], *, first: bool, auto: bool
    ) -> Generator[Happening, Answer | None, Assembled]:
        """Return a request that fits: measure, compact or warn; what cannot fit is ``BudgetExceeded``."""
        assembled = self.requests.assembled()
        if self.session.is_off:
            return assembled  # a plain client: its provider says what is too long
        # What a tool has just answered is read before it may be condensed, unless it is far too long.
        now = auto and (first or self._is_oversized(signals))
        about = self.requests.about(assembled)
        request = Request(signals, assembled.extra, self.calls.age_seconds, self.calls.made, about)
        fitted = yield from self._measured(request, now, auto)
        if first and not fitted.compaction:
            yield from self._warned(fitted, auto)
        fill = Fill.of(fitted.budget.allotment)
        over = fill.used_tokens > fill.window.usable_tokens
        room = fill.window.usable_tokens - sum(assembled.extra.values())
        if over and not (yield from self.squeezed(int(room * SQUEEZED), auto=auto)):
            raise BudgetExceeded(str(fill))
        return self.requests.assembled() if over or fitted.compaction else assembled

    def _is_oversized(self, signals: tuple[Signal, ...]) -> bool:
        most = self.session.gauge.policy.oversized.of(self.session.gauge.window.usable_tokens)
        return any(isinstance(one, ResultArrived) and one.tokens > most for one in signals)

    def _measured(
        self, request: Request, now: bool, auto: bool
    ) -> Generator[Happening, Answer | None, Fitted]:
        """Measure, and compact where that is wanted; a compaction that is refused does not stop the turn."""
        try:
            fitted = self.session.fit(request, auto=now)
        except (BudgetExceeded, CompactionRefused, StalePlan) as error:
            fitted = self.session.fit(request)
            yield from self._warned(fitted, auto, f"not compacted: {error.detail}; the turn goes on")
        if fitted.compaction:
            yield from self._told(fitted.compaction)
        return fitted

    def _warned(self, fitted: Fitted, auto: bool, why: str = "") -> Turn:
        """Warn when the window gets fuller by a step, not at every turn."""
        verdict = fitted.verdict
        if isinstance(verdict, Calm):
            self._warned_at = 0
            return
        fill = Fill.of(fitted.budget.allotment)
        step = int(fill.used_tokens / max(1, fill.window.usable_tokens) / WARNING_STEP)
        if step > self._warned_at:
            do = f"; {MAKE_ROOM}" if isinstance(verdict, Compact) and not auto else ""
            yield Warned(f"{why or verdict.why}{do}")
        self._warned_at = step

    def squeezed(self, target_tokens: int, *, auto: bool) -> Generator[Happening, Answer | None, bool]:
        """Make as much room as there must be, where clew may; tell whether that did anything."""
        if not auto or self.session.is_off:
            return False
        try:
            made = self.session.compact(target_tokens=max(1, target_tokens), must=True)
        except (BudgetExceeded, CompactionRefused, StalePlan) as error:
            yield Warned(f"not compacted: {error.detail}")
            return False
        if made:
            yield from self._told(made)
        return made is not None

    def compact(self, focus: str | None = None) -> Turn:
        """Compact now; nothing happens where there is nothing to gain."""
        made = self.session.compact(focus=focus)
        if made:
            yield from self._told(made)

    def _told(self, made: Compaction) -> Turn:
        """Tell of a compaction; with it, what belongs to the stable part moves there."""
        self._warned_at = 0
        self.requests.instructed.settle()
        notice = notice_of(made)
        self.requests.progressed.take(f"compacted as {notice.digest}" if notice.digest else "compacted")
        yield Compacted(notice)
