"""What is done to files, command lines and addresses."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Action(StrEnum):
    """What was done to a file, a command line or an address."""

    READ = "read"
    CREATED = "created"
    MODIFIED = "modified"
    WRITTEN = "written"
    """Created or overwritten; which of the two depends on whether it was there."""
    DELETED = "deleted"
    MOVED = "moved"
    RAN = "ran"
    FETCHED = "fetched"


CHANGES = frozenset({Action.CREATED, Action.MODIFIED, Action.DELETED, Action.MOVED})


class Touch(NamedTuple):
    """One thing done to one file or address."""

    action: Action
    name: str
    to: str = ""
    """Of a move: where it went."""
