"""A period as words of the index."""

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from clew.memory.index.calendar import FIRST, LAST, days_between

DAYS = st.dates(FIRST, LAST)


def test_a_period_is_told_by_its_whole_years_and_months_and_by_single_days_at_its_ends():
    found = days_between("2023-11-29T10:00:00Z", "2025-02-02")
    assert found == ["d20231129", "d20231130", "m202312", "y2024", "m202501", "d20250201", "d20250202"]


@given(DAYS, DAYS, DAYS)
def test_a_day_has_one_of_the_words_just_where_it_is_in_the_period(one, other, day):
    first, last = min(one, other), max(one, other)
    own = {f"d{day:%Y%m%d}", f"m{day:%Y%m}", f"y{day:%Y}"}
    assert (first <= day <= last) == (not own.isdisjoint(days_between(f"{first}", f"{last}")))


@given(DAYS)
def test_a_period_without_end_holds_every_day_after(day):
    assert f"y{LAST.year}" in days_between(f"{day}", "") or day > date(LAST.year, 1, 1)
    before = day - timedelta(days=1)
    assert f"d{before:%Y%m%d}" not in days_between(f"{day}", "")


def test_what_is_no_date_narrows_nothing():
    assert days_between("yesterday", "") == days_between("2025-01-02", "2025-01-01") == []
