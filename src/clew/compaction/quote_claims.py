"""Quotes as claims, and how a long quote is cut: to whole words, with the omission marked."""

from __future__ import annotations

import re

from clew.compaction.plan import Claim, ClaimKind
from clew.message import Cite, Trust
from clew.message.text import omission_note

LONGEST_QUOTE = 600
_LAST_BREAK = re.compile(r".*\s", re.DOTALL)


def quote_claim(kind: ClaimKind, quote: str, source: Cite, trust: Trust) -> Claim:
    """Return a quote as a claim; a long one is cut, with the omission marked."""
    start = beginning(quote)
    if start == quote:
        return Claim("", kind, quote, (source,), trust, verbatim=True)
    text = f"{start}{omission_note(len(quote) - len(start))}"
    return Claim("", kind, text, (source._replace(end=source.start + len(start)),), trust)


def shorten_claim(claim: Claim, most: int) -> Claim:
    """Return a goal or open item cut to its beginning; its citation leads to the whole."""
    start = beginning(claim.text, most)
    if start == claim.text:
        return claim
    whole, _, _ = start.partition("[… ")  # without half of an omission note
    return claim._replace(text=f"{whole.rstrip()}…", verbatim=False)


def clip(text: str, most: int = LONGEST_QUOTE) -> str:
    """Return a text, or the whole words at its beginning with an ellipsis."""
    start = beginning(text, most)
    return text if start == text else f"{start}…"


def beginning(quote: str, most: int = LONGEST_QUOTE) -> str:
    """Return a quote, or the whole words at its beginning."""
    if len(quote) <= most:
        return quote
    words = _LAST_BREAK.match(quote, 0, most)
    # Text without spaces is cut anywhere, rather than to one or two words.
    return words[0].rstrip() if words and len(words[0]) * 3 > most * 2 else quote[:most]
