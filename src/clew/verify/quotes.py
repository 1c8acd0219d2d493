"""What is a quote of what: white space, typographic signs and case aside, and with omissions marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from clew.verify.once import once

_SIGNS = {'"': "“”„«»", "'": "‘’‚", "-": "‑–—", " ": "\u00a0\u202f"}
_LINES = re.compile(r"^[ \t]*\[… [\d,]+ lines?(?:, kept as [\w-]+)?\][ \t]*$", re.MULTILINE)
_CHARACTERS = re.compile(r"\[… [\d,]+ characters?(?:, kept as [\w-]+)?\]")
ELISION = re.compile(r"\s*\[… [\d,]+ (?:lines?|characters?)(?:, kept as [\w-]+)?\]\s*")
"""How an excerpt says what it leaves out."""
LONG = 120
"""Characters from which a quote brings its context along: it need not begin and end where sentences do."""
_LONGEST_EXCERPT = 20_000
_MOST_PIECES = 10_000
_MOST_RUNS = 100
"""Places that are tried: where a text repeats itself, each could be the begin of what is looked for."""
_Finder: TypeAlias = Callable[[str], bool]
# Scripts without spaces have no words to be a piece of.
_WORDLY = re.compile(r"[^\W\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_WORD = re.compile(f"{_WORDLY.pattern}+")
_ALNUM = re.compile(r"[^\W_]+")
_TELLING = 100
"""Characters that must stand on each side of what is left out of one line."""


class Wording:
    """A text in the forms that it is looked through in, each worked out once."""

    def __init__(self, text: str) -> None:
        self.text = text

    @once
    def straight(self) -> str:
        """The text with plain signs; as long as it was."""
        return straight(self.text)

    @once
    def plain(self) -> str:
        """The words and their order alone."""
        return plain(self.text)

    @once
    def lines(self) -> list[str]:
        """The words of each line that has any."""
        return [line for line in map(plain, self.text.split("\n")) if line]


def plain(text: str) -> str:
    """Return a text in which only words and their order count."""
    return " ".join(straight(text).casefold().split())


def straight(text: str) -> str:
    """Return a text with plain quotation marks, dashes and spaces; as long as it was."""
    if not text.isascii():
        for straight, signs in _SIGNS.items():
            for sign in signs:
                text = text.replace(sign, straight)
    return text


def stands_in(words: str, text: str) -> bool:
    """Tell whether words stand in a text and are no piece of longer ones (``3 failed`` in ``13 failed``)."""
    return bool(words) and next(places(words, text), None) is not None


def places(words: str, text: str) -> Iterator[int]:
    """Yield where words stand in a text; of those that are pieces of longer ones only so many are tried."""
    at = text.find(words)
    for _ in range(_MOST_PIECES):
        if at < 0:
            return
        if _glued(text, at):
            at = text.find(words, word_end(text, at))
            continue
        if not _glued(text, at + len(words)):
            yield at
        at = text.find(words, at + 1)


def begins_word(begin: str, text: str) -> bool:
    """Tell whether a word of a text begins so."""
    at = text.find(begin)
    while at > 0 and text[at - 1].isalnum():
        run = _ALNUM.match(text, at)
        at = text.find(begin, run.end() if run else at + 1)
    return at >= 0


def word_end(text: str, at: int) -> int:
    """Return where the word ends that goes on at a place: nothing that stands alone begins before."""
    run = _WORD.match(text, at)
    return max(at + 1, run.end() if run else 0)


def _glued(text: str, at: int) -> bool:
    """Tell whether the characters on both sides of a place belong to one word."""
    return 0 < at < len(text) and bool(_WORDLY.match(text, at - 1) and _WORDLY.match(text, at))


def is_unspaced(sign: str) -> bool:
    """Tell whether a sign belongs to a script that puts no spaces between words."""
    return "\u0e00" <= sign <= "\u0e7f" or "\u3040" <= sign <= "\u30ff" or "\u3400" <= sign <= "\u9fff"


def is_elided(quote: str) -> bool:
    """Tell whether a text is an excerpt that says what it leaves out."""
    return "[… " in quote and ELISION.search(quote) is not None


def is_quote(quote: str, source: Wording) -> bool:
    """Tell whether a text is a quote of a source: words that stand in it, or an excerpt of it."""
    if is_elided(quote):
        return _is_excerpt(quote, source.lines)
    if quote == source.text:
        return not quote.isspace() and bool(quote)
    return stands_in(quote.strip(), source.text) or stands_in(plain(quote), source.plain)


def _is_excerpt(quote: str, lines: Sequence[str]) -> bool:
    """Tell whether a text is runs of whole lines of a source, in their order and with the gaps marked.

    Scraps will not do: out of those, somebody's words can be put together to say anything.
    """
    if len(quote) > _LONGEST_EXCERPT:
        return False
    start = 0
    for run in _LINES.split(quote):
        shown = [_finder(line) for line in run.split("\n") if line.strip()]
        at = _run_start(shown, lines, start)
        if at is None:
            return False
        start = at + len(shown)
    return True


def _run_start(shown: Sequence[_Finder], lines: Sequence[str], start: int) -> int | None:
    """Return where lines stand one after the other; only so many places that begin like them are tried."""
    begins = (i for i in range(start, len(lines) - len(shown) + 1) if not shown or shown[0](lines[i]))
    tried = islice(begins, _MOST_RUNS)
    return next((i for i in tried if all(is_it(lines[i + k]) for k, is_it in enumerate(shown))), None)


def _finder(line: str) -> _Finder:
    """Return what tells the line of a source that a line of an excerpt shows."""
    cut = _CHARACTERS.search(line)
    if cut is None:
        return plain(line).__eq__
    begin, end = line[: cut.start()], line[cut.end() :]
    if min(len(begin), len(end)) < _TELLING:
        return lambda _: False
    begin, end = plain(begin), plain(end)
    return lambda whole: whole.startswith(begin) and whole.endswith(end)
