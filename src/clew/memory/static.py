"""The embedder that clew brings along: one fixed vector per word piece, averaged. No model runs.

The table (``static.npz``) was made by ``bench/retrieval_table.py``: vectors of word pieces, chosen so that
their mean comes as near as possible to what the sentence encoder all-MiniLM-L6-v2 (Apache-2.0) says of the
definitions and examples in WordNet 3.0 (WordNet licence), reduced to their main directions, one byte each.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from clew.errors import MissingExtra
from clew.memory.words import surface

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

LONGEST_WORD = 40
REMEMBERED = 65_536
MOST_WORDS = 2_000
"""Of a longer text, the first words speak for it."""


class StaticEmbedder:
    """Turns texts into vectors by looking their words up: thousands of texts a second, offline."""

    name = "clew-static-1"

    def __init__(self) -> None:
        try:
            import numpy
        except ImportError as cause:
            raise MissingExtra("clew[embeddings]") from cause
        self._numpy = numpy
        with as_file(files("clew.memory").joinpath("static.npz")) as path, numpy.load(path) as table:
            pieces = bytes(table["pieces"]).decode().split("\n")
            self._numbers: NDArray[numpy.float32] = table["vectors"] * table["scales"].astype("f4")[:, None]
        self._places = {piece: place for place, piece in enumerate(pieces)}
        self._known: dict[str, tuple[int, ...]] = {}

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one vector per text: of unit length, each number times 127 as a signed byte."""
        np = self._numpy
        return [np.clip(np.round(self._mean(text) * 127), -127, 127).astype("i1").tobytes() for text in texts]

    def _pieces(self, word: str) -> tuple[int, ...]:
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            known = self._known[word] = word_pieces(word, self._places)
        return known

    def _mean(self, text: str) -> NDArray[numpy.float32]:
        np = self._numpy
        words = list(surface(text))[:MOST_WORDS]
        places = [place for word in words for place in self._pieces(word)]
        total = self._numbers[places].sum(axis=0)
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
