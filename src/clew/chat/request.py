"""From a session to a request: assemble it, make it fit the window, and record what the call cost.

Before each request ``RequestFitter.fit`` has the request assembled (``RequestBuilder``), measures the window,
and compacts if that is due and allowed. ``CallLog`` records what was sent, and what the reply cost.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from clew.budget import Calm, Compact, Fill, Milestone, ResultArrived, Resumed, Signal
from clew.chat.approvals import ApprovalStore, InstructionTracker
from clew.chat.events import Answer, ChatEvent, ChatWarning, Turn, ViewCompacted
from clew.chat.reports import compaction_notice
from clew.chat.tool_runner import Toolset
from clew.errors import BudgetExceeded, CompactionRefused, StalePlan
from clew.ledger import LoopKind, Todo
from clew.log import CALL, MESSAGE, PROGRESS
from clew.memory import Injection, Memory
from clew.message import Item, JsonObject, Trust, last_user_message
from clew.providers.model import Reply, StreamingModel
from clew.providers.remote import RemoteModel
from clew.request.assembled import AssembledRequest
from clew.request.diagnostics import RequestState
from clew.request.progress_log import checkpoints, progress_piece
from clew.request.prompt_cache import CacheConditions, Call, RequestLayout, layout_of
from clew.request.sections import ORGANIZATION, PLAN, Piece
from clew.session import Compaction, FitResult, Request, Session
from clew.session.message_range import split_range
from clew.session.request import is_first_request


class CallLog:
    """Records each request of a chat: usage, and what the provider's cache read, wrote and missed."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._layout: RequestLayout | None = None
        self._request: AssembledRequest | None = None
        self._ended_at: float | None = None
        """When the last reply of this process was complete."""
        self._idle_before = seconds_since_last_message(session)
        """How long the session had been idle when this process opened it."""
        self.last: Call | None = None
        self.made = 0
        """Requests sent by this process."""

    @property
    def age_seconds(self) -> float | None:
        """Return the time since the last reply; None before the first."""
        return None if self._ended_at is None else time.monotonic() - self._ended_at

    @property
    def idle_seconds(self) -> float | None:
        """Return the time since the last reply, also one of an earlier process; None in a new session."""
        return self._idle_before if self._ended_at is None else self.age_seconds

    def begin(self, request: AssembledRequest, body: JsonObject, wire: str) -> None:
        """Remember a request that is about to be sent, and its layout."""
        self.made += 1
        self._request = request
        self._layout = layout_of(body, wire, request.end_blocks)

    def end(self, reply: Reply, model: StreamingModel) -> None:
        """Record the usage of the call, and calibrate the token counter with it."""
        if self._layout is None or self._request is None:
            return
        if isinstance(model, RemoteModel):  # the offline model counts with the session's own counter
            self._session.report_usage(self._request, reply.usage)
        least = self._session.gauge.model.cache_minimum_tokens
        conditions = CacheConditions(seconds_since=self.age_seconds or 0.0, minimum_tokens=least)
        self.last = Call.after(self.last, self._layout, reply.usage, conditions)
        self._ended_at = time.monotonic()
        self._session.record(CALL.name, {**self.last.to_json(), "by": model.name})


LOOKED_AT = 50
"""Last events in which the last message is looked for; chosen by hand."""


def seconds_since_last_message(session: Session) -> float | None:
    """Return the age of the last message of a session; None if it has none, or none near the end."""
    last = session.store.head(session.ctx).seq
    recent = list(session.store.read(session.ctx, max(0, last - LOOKED_AT), last, [MESSAGE.name]))
    if not recent:
        return None
    return max(0.0, time.time() - datetime.fromisoformat(recent[-1].event.time).timestamp())


@dataclass(slots=True)
class RequestBuilder:
    """Assembles the requests of one chat."""

    session: Session
    toolset: Toolset
    memory: Memory
    approvals: ApprovalStore
    instructions: InstructionTracker
    policy: str = ""
    """The policy of the organization, sent with every request."""
    plain_start: bool = False
    """With no history, send what a plain client does; tools are offered once there is something to recall."""
    _injected: tuple[str, Injection] | None = None
    """The id of the user's last message, and what memory injects for it."""
    _shown: str = ""
    """The id of the last message whose injection was recorded."""
    _progress: Piece | None = field(init=False)
    """What the session got done before this chat was opened."""

    def __post_init__(self) -> None:
        past = checkpoints(self.session.store.read(self.session.ctx, kinds=[PROGRESS.name]))
        self._progress = progress_piece(past)

    def assembled(self) -> AssembledRequest:
        """Return the next request, not yet in a wire format; if switched off, without anything added."""
        view = self.session.view()
        tools = () if self.plain_start and self._has_no_history(view) else self.toolset.tools
        return self.session.request(tools=tools, pieces=self._pieces(), recalled=self._injection(view))

    def _has_no_history(self, view: Sequence[Item]) -> bool:
        """Whether this is the first request, there are no files to work on, and memory is empty."""
        is_alone = self.instructions.root is None and self.memory.is_empty
        return is_alone and is_first_request(self.session, view)

    def about(self, assembled: AssembledRequest) -> JsonObject:
        """Return the contributions of each source and the injected memory, for the log."""
        data = assembled.to_json()
        return {**data, "recalled": self._injected[1].to_json()} if self._injected else data

    def body(self, assembled: AssembledRequest, model: StreamingModel) -> JsonObject:
        """Render a request that is about to be sent, and record its injected memory."""
        if self._injected and self._injected[0] != self._shown and not self.session.is_off:
            self._shown = self._injected[0]
            self.memory.shown(self._injected[1])
        reply = self.session.gauge.window.reply_tokens
        return assembled.body(model.wire, model.fields(max(1, reply)))

    def request_state(self, last_call: Call | None = None) -> RequestState:
        """Return the request and its session for the diagnostics."""
        assembled = self.assembled()
        gauge = self.session.gauge
        return RequestState(
            allotment=self.session.measure(assembled).allotment,
            contributions=assembled.contributions,
            compactions=self.session.trace(),
            compact_at_tokens=gauge.policy.compact_at.of(gauge.window.usable_tokens),
            last_call=last_call,
        )

    # What is added to the view ---------------------------------------------------------------------------

    def _pieces(self) -> Iterator[Piece]:
        if self.policy:
            yield Piece(ORGANIZATION, self.policy, "policy", Trust.DEVELOPER)
        yield from self.instructions.pieces()
        if self._progress:
            yield self._progress
        if allowed := sorted(self.approvals.always):
            permission = f"The user allows you to use {', '.join(allowed)} without asking in this session."
            yield Piece(PLAN, permission, "approvals", Trust.SEMI_TRUSTED, own=True)

    def _injection(self, view: Sequence[Item]) -> Injection | None:
        """Return what memory injects, searched once per message of the user."""
        last = last_user_message(view)
        if last is None:
            return None
        if self._injected is None or self._injected[0] != last.id:
            room = self.session.gauge.policy.memory.of(self.session.gauge.window.usable_tokens)
            self._injected = last.id, self.memory.inject(last.message.text, room)
        return self._injected[1]


WARNING_STEP = 0.05
"""Share of the usable window by which it must grow before the next warning. Chosen by hand."""
SQUEEZED = 0.9
"""Share of the available tokens that a forced compaction may fill; the rest is a margin. Chosen by hand."""
MAKE_ROOM = "/compact makes room, /auto on compacts automatically"
NARROWER = (
    "nothing was sent, and compaction cannot make it smaller; give a narrower task in a new chat, "
    "revoke rules with /unpin, or use a larger window"
)


@dataclass(slots=True)
class RequestFitter:
    """Keeps the requests of one chat within its window. ``auto`` allows automatic compaction."""

    session: Session
    requests: RequestBuilder
    calls: CallLog
    _warned_at: int = 0
    """How full the window was at the last warning, in steps."""
    _finished: tuple[Todo, ...] = ()
    """The task list that was last found finished."""

    def fit(
        self, signals: tuple[Signal, ...], *, first: bool, auto: bool
    ) -> Generator[ChatEvent, Answer | None, AssembledRequest]:
        """Return a request that fits: measure, compact or warn; raise ``BudgetExceeded`` if none does.

        ``first`` marks the first request of a turn, before which a compaction disturbs least.
        """
        assembled = self.requests.assembled()
        if first:
            signals = (*signals, *self._boundaries())
        if self.session.is_off:
            return assembled  # a plain client: the provider reports what is too long
        # Inside a turn the model reads a new tool result before it may be condensed, unless it is oversized.
        may_compact = auto and (first or self._is_due(signals))
        request = Request(
            signals=signals,
            fixed_tokens=assembled.tokens_outside_view,
            cache_age_seconds=self.calls.age_seconds,
            made=self.calls.made,
            about=self.requests.about(assembled),
        )
        fitted = yield from self._measure(request, may_compact=may_compact, auto=auto)
        if first and not (fitted.compaction or fitted.refused):
            yield from self._warn(fitted, auto)
        fill = Fill.of(fitted.budget.allotment)
        over = fill.used_tokens > fill.window.usable_tokens
        room = fill.window.usable_tokens - sum(assembled.tokens_outside_view.values())
        if over and not (yield from self.force_compaction(int(room * SQUEEZED), auto=auto)):
            raise BudgetExceeded(str(fill), NARROWER if auto else None)
        return self.requests.assembled() if over or fitted.compaction else assembled

    def _boundaries(self) -> Iterator[Signal]:
        """Yield the signals of a new turn: work that resumes after a pause, and a finished task list."""
        idle = self.calls.idle_seconds
        if idle is not None and idle >= self.session.gauge.policy.long_pause_seconds:
            yield Resumed(idle)
        todos = self.session.ledger.loops.todos
        left = any(loop.kind is LoopKind.TODO for loop in self.session.ledger.loops.open)
        if todos and not left and todos != self._finished:
            self._finished = todos
            yield Milestone(f"all {len(todos)} tasks are done")

    def _is_due(self, signals: tuple[Signal, ...]) -> bool:
        """Return whether a signal asks to compact inside a turn: an oversized result, or a good moment."""
        most = self.session.gauge.policy.oversized.of(self.session.gauge.window.usable_tokens)
        return any(not isinstance(signal, ResultArrived) or signal.tokens > most for signal in signals)

    def _measure(
        self, request: Request, *, may_compact: bool, auto: bool
    ) -> Generator[ChatEvent, Answer | None, FitResult]:
        """Measure, and compact if due; a refused compaction is a warning and does not stop the turn."""
        try:
            fitted = self.session.fit(request, auto=may_compact)
        except (BudgetExceeded, CompactionRefused, StalePlan) as error:
            fitted = replace(self.session.fit(request), refused=error.detail)
        if fitted.refused:
            yield from self._warn(fitted, auto, f"not compacted: {fitted.refused}; the turn continues")
        if fitted.compaction:
            yield from self._announce(fitted.compaction)
        return fitted

    def _warn(self, fitted: FitResult, auto: bool, why: str = "") -> Turn:
        """Warn when the window has grown by a step, not at every turn."""
        verdict = fitted.verdict
        if isinstance(verdict, Calm):
            self._warned_at = 0
            return
        fill = Fill.of(fitted.budget.allotment)
        step = int(fill.used_tokens / max(1, fill.window.usable_tokens) / WARNING_STEP)
        if step > self._warned_at:
            do = f"; {MAKE_ROOM}" if isinstance(verdict, Compact) and not auto else ""
            yield ChatWarning(f"{why or verdict.why}{do}")
        self._warned_at = step

    def force_compaction(
        self, target_tokens: int, *, auto: bool
    ) -> Generator[ChatEvent, Answer | None, bool]:
        """Force a compaction to a size if ``auto`` allows it; return whether the view became smaller."""
        if not auto or self.session.is_off:
            return False
        try:
            compaction = self.session.compact(target_tokens=max(1, target_tokens), forced=True)
        except (BudgetExceeded, CompactionRefused, StalePlan) as error:
            yield ChatWarning(f"not compacted: {error.detail}")
            return False
        if compaction:
            yield from self._announce(compaction)
        return compaction is not None

    def compact(self, words: str = "") -> Turn:
        """Compact now, if that makes the view smaller; a range (m1-m20) and a focus may be given."""
        messages, focus = split_range(words)
        compaction = self.session.compact(focus=focus, messages=messages)
        if compaction:
            yield from self._announce(compaction)

    def _announce(self, compaction: Compaction) -> Turn:
        """Announce a compaction; new instruction files move into the stable part of the request."""
        self._warned_at = 0
        self.requests.instructions.settle()
        yield ViewCompacted(compaction_notice(compaction))
