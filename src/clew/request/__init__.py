"""Assemble the request that a model sees. See README.md."""

from clew.request.assemble import Parts, assemble
from clew.request.cache.marks import Marks
from clew.request.clauses import clauses_for
from clew.request.fence import Fence, session_key
from clew.request.piece import Contribution, Piece
from clew.request.request import Assembled, Offered
from clew.request.room import Room
from clew.request.sections import SECTIONS, Place, Section, Stability

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
