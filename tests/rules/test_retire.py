"""A rule ends when its speaker takes it back or lays down its opposite, and the link is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.message import Message, Origin, Role, Text, Trust, text_message
from clew.rules import How, Retirement, Rule, Span, find_candidates, retire
from clew.rules.find import find


def rules(*texts: str, role: Role = Role.USER) -> list[Rule]:
    found = [(text, one) for text in texts for one in find_candidates(text_message(role, text))]
    assert [one.quote for _, one in found] == list(texts)
    return [replace(one, id=text) for text, one in found]


LEGACY = "Never modify files under legacy/."
PUSH = "Don't push."
FRENCH = "Answer in French from now on."
SPACES = "Use spaces, not tabs."
COLUMNS = "Max 80 columns."
TESTS = "Always run the tests before you commit."
DEPENDENCIES = "No new dependencies unless I say so."
COMMENTS = "Write all comments in English."
ALL = (LEGACY, PUSH, FRENCH, SPACES, COLUMNS, TESTS, DEPENDENCIES, COMMENTS)


def ends(text: str, *active: str) -> list[tuple[str, How, bool]]:
    found = retire(rules(*(active or ALL)), text_message(Role.USER, text))
    return [(one.rule, one.how, one.certain) for one in found]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("you may edit legacy/ now", LEGACY),
        ("ok, you can push", PUSH),
        ("forget what I said about French", FRENCH),
        ("you don't need to run the tests anymore", TESTS),
        ("you can add dependencies now", DEPENDENCIES),
        ("never mind the column limit", COLUMNS),
        ("You can change the files under legacy/, that's fine.", LEGACY),
    ],
)
def test_a_rule_is_lifted_by_words_that_name_its_matter(text: str, rule: str):
    assert ends(text) == [(rule, How.LIFTED, True)]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("actually use tabs, not spaces", SPACES),
        ("From now on answer in German.", FRENCH),
        ("max 100 columns", COLUMNS),
        ("Always push after you commit.", PUSH),
    ],
)
def test_a_newer_rule_on_the_same_matter_supersedes(text: str, rule: str):
    assert ends(text) == [(rule, How.SUPERSEDED, True)]


@pytest.mark.parametrize(
    "text", ["ignore that", "ignore that rule", "scratch that", "Forget that rule, please."]
)
def test_words_that_name_no_rule_end_the_most_recent_one_and_say_so(text: str):
    assert ends(text) == [(COMMENTS, How.LIFTED, False)]


@pytest.mark.parametrize(
    "text",
    [
        "please run the tests",
        "ignore that error",
        "fix the parser",
        "never push",
        "Don't push.",
        "you can push to the staging branch",
        "You can now change anything in src/",
        "can I push?",
        '"you can push", it says',
        "> you can push\n\nwhat does it mean?",
        "Answer in French from now on.",
    ],
)
def test_nothing_ends_by_a_task_an_exception_another_matter_or_the_same_rule(text: str):
    assert ends(text) == []


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("Leave the lockfile alone.", "You may update the lockfile now."),
        ("We never commit generated files here.", "you can commit generated files from now on"),
        ("Show me the diff before you commit.", "you don't need to show me the diff anymore"),
        ("The billing module is off limits.", "ok, you can change the billing module"),
        ("I'm willing to pay up to $100.", "forget what I said about what I'm willing to pay"),
    ],
)
def test_rules_of_every_form_can_be_lifted(rule: str, text: str):
    assert ends(text, rule) == [(rule, How.LIFTED, True)]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("Leave the lockfile alone.", "Leave the tests alone as well."),
        ("Show me the diff before you commit.", "Show me the plan before you deploy."),
        ("We never commit generated files here.", "commit the parser"),
        ("The billing module is off limits.", "The login module is off limits too."),
    ],
)
def test_another_rule_of_the_same_form_ends_nothing(rule: str, text: str):
    assert ends(text, rule) == []


def test_the_retirement_quotes_the_words_that_ended_the_rule():
    message = text_message(Role.USER, "Thanks! Use tabs instead of spaces.")
    assert retire(rules(SPACES), message) == [
        Retirement(
            rule=SPACES,
            how=How.SUPERSEDED,
            quote="Use tabs instead of spaces.",
            span=Span(0, 8, 35),
            why="tabs replaces spaces",
        )
    ]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("Ne modifie jamais les fichiers sous legacy/.", "tu peux modifier legacy/ maintenant"),
        ("Bitte nicht pushen.", "du darfst jetzt pushen"),
        ("No toques las migraciones.", "ya puedes tocar las migraciones"),
        ("À partir de maintenant, réponds en français.", "Désormais, réponds en anglais."),
        ("不要修改 legacy/ 下的文件。", "现在可以修改 legacy/ 了"),
    ],
)
def test_rules_end_in_other_languages_too(rule: str, text: str):
    assert [one.rule for one in retire(rules(rule), text_message(Role.USER, text))] == [rule]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("please leave the CSS alone", "ok the CSS can be changed now"),
        ("don't merge anything this week", "merging is allowed again"),
        ("keep answers under 50 words", "longer answers are fine now"),
        ("keep the public API stable", "the public API no longer has to stay stable"),
        ("pushe nicht auf main", "du darfst jetzt auf main pushen"),
        ("не пушь в main", "теперь можно пушить в main"),
    ],
)
def test_leave_is_given_in_other_words_than_the_rule_had(rule: str, text: str):
    assert ends(text, rule) == [(rule, How.LIFTED, True)]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("only edit src/parser.py", "you're free to edit other files as well"),
        ("stick to the login page", "you can change anything now"),
    ],
)
def test_leave_for_all_the_rest_lifts_the_latest_restriction_and_is_not_certain(rule: str, text: str):
    assert ends(text, PUSH, rule) == [(rule, How.LIFTED, False)]


@pytest.mark.parametrize(
    "text",
    [
        "You can change legacy/old.py, that's fine.",
        "feel free to edit legacy/report/, the rest stays",
        "You may edit legacy/a.py and legacy/b.py now.",
        "Just this once you can edit the files under legacy/.",
        "You may modify legacy/ this one time.",
        "Du darfst legacy/ ausnahmsweise ändern.",
    ],
)
def test_leave_for_a_part_of_a_place_or_for_once_does_not_end_its_rule(text: str):
    assert ends(text) == []


def test_leave_for_one_place_does_not_end_a_rule_for_every_place():
    assert ends("the mocks in tests/old are fine", "don't use mocks") == []


def test_of_invented_ends_nine_in_ten_are_seen_and_none_where_nothing_ends():
    rows = [
        json.loads(line) for line in Path(__file__).with_name("ends.jsonl").read_text("utf-8").splitlines()
    ]
    seen = {
        (row["rule"], row["text"]): [
            one.how
            for one in retire(
                [
                    replace(one, id=row["rule"])
                    for one in find_candidates(text_message(Role.USER, row["rule"]))
                ],
                text_message(Role.USER, row["text"]),
            )
        ]
        for row in rows
    }
    right = [[row["ends"]] == seen[row["rule"], row["text"]] for row in rows if row["ends"]]
    wrong = [row for row in rows if not row["ends"] and seen[row["rule"], row["text"]]]
    assert (sum(right) >= 0.9 * len(right), wrong) == (True, [])


def test_a_user_cannot_end_what_the_system_laid_down():
    assert retire(rules(PUSH, role=Role.SYSTEM), text_message(Role.USER, "you can push")) == []
    assert len(retire(rules(PUSH), text_message(Role.SYSTEM, "you can push"))) == 1


@pytest.mark.parametrize(
    "message",
    [
        text_message(Role.ASSISTANT, "you can push"),
        text_message(Role.USER, "you can push", Origin.INJECTED),
        text_message(Role.USER, "you can push", Origin.SUMMARY),
        Message(Role.USER, (Text("you can push", trust=Trust.UNTRUSTED),)),
    ],
)
def test_only_words_really_spoken_end_a_rule(message: Message):
    assert retire(rules(PUSH), message) == []


@given(
    st.lists(st.sampled_from(ALL), unique=True),
    st.lists(
        st.sampled_from(["you can push", "ignore that", "max 90 columns", "use tabs", "hi."]), max_size=4
    ),
)
def test_each_rule_ends_once_and_only_rules_that_were_active_end(active: list[str], said_now: list[str]):
    found = retire(rules(*active), text_message(Role.USER, "\n".join(said_now)))
    names = [one.rule for one in found]
    assert len(names) == len(set(names))
    assert set(names) <= set(active)


@pytest.mark.parametrize(
    "text",
    [
        "Now delete what is no longer used, also in legacy/ if it is dead.",
        "Remove legacy/old.py, it's no longer needed.",
        "Delete legacy/report.py, nobody uses it.",
        "Drop the table defined in legacy/schema.sql.",
        "Override the method in legacy/base.py.",
        "Forget the tests, just modify legacy/x.py.",
        "The files under legacy/ are not used anymore, modify them.",
    ],
)
def test_a_request_that_breaks_a_rule_does_not_lift_it(text: str):
    assert ends(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Actually you may modify legacy/ now, forget that rule.",
        "Actually you may modify legacy/ now. Forget that rule.",
        "You are allowed to edit legacy/ now, ignore the earlier rule.",
    ],
)
def test_a_permission_followed_by_forget_that_rule_ends_the_rule(text: str):
    assert ends(text, LEGACY) == [(LEGACY, How.LIFTED, True)]


@pytest.mark.parametrize(
    "text",
    ["Scrap my rule about legacy/.", "Drop my rule about legacy/.", "Please cancel the legacy/ rule."],
)
def test_giving_up_a_rule_by_name_ends_it_and_is_no_rule(text: str):
    assert ends(text, LEGACY) == [(LEGACY, How.LIFTED, True)]
    assert find(text_message(Role.USER, text)) == []


@pytest.mark.parametrize(
    "text", ["You may modify legacy/, wait no.", "You may modify legacy/ now. Forget it."]
)
def test_a_permission_that_is_taken_back_ends_nothing(text: str):
    assert ends(text, LEGACY) == []
