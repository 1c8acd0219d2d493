"""Events and sessions as rows, and back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from typing import Any

from clew.errors import ClewError, DuplicateEvent, StoreDamaged
from clew.log import digest, digest_of_fields, parse, root
from clew.log.events import Ctx, Event, Head, Stored
from clew.log.store.blobs import attach
from clew.log.store.sql import statements


def find_session(database: sqlite3.Connection, ctx: Ctx) -> tuple[int | None, Head]:
    """Return a session's key and head; the key is None if it has no events yet."""
    query = {"workspace": ctx.workspace, "session": ctx.session}
    row = database.execute(statements()["session_of"], query).fetchone()
    if row is None:
        return None, root(ctx.session)
    key, seq, head_hash = row
    if not isinstance(seq, int) or not isinstance(head_hash, str):
        raise StoreDamaged(f"session {ctx.session!r}: its head is {seq!r}, {head_hash!r}")
    return key, Head(seq, head_hash)


def move_head(database: sqlite3.Connection, ctx: Ctx, key: int | None, head: Head) -> int | None:
    """Write a session's new head, creating the session if needed; return its key."""
    if key is not None:
        database.execute(statements()["move_head"], {"key": key, **head._asdict()})
        return key
    row = {"workspace": ctx.workspace, "session": ctx.session, "seal": session_seal(ctx), **head._asdict()}
    return database.execute(statements()["add_session"], row).lastrowid


def session_seal(ctx: Ctx) -> str:
    """Return the hash that binds a session to its workspace.

    The chain covers the session's name only, so that a session can be imported into another workspace.
    """
    return digest_of_fields("clew.store/1", ctx.workspace, ctx.session)


def add_events(
    database: sqlite3.Connection, key: int | None, stored: Sequence[Stored], bodies: Sequence[bytes]
) -> None:
    """Write events with their bodies as laid out for the file."""
    rows = (
        (key, s.seq, s.event.id, s.event.kind, s.event.version, s.event.time, s.digest, s.hash, body)
        for s, body in zip(stored, bodies, strict=True)
    )
    try:
        database.executemany(statements()["add_event"], rows)
    except sqlite3.IntegrityError as cause:
        if "event.id" in str(cause):
            raise DuplicateEvent(f"one of {len(stored)} events from {stored[0].event.id!r} on") from cause
        raise StoreDamaged(f"a session's head is behind its events ({cause})") from cause


def events_statement(kinds: Collection[str] | None) -> str:
    """Return the name of the statement that reads events of these kinds."""
    if kinds is None:
        return "events"
    return "events_of_kinds" if "message" in kinds else "other_events_of_kinds"


def event_of(ctx: Ctx, row: tuple[Any, ...], fetch: Callable[[str], bytes]) -> Stored:
    """Return the event of a row after checking its body; ``fetch`` returns a blob by its digest."""
    seq, event_id, kind, version, time, body_digest, event_hash, laid_out = row
    try:
        body = attach(laid_out, fetch)
        event = Event(event_id, kind, version, time, parse(body))
    except (ClewError, TypeError, AttributeError) as cause:
        why = cause.detail if isinstance(cause, ClewError) else "a field is of the wrong type"
        raise StoreDamaged(f"session {ctx.session!r}, event {seq}: {why}") from cause
    if digest(body) != body_digest:
        raise StoreDamaged(f"session {ctx.session!r}, event {seq}: its body is {digest(body)}")
    return Stored(seq, body_digest, event_hash, event)
