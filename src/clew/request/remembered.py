"""Turn recalled notes and passages into pieces: trusted ones as they are, the others fenced."""

from __future__ import annotations

from collections.abc import Iterator

from clew.memory.injecting import Injection, render_passages
from clew.memory.notes.render import note_line, render_notes
from clew.message import Trust, lowest
from clew.request.piece import Piece
from clew.request.sections import MEMORY, RETRIEVED


def remembered(injection: Injection) -> list[Piece]:
    """Return notes and recalled passages as pieces; each one of low trust gets its own fence."""
    return [*_notes(injection), *_passages(injection)]


def _notes(injection: Injection) -> Iterator[Piece]:
    chosen = injection.notes.notes
    vouched = [note for note in chosen if note.trust > Trust.SEMI_TRUSTED]
    if vouched:
        names = ", ".join(note.id for note in vouched)
        text = render_notes(vouched, injection.notes.conflicts)
        yield Piece(MEMORY, text, names, lowest(note.trust for note in vouched), own=True)
    for note in chosen:
        if note.trust <= Trust.SEMI_TRUSTED:
            yield Piece(MEMORY, note_line(note), f"note {note.id}", note.trust)


def _passages(injection: Injection) -> Iterator[Piece]:
    vouched = [one for one in injection.passages if one.trust > Trust.SEMI_TRUSTED]
    if vouched:
        names = ", ".join(one.ref for one in vouched)
        yield Piece(
            RETRIEVED, render_passages(vouched), names, lowest(one.trust for one in vouched), own=True
        )
    for one in injection.passages:
        if one.trust <= Trust.SEMI_TRUSTED:
            yield Piece(RETRIEVED, one.text, f"{one.ref}, {one.role}, {one.time[:10]}", one.trust)
