"""A sliding window over the text of a JSON document, from which values are decoded in turn."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator

from clew.message import Json
from clew.transcripts.json_values import HALF_PAIR, TOO_DEEP, is_too_deep, without_half_pairs

MAX_ELEMENT_CHARACTERS = 256 << 20
"""A larger element is not decoded: it is not a message, and it must not fill the memory."""
_BLANK = re.compile(r"[\s\0\ufeff]*")
_LONGEST_TOKEN = 12
"""A literal or escape cut by the window's end is reported at most this far before it."""
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
# JSON forbids control characters inside strings, but tools write them and reading them loses nothing.
_decode = json.JSONDecoder(strict=False).raw_decode


class Torn(Exception):
    """The document cannot be decoded from here on."""

    def __init__(self, what: str, index: int | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.index = index


class Window:
    """The part of a document that is being decoded: consumed text is dropped, new text is appended."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.text = ""
        self.at = 0
        self.keys: list[str] = []
        self.elements: dict[str, int] = {}
        """Elements read so far from the list under each key."""
        self.replaced: set[str] = set()
        self._chunks = chunks
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._lines_gone = 0
        self._characters_gone = 0
        self._ended = False

    def next_character(self) -> str:
        """Skip whitespace and return the next character without consuming it; "" at the end."""
        while True:
            blank = _BLANK.match(self.text, self.at)
            self.at = blank.end() if blank else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            if not self._grow():
                return ""

    def value(self) -> Json:
        """Decode and consume the value that starts here."""
        while True:
            try:
                value, end = _decode(self.text, self.at)
            except RecursionError:
                raise Torn(f"{TOO_DEEP} at {self.place(self.at)}") from None
            except json.JSONDecodeError as cause:
                if not self._is_cut(cause) or not self._grow():
                    raise Torn(f"{cause.msg.removesuffix(' at')} at {self.place(cause.pos)}") from None
            except ValueError as cause:  # a number with more digits than Python converts
                raise Torn(f"{cause} at {self.place(self.at)}") from None
            else:
                # A number near the window's end may continue beyond it: of "1.5e+3" the first five characters
                # decode as 1.5.
                is_number = isinstance(value, int | float)
                if not is_number or end < len(self.text) - 2 or not self._grow():
                    if is_too_deep(value, self.text, self.at, end):
                        raise Torn(f"{TOO_DEEP} at {self.place(self.at)}")
                    escaped = _SURROGATE_ESCAPE.search(self.text, self.at, end)
                    self.at = end
                    return self._mended(value) if escaped else value

    def place(self, position: int) -> str:
        """Return a position in words."""
        line = self._lines_gone + self.text.count("\n", 0, position) + 1
        return f"line {line} (character {self._characters_gone + position})"

    def _mended(self, value: Json) -> Json:
        """Replace half surrogate pairs, and remember that there were some."""
        mended, had_half = without_half_pairs(value)
        if had_half:
            self.replaced.add(HALF_PAIR)
        return mended

    def _is_cut(self, cause: json.JSONDecodeError) -> bool:
        """Return True if a value may be incomplete: the error is at the window's end, or it has no end."""
        return cause.msg.startswith("Unterminated") or cause.pos >= len(self.text) - _LONGEST_TOKEN

    def _grow(self) -> bool:
        """Drop what is consumed and at least double the rest; return False at the end of the document."""
        if self._ended:
            return False
        kept = len(self.text) - self.at
        if kept > MAX_ELEMENT_CHARACTERS:
            raise Torn(f"an element of more than {MAX_ELEMENT_CHARACTERS >> 20} MiB at {self.place(self.at)}")
        pieces, gained = [self.text[self.at :]], 0
        while gained <= kept and not self._ended:
            pieces.append(self._more())
            gained += len(pieces[-1])
        if not gained:
            return False
        self._lines_gone += self.text.count("\n", 0, self.at)
        self._characters_gone += self.at
        self.text, self.at = "".join(pieces), 0
        return True

    def _more(self) -> str:
        chunk = next(self._chunks, b"")
        self._ended = not chunk
        held, _ = self._decoder.getstate()
        try:
            return self._decoder.decode(chunk, final=self._ended)
        except UnicodeDecodeError:
            self.replaced.add("bytes that are not UTF-8, replaced")
            self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
            return self._decoder.decode(held + chunk, final=self._ended)
