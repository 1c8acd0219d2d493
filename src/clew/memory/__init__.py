"""Search and recall of what left the context window. See README.md."""

from clew.memory.embedders import (
    EndpointEmbedder,
    SentenceEmbedder,
    StaticEmbedder,
    default_embedder,
    embed_lacking,
    shipped_embedder,
)
from clew.memory.indexing import catch_up, catch_up_all, passages
from clew.memory.memory import Memory, open_memory
from clew.memory.references import Quotation, Resolved
from clew.memory.search import Hit, MatchInfo, Query, neighbours, search
from clew.memory.selection import Injection, Passage, select_injections
from clew.memory.terms import analyse

__all__ = [
    "EndpointEmbedder",
    "Hit",
    "Injection",
    "MatchInfo",
    "Memory",
    "Passage",
    "Query",
    "Quotation",
    "Resolved",
    "SentenceEmbedder",
    "StaticEmbedder",
    "analyse",
    "catch_up",
    "catch_up_all",
    "default_embedder",
    "embed_lacking",
    "neighbours",
    "open_memory",
    "passages",
    "search",
    "select_injections",
    "shipped_embedder",
]
