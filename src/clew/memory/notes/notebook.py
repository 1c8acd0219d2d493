"""``Notebook``: the notes that apply to a session: its own, its workspace's and the global ones.

Notes of a session are events of its own log. The others are events of a separate session, so that any store
can hold them, and exporting, auditing or undoing one log never touches the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from clew.errors import InputError, NotFound
from clew.log import iso_time
from clew.log.fold import NOTE
from clew.log.journal import Clock, Fold, Journal, unix_ms
from clew.log.protocol import Ctx, Store
from clew.memory.notes.log import (
    NO_NOTES,
    Notes,
    add_body,
    change_body,
    fold_notes,
    show_body,
    trusted_events,
)
from clew.memory.notes.note import LIVE, Draft, Note, NoteScope, plain_key
from clew.memory.notes.rules import (
    Ruling,
    require_change,
    require_keepable,
    require_room,
    ruling,
    untrusted_source,
)
from clew.memory.notes.select import Conflict, Selection, active_notes
from clew.message import Item, JsonObject, Trust
from clew.secrets import mask

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
