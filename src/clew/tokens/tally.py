"""Token counts by kind of content, before they are scaled for a model family."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

Scale: TypeAlias = tuple[float, float, float, float, float, float]
"""One number for each of ``KINDS``, in that order."""

KINDS = ("words", "digits", "marks", "cjk", "scripts", "framing")
"""The kinds of content on which tokenizers differ."""


class Tally(NamedTuple):
    """Token counts by kind, which can be added; a scale converts them to one family's tokens.

    Tokenizers differ by kind: one splits numbers into digits, another needs twice as many tokens for Chinese.
    ``known`` is not scaled, because it comes from a tokenizer or a formula.
    """

    words: float = 0.0
    """Latin letters."""
    digits: float = 0.0
    marks: float = 0.0
    """Punctuation, symbols, white space."""
    cjk: float = 0.0
    """Chinese, Japanese and Korean."""
    scripts: float = 0.0
    """All other writing, and emoji."""
    framing: float = 0.0
    """Tokens that a provider adds around messages, tool calls and results."""
    known: float = 0.0

    def __add__(self, other: Tally) -> Tally:  # type: ignore[override] # a sum, not a longer tuple
        """Return the sum by kind."""
        return total((self, other))

    @property
    def kinds(self) -> Scale:
        """Return the counts that a scale applies to, in the order of ``KINDS``."""
        return self[:6]

    def tokens(self, scale: Scale) -> float:
        """Return the number of tokens with this scale."""
        # Written out because it runs for every message, and a loop takes five times as long.
        words, digits, marks, cjk, scripts, framing, known = self
        by_words, by_digits, by_marks, by_cjk, by_scripts, by_framing = scale
        return known + (
            words * by_words
            + digits * by_digits
            + marks * by_marks
            + cjk * by_cjk
            + scripts * by_scripts
            + framing * by_framing
        )


NOTHING = Tally()


def total(tallies: Iterable[Tally]) -> Tally:
    """Return the sum of tallies by kind."""
    words = digits = marks = cjk = scripts = framing = known = 0.0
    for one in tallies:
        words += one[0]
        digits += one[1]
        marks += one[2]
        cjk += one[3]
        scripts += one[4]
        framing += one[5]
        known += one[6]
    return Tally(words, digits, marks, cjk, scripts, framing, known)
