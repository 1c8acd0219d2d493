"""Keep facts for later sessions of a project, as notes tagged with the project's folder."""

from __future__ import annotations

import hashlib

from clew.hosts.current import CurrentSession
from clew.log.store import SqliteStore
from clew.memory.notes.note import Author, Category, Draft, Scope, Source, Status
from clew.memory.notes.notebook import Notebook
from clew.memory.notes.rules import key_of
from clew.message import Trust
from clew.settings import store_path

MOST_NOTES = 20


def remember(text: str, session: CurrentSession) -> str:
    """Keep a note that the user approved."""
    draft = Draft(
        key=key_of(text),
        text=text,
        category=Category.PROJECT_CONVENTION,
        scope=Scope.WORKSPACE,
        tags=(_tag(session.directory),),
        trust=Trust.ASSISTANT,
        source=Source(Author.AGENT, f"{session.format}:{session.session}"),
    )
    path = store_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with SqliteStore(path) as store:
        notebook = Notebook(store)
        note = notebook.approve(notebook.add(draft).id)
        return f"{note.id} is kept: `clew notes list` shows it, `clew notes forget {note.id}` removes it."


def _tag(directory: str) -> str:
    """Return a short name of a project, since a tag holds at most 40 characters."""
    name = directory.rstrip("/").rpartition("/")[2]
    return f"{name[:24]}-{hashlib.sha256(directory.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def notes_of(directory: str) -> list[str]:
    """Return the notes of a project, newest first."""
    path = store_path()
    if not path.exists():
        return []
    with SqliteStore(path) as store:
        notebook = Notebook(store)
        held = [
            one for one in notebook.notes() if one.status is Status.APPROVED and _tag(directory) in one.tags
        ]
        return [one.text for one in reversed(held) if not one.expired(notebook.now)][:MOST_NOTES]
