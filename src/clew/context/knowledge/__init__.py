"""A folder of documents as a search source: found by questions, quoted with exact references."""

from clew.context.knowledge.documents import Document, Manifest
from clew.context.knowledge.look import Passage, look_up, passage
from clew.context.knowledge.pieces import Piece, pieces
from clew.context.knowledge.topics import Topic
from clew.context.knowledge.update import Update, update

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
