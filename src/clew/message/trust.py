"""Trust labels: how far a piece of text may be relied on, and whether it may give instructions."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class Trust(IntEnum):
    """Labels from lowest to highest. Derived text gets the lowest label of its sources."""

    UNTRUSTED = 0
    """Tool output, web pages, files of unknown origin: data, never instructions."""
    SEMI_TRUSTED = 1
    """Text added by a harness, and documents that the user referred to."""
    ASSISTANT = 2
    """Text by the model."""
    USER = 3
    DEVELOPER = 4
    SYSTEM = 5

    @property
    def label(self) -> str:
        """Return the name in lower case with hyphens: ``semi-trusted``."""
        return self.name.lower().replace("_", "-")


def lowest(labels: Iterable[Trust]) -> Trust:
    """Return the lowest label, or ``UNTRUSTED`` if there are none."""
    return min(labels, default=Trust.UNTRUSTED)
