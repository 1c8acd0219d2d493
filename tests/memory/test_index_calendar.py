"""A period as words of the index."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.memory.index import Filters
from clew.memory.index.matching import FIRST, LAST, period_terms, scope_words

DAYS = st.dates(FIRST, LAST)


def test_a_period_is_told_by_its_whole_years_and_months_and_by_single_days_at_its_ends():
    found = period_terms("2023-11-29T10:00:00Z", "2025-02-02")
    assert found == ["d20231129", "d20231130", "m202312", "y2024", "m202501", "d20250201", "d20250202"]


@given(DAYS, DAYS, DAYS)
def test_a_day_has_one_of_the_words_just_where_it_is_in_the_period(one, other, day):
    first, last = min(one, other), max(one, other)
    own = {f"d{day:%Y%m%d}", f"m{day:%Y%m}", f"y{day:%Y}"}
    assert (first <= day <= last) == (not own.isdisjoint(period_terms(f"{first}", f"{last}")))


@given(DAYS)
def test_a_period_without_end_holds_every_day_after(day):
    assert f"y{LAST.year}" in period_terms(f"{day}", "") or day > date(LAST.year, 1, 1)
    before = day - timedelta(days=1)
    assert f"d{before:%Y%m%d}" not in period_terms(f"{day}", "")


@pytest.mark.parametrize("period", [("yesterday", ""), ("", "2201-01-01"), ("1800-01-01", "1900-01-01")])
def test_a_period_that_terms_cannot_express_is_not_an_empty_one(period):
    assert period_terms(*period) is None


def test_an_empty_period_has_no_terms_and_no_entry():
    assert period_terms("2025-01-02", "2025-01-01") == []
    assert [len(group) for group in scope_words(Filters(after="2025-01-02", before="2025-01-01"), [])] == [1]


def test_a_time_with_an_offset_is_converted_to_utc():
    assert period_terms("2025-01-01T23:30:00-05:00", "2025-01-03T00:30:00+02:00") == ["d20250102"]
