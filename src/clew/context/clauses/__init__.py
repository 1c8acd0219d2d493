"""What the system prompt says about compaction, doubt, citing, memory and data: one ``.md`` file each.

They are static text: no clock, no id, no number that could change from one request to the next.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from clew.context.piece import Piece
from clew.context.sections import CONTRACT
from clew.message import Trust

NAMES = ("compaction", "uncertainty", "citing", "memory", "data")
"""In the order in which they are given."""
DATA_SOURCE = "clause data"
"""The source of the clause that says what fences mean."""


@cache
def clause(name: str) -> str:
    """Return the words of a clause."""
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()


def clauses_for(*, compacted: bool, memory: bool, data: bool = False) -> list[Piece]:
    """Return the clauses that a session needs; one that needs none sends what a plain client sends.

    ``compacted``: a digest is in the view. They join the prompt with the first compaction, which rewrites
    what was cached anyway. ``memory``: notes or tools for memory are there, from the start. ``data``: fences
    may come up, from the start; memory brings them along.
    """
    wanted = {
        "compaction": compacted,
        "uncertainty": compacted or memory,
        "citing": compacted or memory,
        "memory": memory,
        "data": data or memory,
    }
    return [
        Piece(CONTRACT, clause(name), f"clause {name}", Trust.DEVELOPER, own=True)
        for name in NAMES
        if wanted[name]
    ]
