"""A folder of documents as a search source: found by questions, quoted with exact references."""

from clew.memory.documents.indexing import (
    DocumentPassage,
    IndexUpdate,
    read_passage,
    search_documents,
    update_index,
)
from clew.memory.documents.manifest import Document, Manifest
from clew.memory.documents.split import DocumentPiece, DocumentTopic, split_document

__all__ = [
    "Document",
    "DocumentPassage",
    "DocumentPiece",
    "DocumentTopic",
    "IndexUpdate",
    "Manifest",
    "read_passage",
    "search_documents",
    "split_document",
    "update_index",
]
