"""Trace records of a session: plain values with names that tracing tools know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

Value: TypeAlias = str | int | float | bool | list[str]
"""The value of an attribute."""
Attributes: TypeAlias = Mapping[str, Value]
NOTHING: Attributes = MappingProxyType({})


class Scale(StrEnum):
    """Whether a record is a point in time or a span."""

    POINT = "point"
    """A point in time."""
    SPAN = "span"
    """A span with a start and an end."""
    REQUEST = "request"
    """A span that calls another service: a model."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One trace record: a point in time or a span."""

    id: str
    """Unique in its session, and the same each time the log is read."""
    seq: int
    """Its position in the log."""
    name: str
    scale: Scale
    start: str
    """ISO 8601, UTC."""
    end: str
    attributes: Attributes = field(default_factory=dict)
    parent: str = ""
    """The id of the enclosing record; empty for the session itself."""
    error: str = ""
    """The kind of failure it ended in; empty if it succeeded."""

    @property
    def seconds(self) -> float:
        """Return how long it took, as far as the log shows."""
        return (datetime.fromisoformat(self.end) - datetime.fromisoformat(self.start)).total_seconds()
