"""Compute the features of ``DENSE`` from vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.memory.features import Seen

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


def dense(asked: bytes, seen: Sequence[Seen]) -> list[tuple[float, ...]]:
    """Return the similarity of each candidate, its window, its predecessor and its session's best."""
    import numpy as np

    places = {one.place: n for n, one in enumerate(seen)}
    vectors = _matrix([one.row.vector for one in seen], len(asked))
    beside = places.get
    before = np.array([beside((session, kind, n - 1), -1) for session, kind, n in places])
    after = np.array([beside((session, kind, n + 1), -1) for session, kind, n in places])
    padded = np.vstack([vectors, np.zeros((1, len(asked)), dtype="f4")])
    window = padded[before] + vectors + padded[after]
    question = _matrix([asked], len(asked))[0]
    own = vectors @ question
    around = window @ question / np.maximum(np.sqrt((window**2).sum(axis=1)), 1e-6)
    previous = padded[before] @ question
    best: dict[str, float] = {}
    for (session, _, _), near in zip(places, own.tolist(), strict=True):
        best[session] = max(near, best.get(session, -1.0))
    sessions = [best[session] for session, _, _ in places]
    return list(zip(own.tolist(), around.tolist(), previous.tolist(), sessions, strict=True))


def _matrix(vectors: Sequence[bytes], numbers: int) -> NDArray[numpy.float32]:
    """Return vectors as rows of unit length; a missing one is all zeros."""
    import numpy as np

    whole = b"".join(v if len(v) == numbers else bytes(numbers) for v in vectors)
    rows = np.frombuffer(whole, dtype=np.int8).reshape(len(vectors), numbers).astype(np.float32)
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    unit: NDArray[numpy.float32] = rows / np.maximum(lengths, 1e-6)
    return unit
