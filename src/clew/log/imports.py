"""Record which events came from an imported file and not from work done here.

An export proves that it is complete, not that its content is true: its author chose every label in it. Each
import is therefore recorded, before its events are appended, in a session that no file can name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clew.errors import InputError
from clew.log.events import Ctx
from clew.log.ids import new_event
from clew.log.kinds import ABOUT
from clew.log.protocol import Store
from clew.message import JsonObject

OWN = "clew:"
"""Prefix of clew's own sessions, which cannot be imported."""
IMPORTS_SESSION = f"{OWN}imports"


@dataclass(frozen=True, slots=True)
class Foreign:
    """The imported events of one session."""

    spans: tuple[tuple[int, int], ...] = ()
    """Each span holds the events after the first number, up to the second."""

    def __contains__(self, seq: int) -> bool:
        return any(after < seq <= until for after, until in self.spans)


def require_foreign_name(session: str) -> None:
    """Raise ``InputError`` for a name that would put imported events into one of clew's own sessions."""
    if session.startswith(OWN):
        raise InputError(f"a file may not bring the session {session!r}", f"names in {OWN} are clew's own")


def note_import(store: Store, ctx: Ctx, after: int, until: int) -> None:
    """Record that a session's events after ``after``, up to ``until``, come from a file."""
    body: JsonObject = {"imported": ctx.session, "after": after, "until": until}
    kept = Ctx(workspace=ctx.workspace, session=IMPORTS_SESSION)
    store.append(kept, [new_event(ABOUT.name, body, ABOUT.version)], None)


def foreign(store: Store, ctx: Ctx) -> Foreign:
    """Return which events of a session were imported."""
    return Foreign(tuple(_spans(store, ctx)))


def _spans(store: Store, ctx: Ctx) -> Iterator[tuple[int, int]]:
    for stored in store.read(Ctx(workspace=ctx.workspace, session=IMPORTS_SESSION), kinds=[ABOUT.name]):
        match stored.event.body:
            case {"imported": ctx.session, "after": int(after), "until": int(until)}:
                yield after, until
