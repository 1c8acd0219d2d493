"""Stems of content words, by which requests are recognised in reports and calls.

``stems("Implementing the loginForm")`` is ``{"imple", "login", "form"}``: endings are cut, at most five
letters are kept, names in camelCase are split, and words such as "the" are left out. Two texts are about
the same thing if they share stems.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain

from clew.ledger.sections import named_sections
from clew.message.text import lazy_pattern
from clew.rules.languages import is_function_word

_WORD = lazy_pattern(r"[^\W\d_]{3,}|\d{2,}")
"""A word of three letters, or a number of two digits, or more."""
_HUMP = lazy_pattern(r"(?<=[a-z])(?=[A-Z])")
"""The place between two words in camelCase."""
_SUFFIX = lazy_pattern(r"(?:ations?|ions?|ings?|ed|es|s|e|y|ies)$")
"""An ending that is cut."""
_SHORTEST_STEM, _LONGEST_STEM = 3, 5
"""Letters of a stem; chosen by hand."""


def stems(text: str) -> frozenset[str]:
    """Return the stems of a text's content words; "loginForm" has three, "steps 1 and 2" two sections."""
    words = frozenset(chain.from_iterable(map(_stems_of, _WORD.findall(text))))
    return words.union(named_sections(text))


@lru_cache(maxsize=16_384)  # sessions repeat their words
def _stems_of(word: str) -> tuple[str, ...]:
    humps = _WORD.findall(_HUMP.sub(" ", word))
    return tuple(filter(None, (_stem(one.lower()) for one in ([*humps, word] if len(humps) > 1 else humps))))


def _stem(word: str) -> str:
    if is_function_word(word):
        return ""
    short = _SUFFIX.sub("", word)
    return (short if len(short) >= _SHORTEST_STEM else word)[:_LONGEST_STEM]
