"""Format text for terminals; control characters from transcripts are escaped, and secrets masked."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.message import JsonObject

# Control characters (except tab and newline) and bidirectional marks: an escape sequence in a tool's output
# could recolour, retitle or rewrite the terminal.
_CONTROL_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


SHORTEST_SECRET = 12
"""Shorter texts hold no name with a secret."""
LONGEST_SECRET = 600
"""Characters beyond a cut that are searched with it, so that no first half of a secret is shown."""


def printable(text: str) -> str:
    """Return the text with secrets masked and everything that could control a terminal escaped."""
    shown = text.replace("\r\n", "\n")
    if len(shown) >= SHORTEST_SECRET:
        from clew.secrets import mask  # imported only if text is shown

        shown = mask(shown).text
    return escaped(shown)


def escaped(text: str) -> str:
    """Return the text with everything that could control a terminal escaped, for clew's own tokens."""
    return _CONTROL_CHARACTERS.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


_COMMAND = re.compile(r"(?:(?<=`)|(?<=use: )|(?<=try: ))clew (?=[a-z])")


def typed(words: str) -> str:
    """Return a command as it can be typed here: ``scripts/run.py`` says how clew was started."""
    return f"{os.environ.get('CLEW_COMMAND') or 'clew'} {words}"


def as_typed(text: str) -> str:
    """Return a sentence of clew with its commands as they can be typed here."""
    return _COMMAND.sub(lambda _match: typed(""), text) if os.environ.get("CLEW_COMMAND") else text


def one_line(text: str, width: int) -> str:
    """Return the text on one line, cut to at most ``width`` columns."""
    flat = " ".join(printable(text[: width * 4 + LONGEST_SECRET]).split())
    if columns(flat) <= width and len(text) <= width * 4 + LONGEST_SECRET:
        return flat
    return f"{first_columns(flat, width - 1)}…"


NARROW = 80
"""Below this many columns lines are wrapped under their own indent; wider terminals wrap well enough."""
_LAST_COLUMN = re.compile(r"\s*\S.*?\s{2,}(?=\S)|\s*(?:[-~•◆·→✓✗⚠…?]\s+|\[\S+\]\s+)?")


def hanging(text: str, width: int) -> str:
    """Return a text for a narrow terminal: long lines are wrapped, and continue below their last column.

    A word that is longer than a line stays whole: a path must stay copyable.
    """
    if width >= NARROW:
        return text
    return "\n".join(piece for line in text.split("\n") for piece in _hang(line, width))


def _hang(line: str, width: int) -> Iterator[str]:
    indent, spans = hanging_spans(line, width)
    for number, (start, end) in enumerate(spans):
        yield " " * (indent if number else 0) + line[start:end]


def hanging_spans(line: str, width: int) -> tuple[int, list[tuple[int, int]]]:
    """Return the indent of all but the first row of a wrapped line, and where each row begins and ends.

    The indent is where the last column of a table row begins: "rules     never modify files under legacy/"
    goes on below "never".
    """
    if width >= NARROW or columns(line) <= width:
        return 0, [(0, len(line))]
    last_column = _LAST_COLUMN.match(line)
    indent, text_at = (columns(last_column[0]), last_column.end()) if last_column else (0, 0)
    if indent > width // 2:
        indent, text_at = 4, 0
    spans: list[tuple[int, int]] = []
    start = end = 0
    for word in re.finditer(r"\S+", line):
        room = width - (indent if spans else 0)
        may_break = word.start() > text_at or text_at > 4
        if end > start and may_break and columns(line[start : word.end()]) > room:
            spans.append((start, end))
            start = word.start()
        end = word.end()
    return indent, [*spans, (start, end)]


def columns(text: str) -> int:
    """Return the columns that a text takes; wide characters (Chinese, Japanese, Korean) take two."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def first_columns(text: str, width: int) -> str:
    """Return the first characters of a text that fit in ``width`` columns."""
    if text.isascii():
        return text[:width]
    for place, character in enumerate(text):
        width -= _columns_of(character)
        if width < 0:
            return text[:place]
    return text


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fit_name(name: str, width: int) -> str:
    """Return a name on one line of at most ``width`` characters; a long path is cut at its start."""
    whole = " ".join(printable(name).split())
    return f"…{whole[1 - width :]}" if len(whole) > width and "/" in whole else one_line(name, width)


def arguments_line(arguments: JsonObject | str, width: int) -> str:
    """Return a tool call's arguments on one line: ``path="a.py", limit=10``."""
    if isinstance(arguments, str):
        return one_line(arguments, width)
    pairs = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items())
    return one_line(", ".join(pairs), width)


def count(number: int, thing: str) -> str:
    """Return ``1 message``, ``2 messages``, ``12,000 messages``."""
    if number == 1:
        return f"1 {thing}"
    plural = f"{thing[:-1]}ies" if re.search("[^aeiou]y$", thing) else f"{thing}s"
    return f"{number:,} {plural}"


def thousands(number: int) -> str:
    """Return ``950``, ``1.2k``, ``132k``, ``4.1M``."""
    if number < 1000:
        return str(number)
    for unit, size in (("k", 1e3), ("M", 1e6)):
        if number < 999.5 * size:
            return f"{number / size:.1f}{unit}" if number < 9.95 * size else f"{number / size:.0f}{unit}"
    return f"{number / 1e9:.1f}G"


def age(since: timedelta) -> str:
    """Return an age in one unit: ``now``, ``5m``, ``3h``, ``2d``, ``6w``, ``2y``."""
    seconds = since.total_seconds()
    for unit, size, below in (("m", 60, 60), ("h", 3600, 48), ("d", 86400, 14), ("w", 604800, 104)):
        if seconds < size:
            return "now" if unit == "m" else f"1{unit}"
        if seconds < below * size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds / 31_557_600:.0f}y"
