"""A bounded cache of open sessions. The log holds all state, so any worker serves any session."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from clew.log.protocol import Ctx, Head, Store
from clew.session import Session

MOST_OPEN = 64
"""Sessions kept open. A session of 10,000 messages takes some tens of MB."""


_CacheKey: TypeAlias = tuple[Ctx, str, int | None]
"""A session, and the model and window that it was opened for."""


@dataclass(slots=True)
class _Opened:
    """A session in the cache."""

    session: Session
    head: Head
    """The end of its log as far as it was read when it was last returned to the cache."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_broken: bool = False
    """Whether a borrower failed: its state may be half changed (the log is not)."""


class SessionCache:
    """Lends open sessions, each ``Session`` object to one thread at a time.

    One stored session may be open more than once: for another model or window, and if it leaves the cache
    while it is lent. Like sessions in several processes, these share only the log, which orders appends.
    """

    def __init__(self, store: Store, model: str = "unknown", window: int | None = None) -> None:
        """``model`` and ``window`` apply to requests that name none."""
        self.store = store
        self._model = model
        self._window = window
        self._lock = threading.Lock()
        self._opened: OrderedDict[_CacheKey, _Opened] = OrderedDict()

    def __len__(self) -> int:
        return len(self._opened)

    @contextmanager
    def lend(self, ctx: Ctx, model: str | None = None, window: int | None = None) -> Iterator[Session]:
        """Yield a session, to one thread at a time. When used, it reads what others appended."""
        key = (ctx, model or self._model, window or self._window)
        while True:
            with self._lock:
                opened = self._opened.get(key)
                if opened:
                    self._opened.move_to_end(key)
            if opened is None:
                opened = self._open(key, ctx, model, window)
            with opened.lock:
                if not opened.is_broken and self._has_same_log(opened):
                    try:
                        yield opened.session
                    except BaseException:
                        opened.is_broken = True
                        self._drop(key, opened)
                        raise
                    opened.head = opened.session.head
                    return
            self._drop(key, opened)

    def _open(self, key: _CacheKey, ctx: Ctx, model: str | None, window: int | None) -> _Opened:
        session = Session.open(
            ctx.session,
            self.store,
            workspace=ctx.workspace,
            model=model or self._model,
            window=window or self._window,
        )
        opened = _Opened(session, session.head)
        with self._lock:
            cached = self._opened.setdefault(key, opened)  # another thread may have opened it meanwhile
            while len(self._opened) > MOST_OPEN:
                self._opened.popitem(last=False)
        return cached

    def _has_same_log(self, opened: _Opened) -> bool:
        """Return False if the log is not the one that was read: the session was forgotten meanwhile."""
        seq = opened.head.seq
        if not seq:
            return True
        return any(stored.head == opened.head for stored in self.store.read(opened.session.ctx, seq - 1, seq))

    def _drop(self, key: _CacheKey, opened: _Opened) -> None:
        with self._lock:
            if self._opened.get(key) is opened:
                del self._opened[key]
