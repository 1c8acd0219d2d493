"""A folder of documents as a search source: found by questions, quoted with exact references.

``docs/ops.md#Restart:12-30`` is lines 12 to 30 of a file, under its heading *Restart*.
"""

from clew.memory.documents.indexing import document_state, read_passage, search_documents, update_index
from clew.memory.documents.manifest import Document, Manifest
from clew.memory.documents.split import DocumentPiece, split_document

__all__ = [
    "Document",
    "DocumentPiece",
    "Manifest",
    "document_state",
    "read_passage",
    "search_documents",
    "split_document",
    "update_index",
]
