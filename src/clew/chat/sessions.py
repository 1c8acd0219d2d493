"""Which session a chat goes on with: a new one, one of the log, a copy, or one made of a transcript."""

from __future__ import annotations

import time
from collections.abc import Iterable

from clew.errors import InputError, NotFound
from clew.log import message_event
from clew.message import Message
from clew.ports import Ctx, Store

PREFIX = "chat:"
"""Begins the names of sessions that a chat began."""
OWN = "clew:"
"""Begins the names of sessions that hold what belongs to no conversation, such as notes."""
AT_ONCE = 500


def new_name(store: Store, workspace: str) -> str:
    """Return a name by the clock that no session has."""
    return _free(store, workspace, f"{PREFIX}{time.strftime('%Y-%m-%d-%H%M%S')}")


def _free(store: Store, workspace: str, wanted: str) -> str:
    name, number = wanted, 1
    while store.head(Ctx(workspace=workspace, session=name)).seq:
        number += 1
        name = f"{wanted}-{number}"
    return name


def latest(store: Store, workspace: str) -> str:
    """Return the session that something happened in last; those that clew keeps for itself are none."""
    found = [one for one in store.sessions(workspace) if not one.session.startswith(OWN)]
    if not found:
        raise NotFound("there is no session to resume", "`clew chat` begins one")
    return max(found, key=lambda one: one.last_time).session


def fork(store: Store, workspace: str, name: str) -> str:
    """Copy a session, event by event; return what the copy is called. The two go their own ways."""
    ctx = Ctx(workspace=workspace, session=name)
    if not store.head(ctx).seq:
        raise NotFound(f"there is no session {name!r} in clew's log")
    copy = Ctx(workspace=workspace, session=_free(store, workspace, f"{name}-fork"))
    batch = []
    head = store.head(copy)
    for stored in store.read(ctx):
        batch.append(stored.event)
        if len(batch) == AT_ONCE:
            head, batch = store.append(copy, batch, head), []
    if batch:
        store.append(copy, batch, head)
    return copy.session


def begun_with(store: Store, workspace: str, name: str, messages: Iterable[Message]) -> str:
    """Begin a session with the messages of a transcript; one that was begun so before goes on."""
    session = f"{PREFIX}{name}"
    ctx = Ctx(workspace=workspace, session=session)
    head = store.head(ctx)
    if head.seq:
        return session
    events = [message_event(message) for message in messages]
    if not events:
        raise InputError(f"there is no message in {name}", "check that the file is whole")
    for start in range(0, len(events), AT_ONCE):
        head = store.append(ctx, events[start : start + AT_ONCE], head)
    return session
