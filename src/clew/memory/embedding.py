"""Compute the vectors of index entries, also after a change of the embedding model."""

from __future__ import annotations

from collections.abc import Iterator

from clew.memory.index.protocol import Embedder, VectorIndex

BATCH = 256


def embed_lacking(index: VectorIndex, embedder: Embedder, batch: int = BATCH) -> Iterator[tuple[int, int]]:
    """Embed entries without a vector of this model; yield how many have one, and how many there are.

    Each batch is stored before the next begins, so an interrupted run can be resumed.
    """
    done, there = index.progress(embedder.name)
    yield done, there
    while made := _embed_some(index, embedder, batch):
        done += made
        yield done, max(there, done)


def embed_new(index: VectorIndex, embedder: Embedder, most: int) -> None:
    """Embed about ``most`` entries that have no vector of this model, oldest first."""
    made = 0
    while made < most and (some := _embed_some(index, embedder, BATCH)):
        made += some


def _embed_some(index: VectorIndex, embedder: Embedder, batch: int) -> int:
    found = index.lacking(embedder.name, batch)
    if found:
        vectors = embedder.embed([text for _, text in found])
        index.put(embedder.name, dict(zip((key for key, _ in found), vectors, strict=True)))
    return len(found)
