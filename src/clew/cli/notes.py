"""``clew notes``: manage notes that outlive a session."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from clew.cli.inputs import WORKSPACE, existing_name, own_store, the_store
from clew.cli.terminal import Terminal
from clew.cli.text import count, printable
from clew.errors import NotFound
from clew.log.protocol import Store
from clew.log.store import MemoryStore
from clew.memory.notes import (
    Category,
    Draft,
    Note,
    Notebook,
    NoteChange,
    NoteScope,
    NoteStatus,
    Priority,
    note_to_json,
)
from clew.memory.notes.note import LIVE, WAITING, key_of
from clew.memory.notes.notebook import conflicts_of
from clew.memory.notes.select import active_notes
from clew.message import Json, Trust
from clew.message.text import one_line

# A user who can write clew's own log is its operator, and may set policy as well.
OPERATOR = Trust.DEVELOPER
_PAST = {
    "approve": "approved",
    "reject": "rejected",
    "forget": "forgotten",
    "add": "added",
    "retire": "retired",
}


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Run the subcommand and print the result."""
    if args.action == "add":
        with the_store() as store:
            _print_change(args, term, notebook := _notebook(store, args), _add(notebook, args))
        return 0
    with own_store() as store:
        notebook = _notebook(store or MemoryStore(), args)
        match args.action:
            case "list":
                _list(args, term, notebook)
            case "history":
                _history(args, term, notebook)
            case "show":
                _show(args, term, notebook.find(args.note))
            case action:
                does = {"approve": notebook.approve, "reject": notebook.reject, "forget": notebook.forget}
                note = does[action](notebook.find(args.note).id, trust=OPERATOR, why=args.why)
                _print_change(args, term, notebook, note)
    return 0


def _notebook(store: Store, args: argparse.Namespace) -> Notebook:
    return Notebook(store, WORKSPACE, existing_name(store, args.session) if args.session else None)


def _add(notebook: Notebook, args: argparse.Namespace) -> Note:
    category = Category(args.category)
    draft = Draft(
        key=args.key or key_of(args.text),
        text=args.text,
        category=category,
        scope=NoteScope(args.scope or (NoteScope.SESSION if args.session else NoteScope.WORKSPACE)),
        tags=tuple(dict.fromkeys(args.tag)),
        priority=Priority[args.priority.upper()],
        trust=OPERATOR if category is Category.ORGANIZATION_POLICY else Trust.USER,
        expires=notebook.in_days(args.days) if args.days else None,
    )
    return notebook.add(draft)


# Output ---------------------------------------------------------------------------------------------


def _print_change(args: argparse.Namespace, term: Terminal, notebook: Notebook, note: Note) -> None:
    if args.json:
        term.write_json(note_to_json(note))
        return
    took_over = note.replaces if note.status is NoteStatus.APPROVED else ()
    instead = f", replacing {', '.join(took_over)}" if took_over else ""
    term.say(printable(f"{note.id} is {note.status}{instead}: {_words(note)}"))
    for conflict in conflicts_of(notebook, note):
        term.note(printable(f"⚠ {conflict}"))


def _list(args: argparse.Namespace, term: Terminal, notebook: Notebook) -> None:
    notes = [note for note in notebook.notes() if args.all or note.status in LIVE]
    active = active_notes(notes, notebook.now)
    if args.json:
        conflicts: list[Json] = [str(conflict) for conflict in active.conflicts]
        listed: list[Json] = [note_to_json(note) for note in notes]
        term.write_json({"notes": listed, "conflicts": conflicts})
        return
    if not notes:
        term.say('No notes. `clew notes add "…"` adds one.')
    reasons = {note.id: why for note, why in active.out}
    for note in sorted(
        notes, key=lambda note: (list(NoteStatus).index(note.status), note.category, note.created)
    ):
        term.say(printable(_row(note, reasons.get(note.id, ""))))
    for conflict in active.conflicts:
        term.note(printable(f"⚠ {conflict}"))
    waiting = sum(note.status in WAITING for note in notes)
    if waiting:
        term.note(f"{count(waiting, 'note')} to review: `clew notes approve ID` or `clew notes reject ID`")


def _row(note: Note, why_out: str) -> str:
    lines = [f"{note.id:<5} {note.status:<11} {note.category.label:<19} {_words(note)}"]
    why = why_out or (note.why if note.status not in LIVE else "")
    return "\n".join([*lines, f"{'':<6}{why}"] if why else lines)


def _words(note: Note) -> str:
    text = note.text if note.text.startswith(note.key) else f"{note.key}: {note.text}"
    return one_line(text)


def _show(args: argparse.Namespace, term: Terminal, note: Note) -> None:
    if args.json:
        term.write_json(note_to_json(note))
        return
    for name, value in _facts(note):
        if value:
            term.say(printable(f"{name:<11} {value}"))
    term.say("")
    _write_changes(term, [(note, change) for change in note.history])


def _facts(note: Note) -> Iterator[tuple[str, str]]:
    source = ", ".join(filter(None, [note.source.author, note.source.session, *note.source.messages]))
    yield "note", note.id
    yield "key", note.key
    yield "text", note.text.replace("\n", f"\n{'':<12}")
    yield "status", f"{note.status}: {note.why}" if note.why else note.status
    yield "category", note.category.label
    yield "scope", note.scope
    yield "tags", ", ".join(note.tags)
    yield "priority", note.priority.name.lower()
    yield "trust", note.trust.label
    yield "source", source
    yield "created", note.created
    yield "expires", note.expires or ""
    yield "used", f"{count(note.uses, 'time')}, last {note.used}" if note.used else ""
    yield "replaces", ", ".join(note.replaces)
    yield "replaced by", note.replaced_by


def _history(args: argparse.Namespace, term: Terminal, notebook: Notebook) -> None:
    known_notes = [note for note in notebook.notes() if note.id == args.note]
    notes = notebook.on_key(known_notes[0].key if known_notes else args.note)
    if not notes:
        raise NotFound(f"no note {args.note!r}", "`clew notes list --all` lists all of them")
    if args.json:
        term.write_json([note_to_json(note) for note in notes])
        return
    for note in notes:
        term.say(printable(f"{note.id} {_words(note)}"))
    term.say("")
    changes = [(note, change) for note in notes for change in note.history]
    changes.sort(key=lambda pair: (pair[1].time, pair[1].seq, pair[1].does == "retire"))
    _write_changes(term, changes)


def _write_changes(term: Terminal, changes: Sequence[tuple[Note, NoteChange]]) -> None:
    for note, change in changes:
        why = f": {change.why}" if change.why else ""
        by = f" by {change.by}" if change.by else ""
        when = change.time[:19].replace("T", " ")
        term.say(printable(f"{when}  {note.id:<5} {_PAST[change.does]}{by}{why}"))
