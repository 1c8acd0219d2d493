"""Search and recall of what left the context window. See README.md."""

from clew.memory.embedding import embed_lacking
from clew.memory.entries import catch_up, catch_up_all
from clew.memory.findable import passages
from clew.memory.injecting import Injection, Passage, recalled
from clew.memory.memory import Memory
from clew.memory.opening import Opened, Quotation
from clew.memory.search import Hit, Query, Why, neighbours, search
from clew.memory.static import StaticEmbedder, shipped_embedder
from clew.memory.words import analyse

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
