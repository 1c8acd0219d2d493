"""Tokens by what they are made of, before a model family's own scale is put on them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

Scale: TypeAlias = tuple[float, float, float, float, float, float]
"""One number for each of ``KINDS``, in that order."""

KINDS = ("words", "digits", "marks", "cjk", "scripts", "framing")
"""The kinds of token whose number differs from one family of models to the next."""


class Tally(NamedTuple):
    """Token counts that add up; a scale turns them into one family's tokens.

    The kinds are those on which tokenizers differ: one splits numbers into digits, another spends twice
    as much on Chinese. ``known`` is what no scale changes, because a tokenizer or a formula gave it.
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
    """What a provider wraps around messages, tool calls and results."""
    known: float = 0.0

    def __add__(self, other: Tally) -> Tally:  # type: ignore[override] # a sum, not a longer tuple
        """Return both together."""
        return total((self, other))

    @property
    def kinds(self) -> Scale:
        """Return what a scale applies to, in the order of ``KINDS``."""
        return self[:6]

    def tokens(self, scale: Scale) -> float:
        """Return the tokens of a family with this scale."""
        # Written out: asked for every message, and a loop over seven numbers takes five times as long.
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
    """Return all of them together."""
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
