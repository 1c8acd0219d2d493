"""Before a request of a session: measure the window, compact if that is due and pays, and log the result.

``fitting`` is the work of ``Session.fit``: a ``Request`` goes in, a ``FitResult`` comes out, and one
``TokenBudget`` event is appended to the log, whether something was compacted or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from clew.budget import (
    Cache,
    Compact,
    CostChoice,
    CostMove,
    Fill,
    Option,
    Outlook,
    Region,
    Signal,
    TokenBudget,
    Trigger,
    Verdict,
    requests_to_come,
)
from clew.compaction.decide import Writer
from clew.compaction.propose import pruned_size
from clew.compaction.task import CompactionTask
from clew.errors import BudgetExceeded, CompactionRefused, StalePlan
from clew.log import TOKEN_BUDGET, new_event
from clew.log.protocol import Event
from clew.message import JsonObject
from clew.providers.model import Steps
from clew.session.compact_session import NOTHING_SMALLER, compacting, task_of
from clew.session.gauge import Gauge, measure, reason_with_unread, unread_count, with_unread
from clew.session.history import Compaction
from clew.session.replay import Replay

_SEND_LESS = "revoke or shorten rules, send shorter messages, or use a model with a larger window"


@dataclass(frozen=True, slots=True)
class Request:
    """A request that is about to be sent, apart from the view."""

    signals: tuple[Signal, ...] = ()
    fixed_tokens: Mapping[Region, int] | None = None
    """Tokens sent in addition to the view, by region: tools, instructions, notes."""
    cache_age_seconds: float | None = None
    """Seconds since the last request; None before the first."""
    made: int = 0
    """Requests sent so far."""
    about: JsonObject | None = None
    """Extra fields for the TokenBudget event: the parts of the request, what memory returned and why."""


@dataclass(frozen=True, slots=True)
class FitResult:
    """The measurement and decision before a request."""

    budget: TokenBudget
    """The window as it is sent: after the compaction, if there was one."""
    choice: CostChoice | None = None
    """The cost estimate; None if no compaction was due."""
    compaction: Compaction | None = None
    """The compaction that was made; None if none was."""
    refused: str = ""
    """Why a compaction that was due could not be made; the request still fits."""
    before: TokenBudget | None = None
    """The window before the compaction, and the verdict that asked for it; None if none was tried."""

    @property
    def ran(self) -> CostMove:
        """Return what was done: a digest was made, something was only pruned or shortened, or nothing."""
        if self.compaction is None:
            return CostMove.WAIT
        return CostMove.SUMMARISE if self.compaction.digest else CostMove.PRUNE

    @property
    def why_otherwise(self) -> str:
        """Return why what ran is not what the estimate chose; "" if it is, or none was made."""
        if self.choice is None or self.choice.move is self.ran:
            return ""
        if self.compaction is None:
            return self.refused or "nothing ran: the caller compacts, or compaction is switched off"
        if self.ran is CostMove.PRUNE:
            return "pruning alone reached the size, so no digest was needed"
        return "pruning alone did not reach the size, so a digest was made"

    @property
    def verdict(self) -> Verdict:
        """Return whether to continue, warn, compact or stop."""
        return self.budget.verdict


def fitting(
    replay: Replay, gauge: Gauge, request: Request, writer: Writer | None, auto: bool
) -> Steps[FitResult]:
    """Measure the window, compact if due and worth it, and log one TokenBudget event.

    A compaction that fails raises only if the request does not fit without it; the event is logged first.
    """
    budget = measure(replay, gauge, request.signals, request.fixed_tokens)
    fitted = FitResult(budget)
    if isinstance(budget.verdict, Compact):
        task, choice = _weigh_compaction(replay, gauge, request, budget, with_model=writer is not None)
        fitted = FitResult(budget, choice)
        if auto and choice.move is not CostMove.WAIT:
            fill = Fill.of(budget.allotment)
            try:
                compaction = yield from _compacting_what_is_due(replay, task, writer, fill)
            except (CompactionRefused, BudgetExceeded, StalePlan) as refusal:
                fitted = replace(fitted, refused=refusal.detail)
                if fill.used_tokens > gauge.window.usable_tokens:
                    _log(replay, fitted, request)
                    raise
            else:
                fitted = replace(fitted, compaction=compaction)
    if fitted.compaction or fitted.refused:
        now = measure(replay, gauge, (), request.fixed_tokens)
        fitted = replace(fitted, before=budget, budget=now)
    _log(replay, fitted, request)
    return fitted


def _compacting_what_is_due(
    replay: Replay, task: CompactionTask, writer: Writer | None, fill: Fill
) -> Steps[Compaction | None]:
    """Compact; raise if nothing could be made smaller. None if compaction is switched off."""
    compaction = yield from compacting(replay, task, writer)
    if compaction is None and not replay.view.off:
        raise BudgetExceeded(f"{fill}; {NOTHING_SMALLER}", _SEND_LESS)
    return compaction


def _weigh_compaction(
    replay: Replay, gauge: Gauge, request: Request, budget: TokenBudget, *, with_model: bool
) -> tuple[CompactionTask, CostChoice]:
    """Return the task of a compaction that is due, and whether it pays, by pruning alone or with a digest."""
    verdict = cast(Compact, budget.verdict)
    other = replay.outside_tokens  # sent in addition to the view
    new = replay.items[len(replay.items) - unread_count(replay.items) :]
    unread_tokens = sum(replay.counter.count(item.message) for item in new)
    fill = Fill.of(budget.allotment)
    most = gauge.most_left(fill.fixed_tokens)
    outlook = Outlook(
        fill.used_tokens,
        Cache(gauge.model, request.cache_age_seconds),
        requests_to_come(request.made),
        unread_tokens,
    )
    oversized = verdict.trigger is Trigger.OVERSIZED
    target = verdict.target_tokens
    if not oversized:
        target = with_unread(target, unread_tokens, most)
    goal = replace(verdict, target_tokens=target)
    why = reason_with_unread(verdict.why, verdict.target_tokens, target)
    task = task_of(replay, gauge, target - other, verdict.trigger, why)
    task = replace(task, most_tokens=most - other, beside_tokens=replay.pending_tokens)
    pruned = _shortened_option(goal, outlook) if oversized else _prune_only_option(task, other)
    choice = gauge.weigh(budget.allotment, goal, outlook, with_model=with_model, pruned=pruned)
    if pruned and choice.move is CostMove.PRUNE:
        task = replace(task, target_tokens=max(task.target_tokens, pruned.after_tokens - other))
    return task, choice


def _prune_only_option(task: CompactionTask, other_tokens: int) -> Option | None:
    """Return what pruning alone would leave of a request; None if it would free nothing."""
    left = pruned_size(task)
    if left is None:
        return None
    after, unchanged = left
    return Option(CostMove.PRUNE, after + task.beside_tokens + other_tokens, unchanged)


def _shortened_option(verdict: Compact, outlook: Outlook) -> Option:
    """Return what shortening an oversized result leaves: all that was sent before stays as it is."""
    before = max(0, outlook.tokens - outlook.fresh_tokens)
    return Option(CostMove.PRUNE, verdict.target_tokens, min(before, verdict.target_tokens))


def _log(replay: Replay, fitted: FitResult, request: Request) -> None:
    replay.append(lambda: [budget_event(fitted, request.about)])


def budget_event(fitted: FitResult, about: JsonObject | None = None) -> Event:
    """Return the TokenBudget event of a request, with the caller's extra fields."""
    body = fitted.budget.to_json()
    if fitted.before:
        body["before"] = fitted.before.to_json()
    if about:
        body["request"] = about
    if fitted.choice:
        why: JsonObject = {"why_otherwise": fitted.why_otherwise} if fitted.why_otherwise else {}
        body["choice"] = {**fitted.choice.to_json(), "ran": fitted.ran.value, **why}
    return new_event(TOKEN_BUDGET.name, body, TOKEN_BUDGET.version)
