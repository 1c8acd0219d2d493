"""Note events: encode changes, and fold them into the current notes.

``{"does": "add", "key": "tests", "text": …}`` as event 3 of a workspace's notes is the note ``w3``;
``{"does": "approve", "note": "w3", …}`` approves it. A newer note in the same slot (key, scope, category)
retires the older one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from clew.errors import StoreDamaged
from clew.log.protocol import Ctx, Store, StoredEvent
from clew.log.transfer import imported_events
from clew.memory.notes.note import (
    LIVE,
    Author,
    Category,
    Draft,
    Note,
    NoteChange,
    NoteScope,
    NoteSource,
    NoteStatus,
    Priority,
)
from clew.memory.notes.rules import Ruling
from clew.message import JsonObject, Trust
from clew.message.codec import TRUST_BY_LABEL

IMPORTED = "it came with an imported file"
"""Why an imported note is in quarantine."""


def add_body(draft: Draft, begins: Ruling) -> JsonObject:
    """Return the event body for a new note."""
    return {
        "does": "add",
        "key": draft.key,
        "text": draft.text,
        "category": draft.category.value,
        "scope": draft.scope.value,
        "tags": list(draft.tags),
        "priority": draft.priority.name.lower(),
        "trust": draft.trust.label,
        "author": draft.source.author.value,
        "session": draft.source.session,
        "messages": list(draft.source.messages),
        "expires": draft.expires,
        "status": begins.status.value,
        "why": begins.why,
    }


def change_body(does: str, note: str, by: str, why: str) -> JsonObject:
    """Return the event body for an approval, a rejection or a forget."""
    return {"does": does, "note": note, "by": by, "why": why}


def show_body(reasons: Mapping[str, str]) -> JsonObject:
    """Return the event body that records which notes a model was shown, and why."""
    return {"does": "show", "notes": dict(reasons)}


def note_from(stored: StoredEvent) -> Note:
    """Return the note that an event added."""
    body: dict[str, Any] = stored.event.body
    try:
        scope = NoteScope(body["scope"])
        return Note(
            id=f"{scope.value[0]}{stored.seq}",
            key=body["key"],
            text=body["text"],
            category=Category(body["category"]),
            scope=scope,
            tags=tuple(body["tags"]),
            priority=Priority[body["priority"].upper()],
            trust=TRUST_BY_LABEL[body["trust"]],
            source=NoteSource(Author(body["author"]), body["session"], tuple(body["messages"])),
            expires=body["expires"],
            status=NoteStatus(body["status"]),
            why=body["why"],
            created=stored.event.time,
            history=(change_from(stored, body["author"]),),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as cause:
        raise StoreDamaged(f"event {stored.seq} is not a valid note event ({cause!r})") from cause


def restrict_imported(stored: StoredEvent) -> StoredEvent | None:
    """Return an imported event with a new note put in quarantine; None for a person's decision."""
    body = stored.event.body
    if body.get("does") != "add":
        return stored if body.get("does") == "show" else None
    trust = min(TRUST_BY_LABEL.get(str(body.get("trust")), Trust.UNTRUSTED), Trust.SEMI_TRUSTED)
    data = {**body, "status": NoteStatus.QUARANTINED.value, "why": IMPORTED, "trust": trust.label}
    return replace(stored, event=replace(stored.event, body=data))


def change_from(stored: StoredEvent, by: str | None = None) -> NoteChange:
    """Return what an event did to a note."""
    body = stored.event.body
    author = str(body.get("by", "")) if by is None else by
    return NoteChange(stored.seq, stored.event.time, str(body["does"]), author, str(body.get("why", "")))


def note_to_json(note: Note) -> JsonObject:
    """Return a note as JSON for other programs."""
    return {
        "id": note.id,
        **{
            name: value
            for name, value in add_body(note, Ruling(note.status, note.why)).items()
            if name != "does"
        },
        "created": note.created,
        "used": note.used,
        "uses": note.uses,
        "replaces": list(note.replaces),
        "replaced_by": note.replaced_by or None,
        "history": [
            {
                "event": change.seq,
                "time": change.time,
                "does": change.does,
                "by": change.by,
                "why": change.why,
            }
            for change in note.history
        ],
    }


StatusSlot: TypeAlias = tuple[NoteStatus, tuple[str, NoteScope, Category]]
"""A status and the slot of a note (``Note.slot``); at most one live note has a given pair."""


@dataclass(frozen=True, slots=True)
class Notes:
    """Every note of a log, whatever its status, by id."""

    by_id: Mapping[str, Note] = field(default_factory=lambda: MappingProxyType({}))

    def __iter__(self) -> Iterator[Note]:
        return iter(self.by_id.values())

    def __len__(self) -> int:
        return len(self.by_id)


NO_NOTES = Notes()
"""The notes of an empty log."""

_STATUS_AFTER = {
    "approve": NoteStatus.APPROVED,
    "reject": NoteStatus.FORGOTTEN,
    "forget": NoteStatus.FORGOTTEN,
}
"""The status of a note after a person's decision."""


def fold_notes(events: Iterable[StoredEvent], notes: Notes = NO_NOTES) -> Notes:
    """Replay events into notes, starting from earlier ones, which are not changed."""
    fold = _NoteFold(dict(notes.by_id))
    for stored in events:
        fold.take(stored)
    return Notes(MappingProxyType(fold.notes))


def trusted_events(store: Store, ctx: Ctx, events: Iterable[StoredEvent]) -> Iterator[StoredEvent]:
    """Yield a session's note events with imported ones restricted: an imported file cannot approve a note."""
    imported = None
    for stored in events:
        if imported is None:
            imported = imported_events(store, ctx)
        counts = restrict_imported(stored) if stored.seq in imported else stored
        if counts is not None:
            yield counts


class _NoteFold:
    """The mutable state during a replay: the notes by id, and the live note in each slot."""

    def __init__(self, notes: dict[str, Note]) -> None:
        self.notes = notes
        self.id_by_slot: dict[StatusSlot, str] = {
            (note.status, note.slot): note.id for note in notes.values() if note.status in LIVE
        }

    def take(self, stored: StoredEvent) -> None:
        """Apply an event."""
        body = stored.event.body
        does = body.get("does")
        if does == "add":
            self._add(note_from(stored), stored)
        elif does == "show":
            self._show(stored)
        elif does in _STATUS_AFTER:
            note = self._named(body.get("note"), stored)
            change = change_from(stored)
            self._free_slot(note)
            status, history = _STATUS_AFTER[change.does], (*note.history, change)
            self._add(replace(note, status=status, why=change.why, history=history), stored)
        else:
            raise StoreDamaged(f"unknown action on a note: {does!r}")

    def _add(self, note: Note, stored: StoredEvent) -> None:
        """Put a note in its slot; an older note there is retired, and both refer to each other."""
        key = (note.status, note.slot)
        old = self.notes.get(self.id_by_slot.get(key, ""))
        if old is not None and note.status in LIVE:
            why = f"replaced by {note.id}"
            change = NoteChange(stored.seq, stored.event.time, "retire", note.id, why)
            history = (*old.history, change)
            self.notes[old.id] = replace(
                old, status=NoteStatus.RETIRED, why=why, replaced_by=note.id, history=history
            )
            note = replace(note, replaces=(*note.replaces, old.id))
        self.notes[note.id] = note
        if note.status in LIVE:
            self.id_by_slot[key] = note.id

    def _free_slot(self, note: Note) -> None:
        key = (note.status, note.slot)
        if self.id_by_slot.get(key) == note.id:
            del self.id_by_slot[key]

    def _show(self, stored: StoredEvent) -> None:
        listed = stored.event.body.get("notes")
        for name in listed if isinstance(listed, dict) else ():
            note = self._named(name, stored)
            self.notes[name] = replace(note, used=stored.event.time, uses=note.uses + 1)

    def _named(self, name: object, stored: StoredEvent) -> Note:
        note = self.notes.get(name) if isinstance(name, str) else None
        if note is None:
            raise StoreDamaged(f"event {stored.seq} refers to an unknown note {name!r}")
        return note
