"""The embedder that clew brings along: one fixed vector per word piece, averaged. No model runs.

The table (``static.npz``) was made by ``bench/retrieval_table.py``: vectors of word pieces, chosen so that
their mean comes as near as possible to what the sentence encoder all-MiniLM-L6-v2 (Apache-2.0) says of the
definitions and examples in WordNet 3.0 (WordNet licence), reduced to their main directions, one byte each.
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
"""Of a longer text, the first words speak for it."""


@cache
def shipped_embedder() -> StaticEmbedder | None:
    """Return the embedder that comes with clew; None without numpy. Its table is read when first used."""
    return StaticEmbedder() if find_spec("numpy") else None


class StaticEmbedder:
    """Turns texts into vectors by looking their words up: thousands of texts a second, offline."""

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
        """Return the place of each word piece, and the vectors."""
        with as_file(files("clew.memory").joinpath("static.npz")) as path, self._numpy.load(path) as table:
            pieces = bytes(table["pieces"]).decode().split("\n")
            numbers = table["vectors"] * table["scales"].astype("f4")[:, None]
        return {piece: place for place, piece in enumerate(pieces)}, numbers

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one vector per text: of unit length, each number times 127 as a signed byte."""
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
    """Return a word as the longest known pieces from its start on; nothing where a piece is unknown."""
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
