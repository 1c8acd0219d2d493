"""Quotes of lines, no longer than it takes to say what a value is."""

from __future__ import annotations

import re

from clew.compaction.plan import Claim, ClaimKind
from clew.compaction.propose.excerpt import Span, before_negation
from clew.compaction.propose.labels import trust_at
from clew.message import Cite, Message, Text, ToolCall, Trust, words

LONGEST = 160
"""Characters of a line that is quoted whole."""
AROUND = 70
"""Characters on either side of a value that are quoted of a longer line."""
_LINE_NUMBER = re.compile(r"\s*(?:\d+(?:→|\t|│|: ?))?\s*")
_FOUND_AT = re.compile(r"[\w./@+~-]+\.\w+[:-]\d+(?:[:-]\d+)?[:-]\s*")
"""Where a search found a line: ``src/app.py:12:``, or ``src/app.py-13-`` for those around it."""
_CLOSING_TAGS = re.compile(r"(?:</[\w:.-]+>[\s;,)]*)+")
_OWN_NOTE = re.compile(
    r"\[(?:about [\d,]+ tokens, |… [\d,]+ (?:lines?|characters?)[,\]]|[\d,]+ characters, kept as "
    r"|the same output as in |outdated: |all but these lines (?:are|stands) in )"
)
"""What a compaction writes in place of what it leaves out."""
_DRAWING = re.compile(r"\bd=\\?[\"'][Mm]\s?-?\.?\d")
_ENCODED = re.compile(r"[A-Za-z0-9+/]{120}")
_LONG = 120
_ARGUMENT = re.compile(r'"\w{1,30}":\s*"\Z')
_LONGEST_ARGUMENT = 40
_BEGIN = re.compile(r"[.!?]\s+(?=[^\sa-z])")
_END = re.compile(r"[.!?](?=\s)")
_PLAIN = re.compile(r"(?<![\w./-])[a-z]{3,}(?![\w./-])")
_LOOKED_ON = 100_000
"""Characters behind the first line of a part that names a value in which the last one is looked for."""
_PLACEHOLDERS = ("path/to/", "your_", "your-", "<your ", "YOUR_")
"""What a template leaves open."""


def quoted(message: Message | None, cite: Cite, value: str, root: str = "") -> Claim | None:
    """Return the words around a value as a claim; None where there are none worth quoting, or no such place.

    Of what people said nothing is cut away: half a sentence may say the opposite.
    """
    trust = trust_at(message, cite) if message is not None else None
    if message is None or trust is None:
        return None
    part = message.parts[cite.part]
    said = words(part)
    start, end = line = cite.start, len(said) if cite.end is None else cite.end
    at = said.find(value, start, end)
    if end > len(said) or (at < 0 and not isinstance(part, ToolCall)):
        return None  # shown smaller by whoever compacted the list before, and cited from the whole
    if trust < Trust.USER:
        named = (at, at + len(value)) if at >= 0 else (start, start)
        start, end = _cut(said, line, named, root)
        if isinstance(part, ToolCall):
            start, end = _with_its_name(said, start, end)
        elif isinstance(part, Text) and line[1] - line[0] > LONGEST:
            start, end = _whole_sentences(said, line, (start, end), named)
    while start < end and said[start].isspace():
        start += 1
    while end > start and said[end - 1].isspace():
        end -= 1
    text = said[start:end]
    if not text or (trust < Trust.USER and _is_noise(text)):
        return None
    place = Cite(cite.message, cite.part, start, end)
    return Claim("", ClaimKind.FACT, text, (place,), trust, verbatim=True)


def _with_its_name(said: str, start: int, end: int) -> Span:
    """Return where the quote of an argument begins and ends with its name: that says what it is for."""
    name = _ARGUMENT.search(said, max(0, start - _LONGEST_ARGUMENT), start)
    if name is None or end - name.start() > LONGEST:
        return start, end
    return name.start(), end + said.startswith('"', end)


def last_line(message: Message | None, cite: Cite, value: str) -> Cite:
    """Return the last line of a part that names a value, of a cite of the first one in it that does."""
    if message is None or cite.end is None or isinstance(message.parts[cite.part], ToolCall):
        return cite
    said = words(message.parts[cite.part])
    at = said.rfind(value, cite.end, cite.end + _LOOKED_ON)
    while at >= 0 and (_is_wordly(said[at - 1]) or _is_wordly(said[at + len(value) : at + len(value) + 1])):
        at = said.rfind(value, cite.end, at + len(value) - 1)
    if at < 0:
        return cite
    start, end = said.rfind("\n", cite.end, at), said.find("\n", at)
    return cite._replace(start=max(cite.end, start + 1), end=end if end >= 0 else len(said))


def _is_wordly(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _is_noise(text: str) -> bool:
    """Tell whether a line is what a tool prints and nobody needs to be told."""
    return (
        (text.startswith("</") and _CLOSING_TAGS.fullmatch(text) is not None)
        or (text.startswith("[") and _OWN_NOTE.match(text) is not None)
        or (" d=" in text and _DRAWING.search(text) is not None)
        or ";base64," in text
        or (len(text) >= _LONG and _ENCODED.search(text) is not None)
        or _is_left_open(text)
    )


def _is_left_open(text: str) -> bool:
    may_be = "your" in text or "YOUR_" in text or "path/to/" in text  # told at once of nearly every line
    return may_be and any(sign in text for sign in _PLACEHOLDERS)


def _cut(said: str, line: Span, named: Span, root: str) -> Span:
    """Return where a shorter quote begins and ends: between words, without a tool's line numbers."""
    (start, end), (at, last) = line, named
    number = _LINE_NUMBER.match(said, start, end)
    if number is not None and number.end() <= at:
        start = number.end()
    if root and said.startswith(root, start) and len(root) < end - start:
        start += len(root)
    found_at = _FOUND_AT.match(said, start, end)
    if found_at is not None and found_at.end() <= at:
        start = found_at.end()
    if end - start <= LONGEST:
        return start, end
    low, high = max(start, at - AROUND), min(end, last + AROUND)
    if low > start:
        space = said.find(" ", low, max(low, at))
        while space < 0 and low < at and _joins(said, low):
            low += 1
        low = max(start, before_negation(said, space + 1 if space >= 0 else low))
    if high < end:
        space = said.rfind(" ", min(high, last), high)
        while space < 0 and high > last and _joins(said, high):
            high -= 1
        high = space if space >= 0 else high
    return low, high


def _whole_sentences(said: str, line: Span, cut: Span, named: Span) -> Span:
    """Return what was cut out of a line, without half a sentence before or behind whole ones."""
    start, end = cut
    if start > line[0] and (begun := _BEGIN.search(said, start, named[0] + 1)):
        start = begun.end()
    if end < line[1] and (ends := [one.end() for one in _END.finditer(said, named[1], end + 1)]):
        end = ends[-1]
    return start, end


def _joins(said: str, at: int) -> bool:
    """Tell whether the signs on both sides of a place are of one word or number: half of it says another."""
    return all(_is_wordly(sign) or sign in ".,-" for sign in said[at - 1 : at + 1])


def plain_words(text: str) -> int:
    """Count the different plain words of a text: in small letters, with nothing joined to them."""
    return len(set(_PLAIN.findall(text)))
