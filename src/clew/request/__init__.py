"""Assemble the request that a model sees. See README.md."""

from clew.request.assemble import Parts, Room, assemble
from clew.request.assembled import AssembledRequest, OfferedTool
from clew.request.cache_marks import Marks
from clew.request.fence import Fence, session_key
from clew.request.pieces import clauses_for
from clew.request.sections import SECTIONS, Contribution, Piece, PiecePosition, Section, Stability

__all__ = [
    "SECTIONS",
    "AssembledRequest",
    "Contribution",
    "Fence",
    "Marks",
    "OfferedTool",
    "Parts",
    "Piece",
    "PiecePosition",
    "Room",
    "Section",
    "Stability",
    "assemble",
    "clauses_for",
    "session_key",
]
