"""Making events: ids and times."""

from __future__ import annotations

import os
import time
from datetime import datetime, timedelta

from clew.message import JsonObject
from clew.ports import Event

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u to misread
_PAIRS = [first + second for first in _DIGITS for second in _DIGITS]
_EPOCH = datetime(1970, 1, 1)  # in UTC, which the Z says


def new_id(unix_ms: int) -> str:
    """Return a new id: 26 characters, the time first, so that ids sort by the millisecond they were made."""
    number = unix_ms << 80 | int.from_bytes(os.urandom(10))
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


def iso_time(unix_ms: int) -> str:
    """Return ``2026-11-15T04:16:00.123Z``."""
    return (_EPOCH + timedelta(milliseconds=unix_ms)).isoformat(timespec="milliseconds") + "Z"


def new_event(kind: str, body: JsonObject, version: int = 1, unix_ms: int | None = None) -> Event:
    """Make an event that happens now, or at the time given."""
    moment = time.time_ns() // 1_000_000 if unix_ms is None else unix_ms
    return Event(new_id(moment), kind, version, iso_time(moment), body)
