"""Quotes of lines, no longer than it takes to say what a value is."""

from __future__ import annotations

import re

from clew.ladder.excerpt import before_negation
from clew.ladder.labels import trust_at
from clew.message import Cite, Message, Trust, words
from clew.plan import Claim, ClaimKind

LONGEST = 220
"""Characters of a line that is quoted whole."""
AROUND = 90
"""Characters on either side of a value that are quoted of a longer line."""
_LINE_NUMBER = re.compile(r"\s*(?:\d+(?:→|\t|│|: ?))?\s*")
_FOUND_AT = re.compile(r"[\w./@+~-]+\.\w+[:-]\d+(?:[:-]\d+)?[:-]\s*")
"""Where a search found a line: ``src/app.py:12:``, or ``src/app.py-13-`` for those around it."""
_CLOSING_TAGS = re.compile(r"(?:</[\w:.-]+>[\s;,)]*)+")
_DRAWING = re.compile(r"\bd=\\?[\"'][Mm]\s?-?\.?\d")
_ENCODED = re.compile(r"[A-Za-z0-9+/]{160}")
_LONG = 160
_PLACEHOLDERS = ("path/to/", "your_", "your-", "<your ", "YOUR_")
"""What a template leaves open."""


def quoted(message: Message | None, cite: Cite, value: str, root: str = "") -> Claim | None:
    """Return the words around a value as a claim; None where there are none worth quoting, or no such place.

    Of what people said nothing is cut away: half a sentence may say the opposite.
    """
    trust = trust_at(message, cite) if message is not None else None
    if message is None or trust is None:
        return None
    said = words(message.parts[cite.part])
    start, end = cite.start, len(said) if cite.end is None else cite.end
    if trust < Trust.USER:
        start, end = _cut(said, start, end, value, root)
    while start < end and said[start].isspace():
        start += 1
    while end > start and said[end - 1].isspace():
        end -= 1
    text = said[start:end]
    if not text or (trust < Trust.USER and _is_noise(text)):
        return None
    place = Cite(cite.message, cite.part, start, end)
    return Claim("", ClaimKind.FACT, text, (place,), trust, verbatim=True)


def _is_noise(text: str) -> bool:
    """Tell whether a line is what a tool prints and nobody needs to be told."""
    return (
        (text.startswith("</") and _CLOSING_TAGS.fullmatch(text) is not None)
        or (" d=" in text and _DRAWING.search(text) is not None)
        or ";base64," in text
        or (len(text) >= _LONG and _ENCODED.search(text) is not None)
        or any(sign in text for sign in _PLACEHOLDERS)
    )


def _cut(said: str, start: int, end: int, value: str, root: str) -> tuple[int, int]:
    """Return where a shorter quote begins and ends: between words, without a tool's line numbers."""
    number = _LINE_NUMBER.match(said, start, end)
    at = said.find(value, start, end)
    if at < 0:
        at = start
    if number is not None and number.end() <= at:
        start = number.end()
    if root and said.startswith(root, start) and len(root) < end - start:
        start += len(root)
    found_at = _FOUND_AT.match(said, start, end)
    if found_at is not None and found_at.end() <= at:
        start = found_at.end()
    if end - start <= LONGEST:
        return start, end
    low, high = max(start, at - AROUND), min(end, at + len(value) + AROUND)
    if low > start:
        space = said.find(" ", low, max(low, at))
        low = max(start, before_negation(said, space + 1 if space >= 0 else low))
    if high < end:
        space = said.rfind(" ", min(high, at + len(value)), high)
        high = space if space >= 0 else high
    return low, high


def plain_words(text: str) -> int:
    """Count the plain words of a text, without the shortest."""
    return sum([len(word) > 2 and word.isalpha() for word in text.split()])
