"""Protocols for what clew needs from outside (stores, models, tokenizers), and their value types."""

from clew.ports.events import Ctx, Event, Head, SessionInfo, Stored, require_name
from clew.ports.model import Ask, AsyncModel, Model, Reply, Stop, Usage
from clew.ports.snapshots import Snapshots
from clew.ports.steps import Steps, drive, drive_async, run, run_async
from clew.ports.store import Store

__all__ = [
    "Ask",
    "AsyncModel",
    "Ctx",
    "Event",
    "Head",
    "Model",
    "Reply",
    "SessionInfo",
    "Snapshots",
    "Steps",
    "Stop",
    "Store",
    "Stored",
    "Usage",
    "drive",
    "drive_async",
    "require_name",
    "run",
    "run_async",
]
