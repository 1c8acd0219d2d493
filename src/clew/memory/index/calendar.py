"""A period as search terms: one term for each whole year or month in it, and for each remaining day."""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from datetime import date, timedelta

FIRST, LAST = date(1900, 1, 1), date(2200, 12, 31)
"""The range that a period without a start or an end is limited to."""


def days_between(after: str, before: str) -> list[str]:
    """Return terms such that every entry of the period has one; an empty list if no terms can be given.

    Both are ISO 8601 or empty. The last day is included: callers that need the exact time filter again.
    """
    try:
        first = date.fromisoformat(after[:10]) if after else FIRST
        last = date.fromisoformat(before[:10]) if before else LAST
    except ValueError:
        return []
    if not FIRST <= first <= last <= LAST:
        return []
    return list(_words(first, last))


def _words(day: date, last: date) -> Iterator[str]:
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
        if day == LAST:
            return
        day += timedelta(days=1)
