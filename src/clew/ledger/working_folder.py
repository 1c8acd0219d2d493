"""The folder in which the agent works, as its harness says: relative paths mean nothing without it.

A harness states it in a message of its own ("the current working directory is '~/app'", "<cwd>/app</cwd>"),
which may leave the view long before the next relative path.
"""

from __future__ import annotations

from dataclasses import dataclass

from clew.ledger.exchange import Reading
from clew.message import Cite, Role, Text, Trust
from clew.message.text import lazy_pattern

_LONGEST_READ = 20_000
"""Characters at the end of a text in which the folder is looked for; chosen by hand."""


@dataclass(slots=True)
class WorkingFolder:
    """The folder that was stated last."""

    path: str = ""
    source: Cite | None = None

    def add(self, reading: Reading) -> None:
        """Read a message: only text that a harness wrote counts, not what people, models and tools say."""
        message = reading.item.message
        if message.role not in (Role.USER, Role.SYSTEM, Role.DEVELOPER):
            return
        for number, part in enumerate(message.parts):
            if not isinstance(part, Text) or part.trust is Trust.USER:
                continue
            first = max(0, len(part.text) - _LONGEST_READ)
            for found in _STATED.finditer(part.text, first):
                self.path = found["path"]
                self.source = Cite(reading.item.id, number, *found.span("path"))


_STATED = lazy_pattern(
    r"(?m:^[^\n`\[\]]*?)(?:<cwd>\s*|[Ww]orking directory(?: is)?:?\s+['\"`]?)"
    r"(?P<path>(?:[A-Za-z]:[\\/]|[~/])[^\s'\"`<>]{0,300})"
)
"""A statement of the folder: "working directory is '~/app'", "<cwd>/app</cwd>"; in a plan, words in code or
behind a label ("log `[job] Working directory: /path`") say what a program prints."""
