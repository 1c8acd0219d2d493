"""``SessionLog``: one conversation in a store. Open it, add messages, read them back, read the view.

It is the first part of ``Session``: everything that needs only the log. What is added is written to the log
first and then read back from it (``Replay``), so a session knows exactly what a later process can read::

    session.add({"role": "user", "content": "Fix the login page."})      # ["m1"]
    session.view()                                                       # [Item("m1", Message(…))]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import takewhile
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from clew.budget import DEFAULT, Policy
from clew.compaction.plan.render import split_off_digest
from clew.errors import DuplicateEvent, InputError, NotFound
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
from clew.message import Item, JsonObject, Message
from clew.providers.model import AsyncModel, Model
from clew.secrets import mask, mask_json, mask_message
from clew.session.found_rules import recorded_messages
from clew.session.gauge import Gauge
from clew.session.parsed_input import one_message
from clew.session.replay import CALIBRATION, Replay
from clew.session.summariser import AsyncSummariser, session_model
from clew.settings import switched_off
from clew.tokens import UNKNOWN, TokenCounter, counter_for, model_named

if TYPE_CHECKING:
    from clew.log.store import SqliteStore
    from clew.log.store.postgres import PostgresStore
    from clew.memory import Memory
    from clew.memory.index import Embedder

SHAPING = frozenset({MESSAGE.name, *RESHAPING, PIN.name, LOOP.name, RULES.name, JUDGEMENT.name})
"""Kinds of events that have their own methods, because they change the view, the rules or the open work."""
WINDOW = "window_tokens"
"""The name of the recorded fact on the window that the caller set."""


class SessionLog:
    """A conversation in a store: its messages, its view, and facts about it."""

    project: str | None = None
    """The project of the session; recorded with the next message unless one is recorded already."""
    embedder: Embedder | None = None
    """The embedder for search by meaning; None for the default. Set before the first search."""
    _memory: Memory | None = None

    # Open and close -------------------------------------------------------------------------------------

    def __init__(
        self,
        store: Store,
        ctx: Ctx,
        gauge: Gauge,
        summariser: Model | AsyncModel | None = None,
        mask_secrets: bool = True,
        *,
        off: bool = False,
    ) -> None:
        """Use ``Session.open``, which creates these arguments from names."""
        self._masks = mask_secrets
        self.gauge = gauge
        self.summariser = summariser
        self._closing: list[Callable[[], None]] = []
        self._replay = Replay(store, ctx, counter_for(gauge.model), off=off)
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
    ) -> Self:
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
        own = _own_store(store) if store is None or isinstance(store, str) else None
        session = cls(own or cast(Store, store), ctx, gauge, writer, mask_secrets, off=is_off)
        if own:
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
            from clew.memory import Memory  # imported only if memory is used

            self._memory = Memory(
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

    # Add messages and other events ----------------------------------------------------------------------

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
        named = self._mask(model.id)
        if model != UNKNOWN and self._replay.about.get("model") != named:
            events.append(new_event(ABOUT.name, {"model": named}, ABOUT.version))
        window = self.gauge.window_tokens
        if window is not None and self._replay.about.get(WINDOW) != window:
            events.append(new_event(ABOUT.name, {WINDOW: window}, ABOUT.version))
        if self.project and "project" not in self._replay.about:
            events.append(new_event(ABOUT.name, {"project": self._mask(self.project)}, ABOUT.version))
        return events

    def record(self, kind: str, body: JsonObject) -> int:
        """Append an event that does not change the view; return its position in the log."""
        event_kind = KINDS.get(kind)
        if event_kind is None or kind in SHAPING:
            raise InputError(f"unknown event kind {kind!r}", "the kinds are in clew.log.fold")
        kept = mask_json(body) if self._masks else body
        return self._replay.append(lambda: [new_event(kind, kept, event_kind.version)])

    def _mask(self, text: str) -> str:
        return mask(text).text if self._masks else text

    # Read messages and the view -------------------------------------------------------------------------

    def view(self) -> list[Item]:
        """Return the messages that the model would see now, each with its id."""
        self._replay.catch_up()
        return list(self._replay.items)

    @property
    def tokens(self) -> int:
        """Return the number of tokens of the view."""
        return self._replay.tokens

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

    # Switch compaction off and on -----------------------------------------------------------------------

    def switch_off(self) -> None:
        """Show the whole history from now on; compactions stay in the log and apply if switched on."""
        self._replay.append(lambda: [new_event(SWITCH.name, {"off": True}, SWITCH.version)])

    def switch_on(self) -> None:
        """Show the compacted view again."""
        if self._replay.off_here:
            raise InputError("clew is switched off by a setting", "unset CLEW_OFF, --off or off in clew.toml")
        self._replay.append(lambda: [new_event(SWITCH.name, {"off": False}, SWITCH.version)])


def _own_store(address: str | None) -> SqliteStore | PostgresStore:
    from clew.log.store import open_store
    from clew.settings import network_disk, store_address  # imported only if no store is given

    return open_store(address or store_address(), network_disk())
