"""Dates in words."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.memory.dates import DateSpan, spans
from clew.memory.question import understand

MONDAY = date(2023, 5, 8)


def days(text, at=MONDAY):
    return [(span.first, span.last) for span in spans(text, at)]


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("yesterday", date(2023, 5, 7)),
        ("last night", date(2023, 5, 7)),
        ("the day before yesterday", date(2023, 5, 6)),
        ("3 days ago", date(2023, 5, 5)),
        ("a couple of days ago", date(2023, 5, 6)),
        ("last Tuesday", date(2023, 5, 2)),
        ("last Monday", date(2023, 5, 1)),
        ("next Friday", date(2023, 5, 12)),
        ("on 7 May 2022", date(2022, 5, 7)),
        ("May 7th, 2022", date(2022, 5, 7)),
        ("2023-01-31", date(2023, 1, 31)),
        ("on 09.01.2023", date(2023, 1, 9)),
        ("on 1/9/2023", date(2023, 1, 9)),
        ("on 31/1/2023", date(2023, 1, 31)),
        ("December 24", date(2022, 12, 24)),
    ],
)
def test_words_for_a_day_are_resolved_against_the_day_they_are_said(words, day):
    assert days(f"We met {words}, remember?") == [(day, day)]


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("last week", date(2023, 5, 1), date(2023, 5, 7)),
        ("last month", date(2023, 4, 1), date(2023, 4, 30)),
        ("in June 2022", date(2022, 6, 1), date(2022, 6, 30)),
        ("last year", date(2022, 1, 1), date(2022, 12, 31)),
        ("since 2016", date(2016, 1, 1), date(2016, 12, 31)),
        ("two months ago", date(2023, 3, 1), date(2023, 3, 31)),
        ("last June", date(2022, 6, 1), date(2022, 6, 30)),
    ],
)
def test_words_for_longer_times_are_spans(words, first, last):
    assert days(words) == [(first, last)]


def test_the_word_may_is_a_month_only_where_a_date_can_stand():
    assert days("I may go in May") == [(date(2023, 5, 1), date(2023, 5, 31))]


def test_a_date_that_no_calendar_has_is_no_date():
    assert days("on 31 February 2023 and in 9999 years ago") == []
    assert days("on 31.02.2023 and 42.13.2023") == []


@pytest.mark.parametrize("words", ["laſt Frıday", "LAST FRİDAY", "last friday"])
def test_letters_that_count_as_another_case_of_i_and_s_are_read_as_these(words):
    assert days(words) == [(date(2023, 5, 5), date(2023, 5, 5))]


@given(st.text(max_size=200), st.dates(date(1900, 1, 1), date(2900, 1, 1)))
def test_any_text_is_read_and_every_span_runs_forward(text, at):
    assert all(span.first <= span.last for span in spans(text, at))


@given(st.integers(1, 300), st.dates(date(1950, 1, 1), date(2100, 1, 1)))
def test_n_days_ago_is_n_days_before(n, at):
    assert spans(f"{n} days ago", at) == (
        DateSpan(at - timedelta(days=n), at - timedelta(days=n), f"{n} days ago"),
    )


def test_the_numbers_of_a_numeric_date_are_not_words_of_the_question():
    assert understand("What did Ann fire on 25.01.2024?", MONDAY).terms == ("ann", "fire")
    assert understand("What did Ann fire on 7 June?", MONDAY).terms == ("ann", "fire", "7", "june")
    assert understand("25.01.2024", MONDAY).terms == ("25", "01", "2024")
