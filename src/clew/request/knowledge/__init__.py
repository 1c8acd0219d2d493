"""A folder of documents as a search source: found by questions, quoted with exact references."""

from clew.request.knowledge.documents import Document, Manifest
from clew.request.knowledge.look import Passage, look_up, passage
from clew.request.knowledge.pieces import Piece, pieces
from clew.request.knowledge.topics import Topic
from clew.request.knowledge.update import Update, update

__all__ = [
    "Document",
    "Manifest",
    "Passage",
    "Piece",
    "Topic",
    "Update",
    "look_up",
    "passage",
    "pieces",
    "update",
]
