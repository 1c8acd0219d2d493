"""The protocol of a cache for what was derived from a log."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from clew.log.events import Ctx, Head
from clew.message import JsonObject


@runtime_checkable
class Snapshots(Protocol):
    """Caches what was derived from a session up to some event, so that a long log opens quickly.

    Optional for stores: whatever is missing is derived again.
    """

    def keep(self, ctx: Ctx, head: Head, body: JsonObject) -> None:
        """Store a snapshot of the session at that head, replacing an earlier one."""

    def kept(self, ctx: Ctx) -> tuple[Head, JsonObject] | None:
        """Return the last snapshot; None if there is none or it cannot be read."""
