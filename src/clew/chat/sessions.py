"""Sessions of a chat: new, latest, forked or imported; stored settings; one turn at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from weakref import WeakKeyDictionary

from clew.errors import InputError, NotFound
from clew.log import ABOUT, APPROVAL, MESSAGE, canonical, message_event, message_to_json, new_event
from clew.log.protocol import Ctx, Store
from clew.log.store import SqliteStore
from clew.log.transfer import imported_events, note_import
from clew.message import Json, JsonObject, Message
from clew.secrets import mask_message
from clew.session import Session

try:
    import fcntl
except ImportError:  # not on Windows: there, only the turns of one process are told apart
    fcntl = None  # type: ignore[assignment]

PRIVATE = 0o600
_HERE: WeakKeyDictionary[Store, set[Ctx]] = WeakKeyDictionary()
"""The turns under way on the stores of this process."""


@contextmanager
def turn_lock(session: Session) -> Iterator[bool]:
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


LARGEST_WINDOW = 100_000_000


@dataclass(frozen=True, slots=True)
class Choices:
    """What was chosen; None for what was not."""

    window: int | None = None
    auto: bool | None = None

    def over(self, other: Choices) -> Choices:
        """Return these, and where nothing was chosen, the others."""
        return Choices(
            other.window if self.window is None else self.window,
            other.auto if self.auto is None else self.auto,
        )


def choices_of(session: Session) -> Choices:
    """Return what is on record; what makes no sense, in a log from elsewhere, was not chosen."""
    window, auto = session.about.get("window"), session.about.get("auto")
    whole = window if isinstance(window, int) and not isinstance(window, bool) else 0
    return Choices(
        whole if 0 < whole <= LARGEST_WINDOW else None,
        auto if isinstance(auto, bool) else None,
    )


def keep_choices(session: Session, chosen: Choices) -> None:
    """Put on record what was chosen, where it is not."""
    told: JsonObject = {name: value for name, value in asdict(chosen).items() if value is not None}
    if any(session.about.get(name) != value for name, value in told.items()):
        session.record(ABOUT.name, told)


PREFIX = "chat:"
"""Begins the names of sessions that a chat began."""
OWN = "clew:"
"""Begins the names of sessions that hold what belongs to no conversation, such as notes."""
AT_ONCE = 500


def new_name(store: Store, workspace: str) -> str:
    """Return a name by the clock that no session has."""
    return _free(store, workspace, f"{PREFIX}{time.strftime('%Y-%m-%d-%H%M%S')}")


def _free(store: Store, workspace: str, wanted: str) -> str:
    names = (Ctx(workspace=workspace, session=name) for name in _numbered(wanted))
    return next(ctx.session for ctx in names if not store.head(ctx).seq)


def _numbered(name: str) -> Iterator[str]:
    """Yield a name, and the same with 2, 3, … behind it."""
    yield name
    yield from (f"{name}-{number}" for number in count(2))


def latest(store: Store, workspace: str) -> str:
    """Return the session that something happened in last; those that clew keeps for itself are none."""
    found = [one for one in store.sessions(workspace) if not one.session.startswith(OWN)]
    if not found:
        raise NotFound("there is no session to resume", "`clew chat` begins one")
    return max(found, key=lambda one: one.last_time).session


def fork(store: Store, workspace: str, name: str) -> str:
    """Copy a session, event by event; return what the copy is called. The two go their own ways.

    What a person allowed is not copied: it was said for the one session.
    """
    ctx = Ctx(workspace=workspace, session=name)
    if not store.head(ctx).seq:
        raise NotFound(f"there is no session {name!r} in clew's log")
    copy = Ctx(workspace=workspace, session=_free(store, workspace, f"{name}-fork"))
    for after, until in imported_events(store, ctx).spans:
        note_import(store, copy, after, until)  # a copy of a stranger's words is no less theirs
    batch = []
    head = store.head(copy)
    for stored in store.read(ctx):
        # What was allowed there was allowed there. Something stands in its place: events are known by theirs.
        mine = stored.event.kind != APPROVAL.name
        batch.append(stored.event if mine else new_event(ABOUT.name, {"forked_from": name}, ABOUT.version))
        if len(batch) == AT_ONCE:
            head, batch = store.append(copy, batch, head), []
    if batch:
        store.append(copy, batch, head)
    return copy.session


def import_messages(
    store: Store, workspace: str, name: str, messages: Iterable[Message], *, mask_secrets: bool = True
) -> str:
    """Begin a session with the messages of a transcript; one that was begun with the same goes on.

    It is called by the transcript's file and by how that begins. A transcript that has grown adds what is
    new; where the session went another way meanwhile, another one is begun.
    """
    told = [mask_message(message) if mask_secrets else message for message in messages]
    if not told:
        raise InputError(f"there is no message in {name}", "check that the file is whole")
    wanted = f"{PREFIX}{name}-{sha256(_content(message_to_json(told[0]))).hexdigest()[:8]}"
    names = (Ctx(workspace=workspace, session=session) for session in _numbered(wanted))
    tried = ((ctx, _in_common(store, ctx, told)) for ctx in names)
    ctx, known = next((ctx, known) for ctx, known in tried if known is not None)
    head = store.head(ctx)
    for start in range(known, len(told), AT_ONCE):
        head = store.append(ctx, [message_event(one) for one in told[start : start + AT_ONCE]], head)
    return ctx.session


def _in_common(store: Store, ctx: Ctx, told: Sequence[Message]) -> int | None:
    """Return how many messages of a transcript a session has; None where it goes another way."""
    held = [_content(stored.event.body.get("message")) for stored in store.read(ctx, kinds=[MESSAGE.name])]
    given = [_content(message_to_json(message)) for message in told]
    both = min(len(held), len(given))
    return both if held[:both] == given[:both] else None


def _content(message: Json) -> bytes:
    return canonical({"message": message})
