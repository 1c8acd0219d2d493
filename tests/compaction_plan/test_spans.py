"""Ids in few words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.compaction.plan.digest import expand_spans, spans


def test_runs_are_written_by_their_ends():
    assert spans(["m2", "m3", "m4", "m7", "d1", "x-y", "m8"]) == "m2-m4,m7,d1,x-y,m8"


@given(st.lists(st.integers(1, 40).map(lambda n: f"m{n}") | st.sampled_from(["d1", "by-hand", "m01", "m"])))
def test_what_is_written_reads_back(ids):
    assert expand_spans(spans(ids)) == tuple(ids)


def test_a_text_that_stands_for_more_than_a_session_is_refused():
    with pytest.raises(ValueError, match="too many"):
        expand_spans("m1-m9999999999")


@pytest.mark.parametrize("text", ["m1-m6", "m1,m2,m3,m4,m5,m7", "m1-m5,m7", "m1-m3,d1,m5-m6"])
def test_at_most_the_given_number_of_ids_is_returned(text):
    assert len(expand_spans(text, 6)) == 6
    with pytest.raises(ValueError, match="too many"):
        expand_spans(text, 5)


def test_a_run_from_high_to_low_is_no_run():
    assert expand_spans("m9-m3,m4") == ("m9-m3", "m4")
