"""Giving entries their vectors, and giving them anew when the model changes."""

from __future__ import annotations

from collections.abc import Iterator

from clew.ports.index import Embedder, VectorIndex

BATCH = 256


def embed_lacking(index: VectorIndex, embedder: Embedder, batch: int = BATCH) -> Iterator[tuple[int, int]]:
    """Embed what has no vector of this model; yield how many have one, and how many there are.

    Each batch is kept before the next begins: whoever stops, or is stopped, goes on later from there.
    """
    done, there = index.progress(embedder.name)
    yield done, there
    while found := index.lacking(embedder.name, batch):
        vectors = embedder.embed([text for _, text in found])
        index.put(embedder.name, dict(zip((key for key, _ in found), vectors, strict=True)))
        done += len(found)
        yield done, max(there, done)
