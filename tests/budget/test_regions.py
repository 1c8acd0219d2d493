"""The window as a budget: it adds up, and what must go is never cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.budget import FIXED, Allotment, Limit, Policy, Region, Slice, allot
from clew.errors import BudgetExceeded, InputError, PinsDoNotFit

tokens = st.integers(0, 400_000)
asks_of_any_size = st.dictionaries(st.sampled_from(Region), tokens)

Asks = dict[Region, int]


def fixed(asks: Asks) -> int:
    return sum(asks.get(region, 0) for region in FIXED)


# What must go fits, with more or less room beside it.
budgets = asks_of_any_size.flatmap(
    lambda asks: st.tuples(st.integers(0, 1_500_000).map(lambda room: fixed(asks) + room), st.just(asks))
)


def given_to(window: int, asks: Asks) -> dict[Region, int]:
    return {slice_.region: slice_.given for slice_ in allot(window, asks).slices}


@given(budgets)
def test_the_slices_and_what_is_free_add_up_to_the_window(budget: tuple[int, Asks]):
    window, asks = budget
    found = allot(window, asks)
    assert [slice_.region for slice_ in found.slices] == list(Region)
    assert sum(slice_.given for slice_ in found.slices) + found.free_tokens == window
    assert found.free_tokens >= 0
    assert all(0 <= slice_.given <= slice_.asked for slice_ in found.slices)
    assert all(slice_.why for slice_ in found.slices)


@given(budgets)
def test_what_must_go_is_never_cut(budget: tuple[int, Asks]):
    assert all(allot(*budget).of(region).cut == 0 for region in FIXED)


@given(budgets)
def test_nothing_is_free_while_something_was_cut_for_want_of_room(budget: tuple[int, Asks]):
    window, asks = budget
    found = allot(window, asks)
    assert found.free_tokens == 0 or not any("left for it" in slice_.why for slice_ in found.slices)


@given(budgets, st.integers(0, 10**6))
def test_a_larger_window_takes_from_nobody(budget: tuple[int, Asks], more: int):
    window, asks = budget
    small, large = given_to(window, asks), given_to(window + more, asks)
    assert all(small[region] <= large[region] for region in Region)


# Left out: the reply, which decides how large the usable window is.
@given(budgets, tokens, st.sampled_from([r for r in Region if r is not Region.REPLY]), st.integers(0, 10**5))
def test_who_asks_for_more_gets_no_less_and_nobody_else_gets_more(
    budget: tuple[int, Asks], wish: int, greedy: Region, more: int
):
    window, asks = budget
    modest, greedier = {**asks, greedy: wish}, {**asks, greedy: wish + more}
    window = max(window, fixed(greedier))
    before, after = given_to(window, modest), given_to(window, greedier)
    assert before[greedy] <= after[greedy]
    assert all(after[region] <= before[region] for region in Region if region is not greedy)


def test_every_slice_says_why_it_has_its_size():
    asks = {
        Region.SYSTEM: 3_000,
        Region.MEMORY: 900,
        Region.HISTORY: 20_000,
        Region.TOOL_OUTPUTS: 90_000,
    }
    assert allot(100_000, asks) == Allotment(
        100_000,
        (
            Slice(Region.SYSTEM, 3_000, 3_000, "system prompt, never cut"),
            Slice(Region.TOOLS, 0, 0, "tool definitions, never cut"),
            Slice(Region.PINNED, 0, 0, "pinned rules, verbatim, never cut"),
            Slice(Region.INSTRUCTIONS, 0, 0, "instruction files in scope"),
            Slice(
                Region.MEMORY,
                900,
                500,
                "notes from memory that match the task; the policy allows 500 tokens",
            ),
            Slice(Region.HISTORY, 20_000, 20_000, "messages"),
            Slice(
                Region.TOOL_OUTPUTS,
                90_000,
                54_700,
                "tool results; 54,700 of 90,000 tokens were left for it",
            ),
            Slice(Region.SUMMARY_CALL, 4_600, 4_600, "kept free for the call that writes a summary"),
            Slice(Region.NEXT_RESULT, 9_200, 9_200, "kept free for the next tool result"),
            Slice(Region.REPLY, 8_000, 8_000, "kept free for the reply"),
        ),
    )


def test_what_was_cut_is_counted():
    found = allot(100_000, {Region.MEMORY: 900, Region.TOOL_OUTPUTS: 80_000})
    assert (sum(slice_.cut for slice_ in found.slices), found.free_tokens) == (400 + 2_300, 0)


def test_the_reserves_are_the_policys_unless_they_are_asked_for():
    policy = Policy(reply=Limit(tokens=1_000), summary_call=Limit(tokens=300), next_result=Limit(tokens=700))
    assert given_to(50_000, {})[Region.REPLY] == 8_000
    found = allot(50_000, {Region.NEXT_RESULT: 2_000}, policy)
    reserves = (Region.REPLY, Region.SUMMARY_CALL, Region.NEXT_RESULT)
    assert [found.of(region).given for region in reserves] == [1_000, 300, 2_000]


def test_pins_that_do_not_fit_are_refused_with_the_way_out():
    asks = {Region.SYSTEM: 3_000, Region.TOOLS: 2_000, Region.PINNED: 4_000}
    with pytest.raises(PinsDoNotFit) as refused:
        allot(8_000, asks)
    assert str(refused.value) == (
        "9,000 tokens must be sent (system 3,000, tools 2,000, pinned 4,000) and the window has 8,000: "
        "no pin is dropped silently; revoke or shorten some, or use a model with a larger window"
    )


def test_a_system_prompt_that_does_not_fit_is_refused_with_the_way_out():
    with pytest.raises(BudgetExceeded, match="shorten the system prompt, offer fewer tools") as refused:
        allot(8_000, {Region.SYSTEM: 6_000, Region.TOOLS: 2_001, Region.PINNED: 10})
    assert type(refused.value) is BudgetExceeded


@pytest.mark.parametrize(("window", "asks"), [(-1, {}), (10, {Region.HISTORY: -5})])
def test_a_negative_number_is_refused(window: int, asks: Asks):
    with pytest.raises(InputError, match="-"):
        allot(window, asks)
