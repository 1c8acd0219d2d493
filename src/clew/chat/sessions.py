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
from clew.log.transfer import OWN, imported_events, note_import
from clew.message import Json, JsonObject, Message
from clew.secrets import mask_message
from clew.session import Session

try:
    import fcntl
except ImportError:  # Windows: only turns of the same process exclude each other
    fcntl = None  # type: ignore[assignment]

PRIVATE = 0o600
_HERE: WeakKeyDictionary[Store, set[Ctx]] = WeakKeyDictionary()
"""The sessions with a running turn, by store, in this process."""


@contextmanager
def turn_lock(session: Session) -> Iterator[bool]:
    """Hold the turn lock of a session; yield False if another turn holds it, in any process.

    The lock is on a file next to the store; the operating system releases it when the process ends. So a
    tool call without a result in a session whose lock is free will never get one.
    """
    store, ctx = session.store, session.ctx
    here = _HERE.setdefault(store, set())
    if ctx in here:
        yield False
        return
    here.add(ctx)
    try:
        if isinstance(store, SqliteStore) and fcntl is not None:
            with _exclusive_file(lock_path(store.path, ctx)) as locked:
                yield locked
        else:
            yield True
    finally:
        here.discard(ctx)


def lock_path(store: Path, ctx: Ctx) -> Path:
    """Return the lock file of a session's turn."""
    name = sha256(canonical({"of": [ctx.workspace, ctx.session]})).hexdigest()[:24]
    return store.with_name(f"{store.name}-turn-{name}")


@contextmanager
def _exclusive_file(path: Path) -> Iterator[bool]:
    """Lock a file that exists only while it is locked; yield False if another process holds the lock."""
    handle = _lock(path)
    while handle >= 0 and not _is_at(path, handle):  # the previous holder deleted the file
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
    """Return the descriptor of a locked file; -1 if another process holds the lock."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return -1
    return handle


def _is_at(path: Path, handle: int) -> bool:
    """Return whether an open file is still the one at a path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


LARGEST_WINDOW = 100_000_000


@dataclass(frozen=True, slots=True)
class Choices:
    """A person's settings for one session; None if not set."""

    window: int | None = None
    auto: bool | None = None

    def over(self, other: Choices) -> Choices:
        """Return these settings, with the other ones as defaults."""
        return Choices(
            other.window if self.window is None else self.window,
            other.auto if self.auto is None else self.auto,
        )


def choices_of(session: Session) -> Choices:
    """Return the recorded settings; invalid values, from an imported log, count as not set."""
    window, auto = session.about.get("window"), session.about.get("auto")
    whole = window if isinstance(window, int) and not isinstance(window, bool) else 0
    return Choices(whole if 0 < whole <= LARGEST_WINDOW else None, auto if isinstance(auto, bool) else None)


def keep_choices(session: Session, chosen: Choices) -> None:
    """Record the settings that differ from the recorded ones."""
    data: JsonObject = {name: value for name, value in asdict(chosen).items() if value is not None}
    if any(session.about.get(name) != value for name, value in data.items()):
        session.record(ABOUT.name, data)


PREFIX = "chat:"
"""Prefix of the names of sessions that a chat created."""
AT_ONCE = 500


def new_name(store: Store, workspace: str) -> str:
    """Return an unused session name made of the current time."""
    return _free(store, workspace, f"{PREFIX}{time.strftime('%Y-%m-%d-%H%M%S')}")


def _free(store: Store, workspace: str, wanted: str) -> str:
    names = (Ctx(workspace=workspace, session=name) for name in _name_candidates(wanted))
    return next(ctx.session for ctx in names if not store.head(ctx).seq)


def _name_candidates(name: str) -> Iterator[str]:
    """Yield a name, then the same name with -2, -3 and so on."""
    yield name
    yield from (f"{name}-{number}" for number in count(2))


def latest(store: Store, workspace: str) -> str:
    """Return the most recently changed session, without clew's internal ones."""
    sessions = [session for session in store.sessions(workspace) if not session.session.startswith(OWN)]
    if not sessions:
        raise NotFound("there is no session to resume", "`clew chat` starts one")
    return max(sessions, key=lambda item: item.last_time).session


def fork(store: Store, workspace: str, name: str) -> str:
    """Copy a session event by event and return the copy's name.

    Approvals are not copied: they apply to the original session only.
    """
    ctx = Ctx(workspace=workspace, session=name)
    if not store.head(ctx).seq:
        raise NotFound(f"there is no session {name!r} in clew's log")
    copy = Ctx(workspace=workspace, session=_free(store, workspace, f"{name}-fork"))
    for after, until in imported_events(store, ctx).spans:
        note_import(store, copy, after, until)  # imported messages stay marked as imported
    batch = []
    head = store.head(copy)
    for stored in store.read(ctx):
        # An approval is replaced by another event, because events are referred to by their position.
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
    """Import the messages of a transcript as a session and return its name.

    The name is made of the file's name and a hash of the first message. If the session exists, only new
    messages are added; if it has diverged from the transcript, another session is created.
    """
    masked = [mask_message(message) if mask_secrets else message for message in messages]
    if not masked:
        raise InputError(f"{name} has no messages", "check that the file is complete")
    names = (Ctx(workspace=workspace, session=session) for session in names_for_import(name, masked[0]))
    tried = ((ctx, _in_common(store, ctx, masked)) for ctx in names)
    ctx, known = next((ctx, known) for ctx, known in tried if known is not None)
    head = store.head(ctx)
    for start in range(known, len(masked), AT_ONCE):
        head = store.append(ctx, [*map(message_event, masked[start : start + AT_ONCE])], head)
    return ctx.session


def names_for_import(name: str, first: Message) -> Iterator[str]:
    """Yield the names that a transcript may be imported under: if a session has diverged, the next one."""
    return _name_candidates(f"{PREFIX}{name}-{sha256(_content(message_to_json(first))).hexdigest()[:8]}")


def _in_common(store: Store, ctx: Ctx, messages: Sequence[Message]) -> int | None:
    """Return how many messages of a transcript a session already has; None if they differ."""
    events = store.read(ctx, kinds=[MESSAGE.name])
    stored_contents = [_content(stored.event.body.get("message")) for stored in events]
    new_contents = [_content(message_to_json(message)) for message in messages]
    both = min(len(stored_contents), len(new_contents))
    return both if stored_contents[:both] == new_contents[:both] else None


def _content(message: Json) -> bytes:
    return canonical({"message": message})
