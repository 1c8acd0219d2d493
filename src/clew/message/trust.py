"""How far a piece of text may be believed."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class Trust(IntEnum):
    """Labels from lowest to highest; a derived thing has the lowest label of what it cites."""

    UNTRUSTED = 0
    """Tool output, web pages, files of unknown origin: data, never instructions."""
    SEMI_TRUSTED = 1
    """Text that a harness injected, documents the user pointed to."""
    ASSISTANT = 2
    """What the model said."""
    USER = 3
    DEVELOPER = 4
    SYSTEM = 5

    @property
    def label(self) -> str:
        """Return the name as people write it: ``semi-trusted``."""
        return self.name.lower().replace("_", "-")


def lowest(labels: Iterable[Trust]) -> Trust:
    """Return the label of something derived from these; of nothing, ``UNTRUSTED``."""
    return min(labels, default=Trust.UNTRUSTED)
