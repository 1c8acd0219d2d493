"""``Session``: one conversation on a store. Add messages, read the view, compact it, undo, explain.

::

    with clew.Session.open("fix-login", model="claude-sonnet-4-5") as session:
        session.add({"role": "user", "content": "The login page is blank. Never touch the database."})
        request = session.request(auto=True)        # compacts first if the window is nearly full
        reply = client.messages.create(**request.body("anthropic", {"model": …, "max_tokens": 8_000}))
        session.add({"role": "assistant", "content": reply.content})

The methods, in this order:

- open and close, facts about the session: ``open``, ``close``, ``ledger``, ``memory``, …
- messages: ``add``, ``events``, ``originals``
- the view and the next request: ``view``, ``context``, ``request``, ``report_usage``
- compaction: ``compact``, ``preview``, ``fit``, ``undo``, ``trace``, ``switch_off``
- rules, kept facts and open work: ``pin``, ``keep``, ``close_loop``, ``rescan_rules``
- looking back: ``expand``, ``explain``, ``handoff``, ``progress``

Everything is written to the log of the session, and ``Replay`` computes the state from it; the methods here
are thin. Logic that may ask a model is a generator of questions (``Steps``), which ``_drive`` and
``_drive_async`` answer, so that both kinds of callers share it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from inspect import iscoroutinefunction
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from clew.budget import DEFAULT, Cache, CompactionPrice, Policy, Signal, Stop, TokenBudget, Trigger
from clew.compaction.decide import DecidedCompaction, Writer
from clew.compaction.plan.plan import apply
from clew.compaction.plan.render import split_off_digest
from clew.compaction.propose.summary import SessionRequest
from clew.errors import BudgetExceeded, DuplicateEvent, InputError, NotFound, StoreError
from clew.ledger.kept_facts import KeptFact
from clew.ledger.ledger import Ledger
from clew.log import (
    ABOUT,
    JUDGEMENT,
    KINDS,
    LOOP,
    MESSAGE,
    PIN,
    RESHAPING,
    RULES,
    SWITCH,
    LogProblem,
    load_messages,
    new_event,
)
from clew.log.protocol import Ctx, Event, Head, Store, StoredEvent
from clew.message import Item, JsonObject, Message, Native, fixed_prefix
from clew.providers import Converted, convert, wire_named
from clew.providers.model import AsyncModel, Model, Steps
from clew.rules.rule import Pin
from clew.secrets import mask, mask_json, mask_message
from clew.session.changes import change_fact, change_loop, change_rule, confirm_imported, keep_passage
from clew.session.compact_session import compacting, judging, losses_of, preview_task, requested_task, undo
from clew.session.fit import FitResult, Request, fitting
from clew.session.found_rules import RuleChanges, changes, recorded_messages
from clew.session.gauge import Gauge, measure, price_of
from clew.session.history import Compaction
from clew.session.parsed_input import one_message
from clew.session.provenance import Expansion, Explanation, expand, explain
from clew.session.replay import CALIBRATION, Replay
from clew.session.summariser import AsyncSummariser, run_steps, run_steps_async, session_model
from clew.settings import rules_are_judged, switched_off
from clew.tokens import UNKNOWN, TokenCounter, counter_for, model_named

SHAPING = frozenset({MESSAGE.name, *RESHAPING, PIN.name, LOOP.name, RULES.name, JUDGEMENT.name})
"""Kinds of events that have their own methods, because they change the view, the rules or the open work."""
WINDOW = "window_tokens"
"""The name of the recorded fact on the window that the caller set."""
PLAIN = Request()
"""A request that consists of the view alone."""
Result = TypeVar("Result")

if TYPE_CHECKING:
    from clew.compaction.verify import Report
    from clew.log.store import SqliteStore
    from clew.log.store.postgres import PostgresStore
    from clew.memory import Injection, Memory
    from clew.memory.index import Embedder
    from clew.request.assembled import AssembledRequest, OfferedTool
    from clew.request.progress_log import Checkpoint
    from clew.request.sections import Piece
    from clew.session.handoff_headings import Handoff
    from clew.session.request import RequestAssembler


class Session:
    """One conversation on a store.

    Open it with ``Session.open``. Several processes may open the same session: each reads what the others
    append. In one process, use it from one thread at a time.
    """

    # Open and close -------------------------------------------------------------------------------------

    def __init__(  # noqa: PLR0913  # Session.open makes them
        self,
        store: Store,
        ctx: Ctx,
        gauge: Gauge,
        summariser: Model | AsyncModel | None = None,
        counter: TokenCounter | None = None,
        mask_secrets: bool = True,
        *,
        off: bool = False,
    ) -> None:
        """Use ``Session.open``, which creates these arguments from names."""
        self._masks = mask_secrets
        self.gauge = gauge
        self.summariser = summariser
        self.own_requests: Native | None = None
        """The fields of the session's requests other than messages (tools, thinking, …), with their wire.

        Set it if the summariser is the model that the session itself uses: the summary instruction is then
        appended to the session's own request, which the provider reads from its cache.
        """
        self.project: str | None = None
        """The project of the session; recorded with the next message unless one is recorded already."""
        self.embedder: Embedder | None = None
        """The embedder for search by meaning; None for the default. Set before the first search."""
        self._replay = Replay(store, ctx, counter or counter_for(gauge.model), off=off)
        self._memory: Memory | None = None
        self._requests: RequestAssembler | None = None
        self._signals: list[Signal] = []
        self._fits = 0
        """Requests measured by this process..."""
        self._fitted_at: float | None = None
        """...and when the last one was: how old the provider's prompt cache is."""
        self._closing: list[Callable[[], None]] = []
        self._replay.open()
        recorded, window = self._replay.about.get("model"), self._replay.about.get(WINDOW)
        if gauge.model == UNKNOWN and isinstance(recorded, str):
            self.set_model(recorded)
        is_same = gauge.model == UNKNOWN or gauge.model.id == recorded
        if gauge.window_tokens is None and is_same and type(window) is int and window > 0:
            self.gauge = replace(self.gauge, window_tokens=window)

    @classmethod
    def open(  # noqa: PLR0913  # the front door: all but the name are keywords with defaults
        cls,
        name: str,
        store: Store | str | None = None,
        *,
        workspace: str = "local",
        model: str = "unknown",
        window: int | None = None,
        policy: Policy = DEFAULT,
        summariser: AsyncSummariser | None = None,
        summarizer: AsyncSummariser | None = None,
        mask_secrets: bool = True,
        off: bool | None = None,
        embedder: Embedder | None = None,
    ) -> Session:
        """Open a session, or start it if there is none of this name.

        ``store`` is a store or its address: ``postgresql://…`` or the path of a SQLite file. By default it
        is what ``CLEW_STORE`` names, else a SQLite file in clew's home.

        ``model`` is the model that receives the messages: it decides how tokens are counted and, unless
        ``window`` is set, how many fit. By default they are those recorded in the log. ``summariser`` (or
        ``summarizer``) writes the prose of digests: a ``clew.Model``, a function ``str -> str`` or a model
        name; without one they are written by code alone. Keys, tokens and passwords in added messages are
        masked before they reach the log, unless ``mask_secrets`` is False.

        ``off`` shows the whole history in this process, as if nothing had been compacted, and records
        nothing of that; by default it is what ``CLEW_OFF`` says. ``embedder`` is used for search by meaning,
        instead of the one that ``CLEW_ENCODER`` names or that ships with clew.
        """
        if summariser is not None and summarizer is not None:
            raise InputError("both summariser and summarizer are given", "pass one of them")
        writer = session_model(summariser or summarizer)
        ctx = Ctx(workspace=workspace, session=name)
        gauge = Gauge(model_named(model), policy, window)
        is_off = switched_off() if off is None else off
        if store is not None and not isinstance(store, str):
            session = cls(store, ctx, gauge, writer, mask_secrets=mask_secrets, off=is_off)
        else:
            own = _own_store(store)
            session = cls(own, ctx, gauge, writer, mask_secrets=mask_secrets, off=is_off)
            session._closing.append(own.close)
        session.embedder = embedder
        return session

    def set_model(self, model: str) -> None:
        """Count and measure for another model from now on; recorded with the next message."""
        self.gauge = replace(self.gauge, model=model_named(model))
        self._replay.count_with(counter_for(self.gauge.model, calibration=self.counter.calibration))

    def close(self) -> None:
        """Close what the session opened itself; a store passed by the caller stays open."""
        while self._closing:
            self._closing.pop()()
        self._memory = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Facts about the session ----------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Return the name of the session."""
        return self._replay.ctx.session

    @property
    def store(self) -> Store:
        """Return the store of the session."""
        return self._replay.store

    @property
    def ctx(self) -> Ctx:
        """Return the workspace and session that store operations are made for."""
        return self._replay.ctx

    @property
    def counter(self) -> TokenCounter:
        """Return the token counter of the session."""
        return self._replay.counter

    @property
    def ledger(self) -> Ledger:
        """Return what code extracted from the session: rules, goal, open loops, files, failures, values."""
        return self._replay.ledger

    @property
    def memory(self) -> Memory:
        """Return the memory: search, recall and notes over this session and earlier ones.

        It searches with the store's index; if the store has none, notes work and a search raises ``NoIndex``.
        """
        if self._memory is None:
            from clew.memory import open_memory  # imported only if memory is used

            self._memory = open_memory(
                self.store, self.ctx, counter=self.counter, numbered=self, embedder=self.embedder or "default"
            )
            self._closing.append(self._memory.close)
        return self._memory

    @property
    def about(self) -> JsonObject:
        """Return the recorded facts about the session itself: model, window, project, the caller's own."""
        return {name: value for name, value in self._replay.about.items() if name != CALIBRATION}

    @property
    def is_off(self) -> bool:
        """Whether compaction is switched off."""
        return self._replay.view.off

    @property
    def is_off_here(self) -> bool:
        """Whether compaction is switched off by a setting, in this process only and not on record."""
        return self._replay.off_here

    @property
    def head(self) -> Head:
        """Return the end of the log as far as this object has read it."""
        return self._replay.head

    @property
    def problems(self) -> list[LogProblem]:
        """Return the events that no longer apply and were skipped, or whose meaning was guessed."""
        return self._replay.problems

    # Messages -------------------------------------------------------------------------------------------

    def add(
        self,
        *messages: Message | Mapping[str, Any],
        wire: str | None = None,
        about: JsonObject | None = None,
        once: str | None = None,
    ) -> list[str]:
        """Append messages, durably; return their ids.

        A message is a ``clew.Message`` or an entry of a provider's message list; without ``wire`` its format
        is detected. A digest that ``clew.compact`` wrote passes on its rules, goal and open work; text after
        it in the same entry becomes a message of its own. ``about`` holds facts about the session that are
        appended in the same transaction. With ``once``, a key of the caller's choice, a repeated call with
        the same key appends nothing and returns the ids of the first: for callers that may lose the reply.
        """
        if not messages:
            return []
        parsed_messages = [
            part for message in messages for part in split_off_digest(one_message(message, wire))
        ]
        masked = [mask_message(message) if self._masks else message for message in parsed_messages]
        replay = self._replay
        replay.catch_up()
        facts = self._new_facts(about)  # before the messages: the times of a log do not go back
        events = recorded_messages(masked, replay.ledger, len(replay.view.whole))
        if once:
            key = sha256(once.encode("utf-8", "surrogatepass")).hexdigest()
            events = [replace(event, id=f"once:{key}:{nth}") for nth, event in enumerate(events)]
        try:
            seq = replay.append_anywhere([*facts, *events])
        except DuplicateEvent as cause:
            seq = self._appended_before(events, cause)
        last = self._replay.view.number(seq)
        return [f"m{number}" for number in range(last - len(events) + 1, last + 1)]

    def _appended_before(self, events: Sequence[Event], cause: DuplicateEvent) -> int:
        """Return the position of the last of these events, which an earlier call appended."""
        prefix = events[0].id.rpartition(":")[0] + ":"
        try:
            first = self.store.find(self.ctx, events[0].id)
        except NotFound:
            raise cause from None
        stored_events = self.events(first.seq - 1)
        earlier_events = list(takewhile(lambda stored: stored.event.id.startswith(prefix), stored_events))
        if [stored.event.body.get("message") for stored in earlier_events] != [
            event.body.get("message") for event in events
        ]:
            raise InputError("this key was used for other messages", "use a new key") from cause
        self._replay.catch_up()
        return earlier_events[-1].seq

    def _new_facts(self, about: JsonObject | None = None) -> list[Event]:
        """Return events for facts not in the log yet: model, project, and those of the caller."""
        events, model = list[Event](), self.gauge.model
        if about:
            events.append(new_event(ABOUT.name, mask_json(about) if self._masks else about, ABOUT.version))
        if model != UNKNOWN and self._replay.about.get("model") != model.id:
            events.append(new_event(ABOUT.name, {"model": model.id}, ABOUT.version))
        window = self.gauge.window_tokens
        if window is not None and self._replay.about.get(WINDOW) != window:
            events.append(new_event(ABOUT.name, {WINDOW: window}, ABOUT.version))
        if self.project and "project" not in self._replay.about:
            events.append(new_event(ABOUT.name, {"project": self.project}, ABOUT.version))
        return events

    def record(self, kind: str, body: JsonObject) -> int:
        """Append an event that does not change the view; return its position in the log."""
        event_kind = KINDS.get(kind)
        if event_kind is None or kind in SHAPING:
            raise InputError(f"unknown event kind {kind!r}", "the kinds are in clew.log.fold")
        kept = mask_json(body) if self._masks else body
        return self._replay.append(lambda: [new_event(kind, kept, event_kind.version)])

    def events(self, after: int = 0) -> Iterator[StoredEvent]:
        """Yield the events of the log that follow a position."""
        return self._replay.store.read(self._replay.ctx, after)

    def number(self, seq: int) -> int:
        """Return how many messages the log holds up to a position: 12 at the event of m12."""
        self._replay.catch_up()
        return self._replay.view.number(seq)

    def originals(self, ids: Iterable[str] | None = None) -> Iterator[Item]:
        """Yield messages as they were added, even if the view shows them shortened or not at all.

        Without ``ids``, all messages of the session.
        """
        if ids is not None:
            yield from self._replay.originals(ids)
            return
        self._replay.catch_up()
        whole = load_messages(self.store, self.ctx, self._replay.view.whole)
        yield from (Item(f"m{number}", one.message) for number, one in enumerate(whole, start=1))

    def seen(self) -> Iterator[Item]:
        """Yield all messages as they were added, then the digests and summaries; this reads the whole log."""
        self._replay.catch_up()
        return self._replay.seen()

    # The view and the next request ----------------------------------------------------------------------

    def view(self) -> list[Item]:
        """Return the messages that the model would see now, each with its id."""
        self._replay.catch_up()
        return list(self._replay.items)

    @property
    def tokens(self) -> int:
        """Return the number of tokens of the view."""
        return self._replay.tokens

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

    def judging_rules(self, model: str, window_tokens: int) -> Steps[str]:
        """Have a model judge which of the user's new sentences are rules, without compacting.

        A generator, for callers that send the question themselves: it yields the question, if there is
        anything to judge, takes the reply, and returns why there is no judgement, or an empty text.
        """
        self._replay.catch_up()
        if not rules_are_judged():
            return ""
        return (yield from judging(self._replay, Writer(model, window_tokens)))

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
            self._signals = []
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

    def _after_compaction(self, compaction: Compaction) -> None:
        """Record what moved between the memory tiers, and a progress checkpoint."""
        self._record_moves()
        with suppress(StoreError):  # the compaction is in effect; only its checkpoint is missing
            self.checkpoint(f"compacted as {compaction.digest.id}" if compaction.digest else "compacted")

    def _record_moves(self) -> None:
        """Record what moved between the memory tiers, if memory is in use."""
        if self._memory is not None:
            self._memory.moves()

    def undo(self, compactions: int = 1, *, newest: str | None = None) -> list[Compaction]:
        """Undo the last compactions; return them, newest first. Messages added since stay.

        A compaction that another process made and this one has not read yet is never undone: ``StalePlan``
        is raised and nothing changes. ``newest`` names the last compaction that a person was shown (d3), if
        they may have seen an older state than this session object.
        """
        undone = undo(self._replay, compactions, newest)
        self._record_moves()
        return undone

    def trace(self) -> list[Compaction]:
        """Return the compactions in force, oldest first."""
        self._replay.catch_up()
        return self._replay.in_force()

    @property
    def last_compaction(self) -> int:
        """Return the position of the newest compaction in force in the log; 0 if there is none."""
        steps = self._replay.view.steps
        return steps[-1].seq if steps else 0

    def losses(self, name: str) -> Report:
        """Return the checks of a compaction (``d2``) with every exact value named that left the view.

        The recorded report names those most likely to be missed. This reads the log up to the compaction.
        """
        self._replay.catch_up()
        return losses_of(self._replay, name)

    def switch_off(self) -> None:
        """Show the whole history from now on; compactions stay in the log and apply if switched on."""
        self._replay.append(lambda: [new_event(SWITCH.name, {"off": True}, SWITCH.version)])

    def switch_on(self) -> None:
        """Show the compacted view again."""
        if self._replay.off_here:
            raise InputError("clew is switched off by a setting", "unset CLEW_OFF, --off or off in clew.toml")
        self._replay.append(lambda: [new_event(SWITCH.name, {"off": False}, SWITCH.version)])

    # Rules, kept facts and open work --------------------------------------------------------------------

    @property
    def pins(self) -> tuple[Pin, ...]:
        """Return the rules in force."""
        return self._replay.ledger.pins.active

    def pin(self, quote: str) -> Pin:
        """Set a rule by hand: from the next request on the model reads it, and every digest repeats it."""
        return change_rule(self._replay, {"does": "pin", "quote": self._mask(quote)})

    def edit_pin(self, pin: str, quote: str, *, shown: str | None = None) -> Pin:
        """Replace the wording of a rule; ``shown`` is the wording that a person saw under this id."""
        return change_rule(self._replay, {"does": "edit", "pin": pin, "quote": self._mask(quote)}, shown)

    def unpin(self, pin: str, why: str = "revoked by hand", *, shown: str | None = None) -> Pin:
        """Revoke a rule; ``shown`` is the wording that a person saw under this id."""
        return change_rule(self._replay, {"does": "revoke", "pin": pin, "why": self._mask(why)}, shown)

    def confirm_rules(self, shown: Iterable[str] | None = None) -> tuple[Pin, ...]:
        """Activate rules that were set by hand in an imported file; return them.

        ``shown`` are the wordings that a person saw; without it, those that this session has read. A rule
        that another process imported meanwhile keeps waiting.
        """
        return confirm_imported(self._replay, shown)

    def rescan_rules(self, *, apply: bool = True) -> RuleChanges:
        """Search the whole session for rules with the installed rule finder; return what changes.

        A session keeps the rules that were found when its messages were added, also under later versions of
        clew. This replaces them by what the installed version finds, durably unless ``apply`` is False.
        Changes made by hand are applied again to rules of the same wording.
        """
        self._replay.catch_up()
        difference = RuleChanges((), ())

        def decide() -> list[Event]:
            nonlocal difference
            replay = Replay(self.store, self.ctx, self.counter)
            replay.recorded.ignored = True
            replay.catch_up()
            difference = changes(self.pins, replay.ledger.pins.active)
            wanted = difference or self._replay.recorded.unrecorded
            return [replay.recorded.event(len(replay.view.whole), rescan=True)] if apply and wanted else []

        if apply:
            self._replay.append(decide)
        else:
            decide()
        return difference

    def keep(self, quote: str, source: str) -> KeptFact:
        """Keep a passage of a message word for word in every digest, with the trust label of its source."""
        self._replay.catch_up()
        return keep_passage(self._replay, quote, source)

    def unkeep(self, fact: str) -> KeptFact:
        """Stop keeping a passage; its message stays in the log."""
        return change_fact(self._replay, {"does": "drop", "fact": fact})

    def close_loop(self, loop: str, why: str = "closed by hand") -> None:
        """Close an open item, done or abandoned; it stays in the log with the reason."""
        change_loop(self._replay, {"does": "close", "loop": loop, "why": self._mask(why)})

    def reopen_loop(self, loop: str) -> None:
        """Open a closed item again."""
        change_loop(self._replay, {"does": "reopen", "loop": loop})

    def _mask(self, text: str) -> str:
        return mask(text).text if self._masks else text

    # Looking back ---------------------------------------------------------------------------------------

    def expand(self, ref: str) -> Expansion:
        """Return the sources of a message, a digest, one of its lines, or a rule: m12, d1, d1.4, p2."""
        self._replay.catch_up()
        return expand(self._replay, ref)

    def explain(self, ref: str) -> Explanation:
        """Return why something is shown as it is, or why it left the view."""
        self._replay.catch_up()
        return explain(self._replay, ref)

    def handoff(self, tokens: int = 3_000) -> Handoff:
        """Return what a new session or another agent needs to continue, under fourteen headings.

        Each line quotes the session and names its source message; ``clew.session.handoff_headings`` renders
        it as Markdown. The story and the findings are limited to ``tokens``; the rest is always included.
        """
        from clew.session.handoff import sections_of  # imported when one is written
        from clew.session.handoff_headings import handoff_headings

        items = list(self.originals())
        sections = sections_of(items, self.ledger, tokens, self.counter.count_text)
        return handoff_headings(sections, items, self.ledger)

    def checkpoint(self, why: str) -> Checkpoint | None:
        """Record what was done since the last checkpoint, what is open and what comes next; None if nothing.

        A compaction records one itself; ``why`` says what else was reached, such as "tests pass".
        """
        from clew.session.progress import take  # imported when one is taken

        return take(self._replay, why)

    def progress(self) -> list[Checkpoint]:
        """Return the recorded checkpoints, oldest first, and the state of the work now if anything is new."""
        from clew.session.progress import recorded_checkpoints, upcoming

        self._replay.catch_up()
        past = recorded_checkpoints(self._replay)
        now = upcoming(self._replay, past, "now")
        return [*past, now] if now else past


def _own_store(address: str | None) -> SqliteStore | PostgresStore:
    from clew.log.store import open_store
    from clew.settings import network_disk, store_address  # imported only if no store is given

    return open_store(address or store_address(), network_disk())
