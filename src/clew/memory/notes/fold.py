"""Fold note events into the current notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

from clew.errors import StoreDamaged
from clew.log.protocol import Ctx, Store, StoredEvent
from clew.log.transfer import imported_events
from clew.memory.notes.events import as_strangers, change_from, note_from
from clew.memory.notes.note import LIVE, Category, Change, Note, Scope, Status

Slot: TypeAlias = tuple[Status, tuple[str, Scope, Category]]


@dataclass(frozen=True, slots=True)
class Notes:
    """Every note of a log, whatever its status, by id."""

    by_id: Mapping[str, Note] = field(default_factory=lambda: MappingProxyType({}))

    def __iter__(self) -> Iterator[Note]:
        return iter(self.by_id.values())

    def __len__(self) -> int:
        return len(self.by_id)


NO_NOTES = Notes()

_ENTERS = {"approve": Status.APPROVED, "reject": Status.FORGOTTEN, "forget": Status.FORGOTTEN}


def fold_notes(events: Iterable[StoredEvent], notes: Notes = NO_NOTES) -> Notes:
    """Replay events into notes, starting from earlier ones, which are not changed."""
    desk = _Desk(dict(notes.by_id))
    for stored in events:
        desk.take(stored)
    return Notes(MappingProxyType(desk.held))


def vouched(store: Store, ctx: Ctx, events: Iterable[StoredEvent]) -> Iterator[StoredEvent]:
    """Yield a session's note events with imported ones restricted: an imported file cannot approve a note."""
    strangers = None
    for stored in events:
        if strangers is None:
            strangers = imported_events(store, ctx)
        counts = as_strangers(stored) if stored.seq in strangers else stored
        if counts is not None:
            yield counts


class _Desk:
    """The mutable state during a replay, with the note in each slot."""

    def __init__(self, held: dict[str, Note]) -> None:
        self.held = held
        self.slots: dict[Slot, str] = {
            (note.status, note.slot): note.id for note in held.values() if note.status in LIVE
        }

    def take(self, stored: StoredEvent) -> None:
        """Apply an event."""
        body = stored.event.body
        does = body.get("does")
        if does == "add":
            self._enter(note_from(stored), stored)
        elif does == "show":
            self._show(stored)
        elif does in _ENTERS:
            note = self._named(body.get("note"), stored)
            change = change_from(stored)
            self._leave(note)
            self._enter(
                replace(note, status=_ENTERS[change.does], why=change.why, history=(*note.history, change)),
                stored,
            )
        else:
            raise StoreDamaged(f"unknown action on a note: {does!r}")

    def _enter(self, note: Note, stored: StoredEvent) -> None:
        """Put a note in its slot; an older note there is retired, and both refer to each other."""
        slot = (note.status, note.slot)
        old = self.held.get(self.slots.get(slot, ""))
        if old is not None and note.status in LIVE:
            why = f"replaced by {note.id}"
            change = Change(stored.seq, stored.event.time, "retire", note.id, why)
            history = (*old.history, change)
            self.held[old.id] = replace(
                old, status=Status.RETIRED, why=why, replaced_by=note.id, history=history
            )
            note = replace(note, replaces=(*note.replaces, old.id))
        self.held[note.id] = note
        if note.status in LIVE:
            self.slots[slot] = note.id

    def _leave(self, note: Note) -> None:
        slot = (note.status, note.slot)
        if self.slots.get(slot) == note.id:
            del self.slots[slot]

    def _show(self, stored: StoredEvent) -> None:
        listed = stored.event.body.get("notes")
        for name in listed if isinstance(listed, dict) else ():
            note = self._named(name, stored)
            self.held[name] = replace(note, used=stored.event.time, uses=note.uses + 1)

    def _named(self, name: object, stored: StoredEvent) -> Note:
        note = self.held.get(name) if isinstance(name, str) else None
        if note is None:
            raise StoreDamaged(f"event {stored.seq} refers to an unknown note {name!r}")
        return note
