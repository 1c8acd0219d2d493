"""Standing rules from their beginning to their end."""

from __future__ import annotations

from time import process_time

import pytest

from clew.errors import NotFound
from clew.ledger import Ledger, MadeBy, Pin, RuleStatus
from clew.message import Cite, Item, Message, Origin, Role, Text, ToolResult, Trust, text_message
from clew.rules.rule import Kind, Scope
from tests.ledger.sessions import assistant, call, did, items, ledger_of, user

RULE = "Never modify files under legacy/."


def test_a_rule_becomes_a_pin_with_quote_and_place():
    (pin,) = ledger_of(user(f"Please fix the bug. {RULE}")).pins.active
    assert (pin.id, pin.quote, pin.source) == ("p1", RULE, Cite("m0", 0, 20, 53))
    assert (pin.kind, pin.trust, pin.made_by, pin.status) == (
        Kind.PROHIBITION,
        Trust.USER,
        MadeBy.FOUND,
        RuleStatus.ACTIVE,
    )


def test_a_rule_said_again_is_one_pin():
    (pin,) = ledger_of(user(RULE), assistant("ok"), user("never modify files under legacy/")).pins.all
    assert (pin.source, pin.repeated) == (Cite("m0", 0, 0, 33), (Cite("m2", 0, 0, 32),))


def test_a_rule_that_is_taken_back_says_by_what():
    (pin,) = ledger_of(user(RULE), user("You may modify files under legacy/ now.")).pins.all
    assert (pin.status, pin.ended_by) == (RuleStatus.LIFTED, Cite("m1", 0, 0, 39))
    assert pin.why


def test_a_rule_that_is_contradicted_says_by_which():
    old, new = ledger_of(
        user("Always use spaces for indentation."), user("Always use tabs for indentation.")
    ).pins.all
    assert (old.status, old.replaced_by, new.status) == (RuleStatus.SUPERSEDED, new.id, RuleStatus.ACTIVE)


def test_what_tools_and_machines_write_is_no_rule():
    ledger = ledger_of(
        did("Read", {"file_path": "a"}, RULE),
        user(RULE, origin=Origin.INJECTED),
        user(RULE, origin=Origin.SUMMARY),
    )
    assert ledger.pins.all == ()


def test_the_prompt_is_not_pinned_but_later_instructions_are():
    prompt = [text_message(Role.SYSTEM, RULE), text_message(Role.DEVELOPER, "Always answer in French.")]
    ledger = ledger_of(*prompt, user("hello"), text_message(Role.DEVELOPER, "Never run git push."))
    assert [(pin.quote, pin.trust) for pin in ledger.pins.all] == [("Never run git push.", Trust.DEVELOPER)]


def test_a_persons_words_beside_a_refusal_may_be_a_rule():
    words = (Text("Rejected. They said:\n"), Text("Never run git push.", trust=Trust.USER))
    refused = Message(Role.TOOL, (ToolResult("c", words, True),))
    talk = items(call("Bash", {"command": "git push"}, call_id="c"), refused)
    ledger = Ledger()
    ledger.extend(talk)
    (pin,) = ledger.pins.active
    assert (pin.quote, pin.source.quote(refused)) == ("Never run git push.", "Never run git push.")


def test_a_rule_before_or_behind_an_endless_paste_is_found():
    paste = "2026-01-01 12:00:00 INFO line\n" * 20_000
    message = user(f"Never run git push.\n{paste}\nAlways answer in French.")
    pins = ledger_of(message).pins.active
    assert [pin.source.quote(message) for pin in pins] == ["Never run git push.", "Always answer in French."]


def test_a_person_adds_a_rule_by_hand():
    ledger = ledger_of()
    pin = ledger.pins.pin("Keep it under 80 columns.", Kind.LIMIT, Scope(topics=("width",)))
    scope = Scope(topics=("width",))
    assert pin == Pin("Keep it under 80 columns.", None, Kind.LIMIT, scope, id="p1", made_by=MadeBy.PERSON)
    assert ledger.pins.active == (pin,)


def test_a_person_edits_a_rule_and_the_old_words_stay():
    ledger = ledger_of(user(RULE))
    new = ledger.pins.edit("p1", "Never modify files under legacy/ or old/.")
    old = ledger.pins.get("p1")
    assert (old.status, old.replaced_by, old.quote) == (RuleStatus.SUPERSEDED, "p2", RULE)
    assert ledger.pins.active == (new,)


@pytest.mark.parametrize(
    ("words", "kind", "paths"),
    [
        ("never touch legacy/", Kind.PROHIBITION, ("legacy/",)),
        ("Be kind. Do not edit src/core/*.py.", Kind.PROHIBITION, ("src/core/*.py",)),
        ("Answers of at most 100 words.", Kind.LIMIT, ()),
        ("the settings live in conf/app.toml", Kind.REQUIREMENT, ("conf/app.toml",)),
    ],
)
def test_a_rule_made_by_hand_is_read_from_its_words(words, kind, paths):
    pin = ledger_of().pins.pin(words)
    assert (pin.kind, pin.scope.paths) == (kind, paths)


def test_other_words_have_another_kind_and_scope():
    ledger = ledger_of(user(RULE))
    new = ledger.pins.edit("p1", "Always run the tests in tests/unit/ first.")
    assert (new.kind, new.scope.paths) == (Kind.REQUIREMENT, ("tests/unit/",))


def test_a_spoken_rule_in_the_words_of_one_made_by_hand_is_that_one():
    ledger = ledger_of()
    ledger.pins.pin("never touch legacy/")
    ledger.add(Item("m0", user("Never touch legacy/.")))
    (pin,) = ledger.pins.all
    assert (pin.kind, pin.scope.paths, pin.repeated) == (
        Kind.PROHIBITION,
        ("legacy/",),
        (Cite("m0", 0, 0, 20),),
    )


@pytest.mark.parametrize(
    "remark",
    [
        "just answer, don't do anything",
        "no don't set it, let's see if it keeps happening",
        "Explain what happened, don't do anything.",
        "don't fix anything, but just validate that it works",
        "without doing any changes: can you check the prior things?",
    ],
)
def test_a_remark_for_one_answer_ends_when_the_user_speaks_again(remark):
    ledger = ledger_of(user(remark), assistant("It fails."))
    assert [pin.status for pin in ledger.pins.all] == [RuleStatus.ACTIVE]
    later = Ledger.from_json(ledger.to_json())
    later.extend([Item("late", user("ok, fix it"))])
    assert [(pin.status, pin.ended_by) for pin in later.pins.all] == [
        (RuleStatus.EXPIRED, Cite("late", 0, 0, 10))
    ]


@pytest.mark.parametrize(
    "rule",
    [
        "Don't change anything in legacy/, just read it.",
        "If nobody is logged in, do nothing.",
        "From now on just answer, don't do anything.",
        "Never push, let's see how it goes.",
        "don't push to main, let's see what CI says",
        "Do not commit.",
    ],
)
def test_a_rule_that_names_a_place_a_case_or_a_time_outlives_the_answer(rule):
    pins = ledger_of(user(rule), assistant("ok"), user("What is next?")).pins.all
    assert [pin.status for pin in pins if pin.status is RuleStatus.EXPIRED] == []


def test_a_person_revokes_a_rule_and_one_runs_out():
    ledger = ledger_of(user(RULE))
    ledger.pins.pin("Do not merge before Friday.")
    assert ledger.pins.revoke("p1").status is RuleStatus.REVOKED
    assert ledger.pins.expire("p2", "it is Friday").status is RuleStatus.EXPIRED
    assert ledger.pins.active == ()
    assert [pin.why for pin in ledger.pins.all] == ["revoked by hand", "it is Friday"]


def test_a_rule_made_by_hand_can_be_taken_back_in_words():
    ledger = ledger_of()
    ledger.pins.pin(RULE, Kind.PROHIBITION)
    ledger.add(Item("m0", user("You may modify files under legacy/ now.")))
    assert [pin.status for pin in ledger.pins.all] == [RuleStatus.LIFTED]


def test_a_pin_that_is_not_there_is_an_error():
    with pytest.raises(NotFound, match="no rule p9: none was found"):
        ledger_of().pins.revoke("p9")
    with pytest.raises(NotFound, match="no rule p9: the ids of rules begin with p1"):
        ledger_of(user(RULE)).pins.revoke("p9")


def test_finding_a_rule_by_its_place_does_not_depend_on_how_many_there_are():
    def seconds(rules: int) -> float:
        ledger = Ledger()
        texts = (f"Never touch the folder src/part{n}/." for n in range(rules))
        ledger.extend([Item(f"m{n + 1}", text_message(Role.USER, text)) for n, text in enumerate(texts)])
        near = [pin.ref._replace(source=Cite(pin.source.message, 0, 3, 9)) for pin in ledger.pins.all[:200]]
        started = process_time()
        found = [ledger.pins.match(ref) for ref in near for _ in range(5)]
        assert all(found)
        return process_time() - started

    assert min(seconds(2_000) for _ in range(2)) < 4 * min(seconds(200) for _ in range(2)) + 0.01
