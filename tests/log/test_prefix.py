"""Sequences that never change, yet grow."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.log import Prefix


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
