"""Assemble the request that a model sees. See README.md."""

from clew.context.assemble import Parts, assemble
from clew.context.cache.marks import Marks
from clew.context.clauses import clauses_for
from clew.context.fence import Fence, session_key
from clew.context.piece import Contribution, Piece
from clew.context.request import Assembled, Offered
from clew.context.room import Room
from clew.context.sections import SECTIONS, Place, Section, Stability

__all__ = [
    "SECTIONS",
    "Assembled",
    "Contribution",
    "Fence",
    "Marks",
    "Offered",
    "Parts",
    "Piece",
    "Place",
    "Room",
    "Section",
    "Stability",
    "assemble",
    "clauses_for",
    "session_key",
]
