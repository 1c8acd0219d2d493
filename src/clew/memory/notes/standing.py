"""Determine which notes are active, and which conflict.

On one key, organization policy outranks project conventions, and those outrank preferences; within one
category the narrower scope wins. If neither decides, all stay active and the conflict is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clew.memory.notes.note import LIVE, Note, Scope, Status, plain_key
from clew.memory.notes.rules import AUTHORITY

_NARROWNESS = {scope: place for place, scope in enumerate(Scope)}


@dataclass(frozen=True, slots=True)
class Conflict:
    """Notes on one key of different categories."""

    key: str
    notes: tuple[Note, ...]
    stands: Note | None
    """The one that outranks the others; None if a person must decide."""

    def __str__(self) -> str:
        if self.stands is None:
            named = ", ".join(f"{note.id} ({note.category.label})" for note in self.notes)
            return f"{self.key}: {named} conflict, and none outranks the other"
        others = ", ".join(f"{note.id} ({note.category.label})" for note in self.notes if note != self.stands)
        return f"{self.key}: {self.stands.id} ({self.stands.category.label}) outranks {others}"


@dataclass(frozen=True, slots=True)
class Standing:
    """The active notes, and the others."""

    notes: tuple[Note, ...]
    out: tuple[tuple[Note, str], ...]
    """Notes that are not active but still of interest, and why."""
    conflicts: tuple[Conflict, ...]


def standing(notes: Iterable[Note], at: str) -> Standing:
    """Return which notes are active at a time."""
    held: list[Note] = []
    out: list[tuple[Note, str]] = []
    conflicts: list[Conflict] = []
    by_key: dict[str, list[Note]] = {}
    for note in notes:
        if why := _why_out(note, at):
            out.append((note, why))
        elif note.status is Status.APPROVED:
            by_key.setdefault(plain_key(note.key), []).append(note)
    for same in by_key.values():
        narrow = _narrowest(same, out)
        top = _highest(narrow)
        held += top
        if len(narrow) > 1:
            stands = top[0] if len(top) == 1 else None
            conflicts.append(Conflict(same[0].key, tuple(narrow), stands))
            out += [
                (note, f"{top[0].id}, {_article(top[0])}, outranks it") for note in narrow if note not in top
            ]
    return Standing(tuple(held), tuple(out), tuple(conflicts))


def _why_out(note: Note, at: str) -> str:
    if note.status is Status.PROPOSED:
        return "pending approval"
    if note.status is Status.QUARANTINED:
        return f"it is in quarantine: {note.why}"
    return f"it expired on {note.expires}" if note.status in LIVE and note.expired(at) else ""


def _narrowest(same: Sequence[Note], out: list[tuple[Note, str]]) -> list[Note]:
    """Return one note per category: the one with the narrowest scope."""
    chosen: dict[str, Note] = {}
    for note in sorted(same, key=lambda one: _NARROWNESS[one.scope]):
        wider = chosen.get(note.category)
        if wider is not None:
            out.append((wider, f"overridden by {note.id} for this {note.scope}"))
        chosen[note.category] = note
    return list(chosen.values())


def _highest(notes: Sequence[Note]) -> list[Note]:
    most = max(AUTHORITY.get(note.category, 0) for note in notes)
    return [note for note in notes if AUTHORITY.get(note.category, 0) == most]


def _article(note: Note) -> str:
    label = note.category.label
    return f"{'an' if label[0] in 'aeio' else 'a'} {label}"
