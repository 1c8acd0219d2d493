"""Search and recall of what left the context window. See README.md."""

from clew.memory.embedders import StaticEmbedder, embed_lacking, shipped_embedder
from clew.memory.indexing import catch_up, catch_up_all, passages
from clew.memory.memory import Memory
from clew.memory.references import Opened, Quotation
from clew.memory.search import Hit, Query, Why, neighbours, search
from clew.memory.selection import Injection, Passage, recalled
from clew.memory.terms import analyse

__all__ = [
    "Hit",
    "Injection",
    "Memory",
    "Opened",
    "Passage",
    "Query",
    "Quotation",
    "StaticEmbedder",
    "Why",
    "analyse",
    "catch_up",
    "catch_up_all",
    "embed_lacking",
    "neighbours",
    "passages",
    "recalled",
    "search",
    "shipped_embedder",
]
