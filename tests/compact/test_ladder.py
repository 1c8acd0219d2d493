"""The ladder always fits or says why not, and touches only what it may."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.compact.brief import Brief
from clew.compact.ladder import Situation, propose
from clew.compact.tail import Keep, tail_start, water_level
from clew.errors import PinsDoNotFit
from clew.ledger.values import Values
from clew.message import Cite, Item, Message, Role, Text, ToolCall, ToolResult, Trust, cut_points, said
from clew.plan import Condense, Pin, Plan, Shrink
from clew.tokens import counter_for

NOTHING = Brief()
PIN = Pin("p1", "never modify files under legacy/", Cite("m2"), Trust.USER)


def session(
    turns: int, output: str = "line of output with src/app/main.py and value_one\n" * 30
) -> list[Item]:
    """Build a session: a system prompt, then turns of a request, a call, its result and an answer."""
    messages = [said(Role.SYSTEM, "Be brief.")]
    for n in range(turns):
        messages += [
            said(Role.USER, f"request {n}: look at src/app/module_{n}.py"),
            Message(Role.ASSISTANT, (ToolCall(f"c{n}", "run", {"cmd": f"cat module_{n}.py"}),)),
            Message(Role.TOOL, (ToolResult(f"c{n}", (Text(f"{n}\n{output}"),)),)),
            said(Role.ASSISTANT, f"module_{n}.py defines handler_{n}."),
        ]
    return [Item(f"m{n}", message) for n, message in enumerate(messages, start=1)]


def situation(view: Sequence[Item], target: int, brief: Brief = NOTHING, **more: object) -> Situation:
    values = Values()
    for n, item in enumerate(view):
        values.add(item, n)
    return Situation(view, counter_for("gpt-4o"), target, values, lambda _: brief, **more)  # type: ignore[arg-type]


def condensed(plan: Plan) -> Condense:
    return next(op for op in plan.operations if isinstance(op, Condense))


def test_a_view_that_fits_is_left_alone():
    plan = propose(situation(session(3), 100_000))
    assert plan.operations == ()
    assert plan.tokens_before == plan.tokens_after


def test_pruning_comes_first_and_is_enough_where_it_is_enough():
    view = session(20)
    again = [Item(f"m{n}", item.message) for n, item in enumerate([*view, *view[1:]], start=1)]
    now = situation(again, 0)
    total = now.counter.count_all(item.message for item in again)
    plan = propose(situation(again, int(total * 0.8)))
    assert plan.fits
    assert {type(op) for op in plan.operations} == {Shrink}


def test_old_messages_are_condensed_and_recent_ones_stay():
    view = session(30)
    plan = propose(situation(view, 2_000))
    op = condensed(plan)
    assert plan.fits
    assert op.ids[0] == "m2"
    assert len(view) - 1 - len(op.ids) >= 1
    assert op.digest.covers == op.ids


def test_what_people_said_is_in_the_digest_word_for_word():
    digest = condensed(propose(situation(session(30), 2_500))).digest
    said_first = next(claim for claim in digest.claims if claim.sources[0].message == "m2")
    assert said_first.text == "request 0: look at src/app/module_0.py"
    assert said_first.verbatim


def test_every_claim_quotes_its_source():
    view = session(30)
    by_id = {item.id: item.message for item in view}
    for claim in condensed(propose(situation(view, 2_500))).digest.claims:
        cite = claim.sources[0]
        assert claim.text in cite.quote(by_id[cite.message])


def test_rules_are_always_there_and_fail_loudly_where_they_do_not_fit():
    digest = condensed(propose(situation(session(30), 2_000, Brief((PIN,))))).digest
    assert digest.pins == (PIN,)
    many = tuple(Pin(f"p{n}", f"rule {n}: " + "never " * 50, Cite("m2"), Trust.USER) for n in range(60))
    with pytest.raises(PinsDoNotFit):
        propose(situation(session(30), 2_000, Brief(many)))


def test_one_message_larger_than_the_window_still_fits():
    giant = Item("m9", said(Role.USER, "word " * 300_000))
    plan = propose(situation([*session(1), giant], 5_000))
    assert plan.fits
    parallel = Message(Role.ASSISTANT, tuple(ToolCall(f"x{n}", "run", {}) for n in range(12)))
    results = Message(Role.TOOL, tuple(ToolResult(f"x{n}", (Text("out put " * 9_000),)) for n in range(12)))
    assert propose(situation([*session(1), Item("m8", parallel), Item("m9", results)], 6_000)).fits


def test_a_second_compaction_folds_the_first():
    from clew.plan.render import digest_message

    view = session(30)
    first = condensed(propose(situation(view, 2_500)))
    rest = [item for item in view if item.id not in first.ids]
    now = [rest[0], Item("d1", digest_message(first.digest)), *rest[1:], *_later(view, 20)]
    plan = propose(situation(now, 2_500, shown=("d1", first.digest), digest_id="d2"))
    second = condensed(plan).digest
    assert (second.level, second.folds) == (1, ("d1",))
    assert second.covers[: len(first.ids)] == first.ids
    assert any(claim.sources[0].message == "m2" for claim in second.claims)


def _later(view: Sequence[Item], turns: int) -> list[Item]:
    return [Item(f"m{n}", item.message) for n, item in enumerate(session(turns)[1:], start=len(view) + 1)]


@settings(max_examples=60)
@given(st.integers(1, 25), st.floats(0.03, 1.2), st.integers(0, 20))
def test_the_laws_of_the_ladder(turns: int, share: float, keep: int):
    view = session(turns)
    now = situation(view, 0)
    total = now.counter.count_all(item.message for item in view)
    target = max(400, int(total * share))
    plan = propose(situation(view, target, Brief((PIN,)), keep=Keep(keep)))
    assert plan.fits
    touched = {name for op in plan.operations for name in ([op.id] if isinstance(op, Shrink) else op.ids)}
    assert "m1" not in touched  # the system prompt
    for op in plan.operations:
        if isinstance(op, Condense):
            last = int(op.ids[-1][1:])
            assert last in cut_points([item.message for item in view])
            assert [int(name[1:]) for name in op.ids] == list(range(2, last + 1))


@given(st.lists(st.integers(0, 10_000), max_size=20), st.integers(0, 50_000))
def test_vessels_filled_to_the_level_hold_no_more_than_the_room(sizes: list[int], room: int):
    level = water_level(sizes, room)
    assert sum(min(size, level) for size in sizes) <= max(room, 0) or not sizes
    if sum(sizes) <= room:
        assert level == max(sizes, default=0)


def test_the_tail_begins_at_a_legal_cut():
    view = session(10)
    sizes = [100] * len(view)
    for target, keep in itertools.product((500, 2_000, 10_000), (0, 3, 8)):
        assert tail_start(view, sizes, target, Keep(keep)) in cut_points([item.message for item in view])
