"""``Session``: one conversation on a store. Add messages, read the view, compact it, undo, explain.

::

    with clew.Session.open("fix-login", model="claude-sonnet-4-5") as session:
        session.add({"role": "user", "content": "The login page is blank. Never touch the database."})
        request = session.request(auto=True)        # compacts first if the window is nearly full
        reply = client.messages.create(**request.body("anthropic", {"model": …, "max_tokens": 8_000}))
        session.add({"role": "assistant", "content": reply.content})

The class has three parts, one file each: ``SessionLog`` (open, add and read messages), ``CuratedSession``
(rules, kept facts, open work, looking back), and here ``Session``: requests to the model, and compaction.

The methods here are thin. Logic that may ask a model is a generator of questions (``Steps``), which
``_drive`` and ``_drive_async`` answer, so that synchronous and asynchronous callers share it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from clew.budget import Cache, CompactionPrice, Signal, Stop, TokenBudget, Trigger
from clew.compaction.decide import DecidedCompaction, Writer
from clew.compaction.plan.plan import apply
from clew.compaction.propose.summary import SessionRequest
from clew.errors import BudgetExceeded, InputError, StoreError
from clew.log import ABOUT
from clew.message import Native, fixed_prefix
from clew.providers import Converted, convert, wire_named
from clew.providers.model import AsyncModel, Model, Steps
from clew.session.compact_session import compacting, judging, preview_task, requested_task, undo
from clew.session.curated_session import CuratedSession
from clew.session.fit import FitResult, Request, fitting
from clew.session.gauge import measure, price_of
from clew.session.history import Compaction
from clew.session.replay import CALIBRATION
from clew.session.summariser import run_steps, run_steps_async
from clew.settings import rules_are_judged

if TYPE_CHECKING:
    from clew.memory import Injection
    from clew.request.assembled import AssembledRequest, OfferedTool
    from clew.request.sections import Piece
    from clew.session.request import RequestAssembler

PLAIN = Request()
"""A request that consists of the view alone."""
Result = TypeVar("Result")


class Session(CuratedSession):
    """One conversation on a store.

    Open it with ``Session.open``. Several processes may open the same session: each reads what the others
    append. In one process, use it from one thread at a time.
    """

    own_requests: Native | None = None
    """The fields of the session's requests other than messages (tools, thinking, …), with their wire.

    Set it if the summariser is the model that the session itself uses: the summary instruction is then
    appended to the session's own request, which the provider reads from its cache.
    """
    _requests: RequestAssembler | None = None
    _signals: tuple[Signal, ...] = ()
    """Signals reported since the last ``fit`` with ``auto``."""
    _fits: int = 0
    """Requests measured by this process..."""
    _fitted_at: float | None = None
    """...and when the last one was: how old the provider's prompt cache is."""

    # The next request -----------------------------------------------------------------------------------

    def context(self, wire: str = "anthropic") -> Converted:
        """Return the view in a provider's format, ready to send.

        Rules that were set or ended by hand and that no digest shows yet are at its end.
        """
        messages, format_ = [item.message for item in self.view()], wire_named(wire)
        if messages and (piece := self._replay.pending_rules):
            from clew.request.assemble import end_message  # imported only if rules were changed by hand
            from clew.request.assembled import with_end

            messages = with_end(messages, end_message([piece], None, announced=True), format_)
        return convert(messages, format_)

    def request(  # noqa: PLR0913  # one call before every request to a model: all keywords with defaults
        self,
        *,
        tools: Sequence[OfferedTool] = (),
        instructions: Path | str | None = None,
        memory: bool = False,
        pieces: Iterable[Piece] = (),
        recalled: Injection | None = None,
        fence_results: bool = False,
        auto: bool = False,
    ) -> AssembledRequest:
        """Return the next request to the model, assembled: the view and what belongs around it.

        ::

            request = session.request(instructions=".", auto=True)
            reply = client.messages.create(**request.body("anthropic", {"model": model, "max_tokens": 8_000}))
            session.report_usage(request, reply.usage)
            session.add({"role": "assistant", "content": reply.content})

        Added are clauses on how to read a digest, and the state that the view no longer shows. Nothing is
        added if compaction is switched off.

        Args:
            tools: The tools to offer, such as ``session.memory``'s; keep their order fixed.
            instructions: The folder of a project that the user trusts, for its AGENTS.md, CLAUDE.md, ….
            memory: Add what ``session.memory`` recalls for the user's last message.
            pieces: More text, each with its section, source and trust (``clew.request.Piece``).
            recalled: What another memory recalled, in place of ``memory``.
            fence_results: Put fences around the text of tool results too.
            auto: Measure the window first, and compact if that is due and pays (see ``fit``).
        """
        from clew.session.request import RequestAssembler, RequestParts  # imported only if requests are made

        self._requests = self._requests or RequestAssembler(self)
        parts = RequestParts(
            tools=tools,
            instructions=Path(instructions) if instructions is not None else None,
            memory=memory,
            pieces=tuple(pieces),
            recalled=recalled,
            fence_results=fence_results,
        )
        assembled = self._requests.assemble(parts)
        if auto and not self.is_off and self.fit(assembled, auto=True).compaction:
            assembled = self._requests.assemble(parts)
        return assembled

    def report_usage(self, request: AssembledRequest, usage: object) -> bool:
        """Calibrate the token counter with the usage that a provider reported for a request.

        ``usage`` is the ``usage`` of a reply of any SDK, a ``clew.Usage``, or the number of all input tokens,
        cached or not. What was learnt is recorded in the log, so that later processes count the same way.
        Returns False, and learns nothing, if the report is not plausible for this request.
        """
        from clew.session.request import is_plausible, reported_input

        counter, reported = self.counter, reported_input(usage)
        tally = request.weigh(counter)
        if not is_plausible(counter.tokens(tally), reported):
            return False
        counter.report_usage(tally, reported)
        reports = counter.calibration.of(counter.family).reports
        if reports and reports & (reports - 1) == 0:  # after 1, 2, 4, 8, … reports: it changes less and less
            self.record(ABOUT.name, {CALIBRATION: counter.calibration.to_json()})
        return True

    # How full the window is -----------------------------------------------------------------------------

    def measure(self, request: Request | AssembledRequest = PLAIN) -> TokenBudget:
        """Return how full the window is before a request, and whether to compact; nothing is recorded."""
        self._replay.catch_up()
        request = self._as_request(request)
        return measure(self._replay, self.gauge, request.signals, request.fixed_tokens)

    def fit(self, request: Request | AssembledRequest = PLAIN, *, auto: bool = False) -> FitResult:
        """Measure the window before a request and log one TokenBudget event.

        With ``auto``, also compact if the verdict asks for it and the compaction pays or cannot wait; raise
        ``BudgetExceeded`` if the request does not fit and no compaction can change that.
        """
        return self._drive(self._fitting(request, auto))

    async def fit_async(
        self, request: Request | AssembledRequest = PLAIN, *, auto: bool = False
    ) -> FitResult:
        """Do the same with an asynchronous summariser."""
        return await self._drive_async(self._fitting(request, auto))

    def _fitting(self, request: Request | AssembledRequest, auto: bool) -> Steps[FitResult]:
        """Measure the view for a request and compact it if it is due; remember when, for the cache."""
        self._replay.catch_up()
        request = self._as_request(request)
        age = request.cache_age_seconds
        if age is None and self._fitted_at is not None:
            age = time.monotonic() - self._fitted_at
        signals = (*self._signals, *request.signals)
        request = replace(request, signals=signals, cache_age_seconds=age, made=request.made or self._fits)
        if auto:
            self._signals = ()
        fitted = yield from fitting(self._replay, self.gauge, request, self._writer, auto)
        self._fits, self._fitted_at = self._fits + 1, time.monotonic()
        if fitted.compaction:
            self._after_compaction(fitted.compaction)
        if auto and isinstance(fitted.verdict, Stop) and not fitted.verdict.fits:
            raise BudgetExceeded(fitted.verdict.why)  # after its event was logged
        return fitted

    @staticmethod
    def _as_request(request: Request | AssembledRequest) -> Request:
        if isinstance(request, Request):
            return request
        return Request(fixed_tokens=request.tokens_outside_view, about=request.to_json())

    def signal(self, *signals: Signal) -> None:
        """Report events that are good moments to compact: they count at the next ``fit`` with ``auto``.

        They are in ``clew.budget``: ``Milestone("tests pass")``, ``PhaseChanged(Phase.PLANNING,
        Phase.EXECUTION)``, ``Paused(Pause.APPROVAL)``, ``Resumed(after_seconds=7_200)``, ``ResultArrived``
        and ``CompactionRequested``.
        """
        for signal in signals:
            if not isinstance(signal, Signal):
                raise InputError(
                    f"{signal!r} is not a signal", "pass clew.budget.Milestone(...) or another one"
                )
        self._signals += signals

    # Compaction -----------------------------------------------------------------------------------------

    def compact(
        self,
        *,
        target_tokens: int | None = None,
        focus: str | None = None,
        messages: str | None = None,
        forced: bool = False,
        reason: str | None = None,
    ) -> Compaction | None:
        """Make the view smaller; None if there is nothing to gain.

        ``target_tokens`` is the size to reach, system prompt excluded; by default half of the view, or the
        policy's ``down_to`` if that is less. ``focus`` says in a person's words what matters now.
        ``messages`` is a range in place of a size, ``m1-m20`` or ``m30-``: only these messages are compacted,
        the oldest ones into a digest, others by shortening them in place.

        Raises ``CompactionRefused`` if no proposal keeps what must be kept, and ``PinsDoNotFit`` if the rules
        alone are larger than the target. ``forced`` marks a compaction that no person asked for, because the
        next request would not fit; its trigger is then recorded as pressure. ``reason`` is recorded in place
        of the size, for callers that derive it from something else.
        """
        return self._drive(self._compacting(target_tokens, focus, messages, forced, reason))

    async def compact_async(
        self,
        *,
        target_tokens: int | None = None,
        focus: str | None = None,
        messages: str | None = None,
        forced: bool = False,
        reason: str | None = None,
    ) -> Compaction | None:
        """Do the same with an asynchronous summariser."""
        return await self._drive_async(self._compacting(target_tokens, focus, messages, forced, reason))

    def _compacting(
        self,
        target_tokens: int | None,
        focus: str | None,
        messages: str | None,
        forced: bool,
        reason: str | None,
    ) -> Steps[Compaction | None]:
        """Compact the view as a person asks for it; the steps of ``compact``."""
        self._replay.catch_up()
        if self.is_off:
            raise InputError("compaction is switched off", "switch_on() first")
        text = self._mask(focus) if focus else focus
        task = requested_task(self._replay, self.gauge, target_tokens, text, messages)
        if task and reason:
            task = replace(task, reason=self._mask(reason))
        if task and forced:
            task = replace(task, trigger=Trigger.PRESSURE, reason="the next request would not fit")
        compaction = yield from compacting(self._replay, task, self._writer)
        if compaction:
            self._after_compaction(compaction)
        return compaction

    def preview(
        self, *, target_tokens: int | None = None, focus: str | None = None, messages: str | None = None
    ) -> DecidedCompaction | None:
        """Return what a compaction would do and lose, without doing it; no model is called."""
        self._replay.catch_up()
        return preview_task(requested_task(self._replay, self.gauge, target_tokens, focus, messages))

    def price(self, outcome: DecidedCompaction, *, cache_age_seconds: float | None = 0.0) -> CompactionPrice:
        """Return what a previewed compaction would cost in prompt cache, and save on later requests.

        ``cache_age_seconds`` is the time since the last request; None if there was none yet.
        """
        view, cache = self.view(), Cache(self.gauge.model, cache_age_seconds)
        after = apply(outcome.plan, view)
        return price_of(view, after, self.counter, cache, with_model=self.summariser is not None)

    def undo(self, compactions: int = 1, *, newest: str | None = None) -> list[Compaction]:
        """Undo the last compactions; return them, newest first. Messages added since stay.

        A compaction that another process made and this one has not read yet is never undone: ``StalePlan``
        is raised and nothing changes. ``newest`` names the last compaction that a person was shown (d3), if
        they may have seen an older state than this session object.
        """
        undone = undo(self._replay, compactions, newest)
        self._record_moves()
        return undone

    def judging_rules(self, model: str, window_tokens: int) -> Steps[str]:
        """Have a model judge which of the user's new sentences are rules, without compacting.

        A generator, for callers that send the question themselves: it yields the question, if there is
        anything to judge, takes the reply, and returns why there is no judgement, or an empty text.
        """
        self._replay.catch_up()
        if not rules_are_judged():
            return ""
        return (yield from judging(self._replay, Writer(model, window_tokens)))

    # The summariser -------------------------------------------------------------------------------------

    @property
    def _writer(self) -> Writer | None:
        model = self.summariser
        if model is None:
            return None
        own = self._own_request() if self.own_requests else None
        return Writer(model.name, model.window_tokens, own, judges_rules=rules_are_judged())

    def _own_request(self) -> SessionRequest:
        """Return the session's own request, which the summary instruction is appended to."""
        messages = tuple(item.message for item in self._replay.items)
        system = fixed_prefix(self._replay.items)
        return SessionRequest(messages[system:], messages[:system], self.own_requests)

    def _drive(self, steps: Steps[Result]) -> Result:
        """Run steps to their result; the summariser answers their questions."""
        model = self.summariser
        if model and iscoroutinefunction(model.ask):
            raise InputError("this summariser is asynchronous", "use compact_async and fit_async")
        return run_steps(steps, cast(Model | None, model))

    async def _drive_async(self, steps: Steps[Result]) -> Result:
        return await run_steps_async(steps, cast(AsyncModel | None, self.summariser))

    # After a compaction ---------------------------------------------------------------------------------

    def _after_compaction(self, compaction: Compaction) -> None:
        """Record what moved between the memory tiers, and a progress checkpoint."""
        self._record_moves()
        with suppress(StoreError):  # the compaction is in effect; only its checkpoint is missing
            self.checkpoint(f"compacted as {compaction.digest.id}" if compaction.digest else "compacted")

    def _record_moves(self) -> None:
        """Record what moved between the memory tiers, if memory is in use."""
        if self._memory is not None:
            self._memory.moves()
