"""One turn at a time on a session: for a window that waits for a person, no other window answers.

A turn holds a lock while it runs: on a file next to the store, which the system lets go of when a process
ends in whatever way. So a call that is open while nobody holds the lock is one that nobody will answer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from weakref import WeakKeyDictionary

from clew.log import canonical
from clew.log.protocol import Ctx, Store
from clew.log.store import SqliteStore
from clew.session import Session

try:
    import fcntl
except ImportError:  # not on Windows: there, only the turns of one process are told apart
    fcntl = None  # type: ignore[assignment]

PRIVATE = 0o600
_HERE: WeakKeyDictionary[Store, set[Ctx]] = WeakKeyDictionary()
"""The turns under way on the stores of this process."""


@contextmanager
def turn_of(session: Session) -> Iterator[bool]:
    """Hold the turn of a session; False where another holds it, here or in another process."""
    store, ctx = session.store, session.ctx
    here = _HERE.setdefault(store, set())
    if ctx in here:
        yield False
        return
    here.add(ctx)
    try:
        if isinstance(store, SqliteStore) and fcntl is not None:
            with _locked(lock_path(store.path, ctx)) as held:
                yield held
        else:
            yield True
    finally:
        here.discard(ctx)


def lock_path(store: Path, ctx: Ctx) -> Path:
    """Return the file that is locked while a session has a turn under way."""
    name = sha256(canonical({"of": [ctx.workspace, ctx.session]})).hexdigest()[:24]
    return store.with_name(f"{store.name}-turn-{name}")


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Hold a lock on a file, which is there only meanwhile; False where somebody else holds it."""
    handle = _lock(path)
    while handle >= 0 and not _is_at(path, handle):  # who held it before took the file away
        os.close(handle)
        handle = _lock(path)
    if handle < 0:
        yield False
        return
    try:
        yield True
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _lock(path: Path) -> int:
    """Return a locked file, open; -1 where somebody else holds the lock."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return -1
    return handle


def _is_at(path: Path, handle: int) -> bool:
    """Tell whether an open file is the one that stands at a path now."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False
