"""Notes: facts that a person approved for later sessions, stored as events. See README.md."""

from clew.log.fold import NOTE
from clew.memory.notes.events import note_to_json
from clew.memory.notes.fold import NO_NOTES, Notes, fold_notes
from clew.memory.notes.note import Author, Category, Change, Draft, Note, Priority, Scope, Source, Status
from clew.memory.notes.notebook import NOTES_SESSION, Notebook
from clew.memory.notes.origin import Stem, stem_of
from clew.memory.notes.render import render_notes
from clew.memory.notes.select import CAP_TOKENS, Selection, Situation, select, situation_of
from clew.memory.notes.standing import Conflict, Standing, standing

__all__ = [
    "CAP_TOKENS",
    "NOTE",
    "NOTES_SESSION",
    "NO_NOTES",
    "Author",
    "Category",
    "Change",
    "Conflict",
    "Draft",
    "Note",
    "Notebook",
    "Notes",
    "Priority",
    "Scope",
    "Selection",
    "Situation",
    "Source",
    "Standing",
    "Status",
    "Stem",
    "fold_notes",
    "note_to_json",
    "render_notes",
    "select",
    "situation_of",
    "standing",
    "stem_of",
]
