"""A session: messages go in, what the model should see comes out, and everything can be undone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from inspect import iscoroutinefunction
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from clew.budget import DEFAULT, Policy, Trigger
from clew.compaction.decide import Outcome, Writer
from clew.compaction.propose.summary import SessionRequest
from clew.compaction.propose.tail import leading_system
from clew.errors import InputError, NotFound
from clew.ledger.kept import KeptFact
from clew.ledger.ledger import Ledger
from clew.ledger.pins import Pin
from clew.log import ABOUT, KINDS, LOOP, MESSAGE, PIN, RESHAPING, RULES, SWITCH, LogProblem, new_event
from clew.log.events import Ctx, Event, Stored
from clew.log.protocol import Store
from clew.message import Item, Json, JsonObject, Message, Native, words
from clew.providers import Converted, convert, wire_named
from clew.providers.model import AsyncModel, Model
from clew.providers.steps import Steps
from clew.secrets import mask, mask_json, mask_message
from clew.session.asking import answered, answered_async
from clew.session.by_hand import on_fact, on_loop, on_pin
from clew.session.compacting import Request, compacting, fitting, previewed, wish_of
from clew.session.fit import Fitted, Gauge
from clew.session.look import Expansion, Explanation, expand, explain
from clew.session.parsed_input import one_message
from clew.session.record import Compaction
from clew.session.recorded import RuleChanges, changes, recorded_messages
from clew.session.replay import Replay
from clew.session.undoing import undo
from clew.tokens import UNKNOWN, TokenCounter, counter_for, model_named

SHAPING = frozenset({MESSAGE.name, *RESHAPING, PIN.name, LOOP.name, RULES.name})
"""Kinds of events that have their own methods, because they change what is shown or what stands."""
PLAIN = Request()
"""A request of which nothing is known but the view."""
Result = TypeVar("Result")

if TYPE_CHECKING:
    from clew.log.store import SqliteStore
    from clew.memory import Memory


class Session:
    """One conversation, on a store.

    Open it with ``Session.open``. Several processes may open the same one: each takes in what the others
    append. In one process, use it from one thread at a time.
    """

    def __init__(
        self,
        store: Store,
        ctx: Ctx,
        gauge: Gauge,
        summariser: Model | AsyncModel | None = None,
        counter: TokenCounter | None = None,
        mask_secrets: bool = True,
    ) -> None:
        """Use ``Session.open``, which makes all this from names."""
        self._masks = mask_secrets
        self.gauge = gauge
        self.summariser = summariser
        self.own_requests: Native | None = None
        """What the own requests of the session hold besides messages (tools, thinking, …), with their wire.

        Set it where the summariser is the very model that the session talks to: the question for a summary
        then goes behind the session's own request, and the provider reads that from its cache.
        """
        self.project: str | None = None
        """The project that the session is held in; the next message puts it on record if none is."""
        self._replay = Replay(store, ctx, counter or counter_for(gauge.model))
        self._memory: Memory | None = None
        self._closing: list[Callable[[], None]] = []
        self._replay.restore()
        self._replay.catch_up()
        recorded = self._replay.about.get("model")
        if gauge.model == UNKNOWN and isinstance(recorded, str):
            self.talk_to(recorded)

    @classmethod
    def open(  # noqa: PLR0913  # the front door: all but the name are keywords with defaults
        cls,
        name: str,
        store: Store | None = None,
        *,
        workspace: str = "local",
        model: str = "unknown",
        window: int | None = None,
        policy: Policy = DEFAULT,
        summariser: Model | AsyncModel | None = None,
        mask_secrets: bool = True,
    ) -> Session:
        """Open a session, or begin it; without a store, in clew's own file.

        ``model`` is the one that will see the messages: it sets how tokens are counted and, unless
        ``window`` says otherwise, how many fit. Left out, it is the one on record. ``summariser`` writes the
        prose of digests; without one they are made by code alone. Keys, tokens and passwords in what is
        added are masked before they reach the log, unless ``mask_secrets`` is off.
        """
        ctx = Ctx(workspace=workspace, session=name)
        gauge = Gauge(model_named(model), policy, window)
        if store:
            return cls(store, ctx, gauge, summariser, mask_secrets=mask_secrets)
        own = _own_store()
        session = cls(own, ctx, gauge, summariser, mask_secrets=mask_secrets)
        session._closing.append(own.close)
        return session

    def talk_to(self, model: str) -> None:
        """Count and measure for another model from now on; the next message puts that on record."""
        self.gauge = replace(self.gauge, model=model_named(model))
        self._replay.count_with(counter_for(self.gauge.model))

    def close(self) -> None:
        """Let go of what it opened itself; a store that was given stays open."""
        while self._closing:
            self._closing.pop()()
        self._memory = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # What is there ---------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Return what the session is called."""
        return self._replay.ctx.session

    @property
    def store(self) -> Store:
        """Return where the session lives."""
        return self._replay.store

    @property
    def ctx(self) -> Ctx:
        """Return on whose behalf, and in which session."""
        return self._replay.ctx

    @property
    def ledger(self) -> Ledger:
        """Return what code has kept of the session: rules, goal, open loops, files, failures, values."""
        return self._replay.ledger

    @property
    def pins(self) -> tuple[Pin, ...]:
        """Return the rules that stand."""
        return self._replay.ledger.pins.active

    @property
    def counter(self) -> TokenCounter:
        """Return what counts tokens here."""
        return self._replay.counter

    @property
    def tokens(self) -> int:
        """Return the tokens of what the model would see now."""
        return self._replay.tokens

    @property
    def about(self) -> JsonObject:
        """Return what is on record of the session itself: its model, and what whoever runs it put there."""
        return {**self._replay.about}

    @property
    def is_off(self) -> bool:
        """Tell whether compaction is switched off."""
        return self._replay.view.off

    @property
    def memory(self) -> Memory:
        """Return what can be found again, brought back and remembered: in this session and earlier ones.

        It needs a store in a file; with another, notes are kept and nothing can be searched.
        """
        if self._memory is None:
            from clew.log.store import SqliteStore
            from clew.memory import Memory  # only where something is looked for
            from clew.memory.index.sqlite import SqliteIndex

            index = SqliteIndex(self.store.path) if isinstance(self.store, SqliteStore) else None
            self._memory = Memory(self.store, self.ctx, index, counter=self.counter, numbered=self)
            self._closing += [index.close] if index else []
        return self._memory

    def view(self) -> list[Item]:
        """Return what the model would see now, each message under its id."""
        self._replay.catch_up()
        return list(self._replay.items)

    def context(self, wire: str = "anthropic") -> Converted:
        """Return what the model would see now in a provider's format, ready to send."""
        return convert([item.message for item in self.view()], wire_named(wire))

    def trace(self) -> list[Compaction]:
        """Return the compactions in force, oldest first."""
        self._replay.catch_up()
        return self._replay.in_force()

    def events(self, after: int = 0) -> Iterator[Stored]:
        """Yield all that happened, as the log keeps it, behind a place in it."""
        return self._replay.store.read(self._replay.ctx, after)

    def number(self, seq: int) -> int:
        """Return how many messages there were at a place of the log: m12 stands where it is 12."""
        self._replay.catch_up()
        return self._replay.view.number(seq)

    # What comes in ---------------------------------------------------------------------------------------

    def add(self, *messages: Message | Mapping[str, Any], wire: str | None = None) -> list[str]:
        """Append messages, durably; return their ids.

        A message is a ``clew.Message`` or an entry of a provider's list as it is, of the wire format named
        or, without a name, of the one it looks like.
        """
        if not messages:
            return []
        read = [one_message(one, wire) for one in messages]
        masked = [mask_message(one) if self._masks else one for one in read]
        replay = self._replay
        replay.catch_up()
        events = recorded_messages(masked, replay.ledger, len(replay.view.whole))
        seq = replay.append_anywhere([*self._news(), *events])
        last = self._replay.view.number(seq)
        return [f"m{number}" for number in range(last - len(events) + 1, last + 1)]

    def _news(self) -> list[Event]:
        """Return what the log does not know yet: model, project, rules found in messages without a record."""
        news, model, recorded = list[Event](), self.gauge.model, self._replay.recorded
        if model != UNKNOWN and self._replay.about.get("model") != model.id:
            news.append(new_event(ABOUT.name, {"model": model.id}, ABOUT.version))
        if self.project and "project" not in self._replay.about:
            news.append(new_event(ABOUT.name, {"project": self.project}, ABOUT.version))
        if recorded.unrecorded:
            news.append(recorded.event(len(self._replay.view.whole)))
        return news

    def record(self, kind: str, body: JsonObject) -> int:
        """Put on record that something happened which changes no view; return its place in the log."""
        known = KINDS.get(kind)
        if known is None or kind in SHAPING:
            raise InputError(
                f"{kind!r} is nothing that can be put on record", "the kinds are in clew.log.kinds"
            )
        kept = mask_json(body) if self._masks else body
        return self._replay.append(lambda: [new_event(kind, kept, known.version)])

    def pin(self, quote: str) -> Pin:
        """Set a rule by hand: it will stand word for word, whatever is compacted."""
        return on_pin(self._replay, {"does": "pin", "quote": self._masked(quote)})

    def edit_pin(self, pin: str, quote: str) -> Pin:
        """Put other words in place of a rule."""
        return on_pin(self._replay, {"does": "edit", "pin": pin, "quote": self._masked(quote)})

    def unpin(self, pin: str, why: str = "revoked by hand") -> Pin:
        """Take a rule off."""
        return on_pin(self._replay, {"does": "revoke", "pin": pin, "why": self._masked(why)})

    def confirm_rules(self) -> tuple[Pin, ...]:
        """Put into force the rules that were set by hand in an imported file; return them."""
        self._replay.catch_up()
        waiting = self.ledger.pins.waiting
        if waiting:
            self._replay.append(lambda: [new_event(PIN.name, {"does": "confirm"}, PIN.version)])
        return tuple(self.ledger.pins.get(pin.id) for pin in waiting)

    def keep(self, quote: str, source: str) -> KeptFact:
        """Keep a passage of a message word for word in every digest: a fact with its source's label."""
        self._replay.catch_up()
        message = self._replay.original(source)
        if message is None:
            raise NotFound(f"there is no message {source:.40}", "messages are called m1, m2, …")
        for place, part in enumerate(message.parts):
            start = words(part).find(quote)
            if quote.strip() and start >= 0:
                cite: list[Json] = [source, place, start, start + len(quote)]
                body: JsonObject = {"does": "keep", "quote": quote, "source": cite, "trust": part.trust.label}
                return on_fact(self._replay, body)
        raise InputError(f"{source} does not say that", "give its exact words")

    def unkeep(self, fact: str) -> KeptFact:
        """Keep a passage no longer; its message stays in the log."""
        return on_fact(self._replay, {"does": "drop", "fact": fact})

    def close_loop(self, loop: str, why: str = "closed by hand") -> None:
        """Say that open work is done, or will not be; it stays on record with its reason."""
        on_loop(self._replay, {"does": "close", "loop": loop, "why": self._masked(why)})

    def reopen_loop(self, loop: str) -> None:
        """Take that back."""
        on_loop(self._replay, {"does": "reopen", "loop": loop})

    def rescan_rules(self, *, apply: bool = True) -> RuleChanges:
        """Search the whole session for rules with the installed finder; return what that changes.

        A session keeps the rules that were found when its messages came, whatever version reads it. This
        takes what the installed version finds in their place, durably unless ``apply`` is off. What was done
        by hand is done again to the rules in the same words.
        """
        self._replay.catch_up()
        difference = RuleChanges((), ())

        def decide() -> list[Event]:
            nonlocal difference
            again = Replay(self.store, self.ctx, self.counter)
            again.recorded.ignored = True
            again.catch_up()
            difference = changes(self.pins, again.ledger.pins.active)
            wanted = difference or self._replay.recorded.unrecorded
            return [again.recorded.event(len(again.view.whole), rescan=True)] if apply and wanted else []

        if apply:
            self._replay.append(decide)
        else:
            decide()
        return difference

    @property
    def problems(self) -> list[LogProblem]:
        """Return the events of the log that no longer apply and were skipped, or are understood by guess."""
        return self._replay.problems

    def _masked(self, text: str) -> str:
        return mask(text).text if self._masks else text

    # Compaction ------------------------------------------------------------------------------------------

    def compact(
        self, *, target_tokens: int | None = None, focus: str | None = None, must: bool = False
    ) -> Compaction | None:
        """Make the view smaller; None where there is nothing to gain.

        ``target_tokens`` is for all but the system prompt; without it, down to half, or to what pressure
        would leave if that is less. ``focus`` says in a person's words what matters now. Raises
        ``CompactionRefused`` where no proposal keeps what must be kept, and ``PinsDoNotFit`` where the rules
        alone are larger than the target. ``must`` says that nobody asked for it: the next request would not
        fit without, and it is told and counted so.
        """
        return self._drive(self._compacting(target_tokens, focus, must))

    async def compact_async(
        self, *, target_tokens: int | None = None, focus: str | None = None, must: bool = False
    ) -> Compaction | None:
        """Do the same with a summariser that is awaited."""
        return await self._drive_async(self._compacting(target_tokens, focus, must))

    def preview(self, *, target_tokens: int | None = None, focus: str | None = None) -> Outcome | None:
        """Return what a compaction would do and lose, without doing it; no model is asked."""
        self._replay.catch_up()
        wish = wish_of(self._replay, self.gauge, target_tokens, focus)
        return previewed(self._replay, self.gauge, wish)

    def fit(self, request: Request = PLAIN, *, auto: bool = False) -> Fitted:
        """Measure the window before a request, and put one TokenBudget event on record.

        Nothing is compacted unless ``auto`` says so: then where the verdict asks for it, and it pays or
        must be.
        """
        return self._drive(self._fitting(request, auto))

    async def fit_async(self, request: Request = PLAIN, *, auto: bool = False) -> Fitted:
        """Do the same with a summariser that is awaited."""
        return await self._drive_async(self._fitting(request, auto))

    def _compacting(
        self, target_tokens: int | None, focus: str | None, must: bool = False
    ) -> Steps[Compaction | None]:
        self._replay.catch_up()
        if self.is_off:
            raise InputError("compaction is switched off", "switch_on() first")
        said = self._masked(focus) if focus else focus
        wish = wish_of(self._replay, self.gauge, target_tokens, said)
        if wish and must:
            wish = replace(wish, trigger=Trigger.PRESSURE, reason="the next request would not fit")
        done = yield from compacting(self._replay, self.gauge, wish, self._writer)
        self._moved()
        return done

    def _fitting(self, request: Request, auto: bool) -> Steps[Fitted]:
        self._replay.catch_up()
        fitted = yield from fitting(self._replay, self.gauge, request, self._writer, auto)
        if fitted.compaction:
            self._moved()
        return fitted

    @property
    def _writer(self) -> Writer | None:
        model = self.summariser
        if model is None:
            return None
        return Writer(model.name, model.window_tokens, self._own_request() if self.own_requests else None)

    def _own_request(self) -> SessionRequest:
        messages = tuple(item.message for item in self._replay.items)
        system = leading_system(self._replay.items)
        return SessionRequest(messages[system:], messages[:system], self.own_requests)

    def _drive(self, steps: Steps[Result]) -> Result:
        model = self.summariser
        if model and iscoroutinefunction(model.ask):
            raise InputError("this summariser is awaited", "use compact_async and fit_async")
        return answered(steps, cast(Model | None, model))

    async def _drive_async(self, steps: Steps[Result]) -> Result:
        return await answered_async(steps, cast(AsyncModel | None, self.summariser))

    def undo(self, compactions: int = 1, *, newest: str | None = None) -> list[Compaction]:
        """Undo the last compactions; return them, newest first. What came since stays.

        A compaction that another process made and this one has not read yet is never undone: ``StalePlan``
        says so, and nothing is changed. ``newest`` names the last compaction that a person was shown (d3),
        if that was longer ago than this session's last look at the log.
        """
        undone = undo(self._replay, compactions, newest)
        self._moved()
        return undone

    def _moved(self) -> None:
        """Put on record what moved between the tiers, where somebody uses the memory."""
        if self._memory is not None:
            self._memory.moves()

    def switch_off(self) -> None:
        """Show the whole history from now on; compactions stay on record and come back when switched on."""
        self._replay.append(lambda: [new_event(SWITCH.name, {"off": True}, SWITCH.version)])

    def switch_on(self) -> None:
        """Show the compacted view again."""
        self._replay.append(lambda: [new_event(SWITCH.name, {"off": False}, SWITCH.version)])

    # Looking closer --------------------------------------------------------------------------------------

    def expand(self, ref: str) -> Expansion:
        """Return what stands behind a message, a digest, a line of it, or a rule: m12, d1, d1.4, p2."""
        self._replay.catch_up()
        return expand(self._replay, ref)

    def originals(self, ids: Iterable[str]) -> Iterator[Item]:
        """Yield messages as they were said, whatever the view shows of them."""
        return self._replay.originals(ids)

    def explain(self, ref: str) -> Explanation:
        """Say why something is shown as it is, or why it left."""
        self._replay.catch_up()
        return explain(self._replay, ref)


def _own_store() -> SqliteStore:
    from clew.log.store import SqliteStore
    from clew.settings import network_disk, store_path  # only where no store is given

    return SqliteStore(store_path(), network=network_disk())
