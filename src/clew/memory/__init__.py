"""Finding again what left the window. See README.md."""

from clew.memory.embedding import embed_lacking
from clew.memory.entries import catch_up, entries_of, passages
from clew.memory.search import Hit, Query, Why, neighbours, search
from clew.memory.static import StaticEmbedder
from clew.memory.words import analyse

__all__ = [
    "Hit",
    "Query",
    "StaticEmbedder",
    "Why",
    "analyse",
    "catch_up",
    "embed_lacking",
    "entries_of",
    "neighbours",
    "passages",
    "search",
]
