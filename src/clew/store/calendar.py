"""The days of a period as words of the search index: whole years and months where it holds all of them."""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from datetime import date, timedelta

FIRST, LAST = date(1900, 1, 1), date(2200, 12, 31)
"""What a period without a beginning or an end is taken to reach from and to."""


def days_between(after: str, before: str) -> list[str]:
    """Return words of which everything said in a period has one; nothing where there is no telling.

    Both are ISO 8601, or empty. The last day counts in: who needs the exact time looks at it behind this.
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
