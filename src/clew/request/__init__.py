"""Assemble the request that a model sees. See README.md.

A request is the session's view with *pieces* around it: clauses and instruction files in the system prompt,
the state of the work and recalled notes after the last message.
``assemble(Parts(view=…, pieces=…), counter)`` puts them together within their token limits.
"""

from clew.request.assemble import Parts, Room, assemble
from clew.request.assembled import Marks
from clew.request.pieces import Fence, clauses_for, session_key
from clew.request.sections import SECTIONS, Piece

__all__ = ["SECTIONS", "Fence", "Marks", "Parts", "Piece", "Room", "assemble", "clauses_for", "session_key"]
