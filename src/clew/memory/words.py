"""A text as the index keeps it: stemmed words, a few traits, and the days it speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from enum import IntFlag
from functools import cache
from importlib.resources import files

from clew.memory.stem import stem
from clew.memory.when import Span, spans
from clew.ports.index import Analysed, Entry

_WORD = re.compile(r"[^\W_]+")
# Scripts that put no blanks between words: every two neighbouring characters are a term.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]+")
_CONTRACTED = re.compile(r"(?<=[a-z])['’](?:s|t|d|m|re|ve|ll)\b")
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|couple|few|several|twice|once)\b", re.I
)
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_AT_END = re.compile(r"[\s\"')\]*]*(?:\[image:[^\]]*\])?\s*$")


class Trait(IntFlag):
    """What the ranking wants to know of a text without reading it again."""

    ASKS = 1
    """It ends with a question."""
    HOLDS_QUESTION = 2
    DATED = 4
    """It names a date, in whatever words."""
    COUNTS = 8
    """It holds a number."""
    NAMES = 16
    """It holds a capitalised name."""


@cache
def stop_words() -> frozenset[str]:
    """Return the words that carry no meaning of their own, as they are spelled and as they are stemmed."""
    text = files("clew.memory").joinpath("stop_words.txt").read_text(encoding="utf-8")
    words = text.split()
    return frozenset(words) | {stem(word) for word in words}


def surface(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case, as they are spelled."""
    for match in _WORD.finditer(_CONTRACTED.sub("", text.lower())):
        word = match[0]
        if unspaced := _UNSPACED.search(word):
            yield from _pairs(word, unspaced)
        else:
            yield word


def _pairs(word: str, unspaced: re.Match[str]) -> Iterator[str]:
    before, run, after = word[: unspaced.start()], unspaced[0], word[unspaced.end() :]
    if before:
        yield before
    yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))
    yield from surface(after)


def terms(text: str) -> list[str]:
    """Return every word of a text, stemmed, in order."""
    return [stem(word) for word in surface(text)]


def analyse(entry: Entry, meant: str = "") -> Analysed:
    """Return the entry as an index keeps it; ``meant`` is its text where that is written in another way."""
    said = _day(entry.time)
    text = meant or entry.text
    found = terms(text)
    named = spans(text, said)
    stop = stop_words()
    return Analysed(
        entry,
        " ".join(found),
        sum(term not in stop for term in found),
        int(_traits(text, bool(named))),
        tuple(sorted({*_marks(Span(said, said)), *(mark for span in named for mark in _marks(span))})),
    )


def _day(time: str) -> date:
    return date.fromisoformat(time[:10])


def _traits(text: str, dated: bool) -> Trait:
    ending = _AT_END.sub("", text)
    checks = {
        Trait.ASKS: ending.endswith(("?", "？")),
        Trait.HOLDS_QUESTION: "?" in text or "？" in text,
        Trait.DATED: dated,
        Trait.COUNTS: bool(_NUMBER.search(text)),
        Trait.NAMES: bool(_NAME.search(text)),
    }
    traits = Trait(0)
    for trait, so in checks.items():
        if so:
            traits |= trait
    return traits


def _marks(span: Span) -> Iterator[str]:
    """Yield the marks that a date leaves in the index: its days where they are few, its months, its years."""
    if span.days <= 10:
        yield from (f"d{day:%Y%m%d}" for day in _days(span))
    if span.days <= 100:
        yield from {f"m{day:%Y%m}" for day in _days(span)}
    if span.days <= 1000:
        yield from {f"y{year}" for year in range(span.first.year, span.last.year + 1)}


def marks_to_find(found: Iterable[Span]) -> tuple[str, ...]:
    """Return the marks by which entries of these dates are found: as fine as the dates are."""
    marks: set[str] = set()
    for span in found:
        finest = "d" if span.days <= 10 else "m" if span.days <= 100 else "y"
        marks |= {mark for mark in _marks(span) if mark[0] == finest}
    return tuple(sorted(marks))


def _days(span: Span) -> Iterator[date]:
    return (span.first + timedelta(days=n) for n in range(span.days))
