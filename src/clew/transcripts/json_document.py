"""Read one JSON document leniently and piece by piece.

A list of sessions may be a gigabyte: it is decoded element by element from a sliding window, so that one
element is held at a time. ``walk`` of ``{"id": "s", "messages": [1, 2]}`` yields ``Field("id", "s")``,
``Element("messages", 0, 1)`` and ``Element("messages", 1, 2)``. If the document is torn, its complete leading
elements are still read.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakKeyDictionary

from clew.errors import InputError
from clew.message import Json, JsonObject
from clew.transcripts.fields import (
    HALF_PAIR,
    TOO_DEEP,
    has_surrogate_escape,
    is_too_deep,
    value_of,
    without_half_pairs,
)
from clew.transcripts.records import Problem
from clew.transcripts.source import PEEK_BYTES, Source, open_source

MAX_ELEMENT_CHARACTERS = 256 << 20
"""A larger element is not decoded: it is not a message, and it must not fill the memory."""
_BLANK = re.compile(r"[\s\0\ufeff]*")
_LONGEST_TOKEN = 12
"""A literal or escape cut by the window's end is reported at most this far before it."""
# JSON forbids control characters inside strings, but tools write them and reading them loses nothing.
_decode = json.JSONDecoder(strict=False).raw_decode


class Torn(Exception):
    """The document cannot be decoded from here on."""

    def __init__(self, what: str, index: int | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.index = index


class JsonWindow:
    """The part of a document that is being decoded: consumed text is dropped, new text is appended."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.text = ""
        self.at = 0
        """The position in ``text`` up to which it is consumed."""
        self.keys: list[str] = []
        """The keys of the top object so far."""
        self.elements: dict[str, int] = {}
        """Elements read so far from the list under each key."""
        self.replaced: set[str] = set()
        """What had to be replaced in the text, in words."""
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
                    escaped = has_surrogate_escape(self.text, self.at, end)
                    self.at = end
                    return self._repair_pairs(value) if escaped else value

    def place(self, position: int) -> str:
        """Return a position in words."""
        line = self._lines_gone + self.text.count("\n", 0, position) + 1
        return f"line {line} (character {self._characters_gone + position})"

    def _repair_pairs(self, value: Json) -> Json:
        """Replace half surrogate pairs, and remember that there were some."""
        repaired, had_half = without_half_pairs(value)
        if had_half:
            self.replaced.add(HALF_PAIR)
        return repaired

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
        data, _ = self._decoder.getstate()
        try:
            return self._decoder.decode(chunk, final=self._ended)
        except UnicodeDecodeError:
            self.replaced.add("bytes that are not UTF-8, replaced")
            self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
            return self._decoder.decode(data + chunk, final=self._ended)


_MAX_WHOLE_BYTES = 64 << 20
_WIDER_PEEKS = (PEEK_BYTES, 2 << 20, 32 << 20)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the document's top object, unless its value is a list."""

    key: str
    value: Json


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a list: of the document itself (with the key ``""``), or of a list in its top object."""

    key: str
    index: int
    value: Json


@dataclass(slots=True)
class DocumentOutline:
    """What the start of a document shows, for detecting its format."""

    keys: list[str] = field(default_factory=list)
    """The top object's keys seen so far, including one whose value is incomplete."""
    fields: JsonObject = field(default_factory=dict)
    lists: dict[str, list[Json]] = field(default_factory=dict)
    """The complete leading elements of each list; the key ``""`` is the document itself."""

    def first(self, key: str = "") -> JsonObject:
        """Return the first element of a list, if it is an object; else an empty object."""
        value = next(iter(self.lists.get(key, ())), None)
        return value if isinstance(value, dict) else {}


def walk(source: Source) -> Iterator[Field | Element | Problem]:
    """Yield the fields of a document's top object and the elements of its lists, in order.

    Never raises on bad data: a torn document ends with a ``Problem`` that gives the index and line.
    """
    window = JsonWindow(source.chunks())
    try:
        yield from _document(window)
        if window.next_character():
            yield Problem(f"more text after the end of the JSON document, at {window.place(window.at)}")
    except Torn as cause:
        yield Problem(cause.what, cause.index)
    yield from map(Problem, sorted(window.replaced))
    if source.damage:
        yield Problem(source.damage)


def outline(source: Source) -> DocumentOutline:
    """Return an outline from the first 64 KiB of a document, or more if those hold no whole element.

    It is cached for each source, because every document reader asks for it.
    """
    if source not in _outlines:
        _outlines[source] = _outline(source)
    return _outlines[source]


_outlines: WeakKeyDictionary[Source, DocumentOutline] = WeakKeyDictionary()


def _outline(source: Source) -> DocumentOutline:
    seen = DocumentOutline()
    for size in _WIDER_PEEKS[:2]:
        head = source.peek(size)
        if head.lstrip(b" \t\r\n\0\xef\xbb\xbf")[:1] not in (b"{", b"["):
            return seen
        seen = _outline_of(head)
        if seen.lists or len(head) < size:
            break
    return seen


def _outline_of(head: bytes) -> DocumentOutline:
    seen = DocumentOutline()
    window = JsonWindow(iter((head,)))
    try:
        for piece in _document(window):
            if isinstance(piece, Field):
                seen.fields[piece.key] = piece.value
            else:
                seen.lists.setdefault(piece.key, []).append(piece.value)
    except Torn:
        pass  # the rest is beyond what was read
    seen.keys = window.keys
    return seen


def is_lines(source: Source) -> bool:
    """Return True for JSON lines rather than one document: the first line is complete, and more follows."""
    for size in _WIDER_PEEKS:
        head = source.peek(size)
        line, newline, rest = head.lstrip().partition(b"\n")
        if newline:
            return bool(rest.strip(b" \t\r\n\0")) and _is_whole(line)
        if len(head) < size:
            return False
    return False


def load(path: Path) -> tuple[Json, list[Problem]]:
    """Decode a small file, compressed or not; return its value, and what is wrong with it."""
    try:
        text = open_source(path).read(_MAX_WHOLE_BYTES).decode()
    except InputError as cause:
        return None, [Problem(str(cause))]
    except UnicodeDecodeError as cause:
        return None, [Problem(f"{path.name} is not JSON ({cause})")]
    value, wrong = value_of(text.removeprefix("\ufeff"))
    return value, [Problem(f"{path.name} {wrong}")] if wrong else []


def read_fields(source: Source, *keys: str) -> tuple[JsonObject, list[Problem]]:
    """Return the fields of the top object, these or all, as far as the document can be decoded."""
    data: JsonObject = {}
    problems: list[Problem] = []
    for piece in walk(source):
        if isinstance(piece, Problem):
            problems.append(piece)
        elif keys and piece.key not in keys:
            continue
        elif isinstance(piece, Field):
            data[piece.key] = piece.value
        else:
            known = data.setdefault(piece.key, [])
            if isinstance(known, list):
                known.append(piece.value)
    return data, problems


def _is_whole(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _document(window: JsonWindow) -> Iterator[Field | Element]:
    match window.next_character():
        case "[":
            yield from _elements(window, "")
        case "{":
            yield from _fields(window)
        case "":
            raise Torn("the document is empty")
        case _:
            raise Torn(f"neither a JSON list nor an object at {window.place(window.at)}")


def _fields(window: JsonWindow) -> Iterator[Field | Element]:
    """Yield the fields of the object that starts here, and the elements of its lists."""
    window.at += 1
    while (opening := window.next_character()) != "}":
        key = _key(window, opening)
        window.keys.append(key)
        if window.next_character() == "[":
            yield from _elements(window, key)
        else:
            try:
                value = window.value()
            except Torn as cause:
                raise Torn(f"the JSON breaks off inside {key!r}: {cause.what}") from None
            yield Field(key, value)
        _comma(window, "}")
    window.at += 1


def _key(window: JsonWindow, opening: str) -> str:
    key = window.value() if opening == '"' else None
    if not isinstance(key, str) or window.next_character() != ":":
        raise Torn(f"the JSON breaks off before a field, at {window.place(window.at)}")
    window.at += 1
    return key


def _elements(window: JsonWindow, key: str) -> Iterator[Element]:
    """Yield the elements of the list that starts here."""
    window.at += 1
    index = window.elements.get(key, 0)  # a list under a repeated key continues the first
    while window.next_character() != "]":
        try:
            value = window.value()
        except Torn as cause:
            where = f"{key}[{index}]"
            raise Torn(
                f"the JSON breaks off inside {where}: {cause.what}; everything before it was read", index
            ) from None
        yield Element(key, index, value)
        index += 1
        window.elements[key] = index
        _comma(window, "]", index)
    window.at += 1


def _comma(window: JsonWindow, closing: str, index: int | None = None) -> None:
    """Consume the comma between two values; a trailing comma is accepted."""
    value = window.next_character()
    if value == ",":
        window.at += 1
    elif value != closing:
        what = "breaks off" if not value else f"has {value!r} where a comma should be"
        raise Torn(f"the JSON {what} at {window.place(window.at)}; everything before it was read", index)
