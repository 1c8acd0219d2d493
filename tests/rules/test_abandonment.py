"""To let go of what a rule is about ends the rule where something else is chosen, and nothing otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clew.message import Role, text_message
from clew.rules import How, find_candidates, retire


def ends(rule: str, text: str) -> list[How]:
    active = [replace(found, id=rule) for found in find_candidates(text_message(Role.USER, rule))]
    assert len(active) == 1
    return [one.how for one in retire(active, text_message(Role.USER, text))]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("Only use the staging DB.", "Forget the staging thing, use production."),
        ("answer in French from now on", "Scrap the French, English is fine."),
        ("Answer in French.", "Drop the French and go with English."),
        ("never touch the payments module", "Never mind the payments module, just rewrite it."),
        ("max 80 columns", "Forget the 80 columns."),
        ("Keep lines under 80, please.", "Forget the 80."),
        ("do not deploy on Fridays", "Scratch what I said about Fridays."),
        ("only use bash scripts", "Forget bash, use Python."),
        ("no inline styles", "Inline styles are fine after all."),
    ],
)
def test_what_is_let_go_of_for_something_else_lifts_the_rule(rule: str, text: str):
    assert ends(rule, text) == [How.LIFTED]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("Only use the staging DB.", "Don't forget the staging thing."),
        ("Only use the staging DB.", "Drop the staging DB, do the migration first."),
        ("keep the public API stable", "Ignore the API, let's fix the docs first."),
        ("always run the tests", "Forget the tests, fix the login bug first."),
        ("always run the tests", "Forget the tests, they're fine."),
        ("don't touch the CSS", "Drop the CSS."),
        ("only edit files in src/", "Drop the unused file in src/."),
        ("max 80 columns", "Drop the 80 columns."),
        ("don't add new dependencies", "The dependency graph is fine after all."),
        ("no inline styles", "Bob thinks inline styles are OK after all."),
        ("don't refactor anything", "If refactoring turns out fine after all, tell me."),
        ("always squash the commits", "Don't drop the squash rule."),
    ],
)
def test_what_is_let_go_of_for_nothing_ends_nothing(rule: str, text: str):
    assert ends(rule, text) == []


def test_let_us_go_with_another_choice_supersedes_the_first():
    assert ends("respond in Spanish", "Let's switch to English instead.") == [How.SUPERSEDED]


def test_never_mind_forbids_nothing():
    assert find_candidates(text_message(Role.USER, "Never mind the payments module, just rewrite it.")) == []


def test_a_lasting_order_to_skip_is_a_ban_and_replaces_the_duty():
    skip = "Skip the full test suite from here on, the unit tests will do."
    assert ends("always run the full test suite", skip) == [How.SUPERSEDED]
