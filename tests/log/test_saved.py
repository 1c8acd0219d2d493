"""A view as JSON and back."""

import json

from hypothesis import given
from hypothesis import strategies as st

from clew.log import Prefix, Ref, View, view_from_json, view_to_json
from clew.log.view import CompactionStep, Runs

REFS = st.lists(st.tuples(st.integers(1, 20), st.integers(0, 2)).map(lambda pair: Ref(*pair)), max_size=30)


@given(REFS, REFS, REFS)
def test_a_view_comes_back_as_it_was_and_again_after_it_grew(whole, shown, more):
    view = View(Prefix(whole), 20, {}, Prefix(shown), (CompactionStep(3, Prefix(whole)),))
    back = view_from_json(json.loads(json.dumps(view_to_json(view))))
    assert (back.whole, back.compacted, back.steps) == (view.whole, view.compacted, view.steps)
    grown = back.whole
    for ref in more:
        grown = grown.add(ref)
    again = view_from_json(json.loads(json.dumps(view_to_json(View(grown, 40)))))
    assert list(again.whole) == [*whole, *more]


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 5), st.integers(0, 1)), max_size=6), st.slices(12)
)
def test_runs_are_the_references_that_they_stand_for(runs, cut):
    refs = [Ref(seq, nth) for first, count, nth in runs for seq in range(first, first + count)]
    held = Runs(runs)
    assert (list(held), held[cut], len(held)) == (refs, refs[cut], len(refs))
    assert [held[i] for i in range(-len(refs), len(refs))] == [*refs, *refs]
