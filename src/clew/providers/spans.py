"""Parse JSON and keep the exact text of each entry, so that unchanged entries can be written byte for byte.

Only one level is split: the members of an object, or the entries of a list. All text in between, such as
commas and white space, is kept as well, so that the pieces joined again are the whole text: ``[1, 2 ]`` is
the head ``[``, the entries ``1`` and ``2``, the gap ``, `` and the tail `` ]``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from clew.errors import NotJson
from clew.message import Json

_SPACES = (" ", "\t", "\n", "\r")
_SPACE = re.compile(r"[ \t\n\r]*")
_scan = json.JSONDecoder().raw_decode


class ListEntry(NamedTuple):
    """An entry of a list: its value and its original text."""

    value: Json
    text: str


class ObjectMember(NamedTuple):
    """A member of an object. If its value is a list under one of the requested keys, it is split too."""

    key: str
    label: str
    """The text of the key up to the value: ``"messages": ``."""
    value: Json
    text: str
    entries: SplitJson[ListEntry] | None


Piece = TypeVar("Piece", ListEntry, ObjectMember)


@dataclass(frozen=True, slots=True)
class SplitJson(Generic[Piece]):
    """A list or object split into its pieces."""

    head: str
    """The text before the first piece."""
    pieces: Sequence[Piece]
    gaps: Sequence[str]
    """The texts between the pieces."""
    tail: str

    def within(self, before: str, after: str) -> SplitJson[Piece]:
        """Return the same with more text around it."""
        return SplitJson(before + self.head, self.pieces, self.gaps, self.tail + after)

    def joined(self, texts: Sequence[str]) -> str:
        """Return the text with other texts in place of the pieces; extra ones are joined by the last gap."""
        out = [self.head]
        spare = self.gaps[-1] if self.gaps else ","
        for i, text in enumerate(texts):
            if i:
                out.append(self.gaps[i - 1] if i <= len(self.gaps) else spare)
            out.append(text)
        out.append(self.tail)
        return "".join(out)


def split_json(
    text: str, keys: frozenset[str]
) -> tuple[Json, SplitJson[ObjectMember] | SplitJson[ListEntry] | None]:
    """Parse JSON text; split its object or list, and the lists under ``keys`` of an object.

    For other values only the value is returned. Text that is not JSON raises ``NotJson`` with the position.
    """
    try:
        return _split_json(text, keys)
    except RecursionError as cause:
        raise NotJson("nested too deeply to read") from cause
    except ValueError as cause:  # not JSON, or an integer too long for Python to parse
        raise NotJson(str(cause)) from cause


def _split_json(
    text: str, keys: frozenset[str]
) -> tuple[Json, SplitJson[ObjectMember] | SplitJson[ListEntry] | None]:
    """Split an object or a list; for any other value there is nothing to split."""
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    match text[start : start + 1]:
        case "{":
            members, end = _split_pieces(text, start, "}", lambda at: _split_member(text, at, keys))
            value: Json = {member.key: member.value for member in members.pieces}
            return value, members.within(text[:start], _trailing_space(text, end))
        case "[":
            entries, end = _split_list(text, start)
            value = [entry.value for entry in entries.pieces]
            return value, entries.within(text[:start], _trailing_space(text, end))
        case _:
            value, end = _scan(text, start)
            _trailing_space(text, end)
            return value, None


def _trailing_space(text: str, end: int) -> str:
    """Return the white space after a value; raise if there is anything else."""
    after = _skip(text, end)
    if after != len(text):
        raise json.JSONDecodeError("Extra data", text, after)
    return text[end:]


def _split_list(text: str, start: int) -> tuple[SplitJson[ListEntry], int]:
    def entry(at: int) -> tuple[ListEntry, int]:
        value, end = _scan(text, at)
        return ListEntry(value, text[at:end]), end

    return _split_pieces(text, start, "]", entry)


def _split_pieces(
    text: str, start: int, closing: str, read_piece: Callable[[int], tuple[Piece, int]]
) -> tuple[SplitJson[Piece], int]:
    """Split the list or object that begins at ``start``; return it and the index after it.

    ``read_piece`` reads one entry or member at an index; it returns it and the index after it.
    """
    pieces: list[Piece] = []
    gaps: list[str] = []
    at = _skip(text, start + 1)
    head = text[start:at]
    end = at
    while text[at : at + 1] != closing:
        if pieces:
            at = _skip(text, _expect(text, at, ","))
            gaps.append(text[end:at])
        piece, end = read_piece(at)
        pieces.append(piece)
        at = _skip(text, end)
    return SplitJson(head, pieces, gaps, text[end : at + 1]), at + 1


def _split_member(text: str, start: int, keys: frozenset[str]) -> tuple[ObjectMember, int]:
    if text[start : start + 1] != '"':
        raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, start)
    key, at = _scan(text, start)
    at = _skip(text, _expect(text, _skip(text, at), ":"))
    label = text[start:at]
    if key in keys and text[at : at + 1] == "[":
        entries, end = _split_list(text, at)
        value: Json = [entry.value for entry in entries.pieces]
        return ObjectMember(key, label, value, text[at:end], entries), end
    value, end = _scan(text, at)
    return ObjectMember(key, label, value, text[at:end], None), end


def _skip(text: str, at: int) -> int:
    if text[at : at + 1] not in _SPACES:
        return at  # the common case, without a regular expression
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _expect(text: str, at: int, mark: str) -> int:
    if text[at : at + 1] != mark:
        raise json.JSONDecodeError(f"Expecting {mark!r} delimiter", text, at)
    return at + 1
