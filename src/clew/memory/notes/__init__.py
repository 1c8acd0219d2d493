"""Notes: facts that a person approved for later sessions, stored as events. See README.md."""

from clew.log.fold import NOTE
from clew.memory.notes.log import NO_NOTES, Notes, fold_notes, note_to_json
from clew.memory.notes.note import (
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
from clew.memory.notes.notebook import NOTES_SESSION, Notebook
from clew.memory.notes.rules import UntrustedSource, untrusted_source
from clew.memory.notes.select import (
    CAP_TOKENS,
    ActiveNotes,
    Conflict,
    Selection,
    Situation,
    active_notes,
    render_notes,
    select,
    situation_of,
)

__all__ = [
    "CAP_TOKENS",
    "NOTE",
    "NOTES_SESSION",
    "NO_NOTES",
    "ActiveNotes",
    "Author",
    "Category",
    "Conflict",
    "Draft",
    "Note",
    "NoteChange",
    "NoteScope",
    "NoteSource",
    "NoteStatus",
    "Notebook",
    "Notes",
    "Priority",
    "Selection",
    "Situation",
    "UntrustedSource",
    "active_notes",
    "fold_notes",
    "note_to_json",
    "render_notes",
    "select",
    "situation_of",
    "untrusted_source",
]
