"""The compactions that a session's own tool made: what its model saw before and after each."""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.message import Origin
from clew.transcripts.records import Boundary, Entry
from clew.transcripts.transcript import Transcript


@dataclass(frozen=True, slots=True)
class ToolCompaction:
    """One compaction that the tool made."""

    name: str
    """``c1``, ``c2``, …"""
    boundary: Boundary
    before: tuple[Entry, ...] = field(repr=False)
    """What the model saw: an earlier summary, and everything after it."""
    summary: tuple[Entry, ...] = field(repr=False)
    """The summary that the tool wrote instead; empty if it was not recorded."""
    kept: tuple[Entry, ...] = field(repr=False)
    """What was kept verbatim."""
    after: tuple[Entry, ...] = field(repr=False)
    """What was said until the next compaction."""

    @property
    def is_sealed(self) -> bool:
        """Return True if only the provider can read the summary."""
        return bool(self.summary) and not any(entry.message.text for entry in self.summary)


def tool_compactions(session: Transcript) -> list[ToolCompaction]:
    """Return the tool's own compactions, oldest first, without those on an abandoned branch."""
    gone = session.dropped
    boundaries: list[Boundary | None] = [None]
    made: list[list[Entry]] = [[]]
    said: list[list[Entry]] = [[]]
    for record in session.records:
        if isinstance(record, Boundary) and record.id not in gone:
            boundaries.append(record)
            made.append([])
            said.append([])
        elif isinstance(record, Entry) and record.sidechain is None and record.id not in gone:
            summary = record.message.origin is Origin.SUMMARY and boundaries[-1] is not None
            (made if summary else said)[-1].append(record)
    found = []
    for number, boundary in enumerate(boundaries[1:], start=1):
        assert boundary is not None
        before = (*made[number - 1], *said[number - 1])
        ids = frozenset(boundary.keeps)
        earlier = (entry for several in said[:number] for entry in several)
        kept = tuple(entry for entry in earlier if entry.id in ids)
        parts = (before, tuple(made[number]), kept, tuple(said[number]))
        found.append(ToolCompaction(f"c{number}", boundary, *parts))
    return found
