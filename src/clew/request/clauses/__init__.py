"""System prompt clauses about compaction, uncertainty, citing, memory and data: one ``.md`` file each.

The texts are static: no clock, id or number that changes between requests, so they stay in the cache.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from clew.message import Trust
from clew.request.piece import Piece
from clew.request.sections import CONTRACT

NAMES = ("compaction", "uncertainty", "citing", "memory", "data")
"""In the order in which they appear in the prompt."""
DATA_SOURCE = "clause data"
"""The source name of the clause that explains fences."""


@cache
def clause(name: str) -> str:
    """Return the text of a clause."""
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()


def clauses_for(*, compacted: bool, memory: bool, data: bool = False) -> list[Piece]:
    """Return the clauses that a session needs; a session that needs none sends what a plain client sends.

    ``compacted``: a digest is in the view. These clauses join the prompt with the first compaction, which
    invalidates the cache anyway. ``memory``: notes or memory tools are available, from the start. ``data``:
    fences may occur, from the start; implied by ``memory``.
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
