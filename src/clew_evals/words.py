"""Words: which of a text carry meaning, and which are not part of an exact value."""

from __future__ import annotations

import re

from clew_evals.exact import spot

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """the and for that this with you not are was but can have from will its into then than when all any
        our out has had were what which there their they them your use using should would could about also
        just like""",
    )
)
_WORD = re.compile(r"[^\W\d][\w'’-]{2,}")
_PLAIN = re.compile(r"(?<![\w./-])[a-z]{3,}(?![\w./-])")


def all_words(text: str) -> list[str]:
    """Return the words of a text, in small letters."""
    return [word.lower() for word in _WORD.findall(text)]


def content_words(text: str) -> list[str]:
    """Return the words of a text that carry meaning, in small letters."""
    return [word for word in all_words(text) if word not in STOP_WORDS]


def plain_words(text: str) -> list[str]:
    """Return the small words of a text that are no part of an exact value: a list of names has none."""
    pieces, last = [], 0
    for spotted in spot(text):
        pieces.append(text[last : spotted.start])
        last = spotted.end
    pieces.append(text[last:])
    return [word for word in _PLAIN.findall(" ".join(pieces)) if word not in STOP_WORDS]
