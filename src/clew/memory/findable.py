"""Convert messages, outputs, lines of digests and notes to index entries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from clew.compaction.plan import Digest
from clew.log import iso_time
from clew.log.protocol import StoredEvent
from clew.memory.index.protocol import Entry, EntryKind
from clew.memory.notes.note import Note
from clew.message import Json, Message, ToolCall, Trust, lowest, words

PIECE = 800
"""Most characters of one entry. A longer text is split, so that a hit is short enough to show whole.

Fitted with ``bench/retrieval_shown.py``.
"""
OVERLAP = 160
"""Most characters that two pieces share, so that a line is found with its context."""
LARGE = 400_000
"""Characters above which pieces are larger: a 50 MB log would have 70,000 small ones."""
LARGE_PIECE = 8_000
ARTIFACT = 4_000
"""Characters from which a tool's output is an artifact: shown in part, opened in ranges."""
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
        trust=trust_of(message),
        text=text,
        files=tuple(sorted(own.union(files))),
    )
    yield from passages(entry)


def text_of(message: Message) -> str:
    """Return the whole text of a message; positions in characters and lines refer to it."""
    return "\n".join(said for part in message.parts if (said := words(part)))


class Unescaped:
    """A message with the JSON escapes in the arguments of its calls decoded."""

    def __init__(self, message: Message) -> None:
        self._parts = [(said, isinstance(part, ToolCall)) for part in message.parts if (said := words(part))]

    def between(self, start: int, end: int) -> str:
        """Return the text between two positions of the message's text."""
        pieces, at = [], 0
        for said, is_call in self._parts:
            if at < end and start < at + len(said):
                piece = said[max(0, start - at) : end - at]
                pieces.append(_ESCAPES.sub(_characters, piece) if is_call else piece)
            at += len(said) + 1
        return "\n".join(pieces)


def _characters(escapes: re.Match[str]) -> str:
    return str(json.loads(f'"{escapes[0]}"'))


def trust_of(message: Message) -> Trust:
    """Return the lowest trust of a message's parts."""
    return lowest(part.trust for part in message.parts)


def files_of(call: ToolCall) -> Iterator[str]:
    """Yield the names of the files that a call asks for."""
    for key, value in (call.input or {}).items():
        if key in _FILE_KEYS and _is_name(value):
            yield str(value)


def _is_name(value: Json) -> bool:
    return isinstance(value, str) and 0 < len(value) < 1_000 and "\n" not in value


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
            known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            with suppress(OverflowError, ValueError):  # a year that no calendar has in UTC
                return iso_time(int(known.timestamp() * 1000))
    return stored.event.time


def blank(ref: str, session: str, time: str, seq: int) -> Entry:
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
