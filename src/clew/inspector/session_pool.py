"""The sessions that the pages show, each opened once and shared by all requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from clew.budget import DEFAULT
from clew.errors import NotFound
from clew.inspector.message_index import MessageIndex, ReportedCall
from clew.log import ABOUT, TOOL_COMPACTION, Ref, VisibleMessage, load_messages
from clew.log.protocol import Ctx, Store
from clew.memory.index import Index
from clew.memory.notes import Notebook
from clew.message import Item, JsonObject
from clew.providers.api import int_or_zero
from clew.session import Session
from clew.session.gauge import Gauge
from clew.tokens import UNKNOWN, TokenCounter, counter_for, model_named

MOST_COUNTED = 200_000
"""Messages whose tokens are cached."""


BAD_LOG_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors raised by event bodies that clew did not write, for example in imported logs."""


class MeasuredMessage(NamedTuple):
    """A message of a view."""

    item: Item
    ref: Ref
    """Its position in the log."""
    tokens: int


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """Options with which sessions are opened."""

    model: str = UNKNOWN.id
    window: int | None = None
    auto: bool = False
    """Whether a chat compacts automatically, unless its page says otherwise."""
    off: bool = False
    """Whether everything is switched off: a chat sends what a plain client sends."""
    note: str = ""
    """A note shown for all sessions, for example that they are temporary copies."""


PLAIN = PoolOptions()


class OpenSession:
    """One session of the pool, shared by all requests of the pages."""

    def __init__(self, store: Store, ctx: Ctx, options: PoolOptions) -> None:
        self.store = store
        self.ctx = ctx
        self.lock = threading.RLock()
        self._opening = threading.Lock()
        self.message_index = MessageIndex(store, ctx)
        self.options = options
        self._session: Session | None = None
        self._counter: TokenCounter | None = None
        self.drawn: dict[Ref, dict[str, Any]] = {}
        """Cached blocks of the context map."""
        self.outline: list[dict[str, Any]] = []
        """Cached turns and compactions of the outline."""
        self._tokens: dict[Ref, int] = {}
        self._unlogged_tokens: dict[int, int] = {}
        """Cached differences between a call's reported tokens and those of its messages."""

    def open(self) -> Session:
        """Open the session once; the first time takes as long as its log is."""
        with self._opening:
            if self._session is None:
                self._session = Session.open(
                    self.ctx.session,
                    self.store,
                    workspace=self.ctx.workspace,
                    model=self.options.model,
                    window=self.options.window,
                )
            return self._session

    @property
    def session(self) -> Session:
        """Return the session, opened if needed."""
        return self._session or self.open()

    @property
    def gauge(self) -> Gauge:
        """Return the gauge of the window for the given model, else for the recorded one."""
        models = [stored.event.body.get("model") for stored in self.message_index.of_kinds(ABOUT.name)]
        recorded = next((name for name in reversed(models) if isinstance(name, str)), UNKNOWN.id)
        name = self.options.model if self.options.model != UNKNOWN.id else recorded
        return Gauge(model_named(name), DEFAULT, self.options.window)

    @property
    def counter(self) -> TokenCounter:
        """Return the token counter; the session need not be opened for it."""
        self._counter = self._counter or counter_for(self.gauge.model)
        return self._counter

    def tokens(self, visible: VisibleMessage) -> int:
        """Return the tokens of a message; cached."""
        if visible.ref not in self._tokens:
            if len(self._tokens) >= MOST_COUNTED:
                self._tokens.clear()
            self._tokens[visible.ref] = self.counter.count(visible.message)
        return self._tokens[visible.ref]

    def tokens_seen_at(self, seq: int) -> int:
        """Return the tokens of the messages that the model saw after an event."""
        refs = self.message_index.seen(seq)
        # A copy, because ``tokens`` empties its cache when it is full.
        sizes = {ref: self._tokens[ref] for ref in refs if ref in self._tokens}
        missing = [ref for ref in refs if ref not in sizes]
        for message in load_messages(self.store, self.ctx, missing):
            sizes[message.ref] = self.tokens(message)
        return sum(sizes[ref] for ref in refs)

    def unlogged_tokens(self, seq: int, *, known_then: bool = False) -> int:
        """Return the tokens of a request that are not messages of the log, as far as the provider reported.

        These are the system prompt and tool definitions that a tool does not record, files that it attaches,
        and the error of clew's estimate. The nearest call between the same two compactions of the tool
        decides; if there is none, the size that the tool recorded at its next compaction. With
        ``known_then``, only an earlier call: the size of a past compaction must not change later.
        """
        call = self._nearest_call(seq)
        if call is None or (known_then and call.seq > seq):
            return 0
        if call.seq not in self._unlogged_tokens:
            self._unlogged_tokens[call.seq] = max(0, call.tokens - self.tokens_seen_at(call.seq))
        return self._unlogged_tokens[call.seq]

    def _nearest_call(self, seq: int) -> ReportedCall | None:
        """Return the last reported call up to an event, else the next one, between two tool compactions."""
        cuts = list(self.message_index.of_kinds(TOOL_COMPACTION.name))
        first = max((cut.seq for cut in cuts if cut.seq <= seq), default=0)
        end = next((cut for cut in cuts if cut.seq > seq), None)
        calls = [
            call
            for call in self.message_index.reports
            if first < call.seq and (end is None or call.seq < end.seq)
        ]
        if calls:
            return next((call for call in reversed(calls) if call.seq <= seq), calls[0])
        recorded = int_or_zero(end.event.body.get("before")) if end else 0
        return ReportedCall(end.seq - 1, recorded) if end and recorded else None

    def shown(self, refs: Iterable[Ref]) -> list[MeasuredMessage]:
        """Return the messages of some references of a view."""
        shown = []
        for visible in load_messages(self.store, self.ctx, refs):
            name = visible.own_name or f"m{self.message_index.number(visible.ref.seq)}"
            shown.append(MeasuredMessage(Item(name, visible.message), visible.ref, self.tokens(visible)))
        return shown


@dataclass(frozen=True, slots=True)
class OtherSessions:
    """The sessions that other tools left on this computer. They are only read: the pages show copies."""

    listed: Callable[[], JsonObject]
    """The newest ones, newest first, and how many there are in all."""
    copy: Callable[[Store, str], bool]
    """Copy the session with a name into a store; False if there is no such session."""
    lost: Callable[[str, str], JsonObject]
    """What a session needed after a compaction of its tool, by the names of both."""
    losses: Callable[[str], JsonObject]
    """How much of what it needed a session's tool lost at all its compactions, by the session's name."""
    example: str = ""
    """The name of the shipped example, which the tour of the page shows; empty if it is not there."""


@dataclass(slots=True)
class SessionPool:
    """The sessions of a workspace."""

    store: Store
    workspace: str = "local"
    index: Index | None = None
    options: PoolOptions = PLAIN
    others: OtherSessions | None = None
    live: Callable[[], JsonObject] | None = None
    """Figures of a proxy in the same process."""
    copies: SessionPool | None = None
    """The pool for copies of other tools' sessions."""
    is_copy: bool = False
    """Whether what is changed here is gone when the server stops."""
    _open: dict[str, OpenSession] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _copying: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def open(self, name: str, *, opened: bool = False) -> Iterator[OpenSession]:
        """Lock a session for one request and bring it up to date; raise ``NotFound`` if it does not exist.

        With ``opened``, the session itself is opened first, without blocking other requests.
        """
        with self._lock:
            handle = self._open.get(name) or self._new(name)
        if opened:
            handle.open()
        with handle.lock:
            handle.message_index.catch_up()
            yield handle

    def home(self, name: str) -> SessionPool:
        """Return the pool that holds a session; another tool's session is copied when it is first opened."""
        copies, others = self.copies, self.others
        if copies is None or others is None or self._holds(name):
            return self
        with copies._copying:
            return copies if copies._holds(name) or others.copy(copies.store, name) else self

    def _holds(self, name: str) -> bool:
        return self.store.head(Ctx(workspace=self.workspace, session=name)).seq > 0

    def _new(self, name: str) -> OpenSession:
        ctx = Ctx(workspace=self.workspace, session=name)
        if not self.store.head(ctx).seq:
            raise NotFound(f"there is no session {name!r}", "choose one from the list of sessions")
        self._open[name] = OpenSession(self.store, ctx, self.options)
        return self._open[name]

    def notebook(self, session: str) -> Notebook:
        """Return the notebook of a session."""
        return Notebook(self.store, self.workspace, session)
