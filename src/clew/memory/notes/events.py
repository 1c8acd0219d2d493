"""Encode changes of notes as event bodies, and decode them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clew.errors import StoreDamaged
from clew.log.protocol import StoredEvent
from clew.memory.notes.note import Author, Category, Change, Draft, Note, Priority, Scope, Source, Status
from clew.memory.notes.rules import Ruling
from clew.message import JsonObject, Trust

STRANGERS = "it came with an imported file"


def added(draft: Draft, begins: Ruling) -> JsonObject:
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


def changed(does: str, note: str, by: str, why: str) -> JsonObject:
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
        scope = Scope(body["scope"])
        return Note(
            id=f"{scope.value[0]}{stored.seq}",
            key=body["key"],
            text=body["text"],
            category=Category(body["category"]),
            scope=scope,
            tags=tuple(body["tags"]),
            priority=Priority[body["priority"].upper()],
            trust=_TRUSTS[body["trust"]],
            source=Source(Author(body["author"]), body["session"], tuple(body["messages"])),
            expires=body["expires"],
            status=Status(body["status"]),
            why=body["why"],
            created=stored.event.time,
            history=(change_from(stored, body["author"]),),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as cause:
        raise StoreDamaged(f"event {stored.seq} is not a valid note event ({cause!r})") from cause


def as_strangers(stored: StoredEvent) -> StoredEvent | None:
    """Return an imported event with a new note put in quarantine; None for a person's decision."""
    body = stored.event.body
    if body.get("does") != "add":
        return stored if body.get("does") == "show" else None
    trust = min(_TRUSTS.get(str(body.get("trust")), Trust.UNTRUSTED), Trust.SEMI_TRUSTED)
    held = {**body, "status": Status.QUARANTINED.value, "why": STRANGERS, "trust": trust.label}
    return replace(stored, event=replace(stored.event, body=held))


def change_from(stored: StoredEvent, by: str | None = None) -> Change:
    """Return what an event did to a note."""
    body = stored.event.body
    author = str(body.get("by", "")) if by is None else by
    return Change(stored.seq, stored.event.time, str(body["does"]), author, str(body.get("why", "")))


def note_to_json(note: Note) -> JsonObject:
    """Return a note as JSON for other programs."""
    return {
        "id": note.id,
        **{
            name: value
            for name, value in added(note, Ruling(note.status, note.why)).items()
            if name != "does"
        },
        "created": note.created,
        "used": note.used,
        "uses": note.uses,
        "replaces": list(note.replaces),
        "replaced_by": note.replaced_by or None,
        "history": [
            {"event": one.seq, "time": one.time, "does": one.does, "by": one.by, "why": one.why}
            for one in note.history
        ],
    }
