"""Quote the lines that explain the exact values most likely needed again.

Values are rated by who named them, how often and how recently; the best are quoted by their most informative
line. Exact values get at most a small share of a view: recall finds the others.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from clew.compaction.plan import Claim, ClaimKind
from clew.compaction.propose.brief import trust_at
from clew.compaction.propose.excerpt import Span, before_negation
from clew.compaction.propose.scene import Scene
from clew.compaction.propose.story import Replaced
from clew.ledger.kinds import ValueKind
from clew.ledger.passages import Voice
from clew.ledger.values import Value
from clew.message import Cite, Message, Text, ToolCall, Trust, words

BY_VOICE = {
    Voice.USER: 6.0,
    Voice.CALL: 4.0,
    Voice.ASSISTANT: 3.0,
    Voice.BODY: 1.2,
    Voice.MACHINE: 0.6,
    Voice.RESULT: 0.4,
    Voice.SYSTEM: 0.0,
}
"""Weight of a speaker who named a value: people and the model name what matters, tools name everything.
These and the weights below were chosen by hand, and checked with ``bench/probes.py``."""
BY_KIND = {ValueKind.NUMBER: 0.5, ValueKind.QUOTED: 0.4}
IN_ERROR = 1.3
STILL_SHOWN = 0.5
"""Factor for a value that a recent message names as well."""
HALF_LIFE = 0.35
"""Share of the session after which a value that is not named again loses half of its recency."""
LONGEST = 160
"""Characters of a line that is quoted whole."""
AROUND = 70
"""Characters on either side of a value that are quoted of a longer line."""
_LINE_NUMBER = re.compile(r"\s*(?:\d+(?:→|\t|│|: ?))?\s*")
_FOUND_AT = re.compile(r"[\w./@+~-]+\.\w+[:-]\d+(?:[:-]\d+)?[:-]\s*")
"""The prefix of a search result: ``src/app.py:12:``, or ``src/app.py-13-`` for context lines."""
_CLOSING_TAGS = re.compile(r"(?:</[\w:.-]+>[\s;,)]*)+")
_OWN_NOTE = re.compile(
    r"\[(?:about [\d,]+ tokens, |… [\d,]+ (?:lines?|characters?)[,\]]|[\d,]+ characters, kept as "
    r"|the same output as in |outdated: |all but these lines (?:are|stands) in )"
)
"""Notes that a compaction writes in place of omitted text."""
_DRAWING = re.compile(r"\bd=\\?[\"'][Mm]\s?-?\.?\d")
_ENCODED = re.compile(r"[A-Za-z0-9+/]{120}")
_LONG = 120
_ARGUMENT = re.compile(r'"\w{1,30}":\s*"\Z')
_LONGEST_ARGUMENT = 40
_BEGIN = re.compile(r"[.!?]\s+(?=[^\sa-z])")
_END = re.compile(r"[.!?](?=\s)")
_PLACEHOLDERS = ("path/to/", "your_", "your-", "<your ", "YOUR_")
"""Placeholders of templates."""


_WEIGHTS = [BY_VOICE[voice] for voice in Voice]


class ValueQuote(NamedTuple):
    """A value, and a quote of a line that names it."""

    value: str
    claim: Claim


def value_quotes(scene: Scene, gone: Collection[str], most: int) -> Iterator[ValueQuote]:
    """Yield quotes for the best values named in the messages that leave the view, best first.

    Values in a person's focus come before all others. Lines that a later edit replaced are not quoted, and
    each line is quoted once.
    """
    if not most:
        return
    replaced = Replaced(scene.view)
    places = {item.id: i for i, item in enumerate(scene.view)}
    seen: set[tuple[Cite, ...]] = set()
    for value in _best_values(scene, gone, most):
        for cite in (value.best_line, value.last, value.first):
            claim = quoted(scene.source(cite.message), cite, value.text) if cite.message in gone else None
            if claim is None or replaced.holds(claim.text, places.get(cite.message, -1)):
                continue
            if claim.sources not in seen:
                seen.add(claim.sources)
                yield ValueQuote(value.text, claim)
            break


def _best_values(scene: Scene, gone: Collection[str], most: int) -> list[Value]:
    found = [one for one in scene.task.ledger.values if one.first_message in gone or one.last_message in gone]
    length = 1 + max((value.last_index for value in found), default=0)
    focus = scene.focus

    def rating(value: Value) -> tuple[bool, float]:
        rated = _rating(value, length) if value.last_message in gone else STILL_SHOWN * _rating(value, length)
        return bool(focus) and focus.meets(value.text), rated

    return heapq.nlargest(most, found, key=rating)


def _rating(value: Value, length: int) -> float:
    """Rate how likely a value is needed again; only the order matters."""
    named = mentions = 0.0
    for weight, count in zip(_WEIGHTS, value.counts, strict=True):
        if count:
            named += weight
            mentions += count
    often = 1.0 + math.log2(1 + mentions) / 2
    recent = 0.3 + 0.7 * 0.5 ** ((length - value.last_index) / (length * HALF_LIFE))
    error = IN_ERROR if value.in_error else 1.0
    return float(named * often * recent * error * BY_KIND.get(value.kind, 1.0))


def quoted(message: Message | None, cite: Cite, value: str) -> Claim | None:
    """Return the text around a value as a claim; None if it is not worth quoting or the place does not exist.

    People's words are never cut: half a sentence may say the opposite.
    """
    trust = trust_at(message, cite) if message is not None else None
    if message is None or trust is None:
        return None
    part = message.parts[cite.part]
    said = words(part)
    start, end = line = cite.start, len(said) if cite.end is None else cite.end
    at = said.find(value, start, end)
    if end > len(said) or (at < 0 and not isinstance(part, ToolCall)):
        return None  # the list holds only a smaller form of the cited message
    if trust < Trust.USER:
        named = (at, at + len(value)) if at >= 0 else (start, start)
        start, end = _cut(said, line, named)
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
    """Extend the quote of an argument to its name, which says what it is for."""
    name = _ARGUMENT.search(said, max(0, start - _LONGEST_ARGUMENT), start)
    if name is None or end - name.start() > LONGEST:
        return start, end
    return name.start(), end + said.startswith('"', end)


def _is_wordly(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _is_noise(text: str) -> bool:
    """Whether a line of tool output is not worth quoting: markup, drawings, encoded data, placeholders."""
    return (
        (text.startswith("</") and _CLOSING_TAGS.fullmatch(text) is not None)
        or (text.startswith("[") and _OWN_NOTE.match(text) is not None)
        or (" d=" in text and _DRAWING.search(text) is not None)
        or ";base64," in text
        or (len(text) >= _LONG and _ENCODED.search(text) is not None)
        or _is_left_open(text)
    )


def _is_left_open(text: str) -> bool:
    may_be = (
        "your" in text or "YOUR_" in text or "path/to/" in text
    )  # a quick test that rules out nearly every line
    return may_be and any(sign in text for sign in _PLACEHOLDERS)


def _cut(said: str, line: Span, named: Span) -> Span:
    """Return where a shorter quote begins and ends: between words, without a tool's line numbers."""
    (start, end), (at, last) = line, named
    number = _LINE_NUMBER.match(said, start, end)
    if number is not None and number.end() <= at:
        start = number.end()
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
    """Return the cut without half a sentence before or after whole ones."""
    start, end = cut
    if start > line[0] and (begun := _BEGIN.search(said, start, named[0] + 1)):
        start = begun.end()
    if end < line[1] and (ends := [one.end() for one in _END.finditer(said, named[1], end + 1)]):
        end = ends[-1]
    return start, end


def _joins(said: str, at: int) -> bool:
    """Whether a position is inside a word or number, which must not be cut in two."""
    return all(_is_wordly(sign) or sign in ".,-" for sign in said[at - 1 : at + 1])
