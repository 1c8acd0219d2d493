"""Read the reported usage out of a response that is being relayed, without holding it back.

Only the beginning and the end of a response are kept: Anthropic reports input in the first event and output
in one of the last; OpenAI's APIs report both at the end.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

from clew.message import Usage

HEAD_BYTES, TAIL_BYTES = 16 << 10, 64 << 10
_NAME = '"usage":'


class UsageReader:
    """Takes the pieces of one response; ``usage`` is what it reported."""

    def __init__(self, encoding: str = "") -> None:
        self._head, self._tail = bytearray(), bytearray()
        kind = encoding.strip().lower()
        self._readable = kind in ("", "identity", "gzip", "deflate")
        self._inflate = zlib.decompressobj(47) if kind in ("gzip", "deflate") else None

    def add(self, piece: bytes) -> None:
        """Look at the next piece; an unreadable response is ignored."""
        if not self._readable:
            return
        try:
            data = self._inflate.decompress(piece) if self._inflate else piece
        except zlib.error:
            self._readable = False
            return
        room = HEAD_BYTES - len(self._head)
        self._head += data[: max(0, room)]
        self._tail += data[max(0, room) :]
        if len(self._tail) > 2 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]

    @property
    def usage(self) -> Usage | None:
        """Return the usage; None if the response reports none or cannot be read."""
        found: dict[str, Any] = {}
        for part in (self._head, self._tail[-TAIL_BYTES:]):
            text = bytes(part).decode("utf-8", "replace")
            place = text.find(_NAME)
            while place >= 0:
                found |= _object_at(text, place + len(_NAME))
                place = text.find(_NAME, place + 1)
        return _usage(found) if found else None


def _object_at(text: str, place: int) -> dict[str, Any]:
    try:
        value, _ = json.JSONDecoder().raw_decode(text, len(text) - len(text[place:].lstrip()))
    except ValueError:
        return {}
    return {key: one for key, one in value.items() if one is not None} if isinstance(value, dict) else {}


def _usage(found: dict[str, Any]) -> Usage | None:
    """Return a usage of any of the three APIs; Anthropic alone does not count cached input as input."""
    details = found.get("input_tokens_details") or found.get("prompt_tokens_details") or {}
    read, written = (_number(found, f"cache_{name}_input_tokens") for name in ("read", "creation"))
    cached, kept = _number(details, "cached_tokens"), _number(details, "cache_write_tokens")
    fresh = _number(found, "input_tokens") + _number(found, "prompt_tokens")
    output = _number(found, "output_tokens") + _number(found, "completion_tokens")
    whole = fresh + read + written
    return Usage(whole, output, read + cached, written + kept) if whole else None


def _number(value: Any, name: str) -> int:  # noqa: ANN401  # JSON
    number = value.get(name) if isinstance(value, dict) else None
    return number if isinstance(number, int) else 0
