"""Acknowledgements and replaced plans in the agent's prose are pruned, and nothing else is."""

from __future__ import annotations

import pytest

from clew.compaction.propose import propose
from clew.compaction.propose.prune_prose import acknowledgements, is_bare_acknowledgement, replaced_plans
from clew.message import Role, text_message
from tests.compaction_propose.sessions import items, situation, spoken, step, tokens_of

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


@pytest.mark.parametrize(
    "text",
    [
        "Understood. I will keep that in mind.",
        "Got it, thanks for letting me know!",
        "Of course, I'll take care of it.",
        "You're welcome! Happy to help.",
    ],
)
def test_a_bare_acknowledgement(text: str):
    assert is_bare_acknowledgement(text)


@pytest.mark.parametrize(
    "text",
    [
        "Understood. The port is 8443.",
        "Got it. Should I also update the docs?",
        "I won't do that.",
        "Understood, I will never touch legacy.",
        "Done. All tests pass now.",
        "Sure, I'll edit `config.toml`.",
        "You're right, the cache was the cause.",
        "",
    ],
)
def test_more_than_an_acknowledgement(text: str):
    assert not is_bare_acknowledgement(text)


def test_acknowledgements_with_a_call_or_by_the_user_stay():
    view = items(
        [text_message(Role.USER, "Understood, thank you."), spoken("Got it."), *step("c", "run", {}, "ok")]
    )
    assert list(acknowledgements(view)) == []


def test_acknowledgements_are_pruned_before_anything_is_summarised():
    hollow = "Understood. I will keep that in mind and take good care of it from now on, of course."
    talk = [
        text_message(Role.USER, "Help me plan the move to the new office."),
        spoken("Gladly: where do we start?"),
    ]
    for n in range(40):
        talk += [text_message(Role.USER, f"Desk {n} goes to room {n % 7}."), spoken(hollow)]
    view = items(talk)
    plan = propose(situation(view, int(tokens_of(view) * 0.7)))
    assert plan.fits
    assert [freed.rung for freed in plan.freed] == ["prune"]
    assert {op.reason for op in plan.operations} == {"only acknowledges"}


def test_a_plan_that_a_later_one_replaces_keeps_the_points_of_its_own():
    view = items([spoken(PLAN), text_message(Role.USER, "Go on."), spoken(LATER)])
    (found,) = replaced_plans(view)
    assert found.text == (
        "Here is my plan:\n[3 points are in the later plan in m3]\n"
        "4. Ask Maria about the header\nThat should take an hour."
    )
    assert found.instead == (2, 0)


def test_a_plan_about_something_else_replaces_nothing():
    other = "Next steps:\n1. Book the venue\n2. Invite the speakers\n3. Print badges"
    assert list(replaced_plans(items([spoken(PLAN), spoken(other)]))) == []


def test_a_list_that_is_no_plan_is_left_alone():
    facts = PLAN.replace("Here is my plan", "What I found")
    assert list(replaced_plans(items([spoken(facts), spoken(LATER)]))) == []
