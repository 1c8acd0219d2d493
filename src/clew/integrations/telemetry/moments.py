"""What happened in a session, as plain values with the names that tracing tools know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

Value: TypeAlias = str | int | float | bool | list[str]
"""What an attribute may hold."""
Attributes: TypeAlias = Mapping[str, Value]
NOTHING: Attributes = MappingProxyType({})


class Scale(StrEnum):
    """How large a thing a moment is."""

    POINT = "point"
    """Something that happened at once."""
    SPAN = "span"
    """Something that took its time."""
    REQUEST = "request"
    """A span that asks somebody else: a model."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened."""

    id: str
    """Unique in its session, the same each time the log is read."""
    seq: int
    """Its place in the log."""
    name: str
    scale: Scale
    start: str
    """ISO 8601, UTC."""
    end: str
    attributes: Attributes = field(default_factory=dict)
    parent: str = ""
    """The id of the moment that it is a part of; empty for the session itself."""
    error: str = ""
    """What kind of failure it ended in; empty where it did not."""

    @property
    def seconds(self) -> float:
        """Return how long it took, as far as the log shows."""
        return (datetime.fromisoformat(self.end) - datetime.fromisoformat(self.start)).total_seconds()
