"""What is huge is looked through once, shown by as much as there is room for, and refused at once."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from clew.compaction.plan import Shrink
from clew.compaction.propose import propose
from clew.compaction.propose.excerpt import ExcerptSource, excerpt
from clew.compaction.propose.near_duplicates import near_duplicates
from clew.compaction.propose.prune import prune
from clew.compaction.propose.shrink import shorten
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.errors import BudgetExceeded
from clew.message import Item, Message, Part, Role, Text, ToolCall, ToolResult, Trust, text_message
from clew.tokens import TokenCounter
from tests.compaction_propose.sessions import COUNTER, history, items, situation

LINES = 100_000
LOG = [f"2026-01-01 12:00:00 INFO worker {n} is well" for n in range(LINES)]
FAILED = "2026-01-01 12:00:01 ERROR worker 51 cannot write to /var/data"
BROKEN = "\n".join([*LOG[: LINES // 2], FAILED, *LOG[LINES // 2 :]])


class Watched(str):
    """A text that knows how much of it was taken out to be read."""

    __slots__ = ("read",)

    def __new__(cls, text: str) -> Watched:
        made = super().__new__(cls, text)
        made.read = 0
        return made

    def __getitem__(self, key: object) -> str:
        found = super().__getitem__(key)  # type: ignore[index]
        self.read += len(found)
        return found


class Counting(TokenCounter):
    """A counter that knows how often it was asked for a part."""

    asked = 0

    def count_part(self, part: Part) -> int:
        self.asked += 1
        return super().count_part(part)


def steps(work: Callable[[], object]) -> int:
    """Count the calls that Python makes on the way."""
    made = 0

    def count(_frame: object, event: str, _of: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return made


def shown(shrinks: list[Shrink]) -> str:
    (part,) = shrinks[-1].message.parts
    assert isinstance(part, ToolResult)
    return part.text


# Many lines ------------------------------------------------------------------------------------------


def test_the_lines_of_a_giant_are_not_looked_at_one_by_one():
    assert steps(lambda: excerpt(BROKEN, 4_000)) < LINES // 4
    assert FAILED in excerpt(BROKEN, 4_000)


def test_however_many_excerpts_are_taken_a_text_is_looked_through_once():
    text = Watched(BROKEN)
    telling = ExcerptSource(text)
    assert [telling.excerpt(room) for room in (8_000, 4_000, 2_000)] == [
        excerpt(BROKEN, room) for room in (8_000, 4_000, 2_000)
    ]
    assert text.read < 1.1 * len(text)


def test_one_page_looks_through_a_text_once_and_so_do_all_tries_of_a_pass():
    text = Watched(BROKEN)
    view = history(("run", {"cmd": "make"}, text))
    context = ShrinkContext(view, COUNTER)
    assert all(FAILED in shown(shorten(context, range(3), level)) for level in (4_000, 2_000, 1_000))
    assert text.read < 1.1 * len(text)
    now = situation(view, 500)
    text.read = 0
    assert propose(now).fits
    assert text.read < 2.2 * len(text)  # once to prune, once to cut


def test_no_excerpt_is_made_of_what_pruning_may_not_touch():
    text = Watched(BROKEN)
    view = history(("run", {"cmd": "make"}, text))
    assert prune(ShrinkContext(view, COUNTER), 2, 10**9) == []
    assert text.read < len(text) // 100


def test_an_output_far_longer_than_all_others_is_not_held_against_them():
    assert steps(lambda: list(near_duplicates(["\n".join(LOG[:9]), BROKEN]))) < LINES // 100
    assert [near.number for near in near_duplicates([BROKEN, BROKEN + "\nend"])] == [0]


# One line --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "behind"), [("", ""), ("head\n", "\ntail"), ("\n\n\n", "")])
def test_of_one_endless_line_as_much_is_shown_as_there_is_room_for(before: str, behind: str):
    line = json.dumps([{"id": n, "name": f"user {n}"} for n in range(40_000)])
    view = history(("fetch", {"url": "x"}, f"{before}{line}{behind}"))
    text = shown(shrinks := shorten(ShrinkContext(view, COUNTER), range(3), 15_000))
    assert 10_000 < COUNTER.count(shrinks[0].message) < 15_500
    assert text.startswith(f'{before}[{{"id": 0, "name": "user 0"}}')
    assert "characters, kept as m3]" in text
    assert text.endswith(f'{{"id": 39999, "name": "user 39999"}}]{behind}')


def test_a_long_line_among_short_ones_gets_what_they_leave():
    text = "\n".join([*LOG[:5], "x" * 90_000, *LOG[5:10]])
    lines = ExcerptSource(text).fullest(9_000).split("\n")
    assert [*lines[:5], *lines[6:]] == LOG[:10]
    assert 7_000 < len(lines[5]) < 9_000


def test_long_arguments_of_one_line_use_their_room():
    call = ToolCall("c1", "Write", {"path": "a.json", "content": "word " * 50_000}, trust=Trust.ASSISTANT)
    view = [Item("m1", Message(Role.ASSISTANT, (call,)))]
    (shrink,) = shorten(ShrinkContext(view, COUNTER), range(1), 5_000)
    assert 3_500 < COUNTER.count(shrink.message) < 5_100


# Many calls ------------------------------------------------------------------------------------------


def at_once(count: int) -> list[Item]:
    """Make a session that ends with so many calls at once, and their results."""
    calls = tuple(ToolCall(f"c{n}", "run", {"cmd": f"cat {n}"}, trust=Trust.ASSISTANT) for n in range(count))
    results = tuple(ToolResult(f"c{n}", (Text(f"{n} words of the answer " * 20),)) for n in range(count))
    asked = [text_message(Role.USER, f"look at part {n}") for n in range(20)]
    return items([*asked, Message(Role.ASSISTANT, calls), Message(Role.TOOL, results)])


def asked_for(count: int) -> int:
    """Return how often parts are counted until many calls at once are refused."""
    counter = Counting(COUNTER.family)
    with pytest.raises(BudgetExceeded, match="even in excerpt"):
        propose(replace(situation(at_once(count), 400 + 10 * count), counter=counter))
    return counter.asked


def test_calls_that_cannot_fit_are_refused_after_few_tries_however_many_they_are():
    assert asked_for(50) < 45 * 100  # of each call and each result
    assert asked_for(200) < 45 * 400
