"""Helpers for text, patterns that are compiled on first use, and ``once``, a property computed once.

A text is put on one line, cut, freed of colours, or has escaped what looks like one of clew's tags: a model
may read ``< / CLEW-data>``, the same in full-width letters, with a Cyrillic c, or with invisible characters
in between, as the end of a fence. ``escape_tags`` puts a backslash after the bracket of anything that reads
as an opening bracket followed by the letters of *clew* (in ``<clew-data>`` between ``<`` and ``c``), in one
pass, linear in the text.

``_PATH = lazy_pattern("[a-z]+/[a-z]+")`` is used like the result of ``re.compile``, and costs nothing at
import.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Generic, TypeVar, cast

_CHARACTERS_READ = 4
"""Read per character shown, so that a message of megabytes is not split for one line (chosen by hand)."""


def one_line(text: str, limit: int | None = None) -> str:
    """Return a text on one line, whitespace as single spaces, cut to ``limit`` by ``ellipsize``."""
    if limit is None:
        return " ".join(text.split())
    read = text[: limit * _CHARACTERS_READ]
    line = " ".join(read.split())
    return ellipsize(line if len(read) == len(text) else f"{line}…", limit)


def ellipsize(text: str, limit: int) -> str:
    """Return a text of at most ``limit`` characters; if it is cut, ``…`` is the last of them."""
    if len(text) <= limit:
        return text
    return f"{text[: limit - 1].rstrip()}…" if limit > 0 else ""


def join_surrogates(text: str) -> str:
    """Return a text without halves of surrogate pairs, which UTF-8 cannot encode but real sessions contain.

    Two that form a pair become the character that they encode; any other becomes the replacement character.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def contains_quote(text: str, quote: str) -> bool:
    """Whether a text contains a quote, as it is or escaped for JSON as in the arguments of a call."""
    return quote in text or json.dumps(quote, ensure_ascii=False)[1:-1] in text


def contains_whole(text: str, value: str) -> bool:
    """Whether a text contains a value that is not a part of a longer word or number: 8080, not 180801."""
    if value not in text:
        return False
    return re.search(rf"(?:(?<!\w)|(?!\w)){re.escape(value)}(?:(?!\w)|(?<!\w))", text) is not None


COLOUR = re.compile(r"\x1b\[[0-?]*+[ -/]*+[@-~]")
"""A control sequence of a terminal, mostly of a colour."""


def without_colours(text: str) -> str:
    """Return a text without the control sequences of a terminal."""
    return COLOUR.sub("", text) if "\x1b" in text else text


def blank_colours(text: str) -> str:
    """Return a text with spaces for the control sequences of a terminal, so that offsets stay the same."""
    return COLOUR.sub(lambda code: " " * len(code[0]), text) if "\x1b" in text else text


_BRACKETS = "<＜﹤‹〈〈⟨❮❰ᐸ˂≺❬《⟪≪⋖⧼⦑"
# The same bracket as an escape of HTML (&lt;), JSON (\u003c), a string literal (\x3c, \74) or a URL (%3C).
_SPELT_BRACKETS = (
    "&(?i:lt);?", "&#0*60;?", "&#[xX]0*3[cC];?", r"\\u003[cC]", r"\\[ux]\{0*3[cC]\}", r"\\x3[cC]",
    r"\\0*74", "%(?:25)*3[cC]",
)  # fmt: skip
# Characters that a reader skips: white space, invisible characters, combining marks, slashes and dashes.
_SKIPPED = (
    r"\s/\\|∕⁄／⧸╱\-_.*~‐-―−－﹣\u1806"
    "\u00ad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_LOOKALIKES = {
    "c": "сСϲϹᴄⲤⲥⅽⅭƈҫ¢©ꓚᏟ",
    "l": "ӏӀІіΙιıI1ǀⅼⅠ∣ℓɭɫʟ│┃ꓲꓡᏞ",
    "e": "еЕҽεΕ℮эⲈⲉɛᴇ3€ꓰᎬ",
    "w": "ԝԜѡѠωɯʍᴡⱳⲱшШꓪᎳ",
}
_TWO_FOR_W = "[vVνѵⅴⅤᴠ]{2}"
_IN_BOXES = (0x1F150, 0x1F170, 0x1F1E6)
"""First code points of the boxed and regional-indicator alphabets, which Unicode does not decompose."""
_STYLED = (range(0xA0, 0x250), range(0x1E00, 0x1F00), range(0x2070, 0x2150), range(0x24B6, 0x24EA))
_STYLED_FURTHER = (range(0xFF21, 0xFF5B), range(0x1D400, 0x1D800), range(0x1F110, 0x1F170))


def escape_tags(text: str) -> str:
    """Return the text with everything that reads as one of clew's tags escaped; other text is unchanged."""
    return _pattern().sub(r"\1\\\2", text)


@cache
def _pattern() -> re.Pattern[str]:
    opening = "|".join((f"[{_BRACKETS}]", *_SPELT_BRACKETS))
    gap = f"[{_SKIPPED}]*"
    c, l, e, w = (f"[{_spellings(letter)}]" for letter in "clew")  # noqa: E741  # they are these letters
    # A vertical bar is skipped, except directly after the c: there it reads as an l.
    name = f"{c}(?:{gap}{l}|\\|){gap}{e}{gap}(?:{w}|{_TWO_FOR_W})"
    # A bracket that is already followed by a backslash is escaped again, so that input cannot imitate
    # text that clew has escaped.
    return re.compile(f"({opening})({gap}{name})")


def _spellings(letter: str) -> str:
    """Return every character that can be read as this letter: styled, accented, or of another alphabet."""
    styled = "".join(
        chr(code)
        for codes in (*_STYLED, *_STYLED_FURTHER)
        for code in codes
        if unicodedata.normalize("NFKD", chr(code))[0].casefold() == letter
    )
    boxed = "".join(chr(first + ord(letter) - ord("a")) for first in _IN_BOXES)
    return re.escape(letter + letter.upper() + _LOOKALIKES[letter] + styled + boxed)


def omission_note(characters: int) -> str:
    """Return the note for characters that are left out of a quote or line."""
    return f"[… {characters:,} {'character' if characters == 1 else 'characters'}]"


Value = TypeVar("Value")


class once(Generic[Value]):  # noqa: N801  # read like ``property``
    """A ``cached_property`` without the lock it has up to Python 3.11, which costs more than most values.

    Objects with such properties are used by one thread.
    """

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Remember the attribute's name."""
        self._name = name

    def __get__(self, item: Any, owner: type) -> Value:  # noqa: ANN401  # whatever has it
        """Compute the value and store it on the object, which may be frozen."""
        value = self._make(item)
        # Not through ``__dict__``, which would have to be created.
        object.__setattr__(item, self._name, value)
        return value


LINE_NUMBER = r"\d+(?:→|\t|: |\|)"
"""What tools put before a line of a file, as a part of patterns."""
_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")


class _LazyPattern:
    """Compiles a pattern when one of its methods is first used."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # any attribute of the compiled pattern
        """Compile the pattern and keep its methods, so that this is called once."""
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"lazy_pattern({self.pattern!r}, {self._flags!r})"


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled on first use; an error in it shows only then."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))


class AnyCasePattern:
    """A case-insensitive pattern for callers that need only the places of matches.

    It is written in lower case. ASCII text is lower-cased before it is searched: case-insensitive matching
    takes up to ten times as long. The words of a match may therefore be in lower case.
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        """Take a pattern in lower case; ``re.IGNORECASE`` is implied."""
        self.pattern = pattern
        self._lower = lazy_pattern(pattern, flags)
        self._any = lazy_pattern(pattern, flags | re.IGNORECASE)

    def search(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """Return the first match between two places."""
        pattern, searched = self.applied_to(text)
        return pattern.search(searched, start, end)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches."""
        pattern, searched = self.applied_to(text)
        return pattern.finditer(searched)

    def applied_to(self, text: str) -> tuple[re.Pattern[str], str]:
        """Return a pattern and the text to search with it, for several searches in one text."""
        return (self._lower, text.lower()) if text.isascii() else (self._any, text)
