"""Split a message into sentences with exact span, section, list and lead-in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from clew.rules.layout import Line, LineKind, lines
from clew.rules.tables import words


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
_STOP = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_]*+(?=\s)|[。！？；]+[」』”）]*|;(?=\s)")
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«]+$")
_CONTINUES = re.compile(r"[a-zà-öø-ÿа-яё(`/0-9]")
_SAYS_SOMETHING = re.compile(r"[^\W_]")
_LEADS_ON = re.compile(
    r"\b(?:not|never|no|to|should|must|shall|will|would|can|could|may|might|and|or|but|the|an?|of|in|on|with|without|that|you|we|i"
    r"|do|don['’]t|won['’]t|cannot|nicht|nie|niemals|zu|soll(?:st)?|darfst?|und|oder|die|der|das|pas|de|ne|jamais|ni|y|no|nunca|que|non|mai|e)\Z",
    re.IGNORECASE,
)
"""Words that cannot end a sentence, however short the line."""
_WRAPPED = 48
"""Characters from which on a line without a full stop may have been wrapped; chosen by hand."""


def sentences(text: str, *, tags_are_speech: bool = False) -> Iterator[Sentence]:
    """Yield the sentences of the speaker's own words, in order; spans index ``text``."""
    heading = lead = ""
    text = _unwrapped(text)
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


def _unwrapped(text: str) -> str:
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
            yield from _trimmed(text, begin, stop.end())
        # In a quotation over several sentences, the second and later ones are not the speaker's.
        quoted ^= text.count('"', begin, stop.end()) % 2 == 1
        begin = stop.end()
    if not quoted:
        yield from _trimmed(text, begin, end)


def _is_abbreviation(text: str, begin: int, stop: int) -> bool:
    word = _LAST_WORD.search(text, max(begin, stop - 12), stop)
    if word is None:
        return False
    return word[0].lower() in words("sentences", "abbreviations") or (len(word[0]) == 1 and word[0].isupper())


def _trimmed(text: str, begin: int, stop: int) -> Iterator[tuple[int, int]]:
    while begin < stop and text[begin].isspace():
        begin += 1
    while stop > begin and text[stop - 1].isspace():
        stop -= 1
    if _SAYS_SOMETHING.search(text, begin, stop):
        yield begin, stop
