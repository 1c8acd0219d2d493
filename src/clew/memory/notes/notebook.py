"""``Notebook``: the notes that apply to a session (its own, its workspace's, global), folded from events.

Notes of a session are events of its own log. The others are events of a separate session, so that any store
can hold them, and exporting, auditing or undoing one log never touches the other.

``{"does": "add", "key": "tests", "text": …}`` as event 3 of a workspace's notes is the note ``w3``;
``{"does": "approve", "note": "w3", …}`` approves it. A newer note in the same slot (key, scope, category)
retires the older one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from clew.errors import InputError, NotFound, StoreDamaged
from clew.log import iso_time
from clew.log.fold import NOTE, Clock, Fold, Journal, unix_ms
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
    Ruling,
    plain_key,
    require_change,
    require_keepable,
    require_room,
    ruling,
    untrusted_source,
)
from clew.memory.notes.select import Conflict, Selection, active_notes
from clew.message import Item, JsonObject, Trust
from clew.message.codec import TRUST_BY_LABEL
from clew.secrets import mask

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


DAY_MS = 24 * 60 * 60 * 1_000
NOTES_SESSION = "clew:notes"
"""The session that holds the notes of a workspace."""
ADVICE = "run `clew notes list --all` to see all notes"


class Notebook:
    """Reads and changes notes. Not thread-safe."""

    def __init__(
        self,
        store: Store,
        workspace: str = "local",
        session: str | None = None,
        *,
        everywhere: str | None = None,
        clock: Clock = unix_ms,
    ) -> None:
        """Open the notes of a workspace and, if named, of a session.

        ``everywhere`` names the workspace that holds the global notes; without it each workspace has its own,
        so that no tenant sees another's.
        """
        self.store = store
        self.workspace = workspace
        self.session = session
        self._clock = clock
        ctxs = {
            NoteScope.GLOBAL: Ctx(workspace=everywhere or workspace, session=NOTES_SESSION),
            NoteScope.WORKSPACE: Ctx(workspace=workspace, session=NOTES_SESSION),
        }
        if session is not None:
            ctxs[NoteScope.SESSION] = Ctx(workspace=workspace, session=session)
        journals = {
            ctx: Journal(store, ctx, NOTE, _folding(store, ctx), NO_NOTES, clock)
            for ctx in dict.fromkeys(ctxs.values())
        }
        self._journals: dict[NoteScope, Journal[Notes]] = {
            scope: journals[ctx] for scope, ctx in ctxs.items()
        }

    # Reading ---------------------------------------------------------------------------------------------

    @property
    def now(self) -> str:
        """Return the time in the format of notes."""
        return iso_time(self._clock())

    def in_days(self, days: int) -> str:
        """Return the time this many days from now, for a note that expires."""
        try:
            return iso_time(self._clock() + days * DAY_MS)
        except OverflowError as cause:
            raise InputError(f"{days} days from now is after our calendar") from cause

    def notes(self) -> list[Note]:
        """Return every note, whatever its status: global, workspace, session."""
        journals = self._journals.items()
        return [note for scope, journal in journals for note in journal.state if note.scope is scope]

    def get(self, id_: str) -> Note:
        """Return the note with an id."""
        for scope, journal in self._journals.items():
            note = journal.state.by_id.get(id_) if id_.startswith(scope.value[0]) else None
            if note is not None:
                return note
        raise NotFound(f"there is no note {id_!r}", ADVICE)

    def find(self, wanted: str) -> Note:
        """Return the note with an id, or the approved or pending one with a key."""
        if any(wanted == note.id for note in self.notes()):
            return self.get(wanted)
        live = [note for note in self.on_key(wanted) if note.status in LIVE]
        if len(live) == 1:
            return live[0]
        if live:
            name = ", ".join(f"{note.id} ({note.status})" for note in live)
            raise InputError(f"{len(live)} notes have the key {wanted!r}", f"name one of {name}")
        raise NotFound(f"there is no note {wanted!r}", ADVICE)

    def on_key(self, key: str) -> list[Note]:
        """Return all notes that ever had a key."""
        return [note for note in self.notes() if plain_key(note.key) == plain_key(key)]

    # Changing --------------------------------------------------------------------------------------------

    def add(self, draft: Draft, visible: Iterable[Item] = ()) -> Note:
        """Store a note: a person's is approved at once, an agent's needs approval.

        ``visible`` is what the agent was shown: a proposal derived from untrusted text in it is quarantined,
        with the reason. Raises ``InputError`` for an invalid note. Secrets in it are masked.
        """
        draft = _mask_draft(draft)
        begins = self.ruling(draft, visible)
        journal = self._journal(draft.scope)

        def decide(notes: Notes) -> JsonObject:
            require_room(notes, begins.status)
            return add_body(draft, begins)

        notes, seq = journal.append(decide)
        return notes.by_id[f"{draft.scope.value[0]}{seq}"]

    def ruling(self, draft: Draft, visible: Iterable[Item] = ()) -> Ruling:
        """Return the status that a note would start with, and why; nothing is stored."""
        draft = _mask_draft(draft)
        require_keepable(draft)
        texts = (draft.text, draft.key, *draft.tags)
        return ruling(draft, untrusted_source(texts, draft.source.messages, visible))

    def approve(self, id_: str, *, by: str = "person", trust: Trust = Trust.USER, why: str = "") -> Note:
        """Approve a pending or quarantined note."""
        return self._change("approve", id_, by, trust, why)

    def reject(self, id_: str, *, by: str = "person", trust: Trust = Trust.USER, why: str = "") -> Note:
        """Reject a pending note."""
        return self._change("reject", id_, by, trust, why)

    def forget(self, id_: str, *, by: str = "person", trust: Trust = Trust.USER, why: str = "") -> Note:
        """Retire a note for good. It stays in the log."""
        return self._change("forget", id_, by, trust, why)

    def shown(self, selection: Selection) -> None:
        """Record which notes a model was shown, and why each."""
        for scope, journal in self._journals.items():
            own = {note.id: selection.reasons[note.id] for note in selection.notes if note.scope is scope}
            if own:
                journal.append(partial(_always, show_body(own)))

    def _change(self, does: str, id_: str, by: str, trust: Trust, why: str) -> Note:
        journal = self._journal(self.get(id_).scope)

        def decide(notes: Notes) -> JsonObject:
            require_change(notes.by_id[id_], does, trust)
            return change_body(does, id_, by, mask(why).text)

        notes, _ = journal.append(decide)
        return notes.by_id[id_]

    def _journal(self, scope: NoteScope) -> Journal[Notes]:
        journal = self._journals.get(scope)
        if journal is None:
            raise InputError("a session note needs a session", "name the session, or use another scope")
        return journal


def _mask_draft(draft: Draft) -> Draft:
    tags = tuple(mask(tag).text for tag in draft.tags)
    return replace(draft, text=mask(draft.text).text, key=mask(draft.key).text, tags=tags)


def _folding(store: Store, ctx: Ctx) -> Fold[Notes]:
    return lambda events, notes: fold_notes(trusted_events(store, ctx, events), notes)


def _always(body: JsonObject, _notes: Notes) -> JsonObject:
    return body


def conflicts_of(notebook: Notebook, note: Note) -> list[Conflict]:
    """Return the conflicts that a note is part of now."""
    notes = active_notes(notebook.notes(), notebook.now)
    return [conflict for conflict in notes.conflicts if any(other.id == note.id for other in conflict.notes)]
