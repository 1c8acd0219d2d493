"""Split a message into sentences with exact positions, leaving out lines that are not the speaker's words.

In: a text. Out: ``Sentence`` values, each with the heading and the lead-in above it. Of "Rules:", "- never
push" and a pasted log, the sentences are "Rules:" and "never push", the latter an item with the lead
"Rules:". ``lines.py`` classifies the lines; here wrapped lines are joined, and paragraphs split at full
stops. Whole pasted passages are the matter of ``pasted.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from clew.message.text import lazy_pattern
from clew.rules.lines import Line, LineKind, lines
from clew.rules.words import words


class Sentence(NamedTuple):
    """``text[start:end]`` of a message, and its context."""

    start: int
    end: int
    text: str
    heading: str = ""
    """The nearest heading above."""
    lead: str = ""
    """The line ending in a colon that introduces the list this item is part of."""
    item: bool = False


# A run of punctuation is tried once, from its start: it may be as long as the text.
_STOP = lazy_pattern(r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_]*+(?=\s)|[。！？；]+[」』”）]*|;(?=\s)")
"""The end of a sentence: a full stop before a space, a semicolon, their Chinese and Japanese forms."""
_LAST_WORD = lazy_pattern(r"[^\s(\[\"'“‘«]+$")
_CONTINUES = lazy_pattern(r"[a-zà-öø-ÿа-яё(`/0-9]")
"""How a line begins that may continue the one above: not with a capital letter."""
_SAYS_SOMETHING = lazy_pattern(r"[^\W_]")
_LEADS_ON = lazy_pattern(
    r"\b(?:not|never|no|to|should|must|shall|will|would|can|could|may|might|and|or|but|the|an?|of|in|on|with|without|that|you|we|i"
    r"|do|don['’]t|won['’]t|cannot|nicht|nie|niemals|zu|soll(?:st)?|darfst?|und|oder|die|der|das|pas|de|ne|jamais|ni|y|no|nunca|que|non|mai|e)\Z",
    re.IGNORECASE,
)
"""Words that cannot end a sentence, however short the line."""
_SHORT = 1_000
"""Characters of a text whose sentences are remembered."""
_WRAPPED = 48
"""Characters from which on a line without a full stop may have been wrapped; chosen by hand."""


def sentences(text: str, *, tags_are_speech: bool = False) -> Iterable[Sentence]:
    """Return the sentences of the speaker's own words, in order; spans index ``text``."""
    if len(text) > _SHORT:
        return _sentences(text, tags_are_speech)
    return _cached_sentences(text, tags_are_speech)


@lru_cache(maxsize=512)  # several trackers ask about each text, a block of messages at a time
def _cached_sentences(text: str, tags_are_speech: bool) -> tuple[Sentence, ...]:
    return tuple(_sentences(text, tags_are_speech))


def _sentences(text: str, tags_are_speech: bool) -> Iterator[Sentence]:
    heading = lead = ""
    text = _unwrap_json_string(text)
    for block in _blocks(text, tags_are_speech):
        first = block[0]
        if first.kind is LineKind.HEADING:
            heading, lead = text[first.start : first.end], ""
            continue
        item = first.kind is LineKind.ITEM
        start, end = first.start, block[-1].end
        if not item:
            lead = ""
        last = ""
        for begin, stop in _split(text, start, end):
            last = text[begin:stop]
            yield Sentence(begin, stop, last, heading, lead if item else "", item)
        if not item and last.endswith((":", "：")):
            lead = last


def _unwrap_json_string(text: str) -> str:
    """Return a text that a tool wrote as a JSON string with its quotation marks blanked out."""
    is_json = len(text) > 1 and text[0] == text[-1] == '"' and ('\\"' in text or "\\n" in text)
    return f" {text[1:-1]} " if is_json else text


def _blocks(text: str, tags_are_speech: bool) -> Iterator[list[Line]]:
    """Join wrapped lines: yield each heading, list item or paragraph line with its continuations."""
    block: list[Line] = []
    for line in lines(text, tags_are_speech=tags_are_speech):
        if block and line.kind is LineKind.PROSE and _joins(text, block[-1], line):
            block.append(line)
            continue
        if block:
            yield block
        block = [line] if line.kind in (LineKind.PROSE, LineKind.ITEM, LineKind.HEADING) else []
    if block:
        yield block


def _joins(text: str, before: Line, line: Line) -> bool:
    """Return True if a line continues the one before it."""
    if before.kind is LineKind.HEADING or text[before.end - 1] in ".!?:;。！？；：…":
        return False
    if before.kind is LineKind.ITEM and line.indent <= before.indent:
        return False
    is_wrapped = before.end - before.start >= _WRAPPED or _LEADS_ON.search(text, before.start, before.end)
    return bool(is_wrapped and _CONTINUES.match(text, line.start))


def _split(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences of a block."""
    begin = start
    quoted = False
    for stop in _STOP.finditer(text, start, end):
        if text[stop.start()] == "." and _is_abbreviation(text, begin, stop.start()):
            continue
        if not quoted:
            yield from _trim(text, begin, stop.end())
        # In a quotation over several sentences, the second and later ones are not the speaker's.
        quoted ^= text.count('"', begin, stop.end()) % 2 == 1
        begin = stop.end()
    if not quoted:
        yield from _trim(text, begin, end)


def _is_abbreviation(text: str, begin: int, stop: int) -> bool:
    """Return True if the full stop at ``stop`` belongs to an abbreviation or an initial: "e.g.", "J."."""
    word = _LAST_WORD.search(text, max(begin, stop - 12), stop)
    if word is None:
        return False
    return word[0].lower() in words("sentences", "abbreviations") or (len(word[0]) == 1 and word[0].isupper())


def _trim(text: str, begin: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield a span without white space around it, if it has a letter or digit."""
    while begin < stop and text[begin].isspace():
        begin += 1
    while stop > begin and text[stop - 1].isspace():
        stop -= 1
    if _SAYS_SOMETHING.search(text, begin, stop):
        yield begin, stop
