"""Create events: ids and timestamps."""

from __future__ import annotations

import os
import time
from datetime import datetime, timedelta

from clew.log.events import Event
from clew.message import JsonObject

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: without i, l, o, u
_PAIRS = [first + second for first in _DIGITS for second in _DIGITS]
_EPOCH = datetime(1970, 1, 1)  # in UTC; iso_time appends the Z


def new_id(unix_ms: int) -> str:
    """Return a new id of 26 characters that starts with the time, so ids sort by creation time."""
    number = unix_ms << 80 | int.from_bytes(os.urandom(10))
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


def iso_time(unix_ms: int) -> str:
    """Format a time as ``2026-11-15T04:16:00.123Z``."""
    return (_EPOCH + timedelta(milliseconds=unix_ms)).isoformat(timespec="milliseconds") + "Z"


def new_event(kind: str, body: JsonObject, version: int = 1, unix_ms: int | None = None) -> Event:
    """Create an event that happens now, or at the given time."""
    moment = time.time_ns() // 1_000_000 if unix_ms is None else unix_ms
    return Event(new_id(moment), kind, version, iso_time(moment), body)
