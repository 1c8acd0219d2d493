"""Sessions that act on one log at once, in thousands of orders: it always opens, no act is lost unnoticed."""

from collections import Counter

import pytest

from clew.session import replay
from tests.conftest import tries
from tests.hard.schedules import Outcome, Turns, run_schedule, template

AT_ONCE = 25


@pytest.fixture(scope="module")
def begins():
    return template()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(replay, "LONGEST_WAIT_S", 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, tries(300, 10_000), AT_ONCE))
def test_in_any_order_of_store_operations_the_log_opens_and_no_act_is_lost(first, begins):
    outcome = Outcome()
    for seed in range(first, first + AT_ONCE):
        try:
            run_schedule(seed, begins, outcome)
        except AssertionError as cause:
            cause.add_note(f"schedule {seed}")
            raise
    assert outcome.done["undo"]
    assert outcome.refused
    print(outcome)


def test_a_schedule_is_decided_by_its_seed_alone():
    def orders(seed):
        turns, order = Turns(seed), []

        def task(name):
            for _ in range(5):
                turns.give_up()
                order.append(name)

        turns.run({name: lambda name=name: task(name) for name in ("a", "b", "c")})
        return "".join(order)

    assert orders(1) == orders(1)
    assert len({orders(seed) for seed in range(20)}) > 10
    assert Counter(orders(3)) == {"a": 5, "b": 5, "c": 5}


def test_what_a_task_raises_is_raised():
    def breaks():
        raise AssertionError("broken")

    with pytest.raises(AssertionError, match="broken"):
        Turns(0).run({"a": breaks, "b": lambda: None})
