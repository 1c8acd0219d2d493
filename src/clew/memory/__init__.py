"""Search and recall of what left the context window. See README.md.

``Memory(store, ctx).search("the port that failed yesterday")`` returns hits with exact references
(``m12@fix-login``), from this session and the others of its project.
"""

from clew.memory.embedders import (
    EndpointEmbedder,
    SentenceEmbedder,
    StaticEmbedder,
    default_embedder,
    embed_lacking,
)
from clew.memory.indexing import catch_up, catch_up_all, passages
from clew.memory.memory import Memory
from clew.memory.references import Resolved
from clew.memory.search import Query, neighbours, search
from clew.memory.selection import Injection
from clew.memory.terms import analyse

__all__ = [
    "EndpointEmbedder",
    "Injection",
    "Memory",
    "Query",
    "Resolved",
    "SentenceEmbedder",
    "StaticEmbedder",
    "analyse",
    "catch_up",
    "catch_up_all",
    "default_embedder",
    "embed_lacking",
    "neighbours",
    "passages",
    "search",
]
