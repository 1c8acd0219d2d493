"""Standard pieces of a request: the clauses of the system prompt, and recalled notes and passages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from clew.memory.notes.select import note_line, render_notes
from clew.memory.selection import Injection, render_passages
from clew.message import Trust, lowest
from clew.request.sections import CONTRACT, MEMORY, RETRIEVED, Piece

NAMES = ("compaction", "uncertainty", "citing", "memory", "data")
"""In the order in which they appear in the prompt."""
DATA_SOURCE = "clause data"
"""The source name of the clause that explains fences."""


@cache
def clause(name: str) -> str:
    """Return the text of a clause."""
    return (Path(__file__).with_name("clauses") / f"{name}.md").read_text(encoding="utf-8").strip()


def clauses_for(*, compacted: bool, memory: bool, data: bool = False) -> list[Piece]:
    """Return the clauses that a session needs; a session that needs none sends what a plain client sends.

    ``compacted``: a digest is in the view. These clauses join the prompt with the first compaction, which
    invalidates the cache anyway. ``memory``: notes or memory tools are available, from the start. ``data``:
    fences may occur, from the start; implied by ``memory``.
    """
    wanted = {
        "compaction": compacted,
        "uncertainty": compacted or memory,
        "citing": compacted or memory,
        "memory": memory,
        "data": data or memory,
    }
    return [
        Piece(CONTRACT, clause(name), f"clause {name}", Trust.DEVELOPER, own=True)
        for name in NAMES
        if wanted[name]
    ]


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
