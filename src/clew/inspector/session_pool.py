"""The sessions that the pages show, each opened once; the positions of messages in the log."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from clew.budget import DEFAULT
from clew.errors import NotFound
from clew.log import (
    ABOUT,
    CALL,
    KINDS,
    MESSAGE,
    REFUSAL,
    RESHAPING,
    TOOL_COMPACTION,
    Ref,
    View,
    VisibleMessage,
    apply_event,
    load_messages,
)
from clew.log.protocol import Ctx, Store, StoredEvent
from clew.memory.index.protocol import Index
from clew.memory.notes import Notebook
from clew.message import Item, JsonObject
from clew.providers.api import int_or_zero
from clew.providers.model import Model
from clew.providers.shapes import as_object
from clew.session import Session
from clew.session.fit import Gauge
from clew.tokens import UNKNOWN, TokenCounter, counter_for, model_named

OTHERS = tuple(name for name in KINDS if name != MESSAGE.name)
AT_HAND = frozenset({*RESHAPING, REFUSAL.name, ABOUT.name, TOOL_COMPACTION.name})
"""Kinds with few events that are needed often; of all other events only the position is kept."""


@dataclass(slots=True)
class MessageIndex:
    """Positions of messages and views in a session's log, without reading the messages. Not thread-safe.

    Events are numbered from 1 without gaps (``seq``), and every event that is not listed in
    ``_non_message_seqs`` is a message; so message number n is the n-th event that is not listed. Example: if
    events 1, 2, 4 and 5 are messages and 3 and 6 are not, ``_non_message_seqs`` is [3, 6] and
    ``_messages_before`` is [2, 4]; ``seq(3)`` is 4, and ``number(4)`` is 3.
    """

    store: Store
    ctx: Ctx
    upto: int = 0
    """The last event that was read."""
    at_hand: list[StoredEvent] = field(default_factory=list)
    """The events of the kinds in ``AT_HAND``, oldest first."""
    reports: list[tuple[int, int]] = field(default_factory=list)
    """For each recorded model call its event and its tokens, request and reply, as the provider counted."""
    _non_message_seqs: list[int] = field(default_factory=list)
    """The events that are not messages."""
    _messages_before: list[int] = field(default_factory=list)
    """The number of messages before each of these events."""
    _views: list[View] = field(default_factory=lambda: [View()])
    """The view after each event that changes it other than by adding a message."""
    _latest: View = field(default_factory=View)
    """The view requested last; the next request is often for the same or a later one."""

    _kinds: tuple[str, ...] | None = OTHERS

    def catch_up(self) -> int:
        """Read the events appended since; return the last event."""
        head = self.store.head(self.ctx).seq
        if head > self.upto:
            for stored in self.store.read(self.ctx, self.upto, head, self._kinds):
                if stored.event.kind != MESSAGE.name:
                    self._messages_before.append(stored.seq - 1 - len(self._non_message_seqs))
                    self._non_message_seqs.append(stored.seq)
                if stored.event.kind in AT_HAND:
                    self.at_hand.append(stored)
                elif stored.event.kind == CALL.name and (tokens := reported_tokens(stored)):
                    self.reports.append((stored.seq, tokens))
            self.upto = head
        return head

    def read_all(self) -> None:
        """Start again and read every event, because the log has kinds unknown to this version."""
        self._kinds = None
        self.upto = 0
        for known in (self.at_hand, self.reports, self._non_message_seqs, self._messages_before):
            known.clear()
        self._views, self._latest = [View()], View()
        self.catch_up()

    @property
    def messages(self) -> int:
        """Return the number of messages."""
        return self.upto - len(self._non_message_seqs)

    def seq(self, number: int) -> int:
        """Return the event of a message, by its number."""
        return number + bisect_left(self._messages_before, number)

    def number(self, seq: int) -> int:
        """Return the number of messages up to an event."""
        return seq - bisect_right(self._non_message_seqs, seq)

    def is_message(self, seq: int) -> bool:
        """Return whether an event is a message."""
        return self.number(seq) > self.number(seq - 1)

    def of_kinds(self, *kinds: str, after: int = 0) -> Iterator[StoredEvent]:
        """Yield the events of some kinds in ``AT_HAND``, oldest first, in the current schema."""
        first = bisect_right(self.at_hand, after, key=lambda stored: stored.seq)
        for stored in self.at_hand[first:]:
            if stored.event.kind in kinds:
                yield KINDS[stored.event.kind].current(stored)

    # What the model saw ----------------------------------------------------------------------------------

    @property
    def is_shaped(self) -> bool:
        """Return whether any event other than a message changed the view."""
        return any(stored.event.kind in RESHAPING for stored in self.at_hand)

    def view(self, seq: int) -> View:
        """Return the view after an event."""
        self._shape(seq)
        known_view = self._views[bisect_right(self._views, seq, key=lambda view: view.seq) - 1]
        if known_view.seq <= self._latest.seq <= seq:
            known_view = self._latest
        self._latest = self._with_messages_up_to(known_view, seq)
        return self._latest

    def seen(self, seq: int) -> Sequence[Ref]:
        """Return what the model saw after an event.

        If the session comes from a tool that compacted it, and clew has not compacted it since, that is what
        the tool left: its summary, the messages that it kept, and everything after.
        """
        return self.seen_in(self.view(seq), seq)

    def seen_in(self, view: View, seq: int) -> Sequence[Ref]:
        """Return what the model sees of a view of the log up to an event; see ``seen``."""
        last = self.tool_compaction_before(seq)
        if last is None or view.steps or view.off or view.resumed:
            return view.entries
        keeps = last.event.body.get("keeps")
        kept = [self.seq(keep) for keep in keeps if isinstance(keep, int)] if isinstance(keeps, list) else []
        summary = range(len(TOOL_COMPACTION.messages(last.event.body)))
        later = [ref for ref in view.entries if ref.seq > last.seq]
        return [*(Ref(last.seq, nth) for nth in summary), *(Ref(seq) for seq in kept), *later]

    def tool_compaction_before(self, seq: int) -> StoredEvent | None:
        """Return the last compaction of the tool that wrote the session, up to an event."""
        return next(
            (stored for stored in reversed([*self.of_kinds(TOOL_COMPACTION.name)]) if stored.seq <= seq), None
        )

    def _shape(self, seq: int) -> None:
        """Compute the missing views after each event that changes the view, up to an event."""
        view = self._views[-1]
        for stored in self.of_kinds(*RESHAPING, after=view.seq):
            if stored.seq > seq:
                return
            shaped = apply_event(
                self._with_messages_up_to(view, stored.seq - 1), stored, KINDS[stored.event.kind]
            )
            view = replace(shaped, seq=stored.seq)
            self._views.append(view)

    def _with_messages_up_to(self, view: View, until: int) -> View:
        """Return a view with the messages up to an event added."""
        prefix, compacted = view.whole, view.compacted
        between = self._non_message_seqs[
            bisect_right(self._non_message_seqs, view.seq) : bisect_right(self._non_message_seqs, until)
        ]
        skipped = frozenset(between)
        for seq in range(view.seq + 1, until + 1):
            if seq not in skipped:
                ref = Ref(seq)
                prefix = prefix.add(ref)
                compacted = None if compacted is None else compacted.add(ref)
        return replace(view, whole=prefix, compacted=compacted, seq=until)


def reported_tokens(stored: StoredEvent) -> int:
    """Return the tokens of a call, request and reply; 0 if the provider did not report its input."""
    usage = as_object(stored.event.body.get("usage"))
    read = int_or_zero(usage.get("input_tokens"))
    return read + int_or_zero(usage.get("output_tokens")) if read else 0


MOST_COUNTED = 200_000
"""Messages whose tokens are cached."""


BAD_LOG_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors raised by event bodies that clew did not write, for example in imported logs."""

Shown = tuple[Item, Ref, int]
"""A message of a view, its position in the log, and its tokens."""


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """Options with which sessions are opened."""

    model: str = UNKNOWN.id
    window: int | None = None
    summariser: Model | None = None
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
                    summariser=self.options.summariser,
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

    def unlogged_tokens(self, seq: int) -> int:
        """Return the tokens of a request that are not messages of the log, as far as the provider reported.

        These are the system prompt and tool definitions that a tool does not record, files that it attaches,
        and the error of clew's estimate. The nearest call between the same two compactions of the tool
        decides; if there is none, the size that the tool recorded at its next compaction.
        """
        cuts = list(self.message_index.of_kinds(TOOL_COMPACTION.name))
        first = max((cut.seq for cut in cuts if cut.seq <= seq), default=0)
        end = next((cut for cut in cuts if cut.seq > seq), None)
        calls = [
            report
            for report in self.message_index.reports
            if first < report[0] and (end is None or report[0] < end.seq)
        ]
        if not calls:
            recorded = int_or_zero(end.event.body.get("before")) if end else 0
            calls = [(end.seq - 1, recorded)] if end and recorded else []
        if not calls:
            return 0
        at, tokens = next((call for call in reversed(calls) if call[0] <= seq), calls[0])
        if at not in self._unlogged_tokens:
            self._unlogged_tokens[at] = max(0, tokens - self.tokens_seen_at(at))
        return self._unlogged_tokens[at]

    def shown(self, refs: Iterable[Ref]) -> list[Shown]:
        """Return the messages of some references of a view."""
        return [
            (
                Item(message.own_name or f"m{self.message_index.number(message.ref.seq)}", message.message),
                message.ref,
                self.tokens(message),
            )
            for message in load_messages(self.store, self.ctx, refs)
        ]


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
