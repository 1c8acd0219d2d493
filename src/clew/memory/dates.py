"""Resolve dates in text (``yesterday`` on 8 May 2023 is 7 May 2023), and normalize search periods.

A turn's dates are relative to its own time, a question's to the time of asking. ``spans("last March", at)``
on 8 May 2023 is one ``DateSpan`` from 1 to 31 March 2023.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

from clew.errors import InputError
from clew.memory.index import Filters

MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sept sep", "october oct", "november nov", "december dec"),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        ("monday mon", "tuesday tues tue", "wednesday wed", "thursday thurs thur thu", "friday fri",
         "saturday sat", "sunday sun")
    )
    for name in names.split()
}  # fmt: skip
_SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "couple of": 2, "three": 3, "a few": 3, "few": 3,
    "several": 4, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12,
}  # fmt: skip


Days: TypeAlias = tuple[date, date]
"""The first and the last day of a period."""


@dataclass(frozen=True, slots=True)
class DateSpan:
    """Days from ``first`` to ``last``, inclusive, and the words that name them."""

    first: date
    last: date
    words: str = ""

    @property
    def days(self) -> int:
        """Return the number of days."""
        return (self.last - self.first).days + 1


def spans(text: str, at: date) -> tuple[DateSpan, ...]:
    """Return the dates that a text names, relative to the day ``at``."""
    found = []
    for match in _ANY.finditer(text if text.isascii() else text.translate(_OTHER_CASES)):
        reading = next(name for name, words in match.groupdict().items() if words and name in _READINGS)
        try:
            first, last = _READINGS[reading](match, at)
        except (ValueError, OverflowError):
            continue  # 31 February, or a year past the calendar's end: no date
        found.append(DateSpan(first, last, match[0]))
    return tuple(found)


# One function per way to write a date ------------------------------------------------------------------


def _iso(match: re.Match[str], _at: date) -> Days:
    year, month, day = (int(part) for part in re.split(r"[-/.]", match["iso"]))
    return _single_day(date(year, month, day))


def _numeric(match: re.Match[str], _at: date) -> Days:
    """Read ``9.1.2024`` day first and ``1/9/2024`` month first, the other way if only that is a date."""
    one, other, year = (int(part) for part in re.split(r"[./]", match["numeric"]))
    day, month = (one, other) if "." in match["numeric"] else (other, one)
    return _single_day(date(year, month, day) if month <= 12 else date(year, day, month))


def _day_of_month(match: re.Match[str], at: date) -> Days:
    """Read ``31st of January 2024``, ``January 31``, ``January 2024``, and a month alone."""
    words = re.findall(r"[a-z]+|\d+", match[0].lower())
    numbers = [int(word) for word in words if word.isdigit()]
    month = next(MONTHS[word] for word in words if word in MONTHS)
    day = next((number for number in numbers if number <= 31), None)
    year = next((number for number in numbers if number > 31), None) or _nearest_year(month, day or 15, at)
    return _single_day(date(year, month, day)) if day else _month(year, month)


def _nearest_year(month: int, day: int, at: date) -> int:
    """Return the year meant if none is named: the past one, unless the date is soon."""
    ahead = (date(at.year, month, min(day, 28)) - at).days
    return at.year - 1 if ahead > 183 else at.year + 1 if ahead < -330 else at.year


def _year(match: re.Match[str], _at: date) -> Days:
    year = int(match["year"])
    return date(year, 1, 1), date(year, 12, 31)


_DAYS_AWAY = {
    "yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0,
    "this evening": 0, "tomorrow": 1, "day before yesterday": -2, "day after tomorrow": 2,
}  # fmt: skip


def _relative_day(match: re.Match[str], at: date) -> Days:
    words = re.sub(r"\s+", " ", match["near"].lower()).removeprefix("the ")
    return _single_day(at + timedelta(days=_DAYS_AWAY[words]))


def _ago(match: re.Match[str], at: date) -> Days:
    return _away(at, -_number(match["ago_n"]), match["ago_unit"])


def _ahead(match: re.Match[str], at: date) -> Days:
    return _away(at, _number(match["ahead_n"]), match["ahead_unit"])


def _number(words: str) -> int:
    words = re.sub(r"\s+", " ", words.lower().strip())
    return int(words) if words.isdigit() else _NUMBERS[words]


def _away(at: date, count: int, unit: str) -> Days:
    """Return the day, week, weekend, month or year that is ``count`` units away; a week around that day."""
    unit = unit.lower().rstrip("s")
    if unit == "day":
        return _single_day(at + timedelta(days=count))
    if unit == "week":
        middle = at + timedelta(weeks=count)
        return middle - timedelta(days=3), middle + timedelta(days=3)
    if unit == "weekend":
        return _weekend(at + timedelta(weeks=count))
    if unit == "month":
        months = at.year * 12 + at.month - 1 + count
        return _month(months // 12, months % 12 + 1)
    return date(at.year + count, 1, 1), date(at.year + count, 12, 31)


_STEPS = {"last": -1, "past": -1, "previous": -1, "this": 0, "this past": -1, "next": 1, "coming": 1}


def _relative(match: re.Match[str], at: date) -> Days:
    """Read ``last Tuesday``, ``this weekend``, ``next March``, ``last summer``, ``next week``."""
    step = _STEPS[re.sub(r"\s+", " ", match["step"].lower())]
    unit = match["unit"].lower().rstrip(".")
    if unit in WEEKDAYS:
        return _single_day(_weekday(at, WEEKDAYS[unit], step))
    if unit in MONTHS:
        month = MONTHS[unit]
        behind = month >= at.month if step < 0 else month < at.month
        return _month(at.year + (step if behind and step else 0), month)
    if unit in _SEASONS:
        return _season(at, _SEASONS[unit], step)
    if unit == "weekend":
        return _weekend(at + timedelta(weeks=step))
    if unit == "week":
        monday = at - timedelta(days=at.weekday()) + timedelta(weeks=step)
        return monday, monday + timedelta(days=6)
    return _away(at, step, unit)


def _bare_weekday(match: re.Match[str], at: date) -> Days:
    return _single_day(_weekday(at, WEEKDAYS[match["weekday"].lower()], -1))


def _weekday(at: date, weekday: int, step: int) -> date:
    """Return the nearest such weekday: before ``at`` if ``step`` is negative, else after it."""
    if step < 0:
        return at - timedelta(days=(at.weekday() - weekday - 1) % 7 + 1)
    return at + timedelta(days=(weekday - at.weekday() - 1) % 7 + 1)


def _weekend(near: date) -> Days:
    saturday = near - timedelta(days=near.weekday()) + timedelta(days=5)
    return saturday - timedelta(days=1), saturday + timedelta(days=1)


def _season(at: date, month: int, step: int) -> Days:
    begin = date(at.year, month, 1)
    if step < 0 and begin + timedelta(days=90) > at:
        begin = date(at.year - 1, month, 1)
    elif step > 0 and begin <= at:
        begin = date(at.year + 1, month, 1)
    return begin, begin + timedelta(days=91)


def _month(year: int, month: int) -> Days:
    first = date(year, month, 1)
    return first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)


def _single_day(day: date) -> Days:
    return day, day


_READINGS: dict[str, Callable[[re.Match[str], date], Days]] = {
    "iso": _iso,
    "numeric": _numeric,
    "day_month": _day_of_month,
    "near": _relative_day,
    "ago": _ago,
    "ahead": _ahead,
    "relative": _relative,
    "weekday": _bare_weekday,
    "month": _day_of_month,
    "year": _year,
}


def _alternatives(words: dict[str, int]) -> str:
    return "|".join(sorted(words, key=len, reverse=True)).replace(" ", r"\s+")


def _patterns() -> Iterator[str]:
    """Yield the pattern of each way to write a date, as a group that is named as in ``_READINGS``."""
    month = _alternatives(MONTHS)
    # "may" is a month only next to a number, or after a word that a date follows.
    loose = _alternatives({name: n for name, n in MONTHS.items() if name not in {"may", "march", "mar"}})
    words = {"sat", "sun", "wed", "mon"}  # that mean something else as well
    weekday = _alternatives({name: n for name, n in WEEKDAYS.items() if name not in words})
    count, unit = rf"\d{{1,3}}|{_alternatives(_NUMBERS)}", r"days?|weeks?|weekends?|months?|years?"
    year, day = r"(?:19|20)\d\d", r"\d{1,2}(?:st|nd|rd|th)?"
    # 2024-01-31
    yield rf"(?P<iso>{year}[-/.]\d{{1,2}}[-/.]\d{{1,2}})"
    # 31.1.2024, 1/31/2024
    yield rf"(?P<numeric>\d{{1,2}}(?P<sign>[./])\d{{1,2}}(?P=sign){year})"
    # 31st of January 2024, January 31, January 2024
    yield (
        rf"(?P<day_month>{day}\s+(?:of\s+)?(?:{month})\b(?:,?\s*{year})?|(?:{month})\.?\s+{day}\b(?:,?\s*{year})?"
        rf"|(?:{month}),?\s+(?:of\s+)?{year})"
    )
    # yesterday, the day before yesterday
    yield rf"(?P<near>(?:the\s+)?(?:{_alternatives(_DAYS_AWAY)}))"
    # two weeks ago; in 3 days
    yield rf"(?P<ago>(?P<ago_n>{count})\s+(?P<ago_unit>{unit})\s+(?:ago|back|earlier|before))"
    yield rf"(?P<ahead>in\s+(?P<ahead_n>{count})\s+(?P<ahead_unit>{unit}))"
    # last Tuesday, this past weekend, next March
    yield (
        rf"(?P<relative>(?:the\s+)?(?P<step>{_alternatives(_STEPS)})\s+"
        rf"(?P<unit>{_alternatives(WEEKDAYS)}|{month}|{_alternatives(_SEASONS)}|weekend|week|month|year))"
    )
    # Tuesday; in May; 2024
    yield rf"(?P<weekday>{weekday})"
    yield rf"(?P<month>(?:{loose})|(?<=\bin\s)(?:{month})|(?<=\bsince\s)(?:{month}))"
    yield rf"(?P<year>{year})"


_ANY = re.compile(r"\b(?:" + "|".join(_patterns()) + r")\b", re.IGNORECASE)
# Letters that IGNORECASE takes for i and s, and ``lower`` does not: "laſt Frıday".
_OTHER_CASES = str.maketrans("ıİſ", "iis")


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
        time = time.astimezone(UTC) if time.tzinfo else time
    except (ValueError, OverflowError):  # not a time, or one that no calendar has in UTC
        line = "use a form like 2026-11-15 or 2026-11-15T09:30:00Z"
        raise InputError(f"{text!r} is not a valid time", line) from None
    return time.replace(tzinfo=None).isoformat()
