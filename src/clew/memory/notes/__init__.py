"""Notes: facts that a person approved for later sessions, stored as events. See README.md.

``Notebook(store).add(Draft(key="tests", text="Run them with -n0."))`` is a person's note, approved at once;
an agent's proposal waits for approval.
"""

from clew.log.fold import NOTE
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
from clew.memory.notes.notebook import NO_NOTES, NOTES_SESSION, Notebook, fold_notes, note_to_json
from clew.memory.notes.select import CAP_TOKENS, Situation, active_notes, render_notes, select

__all__ = [
    "CAP_TOKENS",
    "NOTE",
    "NOTES_SESSION",
    "NO_NOTES",
    "Author",
    "Category",
    "Draft",
    "Note",
    "NoteChange",
    "NoteScope",
    "NoteSource",
    "NoteStatus",
    "Notebook",
    "Priority",
    "Situation",
    "active_notes",
    "fold_notes",
    "note_to_json",
    "render_notes",
    "select",
]
