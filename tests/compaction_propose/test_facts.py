"""Lines and names share a room, and what the one does not need is the other's."""

from __future__ import annotations

from clew.compaction.propose.facts import Facts
from clew.compaction.propose.gauge import Gauge
from clew.compaction.propose.pick import Covered
from clew.compaction.propose.situation import Scene
from tests.compaction_propose.sessions import COUNTER, history, situation, tokens_of

TOLD = (
    "at the start of the day worker_{n} reads what the others have left in the queue and sorts it by its age",
    "later on worker_{n} was slow because nobody had told it that the queue was read by others as well",
    "and in the end worker_{n} was taken out of the list, for it had nothing to do but wait for the others",
)


def test_room_that_names_do_not_need_goes_to_lines():
    outputs = ["\n".join(said.format(n=n) for n in range(100, 140)) for said in TOLD]
    view = history(*(("bash", {"command": "ls"}, output) for output in (*outputs, *["done"] * 8)))
    room = tokens_of(view) // 2
    facts = Facts(Scene(situation(view, room)), view[:-8], (), room)
    facts.weigh(Gauge(COUNTER, [line.claim for line in facts.lines]))
    _, tokens = facts.best(Covered(), room, {})
    assert 0.97 * room < tokens <= room
