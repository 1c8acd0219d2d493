"""A period as search terms: one term for each whole year or month in it, and for each remaining day."""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

FIRST, LAST = date(1900, 1, 1), date(2200, 12, 31)
"""The range that a period without a start or an end is limited to."""


def period_terms(after: str, before: str) -> list[str] | None:
    """Return terms such that every entry of the period has one; an empty list if the period is empty.

    None means that terms cannot express it: a limit is not a time, or is outside of ``FIRST`` and ``LAST``.
    Both limits are ISO 8601 (in UTC if they have no offset) or empty. The last day is included: callers that
    need the exact time filter again.
    """
    try:
        first = _utc_day(after) if after else FIRST
        last = _utc_day(before) if before else LAST
    except (ValueError, OverflowError):
        return None
    if first > last:
        return []
    return list(_terms(first, last)) if first >= FIRST and last <= LAST else None


def _utc_day(text: str) -> date:
    moment = datetime.fromisoformat(text.upper())
    return (moment.astimezone(UTC) if moment.tzinfo else moment).date()


def _terms(day: date, last: date) -> Iterator[str]:
    while day <= last:
        end_of_year = date(day.year, 12, 31)
        end_of_month = day.replace(day=calendar.monthrange(day.year, day.month)[1])
        if (day.month, day.day) == (1, 1) and end_of_year <= last:
            yield f"y{day.year}"
            day = end_of_year
        elif day.day == 1 and end_of_month <= last:
            yield f"m{day:%Y%m}"
            day = end_of_month
        else:
            yield f"d{day:%Y%m%d}"
        day += timedelta(days=1)
