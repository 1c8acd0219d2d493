"""The notes of shortened messages are explained once, in a place that does not move."""

from __future__ import annotations

from clew.compaction.plan.plan import apply
from clew.compaction.plan.render import NOTE
from clew.compaction.propose import propose
from clew.compaction.propose.legend import LEGEND, with_legend
from clew.compaction.propose.shrink import shorten
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.message import Item, Role, text_message
from tests.compaction_propose.sessions import COUNTER, LONG, Living, history, situation, step, tokens_of


def explained(view: list[Item]) -> list[str]:
    return [item.id for item in view for result in item.message.results if LEGEND in result.text]


def test_without_a_digest_the_first_shortened_result_explains_its_note():
    view = history(*(("run", {"cmd": f"n {n}"}, f"{n}\n{LONG * 8}") for n in range(4)))
    plan = propose(situation(view, tokens_of(view) * 2 // 3))
    assert not plan.digests
    assert plan.fits
    after = apply(plan, view)
    assert explained(after) == [min((op.id for op in plan.operations), key=lambda name: int(name[1:]))]
    assert plan.tokens_after == tokens_of(after)


def test_a_later_compaction_leaves_the_sentence_where_it_is():
    living = Living([text_message(Role.USER, "Look at them.")])
    places = []
    for n in range(3):
        living.add(
            message
            for k in range(6)
            for message in step(f"c{n}{k}", "run", {"cmd": f"{n} {k}"}, f"{n}{k}\n{LONG}")
        )
        living.compact(tokens_of(living.view) * 3 // 4)
        if living.shown is None:
            places.append(explained(living.view))
    assert len(places) > 1
    assert places == [places[0]] * len(places)
    assert len(places[0]) == 1


def test_a_digest_explains_it_itself():
    assert '"kept as m12"' in NOTE
    living = Living([text_message(Role.USER, "Look at them.")])
    living.add(
        message for k in range(60) for message in step(f"c{k}", "run", {"cmd": f"{k}"}, f"{k}\n{LONG}")
    )
    living.compact(2_000)
    assert living.shown
    assert explained(living.view) == []


def test_it_is_left_out_if_it_does_not_fit():
    view = history(("run", {"cmd": "a"}, LONG * 8))
    shrinks = shorten(ShrinkContext(view, COUNTER), [2], 100)
    assert with_legend(shrinks, view, COUNTER, 10) == shrinks
    [explaining] = with_legend(shrinks, view, COUNTER, 100)
    assert next(explaining.message.results).text.endswith(LEGEND)
