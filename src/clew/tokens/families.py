"""Families of models that share a tokenizer (scale, framing, image rule), and token counts by kind.

A family's scale relates its tokens to the estimate, which is made for o200k_base: Claude needs a fifth more
tokens for words, Gemini a third more for marks. ``Tally(words=100, digits=10)`` is 110 tokens for o200k and
100 * 1.23 + 10 * 0.85 = 131.5 for Claude. The scales were measured (``bench/README.md`` has the method
and the errors); ``calibrate.py`` starts from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from clew.tokens.images import ImageRule, flat_rate, openai_tiles, patches

Scale: TypeAlias = tuple[float, float, float, float, float, float]
"""One number for each of ``KINDS``, in that order."""

COUNTED = "/counted"
"""The end of the name of a family whose texts are counted by a tokenizer; it is calibrated separately."""
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

    def __sub__(self, other: Tally) -> Tally:
        """Return the difference by kind."""
        return Tally(*(own - less for own, less in zip(self, other, strict=True)))

    @property
    def kinds(self) -> Scale:
        """Return the counts that a scale applies to, in the order of ``KINDS``."""
        return self[:6]

    def tokens(self, scale: Scale, more_framing: int = 0) -> float:
        """Return the number of tokens with this scale, and with so much more framing."""
        # Written out because it runs for every message, and a loop takes five times as long.
        words, digits, marks, cjk, scripts, framing, known = self
        by_words, by_digits, by_marks, by_cjk, by_scripts, by_framing = scale
        return known + (
            words * by_words
            + digits * by_digits
            + marks * by_marks
            + cjk * by_cjk
            + scripts * by_scripts
            + (framing + more_framing) * by_framing
        )


EMPTY_TALLY = Tally()


def total(tallies: Iterable[Tally]) -> Tally:
    """Return the sum of tallies by kind."""
    words = digits = marks = cjk = scripts = framing = known = 0.0
    for tally in tallies:
        words += tally[0]
        digits += tally[1]
        marks += tally[2]
        cjk += tally[3]
        scripts += tally[4]
        framing += tally[5]
        known += tally[6]
    return Tally(words, digits, marks, cjk, scripts, framing, known)


@dataclass(frozen=True, slots=True)
class Framing:
    """The tokens a provider wraps around each message, tool call and tool result."""

    message: int
    call: int
    result: int


@dataclass(frozen=True, slots=True)
class Family:
    """One tokenizer, and the tokens that its providers add to a request."""

    name: str
    scale: Scale
    """Factors on the estimate: words, digits, marks, cjk, scripts, framing."""
    framing: Framing
    image: ImageRule
    encoding: str | None = None
    """OpenAI's name of the encoding, if clew can count exactly."""

    def named(self, name: str) -> Family:
        """Return the same family under another name, so that it is calibrated separately."""
        return replace(self, name=name)

    @property
    def counted(self) -> Family:
        """Return the same family for counts of its own tokenizer, which need no scale until reports do."""
        return replace(self, name=f"{self.name}{COUNTED}", scale=(1.0, 1.0, 1.0, 1.0, 1.0, 1.0))

    @property
    def is_counted(self) -> bool:
        """Whether its own tokenizer counts texts."""
        return self.name.endswith(COUNTED)

    @property
    def is_measured(self) -> bool:
        """Whether its scale was measured, or its tokens are counted."""
        return self.is_counted or (self.name in FAMILIES and self.name != "other")


# OpenAI documents three tokens around a chat message and one for its role; calls and results are guesses.
_CHAT = Framing(message=4, call=8, result=4)
# Claude adds 67 tokens to a tool call and its result, both ids included: the median over 1,582 steps of real
# sessions. Only the sum can be measured, so it is divided evenly.
_CLAUDE = Framing(message=4, call=34, result=33)

FAMILIES = {
    family.name: family
    for family in (
        Family("o200k", (1.0, 1.0, 1.0, 1.0, 1.0, 1.0), _CHAT, openai_tiles, "o200k_base"),
        Family("cl100k", (1.05, 1.09, 0.86, 1.52, 2.27, 1.0), _CHAT, openai_tiles, "cl100k_base"),
        # Claude 3 to 4.6.
        Family("claude", (1.23, 0.85, 1.22, 1.52, 1.90, 1.0), _CLAUDE, patches(28, 1568, 1568)),
        # The tokenizer introduced with Opus 4.7. Its framing is assumed to be unchanged.
        Family("claude-4.7", (1.61, 0.59, 1.69, 1.52, 1.87, 1.0), _CLAUDE, patches(28, 2576, 4784)),
        # CJK and other scripts were not in the measured sessions.
        Family("gemini", (0.96, 1.27, 1.31, 1.0, 1.0, 1.0), Framing(1, 8, 8), flat_rate(1120)),
        Family("other", (1.0, 1.0, 1.0, 1.0, 1.0, 1.0), _CHAT, patches(28, 1568, 1568)),
    )
}
OTHER = FAMILIES["other"]
