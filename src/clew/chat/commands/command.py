"""A command: its name, its help, an example, and what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clew.chat.happenings import Turn
from clew.chat.loop import Chat


@dataclass(frozen=True, slots=True)
class Command:
    """One word after ``/``."""

    name: str
    takes: str
    """What stands behind it, as help shows it."""
    about: str
    example: str
    does: Callable[[Chat, str], Turn]

    @property
    def usage(self) -> str:
        """Return how it is typed."""
        return f"/{self.name} {self.takes}".rstrip()
