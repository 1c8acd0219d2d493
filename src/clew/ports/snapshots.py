"""What clew asks of a place that keeps what was derived from a log."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from clew.message import JsonObject
from clew.ports.events import Ctx, Head


@runtime_checkable
class Snapshots(Protocol):
    """Keeps what was derived from a session up to some event, so that a long log opens at once.

    Nothing depends on it: what it has forgotten is derived again. Stores may offer it.
    """

    def keep(self, ctx: Ctx, head: Head, body: JsonObject) -> None:
        """Keep this for the session as it was at that head, in place of what was kept before."""

    def kept(self, ctx: Ctx) -> tuple[Head, JsonObject] | None:
        """Return what was kept last; None where there is nothing, or nothing that can be read."""
