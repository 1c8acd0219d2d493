"""A plan turns a view into the next one, or says that it was made for another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.compaction.plan import Condense, Digest, Drop, Operation, Plan, Shrink
from clew.compaction.plan.plan import apply
from clew.compaction.plan.render import digest_message
from clew.errors import StalePlan
from clew.message import Item, Role, text_message

VIEW = [Item(f"m{i}", text_message(Role.USER, f"number {i}")) for i in range(6)]
DIGEST = Digest("d1", 0, ("m1", "m2"), "sha256:00", ())
SHORT = text_message(Role.USER, "short")


def plan(*operations: Operation) -> Plan:
    return Plan(operations, 0, 0, 0, "manual", "asked for")


def test_an_empty_plan_changes_nothing():
    assert apply(plan(), VIEW) == VIEW


def test_each_operation_does_its_part_and_the_rest_stays_the_same_object():
    after = apply(
        plan(Drop(("m0",), "seen"), Condense(("m1", "m2"), DIGEST), Shrink("m4", SHORT, "long")), VIEW
    )
    assert after == [Item("d1", digest_message(DIGEST)), VIEW[3], Item("m4", SHORT), VIEW[5]]
    assert after[1] is VIEW[3]


@pytest.mark.parametrize(
    "operations",
    [
        [Shrink("m9", SHORT, "not there")],
        [Drop(("m0", "m9"), "not there")],
        [Condense((), DIGEST)],
        [Condense(("m1", "m3"), DIGEST)],
        [Condense(("m2", "m1"), DIGEST)],
        [Condense(("m1", "m1"), DIGEST)],
        [Condense(("m1", "m2"), DIGEST), Shrink("m2", SHORT, "twice")],
        [Drop(("m2",), "once"), Drop(("m2",), "twice")],
        [Condense(("m1",), Digest("m5", 0, ("m1",), "sha256:00", ()))],
    ],
)
def test_a_plan_for_another_view_is_refused(operations: list[Operation]):
    with pytest.raises(StalePlan):
        apply(plan(*operations), VIEW)


@given(st.sets(st.integers(0, 5)))
def test_what_is_dropped_is_gone_and_the_rest_keeps_its_order(gone: set[int]):
    after = apply(plan(Drop(tuple(f"m{i}" for i in gone), "seen")), VIEW)
    assert after == [item for i, item in enumerate(VIEW) if i not in gone]
