"""Estimate the tokens of claims by their bytes, at the rate of a sample.

Choosing the claims of a digest needs the sizes of hundreds of them. ``ClaimSizer`` counts the tokens of a few
and multiplies; the digest that comes out is counted exactly by ``digest_builder.py``::

    sizer = ClaimSizer(counter, claims)
    sizer.claim(claims[0])  # about 31.5 tokens, with the heading of its turn
"""

from __future__ import annotations

from collections.abc import Sequence

from clew.compaction.plan import Claim
from clew.tokens import TokenCounter

SAMPLE = 100
"""Claims counted to learn the tokens per byte..."""
FEW = 25
"""...and those counted to learn the overhead of a line, which varies little."""


class ClaimSizer:
    """Estimates tokens by bytes, at the rate of a sample."""

    def __init__(self, counter: TokenCounter, claims: Sequence[Claim]) -> None:
        """Count an evenly spread sample: texts alone, as list lines, and under turn headings."""
        count = counter.count_text
        plain = [claim.text for claim in _sample(claims)]
        words = count("\n".join(plain))
        breaks = sum(text.count("\n") for text in plain)
        broken = count("\n".join(text.replace("\n", "\n  ") for text in plain)) if breaks else words
        self._per_byte = words / max(1, sum(map(_bytes, plain)))
        self._per_break = (broken - words) / max(1, breaks)
        few = _sample(claims, FEW)
        words = count("\n".join(claim.text for claim in few))
        lines = count("\n".join(f"- {claim.text}" for claim in few))
        named = count("\n".join(f"[{claim.sources[0].message}]\n- {claim.text}" for claim in few))
        self._per_line = (lines - words) / max(1, len(few))
        self.per_turn = (named - lines) / max(1, len(few))
        """Tokens of a turn heading."""

    def line(self, claim: Claim) -> float:
        """Return the tokens of a claim's line, without turn headings."""
        text = claim.text
        size = len(text) if text.isascii() else _bytes(text)  # called thousands of times
        return size * self._per_byte + text.count("\n") * self._per_break + self._per_line

    def claim(self, claim: Claim) -> float:
        """Return the tokens of a claim with its own turn headings."""
        line = self.line(claim)
        if len(claim.sources) == 1:
            return line + self.per_turn
        return line + self.per_turn * len({cite.message for cite in claim.sources})


def _sample(claims: Sequence[Claim], most: int = SAMPLE) -> Sequence[Claim]:
    return claims[:: max(1, len(claims) // most)]


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
