"""Note events: encode changes, fold them into the current notes, and append new ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

from clew.errors import HeadMoved, StoreBusy, StoreDamaged
from clew.log import new_event
from clew.log.fold import EventKind
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

IMPORTED = "it came with an imported file"


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


def shown(reasons: Mapping[str, str]) -> JsonObject:
    """Return the event body that records which notes a model was shown, and why."""
    return {"does": "show", "notes": dict(reasons)}


_TRUSTS = {trust.label: trust for trust in Trust}


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
            trust=_TRUSTS[body["trust"]],
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
    trust = min(_TRUSTS.get(str(body.get("trust")), Trust.UNTRUSTED), Trust.SEMI_TRUSTED)
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


Slot: TypeAlias = tuple[NoteStatus, tuple[str, NoteScope, Category]]


@dataclass(frozen=True, slots=True)
class Notes:
    """Every note of a log, whatever its status, by id."""

    by_id: Mapping[str, Note] = field(default_factory=lambda: MappingProxyType({}))

    def __iter__(self) -> Iterator[Note]:
        return iter(self.by_id.values())

    def __len__(self) -> int:
        return len(self.by_id)


NO_NOTES = Notes()

_ENTERS = {"approve": NoteStatus.APPROVED, "reject": NoteStatus.FORGOTTEN, "forget": NoteStatus.FORGOTTEN}


def fold_notes(events: Iterable[StoredEvent], notes: Notes = NO_NOTES) -> Notes:
    """Replay events into notes, starting from earlier ones, which are not changed."""
    fold = _NoteFold(dict(notes.by_id))
    for stored in events:
        fold.take(stored)
    return Notes(MappingProxyType(fold.held))


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
    """The mutable state during a replay, with the note in each slot."""

    def __init__(self, notes: dict[str, Note]) -> None:
        self.held = notes
        self.slots: dict[Slot, str] = {
            (note.status, note.slot): note.id for note in notes.values() if note.status in LIVE
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
            change = NoteChange(stored.seq, stored.event.time, "retire", note.id, why)
            history = (*old.history, change)
            self.held[old.id] = replace(
                old, status=NoteStatus.RETIRED, why=why, replaced_by=note.id, history=history
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


TRIES = 16
"""Attempts to append while other processes append to the same session."""

State = TypeVar("State")
Fold = Callable[[Iterable[StoredEvent], State], State]
Clock = Callable[[], int]


def unix_ms() -> int:
    """Return the current time in milliseconds."""
    return time.time_ns() // 1_000_000


class Journal(Generic[State]):
    """Keeps a state up to date with its log. Several processes may write to the same log."""

    def __init__(
        self, store: Store, ctx: Ctx, kind: EventKind, fold: Fold[State], empty: State, clock: Clock = unix_ms
    ) -> None:
        self._store = store
        self._ctx = ctx
        self._kind = kind
        self._fold = fold
        self._state = empty
        self._read = 0
        self._clock = clock

    @property
    def state(self) -> State:
        """Return the current state, including what other processes appended."""
        return self._catch_up(self._store.head(self._ctx).seq)

    def _catch_up(self, seq: int) -> State:
        if seq > self._read:
            events = self._store.read(self._ctx, self._read, seq, [self._kind.name])
            self._state = self._fold(map(self._kind.current, events), self._state)
            self._read = seq
        return self._state

    def append(self, decide: Callable[[State], JsonObject]) -> tuple[State, int]:
        """Append the event that ``decide`` makes of the state; return the new state and the event's number.

        If another process appends first, ``decide`` is called again with the updated state. If it raises, the
        log is not changed.
        """
        for _ in range(TRIES):
            head = self._store.head(self._ctx)
            body = decide(self._catch_up(head.seq))
            event = new_event(self._kind.name, body, self._kind.version, self._clock())
            with suppress(HeadMoved):
                seq = self._store.append(self._ctx, [event], head).seq
                return self._catch_up(seq), seq
        raise StoreBusy(f"other processes keep appending to {self._ctx.session!r}")
