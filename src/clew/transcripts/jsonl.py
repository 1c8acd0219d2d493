"""Read JSON lines leniently: one line at a time; bad lines are reported and skipped.

Also read are lines that real files have: two records on one line, a record torn off by a crash with the next
one right behind it (``{"type":"us{"type":"user"…}``), NUL bytes, bytes that are not UTF-8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from clew.message import Json, JsonObject
from clew.transcripts.fields import HALF_PAIR, TOO_DEEP, has_surrogate_escape, is_too_deep, without_half_pairs
from clew.transcripts.records import Problem, Record
from clew.transcripts.source import PEEK_BYTES, Source

MAX_LINE_BYTES = 256 << 20
"""A longer line is reported and skipped: it is not a message, and it must not fill the memory."""
WIDE_PEEK_BYTES = 2 << 20
"""Read to detect a format if the first 64 KiB hold no whole line."""

_BLANK = b" \t\r\n\0"
_BOM = b"\xef\xbb\xbf"
_GAP = re.compile(r"[\s\0]*")
# The start of an object up to its first colon: {"type":
_FIRST_KEY = re.compile(r'\{\s*"(?:[^"\\]|\\.)*+"\s*:')  # possessive: a key may be as long as a line
_MAX_FUSED = 10_000
"""A line with more records than this is not an accident: the rest of it is skipped."""
_SALVAGE_PASSES = 4
"""How many times the length of a line may be read while searching for a whole record after a torn one."""
_decode = json.JSONDecoder().raw_decode


class JsonLine(NamedTuple):
    """One JSON value and its position. With a problem, the value is what could be recovered, or None."""

    number: int
    """One-based. Two records on one line share a number."""
    offset: int
    """Byte offset of the line in the decompressed data."""
    value: Json
    problem: str | None = None


class ObjectLine(NamedTuple):
    """One JSON object and its position."""

    number: int
    offset: int
    value: JsonObject


class _Raw(NamedTuple):
    number: int
    offset: int
    data: bytes | None
    """None if the line was too long to hold."""
    ends: bool
    """Whether a line break ends it; the last line of a file may lack one because its writer was killed."""


def json_lines(source: Source) -> Iterator[JsonLine]:
    """Yield every value of a JSON-lines source. Never raises on bad data; holds one line at a time."""
    last = 0
    for raw in _raw_lines(source):
        last = raw.number
        if raw.data is None:
            yield JsonLine(raw.number, raw.offset, None, f"a line of more than {MAX_LINE_BYTES >> 20} MiB")
        else:
            yield from _values(raw.number, raw.offset, raw.data, raw.ends)
    if source.damage:
        yield JsonLine(last or 1, 0, None, source.damage)


def object_lines(source: Source) -> Iterator[ObjectLine | Problem]:
    """Yield every object of a JSON-lines source, and a ``Problem`` for everything else."""
    for number, offset, value, problem in json_lines(source):
        if problem is not None:
            yield Problem(problem, number)
        if isinstance(value, dict):
            yield ObjectLine(number, offset, value)
        elif problem is None:
            yield Problem(f"a line that is not an object but {_kind(value)}", number)


def read_objects(source: Source, read: Callable[[JsonObject, int], Iterator[Record]]) -> Iterator[Record]:
    """Yield the records that ``read`` makes of each object and its line; other lines are problems."""
    for line in object_lines(source):
        if isinstance(line, Problem):
            yield line
        else:
            yield from read(line.value, line.number)


def head_values(source: Source, count: int = 20) -> list[Json]:
    """Return the first values of a JSON-lines source cheaply, for format detection.

    Reads the first few lines only, and more than 64 KiB only to find the first whole line. Returns nothing if
    fewer than half of the lines are JSON: prose may quote a line of it.
    """
    for size in (PEEK_BYTES, WIDE_PEEK_BYTES):
        head = source.peek(size)
        whole = len(head) < size
        lines = [line for line in head.split(b"\n")[: None if whole else -1] if line.strip(_BLANK)][:count]
        values: list[Json] = [value for line in lines if (value := _first_value(line)) is not None]
        if values or whole:
            return values if 2 * len(values) >= len(lines) else []
    return []


def _first_value(line: bytes) -> Json:
    return next((value for _, _, value, _ in _values(0, 0, line, ends=True)), None)


def head_objects(source: Source, count: int = 20) -> list[JsonObject]:
    """Return the objects among the first values of a JSON-lines source."""
    return [value for value in head_values(source, count) if isinstance(value, dict)]


def _raw_lines(source: Source) -> Iterator[_Raw]:
    """Yield the lines of a source as bytes, of which a chunk may hold many or only a piece."""
    number, offset = 1, 0
    line_pieces: list[bytes] = []  # of a line that spans chunks
    held_bytes = 0
    for chunk in source.chunks():
        first, *rest = chunk.split(b"\n")
        held_bytes += len(first)
        if held_bytes <= MAX_LINE_BYTES:
            line_pieces.append(first)
        else:
            line_pieces.clear()
        if not rest:
            continue
        yield _Raw(number, offset, b"".join(line_pieces) if held_bytes <= MAX_LINE_BYTES else None, True)
        number, offset = number + 1, offset + held_bytes + 1
        for line in rest[:-1]:
            yield _Raw(number, offset, line, True)
            number, offset = number + 1, offset + len(line) + 1
        line_pieces, held_bytes = [rest[-1]], len(rest[-1])
    if held_bytes:
        yield _Raw(number, offset, b"".join(line_pieces) if held_bytes <= MAX_LINE_BYTES else None, False)


def _values(number: int, offset: int, raw: bytes, ends: bool) -> Iterator[JsonLine]:
    """Decode the one value of a line; take the slow path only if something is unusual."""
    line = raw.strip(_BLANK)
    if line.startswith(_BOM):
        line = line[len(_BOM) :]
    if not line:
        if b"\0" in raw:
            yield JsonLine(number, offset, None, f"{raw.count(0)} NUL bytes")
        return
    try:
        text = line.decode()
        value, end = _decode(text)
        if end == len(text) and not has_surrogate_escape(text) and not is_too_deep(value, text):
            odd = f"{raw.count(0)} NUL bytes" if b"\0" in raw else None
            yield JsonLine(number, offset, value, odd)
            return
    except (ValueError, RecursionError):
        pass
    yield from _odd_values(number, offset, line, ends)


def _odd_values(number: int, offset: int, line: bytes, ends: bool) -> Iterator[JsonLine]:
    """Recover what can be recovered from a line that is not just one JSON value."""
    problems = []
    try:
        text = line.decode()
    except UnicodeDecodeError as cause:
        text = line.decode(errors="replace")
        problems.append(f"bytes that are not UTF-8 ({cause.reason} at byte {cause.start}), replaced")
    values, broken = _recover_values(text, ends)
    if broken:
        problems.append(broken)
    elif len(values) > 1:
        problems.append(f"{len(values)} records on one line")
    for i, value in enumerate(values):
        repaired, had_lone = without_half_pairs(value)
        if had_lone:
            problems.append(HALF_PAIR)
        if i == 0:
            yield JsonLine(number, offset, repaired, "; ".join(problems) or None)
        else:
            yield JsonLine(number, offset, repaired)
    if not values:
        yield JsonLine(number, offset, None, "; ".join(problems))


def _recover_values(text: str, ends: bool) -> tuple[list[Json], str | None]:
    """Return the values in a line, one after another, and what was wrong with the rest."""
    values: list[Json] = []
    at = 0
    while at < len(text):
        start = at
        try:
            value, at = _decode(text, start)
        except RecursionError:
            return values, TOO_DEEP
        except json.JSONDecodeError as cause:
            tail = _whole_record_after_tear(text, at)
            if tail is not None:
                return [*values, tail], "a record torn off, with another after it on the same line"
            what = "not JSON" if ends else "the last line is torn off"
            return values, f"{what} ({cause.msg} at character {cause.pos})"
        except ValueError as cause:  # a number with more digits than Python converts
            return values, f"not JSON ({cause})"
        if is_too_deep(value, text, start, at):
            return values, TOO_DEEP
        if len(values) == _MAX_FUSED:
            return values, f"more than {_MAX_FUSED:,} records on one line"
        values.append(value)
        gap = _GAP.match(text, at)
        at = gap.end() if gap else at
    return values, None


def _whole_record_after_tear(text: str, start: int) -> Json:
    """Find the record that a later process appended to a torn one: same first key, ends with the line.

    An unescaped ``{"`` cannot occur inside a JSON string, so each match is the start of an object.
    """
    opening = _FIRST_KEY.match(text, start)
    if not opening:
        return None
    at, left = start, _SALVAGE_PASSES * (len(text) - start)
    while left > 0 and (at := text.find(opening.group(), at + 1)) >= 0:
        try:
            value, end = _decode(text, at)
        except json.JSONDecodeError as cause:
            left -= _characters_read(cause, at)
        except (ValueError, RecursionError):
            return None
        else:
            if end == len(text):
                return None if is_too_deep(value, text, at) else value
            left -= end - at
    return None


def _characters_read(cause: json.JSONDecodeError, start: int) -> int:
    """Return how many characters a failed decoding read; for an unterminated string, all.

    The error also counts the lines before it: fast, but from the very start.
    """
    stop = len(cause.doc) if cause.msg.startswith("Unterminated") else cause.pos
    return stop - start + stop // 64 + 1


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case list():
            return "a list"
        case str():
            return "text"
        case _:
            return "a number"
