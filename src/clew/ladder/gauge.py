"""About how many tokens a line of a digest takes: quicker than counting each; the whole is counted."""

from __future__ import annotations

from collections.abc import Sequence

from clew.plan import Claim
from clew.tokens import TokenCounter

SAMPLE = 100
"""Claims that are counted to learn how many tokens a byte has here..."""
FEW = 25
"""...and what stands around a line, which is nearly the same for each."""

NAMES_ARE_DENSE = 1.15
"""Tokens of a name, of those that as many bytes of a line have."""
PER_NAME = 1.0
"""Tokens between two names."""


class Gauge:
    """Estimates tokens by bytes, at the rate of a sample."""

    def __init__(self, counter: TokenCounter, claims: Sequence[Claim]) -> None:
        """Count a sample, evenly spread: its words alone; some also as lines, and under their turns."""
        count = self._count = counter.count_text
        plain = [one.text for one in _sample(claims)]
        words = count("\n".join(plain))
        breaks = sum(text.count("\n") for text in plain)
        broken = count("\n".join(text.replace("\n", "\n  ") for text in plain)) if breaks else words
        self._per_byte = words / max(1, sum(map(_bytes, plain)))
        self._per_break = (broken - words) / max(1, breaks)
        few = _sample(claims, FEW)
        words = count("\n".join(one.text for one in few))
        lines = count("\n".join(f"- {one.text}" for one in few))
        named = count("\n".join(f"[{one.sources[0].message}]\n- {one.text}" for one in few))
        self._per_line = (lines - words) / max(1, len(few))
        self.per_turn = (named - lines) / max(1, len(few))
        """For every turn that a line names."""
        self.per_list = self._per_line + 2
        """For every list of names."""

    def name(self, text: str) -> float:
        """Return the tokens of a name in a list of names."""
        return _bytes(text) * self._per_byte * NAMES_ARE_DENSE + PER_NAME

    def line(self, claim: Claim) -> float:
        """Return the tokens of a claim's line, without the turns that it names."""
        text = claim.text
        return _bytes(text) * self._per_byte + text.count("\n") * self._per_break + self._per_line

    def claim(self, claim: Claim) -> float:
        """Return the tokens of a claim that stands alone."""
        turns = 1 if len(claim.sources) == 1 else len({cite.message for cite in claim.sources})
        return self.line(claim) + self.per_turn * turns

    def error(self, claims: Sequence[Claim]) -> float:
        """Return the tokens that these lines take for each that was estimated, by a sample of them.

        Lines that are chosen for naming much in few bytes have more tokens in a byte than others.
        """
        sample = _sample(claims)
        counted = self._count("\n".join(f"- {one.text}" for one in sample))
        return counted / max(1.0, sum(map(self.line, sample)))


def _sample(claims: Sequence[Claim], most: int = SAMPLE) -> Sequence[Claim]:
    return claims[:: max(1, len(claims) // most)]


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
