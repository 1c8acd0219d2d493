"""Export a whole session to one file, import it, and record which events were imported.

The file is JSON lines: a first line that names the session and its head, then one line per event with its
full body::

    {"clew": "session", "version": 1, "session": "fix-login", "head": [2, "sha256:ab…"]}
    {"seq": 1, "id": "01…", "kind": "message", "version": 1, "time": "2026-…", "body": {…}, "hash": …}
    {"seq": 2, …}

Any tool can read it, and it proves itself: every line's hash follows from the one before. An import
recomputes every hash and rejects the file at the first mismatch, before anything is written.

An export proves that it is complete, not that its content is true: its author chose every label in it. Each
import is therefore recorded, before its events are appended, in a session that no file can name.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

from clew.errors import ExportDamaged, InputError, NotFound, NotJson, SessionDiverged, StoreTooNew
from clew.log.chain import ZSTD_MAGIC, canonical, chain, encode, new_event, parse_body, root
from clew.log.fold import ABOUT
from clew.log.protocol import Ctx, Event, Head, Store, StoredEvent
from clew.message import JsonObject
from clew.message.atoms import check_fields

OWN = "clew:"
"""Prefix of clew's own sessions, which cannot be imported."""
IMPORTS_SESSION = f"{OWN}imports"
"""The session that records imports."""


@dataclass(frozen=True, slots=True)
class ImportedEvents:
    """The imported events of one session."""

    spans: tuple[tuple[int, int], ...] = ()
    """Each span holds the events after the first number, up to the second."""

    def __contains__(self, seq: int) -> bool:
        return any(after < seq <= until for after, until in self.spans)


def require_importable_name(session: str) -> None:
    """Raise ``InputError`` for a name that would put imported events into one of clew's own sessions."""
    if session.startswith(OWN):
        raise InputError(f"a file may not bring the session {session!r}", f"names in {OWN} are clew's own")


def note_import(store: Store, ctx: Ctx, after: int, until: int) -> None:
    """Record that a session's events after ``after``, up to ``until``, come from a file."""
    body: JsonObject = {"imported": ctx.session, "after": after, "until": until}
    imports = Ctx(workspace=ctx.workspace, session=IMPORTS_SESSION)
    store.append(imports, [new_event(ABOUT.name, body, ABOUT.version)], None)


def imported_events(store: Store, ctx: Ctx) -> ImportedEvents:
    """Return which events of a session were imported."""
    spans: list[tuple[int, int]] = []
    for stored in store.read(Ctx(workspace=ctx.workspace, session=IMPORTS_SESSION), kinds=[ABOUT.name]):
        match stored.event.body:
            case {"imported": ctx.session, "after": int(after), "until": int(until)}:
                spans.append((after, until))
    return ImportedEvents(tuple(spans))


EXPORT_VERSION = 1
"""The version of the file format."""
BATCH_EVENTS = 500
"""Most events of an import that are appended at a time."""
BATCH_BYTES = 16 << 20
"""Most bytes of an import that are appended at a time."""
_WINDOW_LOG = 27
"""128 MB, so that an output repeated much later still compresses; the largest window that `zstd -d` accepts
by default."""


def export_session(store: Store, ctx: Ctx, out: IO[bytes]) -> Head:
    """Write the session as it is now; return the head that the file ends with."""
    head = store.head(ctx)
    if not head.seq:
        raise NotFound(f"there is no session {ctx.session!r} in workspace {ctx.workspace!r}")
    first: JsonObject = {
        "clew": "session",
        "version": EXPORT_VERSION,
        "session": ctx.session,
        "head": [*head],
    }
    out.write(canonical(first) + b"\n")
    for stored in store.read(ctx, until=head.seq):
        out.write(canonical(_event_to_json(stored)) + b"\n")
    return head


def export_session_zstd(store: Store, ctx: Ctx, out: IO[bytes]) -> Head:
    """Write the session compressed with zstd."""
    import zstandard

    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=_WINDOW_LOG, enable_ldm=True)
    with zstandard.ZstdCompressor(compression_params=parameters).stream_writer(out, closefd=False) as packed:
        return export_session(store, ctx, packed)


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of an import."""

    ctx: Ctx
    head: Head
    """The session's head after the import."""
    events: int
    """How many events were new."""
    by_tool: int = 0
    """How many compactions the session's own tool made, if the last is new and decides what the view is."""
    ahead: int = 0
    """How many messages the log has after those of the file: the file is an older copy."""


def import_session(store: Store, workspace: str, inp: IO[bytes]) -> ImportResult:
    """Import an exported session, plain or compressed, into a workspace.

    The caller names the workspace, never the file. If the session already exists, the file may continue or
    repeat it; if the two differ, ``SessionDiverged`` is raised. An interrupted import continues where it
    stopped. Names of clew's own sessions are refused, and the new events are recorded as imported: see
    ``clew.log.transfer``.
    """
    with _rewindable(inp) as file:
        with _open_unpacked(file) as lines:
            ctx = Ctx(workspace=workspace, session=_parse_header(next(iter(lines), b"")).session)
        require_importable_name(ctx.session)
        here = store.head(ctx)
        heads = _verify(file, root(ctx.session), here.seq)
        shared = heads.shared
        if shared.seq and shared != next(store.read(ctx, shared.seq - 1, shared.seq)).head:
            raise SessionDiverged(f"session {ctx.session!r} in workspace {workspace!r}")
        head = here
        if heads.last.seq > here.seq:
            note_import(store, ctx, here.seq, heads.last.seq)
        for batch in _batches(file, here.seq):
            head = store.append(ctx, batch, head)
    return ImportResult(ctx, head, max(0, heads.last.seq - here.seq))


class _FileHeads(NamedTuple):
    """Heads of an exported session: after its last event, and after the last that the store has too."""

    last: Head
    shared: Head


def _verify(inp: IO[bytes], start: Head, stored_events: int) -> _FileHeads:
    """Check the whole file; ``stored_events`` is how many events the store has of this session."""
    head = shared = start
    for line in _lines(inp):
        head = line.stored.head
        if head.seq <= stored_events:
            shared = head
    return _FileHeads(head, shared)


def _batches(inp: IO[bytes], after: int) -> Iterator[list[Event]]:
    batch: list[Event] = []
    size = 0
    for line in _lines(inp):
        if line.stored.seq > after:
            batch.append(line.stored.event)
            size += line.size
        if len(batch) == BATCH_EVENTS or size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


# Reading the file ------------------------------------------------------------------------------------


class _ExportHeader(NamedTuple):
    """The session and head that the first line announces."""

    session: str
    head: Head


class _ExportLine(NamedTuple):
    stored: StoredEvent
    size: int


def _lines(inp: IO[bytes]) -> Iterator[_ExportLine]:
    """Yield the events of the file from its start, each checked against the one before."""
    with _open_unpacked(inp) as lines:
        header = _parse_header(next(iter(lines), b""))
        head = root(header.session)
        for number, line in enumerate(lines, start=2):
            stored = _read_event(line, head, number)
            head = stored.head
            yield _ExportLine(stored, len(line))
    if head != header.head:
        raise ExportDamaged(f"line 1 promises {header.head.seq} events, the file ends at event {head.seq}")


def _parse_header(line: bytes) -> _ExportHeader:
    match _read_object(line, 1):
        case {
            "clew": "session",
            "version": int(version),
            "session": str(session),
            "head": [int(seq), str(end)],
        }:
            if version > EXPORT_VERSION:
                raise StoreTooNew(f"this export has version {version}")
            return _ExportHeader(session, Head(seq, end))
        case _:
            raise ExportDamaged("line 1 does not begin an exported session")


def _read_event(line: bytes, head: Head, number: int) -> StoredEvent:
    value = _read_object(line, number)
    try:
        event = check_fields(
            Event(value["id"], value["kind"], value["version"], value["time"], value["body"])
        )
        (derived,) = chain(head, [encode(event)])
        recorded = StoredEvent(value["seq"], value["digest"], value["hash"], event)
    except (KeyError, TypeError, AttributeError, InputError) as cause:
        raise ExportDamaged(f"line {number}: not an event ({type(cause).__name__}: {cause})") from cause
    for field in ("seq", "digest", "hash"):
        if getattr(recorded, field) != getattr(derived, field):
            expected, got = getattr(derived, field), getattr(recorded, field)
            raise ExportDamaged(f"line {number}: {field}: expected {expected}, found {got}")
    return derived


def _read_object(line: bytes, number: int) -> Any:  # noqa: ANN401  # JSON enters here
    try:
        return parse_body(line)
    except NotJson as cause:
        raise ExportDamaged(f"line {number}: {cause.detail}") from cause


def _event_to_json(stored: StoredEvent) -> JsonObject:
    event = stored.event
    return {
        "seq": stored.seq,
        "id": event.id,
        "kind": event.kind,
        "version": event.version,
        "time": event.time,
        "body": event.body,
        "digest": stored.digest,
        "hash": stored.hash,
    }


@contextmanager
def _open_unpacked(inp: IO[bytes]) -> Iterator[IO[bytes]]:
    """Give the file's lines from its start, decompressed if needed."""
    inp.seek(0)
    packed = inp.read(len(ZSTD_MAGIC)) == ZSTD_MAGIC
    inp.seek(0)
    if not packed:
        yield inp
        return
    import zstandard

    reader = zstandard.ZstdDecompressor(max_window_size=1 << _WINDOW_LOG).stream_reader(inp, closefd=False)
    try:
        with io.BufferedReader(reader) as lines:
            yield lines
    except zstandard.ZstdError as cause:
        raise ExportDamaged(f"the compressed data cannot be read ({cause})") from cause


@contextmanager
def _rewindable(inp: IO[bytes]) -> Iterator[IO[bytes]]:
    """Copy piped input to a file, because it is read twice: first checked, then appended."""
    if inp.seekable():
        yield inp
        return
    with tempfile.TemporaryFile() as kept:
        shutil.copyfileobj(inp, kept)
        yield kept
