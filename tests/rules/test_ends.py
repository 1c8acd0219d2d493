"""When rules end: only by an act aimed at them; what is for the time being ends at the go-ahead."""

from __future__ import annotations

import pytest

from clew.ledger import Ledger
from clew.message import Item, Role, text_message
from clew.rules.go_ahead import go_ahead
from clew.rules.rule import RuleStatus


def ledger_of(*texts: str) -> Ledger:
    ledger = Ledger()
    ledger.extend(
        Item(f"m{number}", text_message(Role.USER, text)) for number, text in enumerate(texts, start=1)
    )
    return ledger


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("Don't write any code yet.", "Looks good, go ahead."),
        ("Talk me through it, don't write any code.", "ok do it"),
        ("Don't make any changes, just the analysis.", "Great plan. Please implement it."),
        ("Do not push yet.", "Now go ahead and push it."),
        ("Don't start deleting the backups yet.", "Go ahead and delete them."),
        ("Don't change the dropdown yet.", "ok, go ahead"),
        ("tell me your thoughts without implementing any code changes", "Let's get started."),
        ("Don't take any action yet.", "approved"),
    ],
)
def test_what_is_for_the_time_being_ends_at_the_go_ahead(rule, words):
    for pin in ledger_of(rule, words).pins.all:
        assert pin.status in (RuleStatus.EXPIRED, RuleStatus.LIFTED)
        assert pin.ended_by is not None
        assert pin.ended_by.message == "m2"
        assert pin.why.startswith('"')


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("Never modify files under legacy/.", "go ahead and implement it"),
        ("Do not push yet.", "go ahead and implement the parser"),
        ("Don't start deleting the backups yet.", "ok, go ahead"),
        ("Don't start merging to main yet.", "ok, go ahead"),
        ("Don't write any code yet.", "Should I go ahead?"),
        ("Don't write any code yet.", "Don't go ahead with the second option."),
        ("Don't write any code yet.", "What happens before you proceed?"),
        (
            "as always never push sensitive data to the repo",
            "The installer asks for permission to push its data folder, one only needs to allow it once.",
        ),
        ("Never delete the production database.", "The script grants permission to delete the database."),
        ("Never push to main.", "The bot can push to main."),
        ("Never modify files under legacy/.", "> you may edit legacy/ now"),
        ("Before writing any code, I'd like to see your plans.", "don't write code or run anything"),
        ("Never commit secrets.", "ignore that"),
    ],
)
def test_nothing_else_ends_a_rule(rule, words):
    pin = ledger_of(rule, words).pins.all[0]
    assert pin.is_active


NO_CODE = "Don't change any code yet."


@pytest.mark.parametrize(
    "words",
    [
        "If the tests pass, go ahead.",
        "After Bob approves, go ahead.",
        "Once I have reviewed it, proceed.",
        "As soon as CI is green, go ahead.",
        "Should the tests pass, go ahead.",
        "Tomorrow, go ahead.",
        "Wait until tomorrow, then go ahead.",
        "Wait until tomorrow. Then go ahead.",
        "Let me look at it first, then go ahead.",
        "Go ahead once Bob approves.",
        "Go ahead and implement it if the tests pass.",
        "Proceed only when Bob agrees.",
        "Go ahead after lunch.",
        "Go ahead, but wait for Bob.",
        "I don't think the plan looks good.",
        "That's not good, do it again.",
        "Do not, under any circumstances, proceed",
        "Don't proceed, please.",
        "Write the plan to a file.",
        "Wenn Bob zustimmt, go ahead.",
        "Sobald die Tests grün sind: go ahead.",
        "Si les tests passent, go ahead.",
        "Cuando termine la revisión, go ahead.",
        "如果测试通过，go ahead",
    ],
)
def test_a_conditional_postponed_or_denied_go_ahead_ends_nothing(words: str):
    assert NO_CODE in [pin.quote for pin in ledger_of(f"Fix the login. {NO_CODE}", words).pins.active]


@pytest.mark.parametrize(
    "words",
    [
        "I don't see any problems, go ahead.",
        "No need to wait, go ahead.",
        "Yes, why not, do it.",
        "I looked at it after lunch, go ahead.",
        "Go ahead, and if something is unclear, ask me.",
        "Go ahead when you're ready.",
        "Looks great! Then go ahead.",
        "Do it! If the tests fail, tell me.",
        "Si, go ahead.",
    ],
)
def test_other_conditions_and_negations_do_not_hold_a_go_ahead_back(words: str):
    assert NO_CODE not in [pin.quote for pin in ledger_of(f"Fix the login. {NO_CODE}", words).pins.active]


@pytest.mark.parametrize(
    ("text", "words"),
    [("Write the code.", "Write the code"), ("Write this, please.", "Write this")],
)
def test_the_words_of_a_go_ahead_are_whole(text: str, words: str):
    assert go_ahead(text) == words


@pytest.mark.parametrize(
    ("ban", "words", "holds"),
    [
        ("Don't push or deploy yet.", "Go ahead and push.", True),
        ("Don't delete or push anything yet.", "Go ahead and push.", True),
        ("Don't push yet.", "Go ahead without pushing.", True),
        ("Don't push yet.", "Go ahead. If the tests pass, push.", True),
        ("Don't push or deploy yet.", "Go ahead, push and deploy.", False),
        ("Don't push until I say so.", "Go ahead and push.", False),
        ("Don't push yet, I want to release first.", "Go ahead and push.", False),
    ],
)
def test_a_ban_on_acts_ends_if_each_of_them_is_permitted(ban: str, words: str, holds: bool):
    assert bool(ledger_of(f"Fix it. {ban}", words).pins.active) == holds


@pytest.mark.parametrize(
    "thing",
    ["The .env file", "The private key", "The API_KEY", "The api-keys file", "The backup", "Customer data"],
)
def test_a_ban_on_secrets_and_data_ends_by_words_to_the_agent_only(thing: str):
    ban = f"Never edit {thing[0].lower()}{thing[1:]}."
    assert ledger_of(f"Fix the login. {ban}", f"{thing} can be edited again.").pins.active
    assert not ledger_of(
        f"Fix the login. {ban}", f"You can edit {thing[0].lower()}{thing[1:]} again."
    ).pins.active


def test_what_only_might_end_a_rule_is_marked_and_the_rule_holds():
    (pin,) = ledger_of("Never commit secrets.", "ignore that").pins.all
    assert pin.is_active
    assert not pin.end_is_certain
    assert '"ignore that"' in pin.why


def test_an_explicit_end_says_the_words_that_ended_it():
    (pin,) = ledger_of("Never modify files under legacy/.", "ok, you may edit legacy/ now").pins.all
    assert pin.status is RuleStatus.LIFTED
    assert "you may edit legacy/ now" in pin.why


def test_one_thing_instead_of_another_replaces_it():
    ledger = ledger_of("Always use jest for the tests.", "From now on use vitest instead of jest.")
    assert [(pin.quote, pin.is_active) for pin in ledger.pins.all] == [
        ("Always use jest for the tests.", False),
        ("From now on use vitest instead of jest.", True),
    ]


def test_a_permission_that_is_taken_back_at_once_leaves_one_rule():
    ledger = ledger_of("You can edit legacy/. Wait no, never modify files under legacy/.")
    assert [pin.quote for pin in ledger.pins.active] == ["Wait no, never modify files under legacy/."]
    assert not ledger.decisions
