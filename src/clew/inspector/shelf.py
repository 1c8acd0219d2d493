"""The sessions of one store, each opened once and kept at hand, used by one request at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from clew.budget import DEFAULT
from clew.errors import NotFound
from clew.inspector.places import Places
from clew.log import ABOUT, Ref, Visible, load
from clew.log.protocol import Ctx, Store
from clew.memory.index.protocol import Index
from clew.memory.notes import Notebook
from clew.message import Item
from clew.providers.model import Model
from clew.session import Session
from clew.session.fit import Gauge
from clew.tokens import UNKNOWN, TokenCounter, counter_for, model_named

MOST_COUNTED = 200_000
"""Messages whose tokens are remembered."""


MISSHAPEN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading an event may raise whose body is not of the shape that clew writes: logs are also imported."""

Shown = tuple[Item, Ref, int]
"""A message of a view, its place in the log, and its tokens."""


@dataclass(frozen=True, slots=True)
class Options:
    """How sessions are opened."""

    model: str = UNKNOWN.id
    window: int | None = None
    summariser: Model | None = None
    auto: bool = False
    """Whether a chat compacts by itself until its page says otherwise."""
    note: str = ""
    """What a person should know of all of them: that they are a copy, for instance."""


PLAIN = Options()


class Book:
    """One session, as the pages look at it."""

    def __init__(self, store: Store, ctx: Ctx, options: Options) -> None:
        self.store = store
        self.ctx = ctx
        self.lock = threading.RLock()
        self._opening = threading.Lock()
        self.places = Places(store, ctx)
        self.options = options
        self._session: Session | None = None
        self._counter: TokenCounter | None = None
        self.drawn: dict[Ref, dict[str, Any]] = {}
        """Blocks of the map that were drawn before."""
        self._tokens: dict[Ref, int] = {}

    def open(self) -> Session:
        """Open the session, once: that takes as long as its log is, unless somebody did it before."""
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
        """Return the session."""
        return self._session or self.open()

    @property
    def gauge(self) -> Gauge:
        """Return what measures the window: for the model that was named, else for the one on record."""
        told = [one.event.body.get("model") for one in self.places.of_kinds(ABOUT.name)]
        recorded = next((name for name in reversed(told) if isinstance(name, str)), UNKNOWN.id)
        name = self.options.model if self.options.model != UNKNOWN.id else recorded
        return Gauge(model_named(name), DEFAULT, self.options.window)

    @property
    def counter(self) -> TokenCounter:
        """Return what counts tokens; the session need not be opened for it."""
        self._counter = self._counter or counter_for(self.gauge.model)
        return self._counter

    def tokens(self, visible: Visible) -> int:
        """Return the tokens of a message; counted once."""
        if visible.ref not in self._tokens:
            if len(self._tokens) >= MOST_COUNTED:
                self._tokens.clear()
            self._tokens[visible.ref] = self.counter.count(visible.message)
        return self._tokens[visible.ref]

    def shown(self, refs: Iterable[Ref]) -> list[Shown]:
        """Return the messages that references of a view point at."""
        return [
            (
                Item(one.own_name or f"m{self.places.number(one.ref.seq)}", one.message),
                one.ref,
                self.tokens(one),
            )
            for one in load(self.store, self.ctx, refs)
        ]


@dataclass(slots=True)
class Shelf:
    """The sessions of a workspace."""

    store: Store
    workspace: str = "local"
    index: Index | None = None
    options: Options = PLAIN
    _books: dict[str, Book] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def book(self, name: str, *, opened: bool = False) -> Iterator[Book]:
        """Give one request the session to itself, up to date; what is not there is ``NotFound``.

        With ``opened``, the session itself is opened first, while others go on looking.
        """
        with self._lock:
            book = self._books.get(name) or self._new(name)
        if opened:
            book.open()
        with book.lock:
            book.places.catch_up()
            yield book

    def _new(self, name: str) -> Book:
        ctx = Ctx(workspace=self.workspace, session=name)
        if not self.store.head(ctx).seq:
            raise NotFound(f"there is no session {name!r}", "the list of sessions shows what there is")
        self._books[name] = Book(self.store, ctx, self.options)
        return self._books[name]

    def notebook(self, session: str) -> Notebook:
        """Return the notes that concern a session."""
        return Notebook(self.store, self.workspace, session)
