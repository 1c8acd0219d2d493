"""Replaced plans in the agent's prose are pruned, and nothing else is."""

from __future__ import annotations

from clew.compaction.propose.prune_prose import replaced_plans
from clew.message import Role, text_message
from tests.compaction_propose.sessions import items, spoken

PLAN = """Here is my plan:
1. Read the exporter in src/export.py
2. Add a failing test for empty rows
3. Fix the writer so that empty rows are kept
4. Ask Maria about the header
That should take an hour."""
LATER = """Updated plan:
1. Add a failing test for empty rows (done)
2. Fix the writer so that empty rows are kept
3. Read the exporter in src/export.py once more
4. Update the changelog"""


def test_a_plan_that_a_later_one_replaces_keeps_the_points_of_its_own():
    view = items([spoken(PLAN), text_message(Role.USER, "Go on."), spoken(LATER)])
    (found,) = replaced_plans(view)
    assert found.text == (
        "Here is my plan:\n[3 points are in the later plan in m3]\n"
        "4. Ask Maria about the header\nThat should take an hour."
    )
    assert found.instead == (2, 0)


def test_of_task_lists_only_the_newest_is_shown():
    def tasks(done: int) -> str:
        names = ("Add the column", "Fill it for old rows", "Show it on the page", "Test the export")
        marks = ("X" if n < done else " " for n in range(len(names)))
        points = (f"- [{mark}] {name}" for mark, name in zip(marks, names, strict=True))
        return "\n".join(("**Agent task list:**", *points))

    view = items([spoken(tasks(n)) for n in range(3)])
    note = "**Agent task list:**\n[4 points are in the later plan in m3]"
    assert [(found.place.message, found.text) for found in replaced_plans(view)] == [(0, note), (1, note)]


def test_a_plan_about_something_else_replaces_nothing():
    other = "Next steps:\n1. Book the venue\n2. Invite the speakers\n3. Print badges"
    assert list(replaced_plans(items([spoken(PLAN), spoken(other)]))) == []


def test_a_list_that_is_no_plan_is_left_alone():
    facts = PLAN.replace("Here is my plan", "What I found")
    assert list(replaced_plans(items([spoken(facts), spoken(LATER)]))) == []
