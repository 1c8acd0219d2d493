"""Update the search index from a session's log: convert events to entries, at the cost of what is new.

A message becomes entries of at most 800 characters (``m12`` at 0, at 640, …), a compaction one entry per line
of its digest (``d3.4``), an approved note one (``w3``). An undo, an archiving or a forgotten note removes
entries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from time import monotonic

from clew.compaction.plan import Digest
from clew.ledger.values import RECALL_TOOLS
from clew.log import COMPACTION, MESSAGE, UNDO, iso_time
from clew.log.fold import NOTE, TIER
from clew.log.protocol import Ctx, Store, StoredEvent
from clew.log.transfer import ImportedEvents, imported_events
from clew.memory.index import Analysed, Entry, EntryKind, Index, Mark
from clew.memory.notes.note import Note, NoteStatus
from clew.memory.notes.notebook import fold_notes, trusted_events
from clew.memory.terms import analyse
from clew.memory.tiers import Tier, digest_ids, move_from_json, own_digests, stale_undos, undone_since
from clew.message import Message, ToolCall, ToolResult, Trust, words

PIECE = 800
"""Most characters of one entry. A longer text is split, so that a hit is short enough to show whole.

Fitted with ``bench/retrieval_shown.py``.
"""
OVERLAP = 160
"""Most characters that two pieces share, so that a line is found with its context."""
LARGE = 400_000
"""Characters above which pieces are larger: a 50 MB log would have 70,000 small ones."""
LARGE_PIECE = 8_000
"""Characters of a piece of such a text; chosen by hand."""
ARTIFACT = 4_000
"""Characters from which a tool's output is an artifact: shown in part, opened in ranges."""
# A run of JSON escapes: \n, \", \u00e9.
_ESCAPES = re.compile(r"""(?:\\(?:[nrtbf"/\\]|u[0-9a-fA-F]{4}))+""")
_FILE_KEYS = frozenset({"path", "file_path", "filename", "file", "notebook_path", "target_file"})
# Where a text may be split, best first: after a line (also a JSON-escaped one), a sentence, a space.
_SEAMS = (
    re.compile(r"\n|(?<!\\)\\n"),
    re.compile(r"[.!?。！？][\"')\]]*\s"),
    re.compile(r"\s"),
    re.compile(r"""[,;|"'()<>{}\[\]]"""),
)


def message_entries(at: Entry, message: Message, files: Sequence[str] = ()) -> Iterator[Entry]:
    """Yield a message in pieces; ``at`` has its position, ``files`` the files that its calls asked for."""
    text = text_of(message)
    is_output = any(message.results) and len(text) >= ARTIFACT
    own = {name for call in message.calls for name in files_of(call)}
    entry = at._replace(
        kind=EntryKind.ARTIFACT if is_output else EntryKind.TURN,
        role=message.role.value,
        trust=message.trust,
        text=text,
        files=tuple(sorted(own.union(files))),
    )
    yield from passages(entry)


def text_of(message: Message) -> str:
    """Return the whole text of a message; positions in characters and lines refer to it."""
    return "\n".join(text for part in message.parts if (text := words(part)))


class UnescapedText:
    """A message with the JSON escapes in the arguments of its calls decoded."""

    def __init__(self, message: Message) -> None:
        self._parts = [(text, isinstance(part, ToolCall)) for part in message.parts if (text := words(part))]

    def between(self, start: int, end: int) -> str:
        """Return the text between two positions of the message's text."""
        pieces, at = [], 0
        for text, is_call in self._parts:
            if at < end and start < at + len(text):
                piece = text[max(0, start - at) : end - at]
                if is_call:
                    piece = _ESCAPES.sub(lambda escapes: str(json.loads(f'"{escapes[0]}"')), piece)
                pieces.append(piece)
            at += len(text) + 1
        return "\n".join(pieces)


def files_of(call: ToolCall) -> Iterator[str]:
    """Yield the names of the files that a call asks for."""
    for key, value in (call.input or {}).items():
        is_name = isinstance(value, str) and 0 < len(value) < 1_000 and "\n" not in value
        if key in _FILE_KEYS and is_name:
            yield str(value)


def digest_entries(at: Entry, digest: Digest) -> Iterator[Entry]:
    """Yield the lines of a digest, each with the messages it cites."""
    for claim in digest.claims:
        sources = tuple(dict.fromkeys(cite.message for cite in claim.sources))
        line = at._replace(ref=claim.id, trust=claim.trust, text=claim.text, sources=sources)
        yield from passages(line._replace(kind=EntryKind.DIGEST, role="digest"))


def note_entry(at: Entry, note: Note) -> Entry:
    """Return a note as an entry."""
    tags = f" ({', '.join(note.tags)})" if note.tags else ""
    return at._replace(
        ref=note.id,
        kind=EntryKind.NOTE,
        time=note.created,
        role="note",
        trust=note.trust,
        text=f"{note.key}: {note.text}{tags}",
        seq=int(note.id[1:]),
        sources=note.source.messages,
    )


def said_at(stored: StoredEvent) -> str:
    """Return when something was said; for an imported event the original time, not that of the import."""
    match stored.event.body.get("source"):
        case {"time": str(time)} if time:
            try:
                moment = datetime.fromisoformat(time)
            except ValueError:
                return stored.event.time
            known_time = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            with suppress(OverflowError, ValueError):  # a year that no calendar has in UTC
                return iso_time(int(known_time.timestamp() * 1000))
    return stored.event.time


def empty_entry(ref: str, session: str, time: str, seq: int) -> Entry:
    """Return an entry with a position only."""
    return Entry(ref=ref, session=session, time=time, role="", trust=Trust.UNTRUSTED, text="", seq=seq)


def passages(entry: Entry) -> Iterator[Entry]:
    """Yield an entry in overlapping pieces, split after a line or a sentence, or else between words."""
    text, start = entry.text, 0
    size = PIECE if len(text) <= LARGE else LARGE_PIECE
    while len(text) - start > size:
        cut = _cut(text, start + size // 2, start + size) or start + size
        yield entry._replace(text=text[start:cut], start=entry.start + start)
        start = _cut(text, max(start + 1, cut - OVERLAP), cut - 1, first=True) or cut
    if text[start:] or not start:
        yield entry._replace(text=text[start:], start=entry.start + start)


def _cut(text: str, least: int, most: int, *, first: bool = False) -> int | None:
    """Return the last (or first) split position in a range, at the best kind of seam; None without one."""
    for seam in _SEAMS:
        ends = [match.end() for match in seam.finditer(text, least, most)]
        if ends:
            return ends[0 if first else -1]
    return None


AT_ONCE = 500
"""Entries per index transaction."""
ANNOUNCING = 200
"""A shorter message that names a look-up tool ("Let me use recall_search.") only announces a call."""
MOST_ASKED = 300
"""Characters of a call whose words also find its result: a command, a path, a pattern."""
LOOK_BACK = 32
"""Events before the new ones that are read for the calls that new results answer."""


def catch_up(store: Store, ctx: Ctx, index: Index, deadline: float = inf) -> int:
    """Index the events of a session that are not in the index yet; return how many were indexed.

    At a deadline (in seconds of ``time.monotonic``) it stops, after one event at least.
    An interrupted run continues where it stopped: entries and position are stored together. Lines of digests
    are removed when their compaction is undone or archived, notes when they no longer apply.
    """
    return _Reader(store, ctx, index).read(deadline)


def catch_up_all(store: Store, workspace: str, index: Index) -> Iterator[tuple[str, int]]:
    """Index every session of a workspace; yield each that had new events, and how many."""
    marks = index.marks(workspace)
    for info in store.sessions(workspace):
        if marks.get(info.session, Mark()).seq < info.head.seq:
            yield info.session, catch_up(store, Ctx(workspace=workspace, session=info.session), index)


class _Reader:
    """Reads a session's log into the index."""

    def __init__(self, store: Store, ctx: Ctx, index: Index) -> None:
        self._store = store
        self._ctx = ctx
        self._index = index
        _, self._written = index.stats(ctx.workspace, (), ctx.session)
        """How far the log is indexed."""
        self._mark = self._written
        """How far it has been read; ``_flush`` writes what lies between."""
        self._batch: list[Analysed] = []
        self._gone: list[str] = []
        """References of entries to remove."""
        self._notes: set[str] = set()
        """Notes that changed."""
        self._files: dict[str, tuple[str, ...]] = {}
        """By call, the files that it asked for: a result is about them."""
        self._asked: dict[str, str] = {}
        """By call, what was asked for: a result is also found by the words of its call."""
        self._lookups: set[str] = set()
        """Calls of clew's own look-up tools."""
        self._imported = ImportedEvents()
        self._handlers: dict[str, Callable[[StoredEvent], None]] = {
            MESSAGE.name: self._message,
            COMPACTION.name: self._compaction,
            UNDO.name: self._undo,
            NOTE.name: self._note,
            TIER.name: self._tier,
        }

    def read(self, deadline: float) -> int:
        """Index the events after the last indexed one, until a deadline; return how many."""
        begun = self._written.seq
        if self._store.head(self._ctx).seq == begun:
            return 0
        self._imported = imported_events(self._store, self._ctx)
        if begun:
            for stored in self._store.read(self._ctx, max(0, begun - LOOK_BACK), begun, [MESSAGE.name]):
                self._remember_calls(stored)
        for stored in self._store.read(self._ctx, after=begun):
            self._mark = Mark(stored.seq, self._mark.messages)
            handle = self._handlers.get(stored.event.kind)
            if handle:
                handle(stored)
            if len(self._batch) >= AT_ONCE:
                self._flush()
            if monotonic() > deadline:
                break
        self._flush()
        return self._mark.seq - begun

    # One method per kind of event ------------------------------------------------------------------------

    def _message(self, stored: StoredEvent) -> None:
        self._mark = Mark(stored.seq, self._mark.messages + 1)
        message = self._remember_calls(stored)
        files = {name for result in message.results for name in self._files.get(result.call_id, ())}
        at = self._entry_at(f"m{self._mark.messages}", stored)
        cleaned = self._without_lookups(message)
        question = " ".join(self._asked.get(result.call_id, "") for result in cleaned.results)
        self._add_to_batch(
            stored, message_entries(at, cleaned, sorted(files)), cleaned, question[:MOST_ASKED]
        )

    def _remember_calls(self, stored: StoredEvent) -> Message:
        (message,) = MESSAGE.messages(MESSAGE.current(stored).event.body)
        for call in message.calls:
            self._files[call.call_id] = tuple(files_of(call))
            self._asked[call.call_id] = f"{call.name} {call.input_text[:MOST_ASKED]}"
            if call.name in RECALL_TOOLS:
                self._lookups.add(call.call_id)
        return message

    def _without_lookups(self, message: Message) -> Message:
        """Return a message without look-up calls and results: a search must not find earlier searches."""
        if not self._lookups:
            return message
        parts = tuple(
            part
            for part in message.parts
            if not isinstance(part, ToolCall | ToolResult) or part.call_id not in self._lookups
        )
        if parts == message.parts:
            return message
        cleaned = replace(message, parts=parts)
        announces = len(cleaned.text) <= ANNOUNCING and any(name in cleaned.text for name in RECALL_TOOLS)
        return replace(cleaned, parts=()) if announces and not any(cleaned.calls) else cleaned

    def _compaction(self, stored: StoredEvent) -> None:
        for digest in own_digests(stored):
            self._add_to_batch(stored, digest_entries(self._entry_at(digest.id, stored), digest))

    def _undo(self, stored: StoredEvent) -> None:
        since = undone_since(stored)
        if stored.seq in stale_undos(self._store.read(self._ctx, until=stored.seq, kinds=[UNDO.name])):
            return
        for undone in self._store.read(self._ctx, since - 1, stored.seq, [COMPACTION.name]):
            self._forget(digest_ids(undone))

    def _note(self, stored: StoredEvent) -> None:
        """Record that a note changed; its current state is looked up before writing."""
        body = stored.event.body
        match body.get("does"):
            case "add":
                self._notes.add(f"{str(body.get('scope'))[:1]}{stored.seq}")
            case "approve" | "reject" | "forget":
                self._notes.add(str(body.get("note")))

    def _tier(self, stored: StoredEvent) -> None:
        """Replace digests that were archived by the archive's digest, or restore them."""
        move = move_from_json(stored)
        if move.to is Tier.ARCHIVE and move.digest:
            self._forget(move.what)
            self._add_to_batch(stored, digest_entries(self._entry_at(move.into, stored), move.digest))
        elif move.origin is Tier.ARCHIVE and move.into:
            self._forget([move.into])
            for past in self._store.read(self._ctx, 0, stored.seq, [COMPACTION.name]):
                if not set(move.what).isdisjoint(digest_ids(past)):
                    self._compaction(past)

    # Writing ---------------------------------------------------------------------------------------------

    def _entry_at(self, ref: str, stored: StoredEvent) -> Entry:
        return empty_entry(ref, self._ctx.session, said_at(stored), stored.seq)

    def _add_to_batch(
        self, stored: StoredEvent, entries: Iterable[Entry], message: Message | None = None, context: str = ""
    ) -> None:
        """Add the entries of an event to the batch; imported text is at most semi-trusted."""
        most = Trust.SEMI_TRUSTED if stored.seq in self._imported else Trust.SYSTEM
        unescaped = UnescapedText(message) if message and any(message.calls) else None
        for entry in entries:
            decoded = unescaped.between(entry.start, entry.start + len(entry.text)) if unescaped else ""
            self._batch.append(analyse(entry._replace(trust=min(entry.trust, most)), decoded, context))

    def _forget(self, refs: Iterable[str]) -> None:
        removed_ids = set(refs)
        self._gone += removed_ids
        self._batch = [
            analysed for analysed in self._batch if analysed.entry.ref.partition(".")[0] not in removed_ids
        ]

    def _flush(self) -> None:
        self._refresh_notes()
        if self._gone:
            self._index.forget(self._ctx.workspace, self._ctx.session, self._gone)
        if self._mark != self._written:
            marks = {self._ctx.session: self._mark}
            self._index.add(self._ctx.workspace, self._batch, marks)
        self._batch, self._gone, self._written = [], [], self._mark

    def _refresh_notes(self) -> None:
        """Index the notes that apply and remove those that do not; only approved notes can be found."""
        if not self._notes:
            return
        events = map(NOTE.current, self._store.read(self._ctx, 0, self._mark.seq, [NOTE.name]))
        for note in fold_notes(trusted_events(self._store, self._ctx, events)):
            if note.id not in self._notes and note.replaced_by not in self._notes:
                continue
            self._forget([note.id])
            if note.status is NoteStatus.APPROVED:
                at = empty_entry(note.id, self._ctx.session, note.created, 0)
                self._batch.append(analyse(note_entry(at, note)))
        self._notes = set()
