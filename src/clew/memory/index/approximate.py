"""Approximate matching: terms one or two typos apart, and entries with a similar embedding.

``spelled_like("recieve", read)`` returns ``receive`` if the index has it; ``Signs.nearest`` returns the keys
of the vectors most like one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


SHORTEST = 5
"""Shortest word, in letters, that may be misspelled; in a shorter one a typo often makes another word. The
limits in this module were chosen by hand."""
TWO_SLIPS = 9
"""Words of at least this many letters may have two typos, shorter ones one."""
ALIKE_AT_FIRST = 2
"""Leading letters that must be right: typos there are rare, and it limits what must be read."""
MOST_READ = 4_000
"""How many terms are compared at most, which bounds the time in a large store."""
MOST_LIKE = 3
"""Spellings that a misspelt word is replaced by; chosen by hand, because each adds unrelated hits."""


def spelled_like(word: str, read: Callable[[Mapping[str, Any]], Iterable[str]]) -> list[str]:
    """Return the terms from ``read`` that are spelled almost like this word, nearest first.

    ``read`` takes a range of words (first, beyond), of lengths (shortest, longest) and a limit.
    """
    if len(word) < SHORTEST or word.isdigit():
        return []
    slips = 2 if len(word) >= TWO_SLIPS else 1
    first = word[:ALIKE_AT_FIRST]
    wanted = {
        "first": first,
        "beyond": first[:-1] + chr(ord(first[-1]) + 1),
        "shortest": len(word) - slips,
        "longest": len(word) + slips,
        "limit": MOST_READ,
    }
    near = ((distance(word, text, slips), text) for text in read(wanted))
    return [text for slip, text in sorted(near) if 0 < slip <= slips][:MOST_LIKE]


def distance(text: str, other: str, most: int) -> int:
    """Return the edit distance (letters wrong, missing, added or swapped), at most ``most + 1``."""
    if abs(len(text) - len(other)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(text, start=1):
        row = [i]
        for j, against in enumerate(other, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != against))
            if before and j > 1 and letter == other[j - 2] and text[i - 2] == against:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return min(last[-1], most + 1)


PAGE = 50_000
"""Vectors read at a time, to bound the memory that it takes; chosen by hand."""


class Signs:
    """One bit per vector component: 32 MB for a million vectors of 256 components.

    Signs are enough to pick a few hundred candidates out of a million; their scores are computed from the
    full vectors.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start over: the file has changed."""
        self.last = -1
        self._keys: NDArray[numpy.int64] | None = None
        self._bits: NDArray[numpy.uint64] | None = None
        self._used = 0

    def catch_up(self, rows: Iterable[tuple[int, bytes]]) -> None:
        """Read vectors added since; ``rows`` are ordered by key."""
        page: list[tuple[int, bytes]] = []
        for row in rows:
            page.append(row)
            if len(page) == PAGE:
                self._extend(page)
                page = []
        if page:
            self._extend(page)

    def nearest(self, vector: bytes, keys: range, allowed: Collection[int] | None, limit: int) -> list[int]:
        """Return the keys of the vectors whose signs differ least."""
        if self._keys is None or self._bits is None:
            return []
        import numpy as np

        known = self._keys[: self._used]
        begin, end = np.searchsorted(known, (keys.start, keys.stop))
        where: Any = slice(begin, end)
        if allowed is not None:
            wanted = np.fromiter(allowed, dtype=np.int64, count=len(allowed))
            where = np.flatnonzero(np.isin(known, wanted))
        bits = self._bits[: self._used][where]
        if not len(bits):
            return []
        differing = np.zeros(len(bits), dtype=np.uint16)
        for column, word in enumerate(_pack_signs([vector])[0]):
            differing += np.bitwise_count(bits[:, column] ^ word)
        # Few distinct values, each many times: counting them is faster than sorting.
        enough = int(np.searchsorted(np.cumsum(np.bincount(differing)), limit))
        best = np.flatnonzero(differing <= enough)
        best = best[np.argsort(differing[best], kind="stable")][:limit]
        result: list[int] = known[where][best].tolist()
        return result

    def _extend(self, page: list[tuple[int, bytes]]) -> None:
        """Add a page of keys and vectors to the arrays."""
        import numpy as np

        bits = _pack_signs([vector for _, vector in page])
        keys = np.fromiter((key for key, _ in page), dtype=np.int64, count=len(page))
        used = self._used + len(page)
        if self._keys is None or self._bits is None:
            self._keys, self._bits = keys, np.asfortranarray(bits)
        else:
            if used > len(self._keys):
                room = max(used, len(self._keys) * 5 // 4 + 1024)  # grown rarely, so that adding stays cheap
                self._keys = np.resize(self._keys, room)
                wider = np.empty((room, bits.shape[1]), dtype=np.uint64, order="F")
                wider[: self._used] = self._bits[: self._used]
                self._bits = wider
            self._keys[self._used : used] = keys
            self._bits[self._used : used] = bits
        self._used = used
        self.last = page[-1][0]


def _pack_signs(vectors: list[bytes]) -> NDArray[numpy.uint64]:
    """Return the signs of vectors, packed 64 to an integer."""
    import numpy as np

    numbers = np.frombuffer(b"".join(vectors), dtype=np.int8).reshape(len(vectors), -1) > 0
    width = -(-numbers.shape[1] // 64) * 64
    padded = np.zeros((len(vectors), width), dtype=bool)
    padded[:, : numbers.shape[1]] = numbers
    words: NDArray[numpy.uint64] = np.packbits(padded, axis=1).view(np.uint64)
    return words
