"""Read a host's session file in bounded time: whole if it is small, else the user's messages and the end.

A hook runs while its host waits. A file of ordinary size is read whole. Of a larger one, every line that may
hold a message of the user (which may state a rule) and the last megabytes (the current work) are read; other
lines are skipped without parsing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clew.errors import InputError
from clew.ledger.ledger import Ledger
from clew.message import Item
from clew.transcripts.formats import FORMATS, detect
from clew.transcripts.records import Entry, Start
from clew.transcripts.source import Source, open_source
from clew.transcripts.transcript import Transcript, collect

WHOLE_BYTES = 6 << 20
"""Files up to this size are read whole: about 0.05 s of CPU per MiB."""
TAIL_BYTES = 2 << 20
MOST_USER_BYTES = 2 << 20
"""Limit on the user's lines before the tail; the newest are kept if there are more."""
_USER = (b'"type":"user"', b'"role":"user"', b'"user_message"', b'"queue-operation"')
_RESULT = b'"tool_result"'
_ASIDES = (b"the user said", b"answered your question")
"""User text inside a tool result: a refusal with a reason, an answer to the model's question."""
_CALL_LINES = 5
"""A tool call that the user answered is at most this many lines before its result."""
_HEAD_LINES = 8
"""The first lines, which hold the session's id and metadata, are always read."""


@dataclass(frozen=True, slots=True)
class HostSession:
    """A session of a host, whole or in part."""

    transcript: Transcript
    entries: tuple[Entry, ...]
    """The conversation, oldest first."""
    whole: bool
    """False if parts of a large file were skipped."""

    @property
    def items(self) -> list[Item]:
        """Return the messages with the ids that ``clew`` gives them: ``m12``, or ``L345`` by line."""
        if self.whole:
            return [Item(f"m{place}", entry.message) for place, entry in enumerate(self.entries, start=1)]
        return [Item(f"L{entry.line}", entry.message) for entry in self.entries]

    def ledger(self) -> Ledger:
        """Return the session's ledger, without exact values, which are costly to extract."""
        ledger = Ledger(exact_values=False)
        ledger.extend(self.items)
        return ledger


def read_session(
    path: Path, format_name: str | None = None, session_id: str | None = None, whole_bytes: int | None = None
) -> HostSession:
    """Read the session of a file; ``session_id`` chooses one of a database that holds several.

    Files of at most ``whole_bytes`` are read whole: by default what a hook has time for.
    """
    most = WHOLE_BYTES if whole_bytes is None else whole_bytes
    whole = path.is_dir() or path.suffix != ".jsonl" or path.stat().st_size <= most
    return _read(open_source(path) if whole else _excerpt(path), format_name, session_id, whole=whole)


def session_of(data: bytes, format_name: str) -> HostSession:
    """Read a session that a host passed in its event."""
    return _read(Source("what the host sent", lambda: iter((data,))), format_name, None, whole=True)


def _read(source: Source, format_name: str | None, session_id: str | None, *, whole: bool) -> HostSession:
    kind = FORMATS[format_name] if format_name else detect(source)
    found = list(collect(kind.read(source), Start(source.name, kind.name)))
    transcript = next((one for one in found if one.id == session_id), found[-1] if found else None)
    if transcript is None:
        raise InputError(f"{source.name} holds no session")
    return HostSession(transcript, tuple(transcript.full_entries()), whole)


def _excerpt(path: Path) -> Source:
    """Return the file with skipped lines left empty, so that line numbers stay the same."""

    def lines() -> Iterator[bytes]:
        tail = path.stat().st_size - TAIL_BYTES
        with path.open("rb") as file:
            kept = _kept_lines(file, tail)
            file.seek(0)
            place = 0
            for number, line in enumerate(file):
                yield line if place >= tail or number in kept else b"\n"
                place += len(line)

    return Source(str(path), lines, path)


def _kept_lines(file: Iterator[bytes], tail: int) -> set[int]:
    """Return the numbers of the lines before the tail that may hold a message of the user."""
    kept: dict[int, int] = {}
    before: list[tuple[int, int]] = []
    place = 0
    for number, line in enumerate(file):
        if place >= tail:
            break
        place += len(line)
        if number < _HEAD_LINES or any(mark in line for mark in (_ASIDES if _RESULT in line else _USER)):
            kept[number] = len(line)
            if _RESULT in line:  # a result is only readable together with its call
                kept.update(before)
        before = [*before[-_CALL_LINES:], (number, len(line))]
    room = MOST_USER_BYTES
    newest: set[int] = set()
    for number in sorted(kept, reverse=True):
        room -= kept[number]
        if room < 0:
            break
        newest.add(number)
    return newest
