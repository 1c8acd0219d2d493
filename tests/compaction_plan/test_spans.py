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
