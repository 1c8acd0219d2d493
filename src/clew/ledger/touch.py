"""Actions on files, command lines and URLs."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Action(StrEnum):
    """What was done to a file, a command line or a URL."""

    READ = "read"
    CREATED = "created"
    MODIFIED = "modified"
    WRITTEN = "written"
    """Created or overwritten, depending on whether it existed."""
    DELETED = "deleted"
    MOVED = "moved"
    RAN = "ran"
    FETCHED = "fetched"


CHANGES = frozenset({Action.CREATED, Action.MODIFIED, Action.DELETED, Action.MOVED})


class Touch(NamedTuple):
    """One action on one file or URL."""

    action: Action
    name: str
    to: str = ""
    """Of a move: the new path."""
