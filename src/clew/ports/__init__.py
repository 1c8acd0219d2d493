"""What clew asks of the world outside it, and the values it asks with. See README.md."""

from clew.ports.events import Ctx, Event, Head, SessionInfo, Stored, require_name
from clew.ports.store import Store

__all__ = ["Ctx", "Event", "Head", "SessionInfo", "Store", "Stored", "require_name"]
