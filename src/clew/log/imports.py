"""Which events came from a file that somebody handed over, and not from work done here.

An export proves that it is whole, not that its words are true: whoever wrote it chose every label in it. So
each import is put on record, before its events are, in a session that no file can name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clew.errors import InputError
from clew.log.ids import new_event
from clew.log.kinds import ABOUT
from clew.message import JsonObject
from clew.ports import Ctx, Store

OWN = "clew:"
"""How the names of clew's own sessions begin: no import may bring one."""
IMPORTS_SESSION = f"{OWN}imports"


@dataclass(frozen=True, slots=True)
class Foreign:
    """The events of one session that were imported."""

    spans: tuple[tuple[int, int], ...] = ()
    """Each: behind this event, up to that one."""

    def __contains__(self, seq: int) -> bool:
        return any(after < seq <= until for after, until in self.spans)


def require_foreign_name(session: str) -> None:
    """Refuse a name that would put a stranger's events where clew keeps its own."""
    if session.startswith(OWN):
        raise InputError(f"a file may not bring the session {session!r}", f"names in {OWN} are clew's own")


def note_import(store: Store, ctx: Ctx, after: int, until: int) -> None:
    """Put on record that a session's events behind ``after``, up to ``until``, come from a file."""
    body: JsonObject = {"imported": ctx.session, "after": after, "until": until}
    kept = Ctx(workspace=ctx.workspace, session=IMPORTS_SESSION)
    store.append(kept, [new_event(ABOUT.name, body, ABOUT.version)], None)


def foreign(store: Store, ctx: Ctx) -> Foreign:
    """Return which events of a session came from a file."""
    return Foreign(tuple(_spans(store, ctx)))


def _spans(store: Store, ctx: Ctx) -> Iterator[tuple[int, int]]:
    for stored in store.read(Ctx(workspace=ctx.workspace, session=IMPORTS_SESSION), kinds=[ABOUT.name]):
        match stored.event.body:
            case {"imported": ctx.session, "after": int(after), "until": int(until)}:
                yield after, until
