"""The embedder shipped with clew: one fixed vector per word piece, averaged. No model runs.

The table (``static.npz``) was made by ``bench/retrieval_table.py``: vectors of word pieces, fitted so that
their mean approximates the sentence encoder all-MiniLM-L6-v2 (Apache-2.0) on the definitions and examples in
WordNet 3.0 (WordNet licence), reduced by PCA to one byte per dimension.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache, cached_property
from importlib.resources import as_file, files
from importlib.util import find_spec
from typing import TYPE_CHECKING

from clew.errors import MissingExtra
from clew.memory.index.protocol import SHIPPED_MODEL
from clew.memory.words import surface

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

LONGEST_WORD = 40
REMEMBERED = 65_536
MOST_WORDS = 2_000
"""Words of a text that are embedded."""


@cache
def shipped_embedder() -> StaticEmbedder | None:
    """Return the shipped embedder; None without numpy. Its table is loaded on first use."""
    return StaticEmbedder() if find_spec("numpy") else None


class StaticEmbedder:
    """Embeds texts by table look-up: thousands of texts a second, offline."""

    name = SHIPPED_MODEL

    def __init__(self) -> None:
        try:
            import numpy
        except ImportError as cause:
            raise MissingExtra("clew[embeddings]") from cause
        self._numpy = numpy
        self._known: dict[str, tuple[int, ...]] = {}

    @cached_property
    def _table(self) -> tuple[dict[str, int], NDArray[numpy.float32]]:
        """Return the index of each word piece, and the vectors."""
        with as_file(files("clew.memory").joinpath("static.npz")) as path, self._numpy.load(path) as table:
            pieces = bytes(table["pieces"]).decode().split("\n")
            numbers = table["vectors"] * table["scales"].astype("f4")[:, None]
        return {piece: place for place, piece in enumerate(pieces)}, numbers

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one vector per text: unit length, each number times 127 as a signed byte."""
        np = self._numpy
        return [np.clip(np.round(self._mean(text) * 127), -127, 127).astype("i1").tobytes() for text in texts]

    def _pieces(self, word: str) -> tuple[int, ...]:
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            known = self._known[word] = word_pieces(word, self._table[0])
        return known

    def _mean(self, text: str) -> NDArray[numpy.float32]:
        np = self._numpy
        words = list(surface(text))[:MOST_WORDS]
        places = [place for word in words for place in self._pieces(word)]
        total = self._table[1][places].sum(axis=0)
        length = float(np.sqrt(total @ total))
        unit: NDArray[numpy.float32] = total / length if length else total
        return unit


def word_pieces(word: str, places: dict[str, int]) -> tuple[int, ...]:
    """Split a word greedily into the longest known pieces; empty if a piece is unknown."""
    plain = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    if len(plain) > LONGEST_WORD:
        return ()
    found: list[int] = []
    start = 0
    while start < len(plain):
        prefix = "##" if start else ""
        for end in range(len(plain), start, -1):
            place = places.get(prefix + plain[start:end])
            if place is not None:
                found.append(place)
                start = end
                break
        else:
            return ()
    return tuple(found)
