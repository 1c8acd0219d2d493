"""Much of a kind at once: what it costs, how it is told, and how a person ends it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from clew.errors import NotFound
from clew.ledger import Ledger
from clew.ledger.checks import FailingTests
from clew.ledger.loop import FIRST_LISTED, LAST_LISTED, MOST_OF_A_KIND, Closed, LoopKind
from clew.ledger.phrases import Foreign
from clew.message import Item, Message, Role, Text, ToolCall, ToolResult, text_message
from clew.rules import find
from clew.rules.active import MOST_NEAR, ActiveRules
from clew.rules.subject import Subject
from clew.transcripts import load, open_source
from tests.ledger.sessions import did, items

EXAMPLE = Path(__file__).parents[2] / "examples" / "sphinx-9229.traj.json.zst"


def ran(number: int, command: str, output: str) -> list[Item]:
    call = Message(Role.ASSISTANT, (ToolCall(f"c{number}", "Bash", {"command": command}),))
    return [
        Item(f"a{number}", call),
        Item(f"b{number}", Message(Role.TOOL, (ToolResult(f"c{number}", (Text(output),)),))),
    ]


def failed(count: int) -> str:
    names = "".join(f"FAILED tests/t{n}.py::x - no\n" for n in range(count))
    return f"{names}{count} failed in 0.1s\n"


def ledger_of(*items: Item) -> Ledger:
    ledger = Ledger()
    ledger.extend(items)
    return ledger


CHECKLIST = Item("m1", text_message(Role.USER, "\n".join(f"- [ ] task {n}" for n in range(600))))


def test_a_flood_is_told_by_its_first_ones_and_one_that_counts_the_rest():
    ledger = ledger_of(*ran(1, "pytest", failed(197)))
    *first, rest = (loop for loop in ledger.loops.collapsed if loop.kind is LoopKind.TEST)
    assert [loop.id for loop in first] == [f"f{n}" for n in range(1, FIRST_LISTED + 1)]
    assert (rest.id, rest.text) == ("f11..f197", "and 187 more failing tests (f11..f197), see b1")
    assert len(ledger.loops.open) == 197


def test_what_is_no_flood_is_told_as_it_is():
    ledger = ledger_of(*ran(1, "pytest", failed(20)))
    assert ledger.loops.collapsed == ledger.loops.open


def test_a_flood_is_closed_by_hand_as_one():
    ledger = ledger_of(CHECKLIST)
    rest = next(loop for loop in ledger.loops.collapsed if ".." in loop.id)
    closed = ledger.close_loop(rest.id, "a pasted template")
    assert len(closed) == 590
    assert {(loop.closed, loop.why) for loop in closed} == {(Closed.BY_HAND, "a pasted template")}
    assert [loop.kind for loop in ledger.loops.open].count(LoopKind.TODO) == FIRST_LISTED


def test_what_came_bit_by_bit_is_told_by_its_first_and_its_last_ones():
    requests = [
        Item(f"m{n}", text_message(Role.USER, f"Rename part {n} of the parser.")) for n in range(1, 301)
    ]
    few, many = ledger_of(*requests[:MOST_OF_A_KIND]), ledger_of(*requests)
    assert few.loops.collapsed == few.loops.open
    told, ids = many.loops.collapsed, [loop.id for loop in many.loops.open]
    first, last = ids[:FIRST_LISTED], ids[-LAST_LISTED:]
    name = f"{ids[FIRST_LISTED]}..{ids[-LAST_LISTED - 1]}"
    assert [loop.id for loop in told] == [*first, name, *last]
    rest = len(ids) - FIRST_LISTED - LAST_LISTED
    assert told[FIRST_LISTED].text == f"and {rest} more requests ({name}), see m11 to m260"
    assert len(many.close_loop(name, "never mind")) == rest
    assert [loop.id for loop in many.loops.open] == [*first, *last]


def test_a_test_closed_by_hand_stays_closed_until_it_is_opened_again():
    ledger = ledger_of(*ran(1, "pytest", failed(1)))
    ledger.close_loop("f1", "known to fail here")
    ledger.extend(ran(2, "pytest -q", failed(1)))
    assert (ledger.loops.open, ledger.loops.closed[-1].why) == ((), "known to fail here")
    assert ledger.reopen_loop("f1").is_open
    assert [loop.id for loop in Ledger.from_json(ledger.to_json()).loops.open] == ["f1"]


def test_a_request_closed_by_hand_is_open_again_where_it_was():
    ledger = ledger_of(Item("m1", text_message(Role.USER, "Rename the parser module")))
    before = ledger.loops.open
    ledger.close_loop("q1", "done elsewhere")
    assert ledger.loops.open == ()
    assert (ledger.reopen_loop("q1"),) == before == ledger.loops.open


def test_what_is_not_open_cannot_be_closed_and_what_was_not_closed_by_hand_not_opened():
    with pytest.raises(NotFound):
        Ledger().close_loop("q9", "no reason")
    with pytest.raises(NotFound):
        ledger_of(CHECKLIST).reopen_loop("t1")


def test_a_red_run_looks_only_at_the_tests_it_names(monkeypatch):
    looked: list[str] = []
    passes = FailingTests._passes
    monkeypatch.setattr(FailingTests, "_passes", lambda *a: looked.append(a[2]) or passes(*a))
    ledger = Ledger()
    for n in range(300):
        ledger.extend(ran(n, f"pytest tests/t{n}.py", f"FAILED tests/t{n}.py::x\n1 failed in 1s\n"))
        ledger.extend(ran(1000 + n, f"pytest other/{n}.py", "1 passed in 1s\n"))
    assert (len(ledger.loops.open), looked) == (300, [])


def test_a_sentence_is_held_against_a_bounded_number_of_rules():
    rules = ActiveRules(
        replace(find(text_message(Role.USER, f"Always run check{n} before you commit."))[0], id=f"p{n}")
        for n in range(MOST_NEAR + 50)
    )
    near = rules.near(Subject(frozenset(), frozenset(("commit",))))
    assert [rule.rule.id for rule in near] == [f"p{n}" for n in range(50, MOST_NEAR + 50)]


def test_rules_for_other_places_are_not_looked_at():
    rules = ActiveRules(
        replace(find(text_message(Role.USER, f"Never touch lib/part{n}/."))[0], id=f"p{n}") for n in range(20)
    )
    near = rules.near(Subject(frozenset(("lib/part7/a.py",)), frozenset(("edit",))))
    assert [rule.rule.id for rule in near] == ["p7"]


def test_a_text_is_read_once_however_often_it_is_asked_what_is_foreign():
    text = "a `b` c\n```\ncode\n```\n> quote\nplain"
    foreign = Foreign(text)
    assert [foreign.holds(text.index(one)) for one in ("b", " c", "code", "quote", "plain")] == [
        True,
        False,
        True,
        True,
        False,
    ]


def test_the_words_of_what_has_ended_are_let_go():
    talk = Ledger()
    for n in range(1_000):
        talk.extend(
            [
                Item(f"a{n}", text_message(Role.USER, f"Fix part {n}.")),
                Item(f"b{n}", text_message(Role.ASSISTANT, "Fixed.")),
            ]
        )
    assert len(talk.loops.talk._by_words) < 300


def test_messages_in_blocks_are_read_as_one_by_one():
    (session,) = load(open_source(EXAMPLE))
    items = [Item(entry.id, entry.message) for entry in session.full_entries()]
    one_by_one = Ledger()
    for item in items:
        one_by_one.add(item)
    assert ledger_of(*items).to_json() == one_by_one.to_json()


def test_the_lines_of_a_plan_are_all_listed_up_to_sixty():
    rows = [{"content": f"convert module {n}", "status": "pending"} for n in range(40)]
    ledger = ledger_of(*items(*did("TodoWrite", {"todos": rows})))
    assert [loop.text for loop in ledger.loops.collapsed] == [row["content"] for row in rows]
