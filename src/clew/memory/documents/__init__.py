"""A folder of documents as a search source: found by questions, quoted with exact references."""

from clew.memory.documents.indexing import (
    DocumentPassage,
    IndexUpdate,
    read_passage,
    search_documents,
    update_index,
)
from clew.memory.documents.manifest import Document, Manifest
from clew.memory.documents.split import DocumentPiece, Topic, split_document

__all__ = [
    "Document",
    "DocumentPassage",
    "DocumentPiece",
    "IndexUpdate",
    "Manifest",
    "Topic",
    "read_passage",
    "search_documents",
    "split_document",
    "update_index",
]
