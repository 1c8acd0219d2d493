"""Compare texts for the checks of a digest.

Is a line a quote of its source? Does a text hold invisible characters, look-alike letters, or an imitation of
one of clew's tags?
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from clew.message.text import once

_SIGNS = {'"': "“”„«»", "'": "‘’‚", "-": "‑–—", " ": "\u00a0\u202f"}
_KEPT_AS = r"(?:, kept as [\w-]+)?"
_OMITTED_LINES = re.compile(rf"^[ \t]*\[… [\d,]+ lines?{_KEPT_AS}\][ \t]*$", re.MULTILINE)
_OMITTED_CHARACTERS = re.compile(rf"\[… [\d,]+ characters?{_KEPT_AS}\]")
ELISION = re.compile(rf"\s*\[… [\d,]+ (?:lines?|characters?){_KEPT_AS}\]\s*")
"""How an excerpt marks what it omits: ``[… 12 lines, kept as m7]``."""
LONG = 120
"""Characters from which a quote carries enough context that it need not begin and end with a sentence."""
# Bounds on time for hostile or repetitive texts, chosen by hand far above what real digests need.
_LONGEST_EXCERPT = 20_000  # characters
_MOST_PLACES = 10_000  # occurrences inside longer words that are skipped
_MOST_STARTS = 100  # lines that are tried as the start of a run
_LineTest: TypeAlias = Callable[[str], bool]
# Scripts without spaces have no word boundaries.
_WORD_CHARACTER = re.compile(r"[^\W\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_WORD = re.compile(f"{_WORD_CHARACTER.pattern}+")
_ALNUM = re.compile(r"[^\W_]+")
_LEAST_BESIDE_OMISSION = 100
"""Characters required on each side of an omission within one line; chosen by hand. Shorter pieces of a line
could be joined to say something that the source does not say."""


class Wording:
    """A text in the normal forms that searches use, each computed once."""

    def __init__(self, text: str) -> None:
        self.text = text

    @once
    def straight(self) -> str:
        """The text with plain punctuation; same length."""
        return plain_punctuation(self.text)

    @once
    def plain(self) -> str:
        """Only the words and their order."""
        return plain(self.text)

    @once
    def lines(self) -> list[str]:
        """The words of each non-empty line."""
        return [line for line in map(plain, self.text.split("\n")) if line]


def plain(text: str) -> str:
    """Normalise a text so that only words and their order count."""
    return " ".join(plain_punctuation(text).casefold().split())


def plain_punctuation(text: str) -> str:
    """Return a text with plain quotation marks, dashes and spaces; same length."""
    if not text.isascii():
        for straight, signs in _SIGNS.items():
            for sign in signs:
                text = text.replace(sign, straight)
    return text


def occurs_in(words: str, text: str) -> bool:
    """Whether words occur in a text, not as pieces of longer words (``3 failed`` in ``13 failed``)."""
    return bool(words) and next(places(words, text), None) is not None


def places(words: str, text: str) -> Iterator[int]:
    """Yield where words occur in a text; a bounded number of occurrences inside longer words is tried."""
    at = text.find(words)
    for _ in range(_MOST_PLACES):
        if at < 0:
            return
        if _inside_word(text, at):
            at = text.find(words, word_end(text, at))
            continue
        if not _inside_word(text, at + len(words)):
            yield at
        at = text.find(words, at + 1)


def begins_word(begin: str, text: str) -> bool:
    """Whether a word of a text begins like this."""
    at = text.find(begin)
    while at > 0 and text[at - 1].isalnum():
        run = _ALNUM.match(text, at)
        at = text.find(begin, run.end() if run else at + 1)
    return at >= 0


def word_end(text: str, at: int) -> int:
    """Return the end of the word at a position; no separate word begins before it."""
    run = _WORD.match(text, at)
    return max(at + 1, run.end() if run else 0)


def _inside_word(text: str, at: int) -> bool:
    """Whether the characters on both sides of a position belong to one word."""
    return 0 < at < len(text) and bool(
        _WORD_CHARACTER.match(text, at - 1) and _WORD_CHARACTER.match(text, at)
    )


def is_unspaced(sign: str) -> bool:
    """Whether a character belongs to a script without spaces between words."""
    return "\u0e00" <= sign <= "\u0e7f" or "\u3040" <= sign <= "\u30ff" or "\u3400" <= sign <= "\u9fff"


def is_elided(quote: str) -> bool:
    """Whether a text is an excerpt that marks its omissions."""
    return "[… " in quote and ELISION.search(quote) is not None


def is_quote(quote: str, source: Wording) -> bool:
    """Whether a text quotes a source: its words occur there, or it is an excerpt of it."""
    if is_elided(quote):
        return _is_excerpt(quote, source.lines)
    if quote == source.text:
        return not quote.isspace() and bool(quote)
    return occurs_in(quote.strip(), source.text) or occurs_in(plain(quote), source.plain)


def _is_excerpt(quote: str, lines: Sequence[str]) -> bool:
    """Whether a text consists of runs of whole lines of a source, in order and with the gaps marked.

    Fragments are not accepted: they could be combined to say anything.
    """
    if len(quote) > _LONGEST_EXCERPT:
        return False
    start, shown = 0, 0
    for run in _OMITTED_LINES.split(quote):
        tests = [_line_test(line) for line in run.split("\n") if line.strip()]
        at = _run_start(tests, lines, start)
        if at is None:
            return False
        start = at + len(tests)
        shown += len(tests)
    return shown > 0  # notes alone quote nothing


def _run_start(tests: Sequence[_LineTest], lines: Sequence[str], start: int) -> int | None:
    """Return where consecutive lines pass the tests, from ``start`` on; None if nowhere."""
    last = len(lines) - len(tests)
    candidates = (i for i in range(start, last + 1) if not tests or tests[0](lines[i]))
    for i in islice(candidates, _MOST_STARTS):
        if all(test(lines[i + k]) for k, test in enumerate(tests)):
            return i
    return None


def _line_test(line: str) -> _LineTest:
    """Return a test that the source line behind a line of an excerpt passes.

    A whole line must be equal; of ``beginning[… 900 characters]end`` the beginning and the end must be, and
    they may not overlap.
    """
    cut = _OMITTED_CHARACTERS.search(line)
    if cut is None:
        return plain(line).__eq__
    begin, end = line[: cut.start()], line[cut.end() :]
    if min(len(begin), len(end)) < _LEAST_BESIDE_OMISSION:
        return lambda _: False
    begin, end = plain(begin), plain(end)
    least = len(begin) + len(end)
    return lambda whole: len(whole) >= least and whole.startswith(begin) and whole.endswith(end)


_JOINERS = r"\u200c\u200d"
# Joiners belong to words of some scripts and to emoji; in the others there is nothing to join.
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    rf"|(?<![^\x00-\u024f])[{_JOINERS}]|[{_JOINERS}](?![^\x00-\u024f])"
)
_DIRECTION_CONTROLS = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_BRACKETS = str.maketrans("‹〈⟨❮❬˂ᐸ≺⁄∕⧸‐‑‒–—−", "<<<<<<<<///------")
_TAG = re.compile(r"<\s*/?\s*\\*\s*clew\s*-", re.IGNORECASE)
_PLAIN_TAG = re.compile(r"<[/\\]*clew-", re.IGNORECASE)
# Greek, Cyrillic and Armenian, except Greek letters of formulas and units that read like no Latin letter.
_LOOK_ALIKES = r"(?![ΓΔΘΞΦΨΩδθλμξπφψ])[\u0370-\u058f]"
_TWO_SCRIPTS = re.compile(rf"[A-Za-z]{_LOOK_ALIKES}|{_LOOK_ALIKES}[A-Za-z]")
_STYLED = re.compile(
    r"[\uff21-\uff3a\uff41-\uff5a\u2102\u210a-\u2113\u2115\u2119-\u211d\u2124\u2128\u212a-\u212d"
    r"\u212f-\u2138\u213c-\u214f\u24b6-\u24e9\U0001d400-\U0001d7ff\U0001f130-\U0001f189]|[A-Za-z]\u2139|\u2139[A-Za-z]"
)
"""Stylised letters: bold, full-width, circled; ``ℹ`` only beside letters. ``™`` and ``№`` are signs."""


def is_plain(text: str) -> bool:
    """Whether a text can hold none of what the checks below find; true of most texts, and fast."""
    return text.isascii() and text.isprintable() and "<" not in text


def has_invisible_characters(text: str) -> bool:
    """Whether a text holds invisible characters that no word needs."""
    if text.isascii() and text.isprintable():
        return False  # most texts; much faster than the pattern
    return _INVISIBLE.search(text) is not None


def changes_text_direction(text: str) -> bool:
    """Whether a text changes the direction in which what follows is displayed."""
    return not text.isascii() and _DIRECTION_CONTROLS.search(text) is not None


def mimics_tag(text: str) -> bool:
    """Whether a text imitates one of our tags in a spelling that the renderer does not escape."""
    if "<" not in text and text.isascii():
        return False
    visible = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).translate(_BRACKETS)
    return len(_TAG.findall(visible)) > len(_PLAIN_TAG.findall(text))


def two_scripts(text: str) -> str:
    """Return the first word with letters of two look-alike scripts or stylised letters; "" if there is none.

    Such a word reads like another one: ``pаyment`` with a Cyrillic a.
    """
    if text.isascii():
        return ""
    mixed = (word for word in text.split() if _TWO_SCRIPTS.search(word) or _STYLED.search(word))
    return next(mixed, "")
