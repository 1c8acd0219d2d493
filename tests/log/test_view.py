"""The append-only sequence behind a view, and views as JSON and back."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.log import Prefix, Ref, View, view_from_json, view_to_json
from clew.log.view import CompactionStep, Runs


@given(st.lists(st.tuples(st.integers(0, 50), st.integers())))
def test_any_tree_of_additions_is_like_a_tree_of_tuples(steps):
    grown, plain = [Prefix()], [()]
    for base, item in steps:
        grown.append(grown[base % len(grown)].add(item))
        plain.append((*plain[base % len(plain)], item))
    assert [tuple(prefix) for prefix in grown] == plain
    assert [len(prefix) for prefix in grown] == [len(items) for items in plain]


@given(st.lists(st.integers(), max_size=8), st.integers(0, 8), st.slices(8))
def test_slices_are_those_of_a_list_wherever_its_base_ends(items, cut_at, cut):
    prefix = Prefix(items[cut_at:], base=items[:cut_at])
    assert [prefix[i] for i in range(-len(items), len(items))] == [*items, *items]
    prefix.add(99)
    assert prefix[cut] == items[cut]


def test_what_was_added_later_is_out_of_reach():
    prefix = Prefix([1])
    prefix.add(2)
    assert prefix[-1] == prefix[0] == 1
    for beyond in (1, -2):
        with pytest.raises(IndexError):
            prefix[beyond]


def test_equality_is_by_content():
    assert Prefix([1, 2]) == Prefix([1]).add(2)
    assert Prefix([1]) != Prefix([2])
    assert Prefix([1]) != [1]
    assert hash(Prefix([1, 2])) == hash(Prefix([1]).add(2))


def test_threads_that_add_to_the_same_prefix_do_not_see_each_other():
    base = Prefix(range(10))

    def grow(worker):
        prefix = base
        for n in range(200):
            prefix = prefix.add((worker, n))
        return prefix[10:]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(grow, range(4))) == [[(worker, n) for n in range(200)] for worker in range(4)]


def test_growing_is_linear():
    prefix = Prefix()
    for n in range(300_000):  # a copy at each step would take hours
        prefix = prefix.add(n)
    assert len(prefix) == 300_000


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


@given(st.lists(st.integers(1, 4), max_size=30), st.integers(0, 12))
def test_the_number_of_a_message_is_the_same_from_runs_and_from_references(gaps, loaded):
    seqs = list(accumulate(gaps))
    view = view_from_json(view_to_json(View(whole=Prefix(Ref(seq) for seq in seqs[:loaded]))))
    for seq in seqs[loaded:]:
        view = view.show(Ref(seq))
    for seq in range(max(seqs, default=0) + 2):
        assert view.number(seq) == sum(1 for one in seqs if one <= seq)
