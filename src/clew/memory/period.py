"""Normalize the period of a search for comparison with index times: UTC, without a trailing ``Z``.

Times in the index end with ``Z``, some after a fraction. A bound without either sorts correctly.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

from clew.errors import InputError
from clew.memory.index.protocol import Filters


def in_utc(filters: Filters) -> Filters:
    """Return filters with their period in UTC; raise ``InputError`` for an invalid time."""
    if not (filters.after or filters.before):
        return filters
    return replace(filters, after=_utc(filters.after), before=_utc(filters.before))


def _utc(text: str) -> str:
    if not text:
        return ""
    try:
        if "T" not in text.upper() and ":" not in text:
            return date.fromisoformat(text).isoformat()
        time = datetime.fromisoformat(text.upper())
    except ValueError:
        told = "use a form like 2026-11-15 or 2026-11-15T09:30:00Z"
        raise InputError(f"{text!r} is not a valid time", told) from None
    if time.tzinfo is not None:
        time = time.astimezone(UTC)
    return time.replace(tzinfo=None).isoformat()
