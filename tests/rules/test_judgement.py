"""What a model's word may change about rules, and what it may not."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import StoreDamaged
from clew.ledger import Ledger
from clew.message import Cite, Item, Message, Origin, Role, Text, ToolResult, Trust, text_message
from clew.rules.candidates import sentences_to_judge
from clew.rules.judgement import Judgement, judgement_from_json, judgement_to_json
from clew.rules.protected import is_protected
from clew.rules.rule import Kind, MadeBy, Rule, RuleRef, RuleStatus, Verdict

BAN = "Never modify files under legacy/."
PROTECTED = (
    "Never push to main.",
    "Do not delete anything without asking me.",
    "Never commit the API keys.",
    "Don't deploy to production.",
)
HABIT = "Always run the linter before you commit."
SPOKEN = (BAN, *PROTECTED, HABIT, "Two pages would be best.", "ok, tabs it is", "thanks, that looks fine")


def ledger_of(*texts: str) -> tuple[Ledger, dict[str, Message]]:
    """Return a ledger of user messages, after a first one that states nothing, and the messages by id."""
    ledger, messages = Ledger(), {}
    for number, text in enumerate(("Fix the parser.", *texts), start=1):
        messages[f"m{number}"] = text_message(Role.USER, text)
        ledger.add(Item(f"m{number}", messages[f"m{number}"]))
    return ledger, messages


def judgement(**more: object) -> Judgement:
    return Judgement("scripted", "judge-1", 9, 9, **more)  # type: ignore[arg-type]


def sentence(messages: dict[str, Message], name: str) -> Rule:
    """Return the first sentence of a message that a model is asked about."""
    return next(sentences_to_judge(Item(name, messages[name]))).rule


def test_a_rule_that_a_model_confirms_says_so():
    ledger, _ = ledger_of(HABIT)
    (pin,) = ledger.pins.active
    ledger.pins.judge(judgement(judged=((pin.ref, Verdict.STANDING),)))
    (pin,) = ledger.pins.active
    assert (pin.certainty, pin.judgement) == ("clear", "confirmed by the summariser (scripted)")


def test_a_rule_that_a_model_calls_a_request_is_out_of_force_and_listed_with_the_reason():
    ledger, _ = ledger_of(HABIT)
    (pin,) = ledger.pins.active
    ledger.pins.judge(judgement(judged=((pin.ref, Verdict.REQUEST),)))
    (pin,) = ledger.pins.all
    assert not ledger.pins.active
    assert (pin.status, pin.judgement) == (
        RuleStatus.DISMISSED,
        "doubted: the summariser (scripted) calls it a request for one step",
    )


def test_a_rule_that_a_model_calls_a_decision_is_listed_as_one():
    ledger, _ = ledger_of(HABIT, PROTECTED[0])
    found = tuple((pin.ref, Verdict.DECISION) for pin in ledger.pins.active)
    ledger.judge(judgement(judged=found))
    assert [decision.quote for decision in ledger.decisions] == [HABIT]  # the other one holds as a rule


@pytest.mark.parametrize("quote", PROTECTED)
def test_a_ban_about_secrets_deletion_pushing_or_production_holds_and_is_shown_as_doubted(quote: str):
    ledger, _ = ledger_of(quote)
    (pin,) = ledger.pins.active
    ledger.pins.judge(judgement(judged=((pin.ref, Verdict.NONE),)))
    (pin,) = ledger.pins.active
    assert pin.certainty == "doubted"
    assert pin.judgement.endswith("calls it not binding; it holds until you switch it off")


@pytest.mark.parametrize(
    "quote",
    [
        "Lösche niemals Dateien.",
        "Ne supprime rien.",
        "No borres nada.",
        "不要删除任何文件",
        "本番には触らないで",
        "никогда не удаляй файлы",
        "Never print DB_PASSWORD.",
        "Never log Kennwörter.",
        "Finger weg vom Produktionsserver.",
    ],
)
def test_protected_subjects_are_known_in_other_languages(quote: str):
    assert is_protected(Rule(quote, None))


@pytest.mark.parametrize(
    "quote",
    [
        "Never commit .env files.",
        "Never read `.env`.",
        "Never commit to the main branch.",
        "Never commit directly to `main`.",
        "Never share the passphrase.",
        "Never print the SSH key.",
        "Never remove files without asking.",
        "Never purge the bucket.",
    ],
)
def test_protected_subjects_are_known_in_usual_words(quote: str):
    assert is_protected(Rule(quote, None))


@pytest.mark.parametrize(
    "quote",
    [
        "Use tabs.",
        "Close the drop-down first.",
        "The product page is red.",
        "Remove unused imports.",
        "Use the main font.",
        "Read the environment first.",
    ],
)
def test_other_subjects_are_not_protected(quote: str):
    assert not is_protected(Rule(quote, None))


def test_a_sentence_that_a_model_calls_a_rule_is_added_word_for_word():
    ledger, messages = ledger_of("Two pages would be best.")
    ledger.pins.judge(judgement(added=(sentence(messages, "m2"),)))
    (pin,) = ledger.pins.active
    assert (pin.quote, pin.source) == ("Two pages would be best.", Cite("m2", 0, 0, 24))
    assert pin.judgement == "found by the summariser (scripted)"


def test_what_a_person_switched_off_or_edited_is_not_added_again():
    ledger, messages = ledger_of(HABIT)
    (pin,) = ledger.pins.active
    ledger.pins.revoke(pin.id)
    ledger.pins.judge(judgement(added=(sentence(messages, "m2"),)))
    assert not ledger.pins.active


def test_what_a_person_set_is_neither_judged_nor_ended():
    ledger, messages = ledger_of("thanks, that looks fine")
    pin = ledger.pins.pin("Prefer short answers.")
    end = (pin.ref, Cite("m2", 0, 0, 23))
    ledger.pins.judge(judgement(judged=((pin.ref, Verdict.NONE),), ended=(end,)))
    assert ledger.pins.active == (pin,)
    assert messages


def test_a_person_puts_a_dismissed_rule_back():
    ledger, _ = ledger_of(HABIT)
    (pin,) = ledger.pins.active
    ledger.pins.judge(judgement(judged=((pin.ref, Verdict.NONE),)))
    assert ledger.pins.pin(HABIT).made_by is MadeBy.PERSON
    assert [rule.quote for rule in ledger.pins.active] == [HABIT]


def test_the_first_judgement_of_a_sentence_counts():
    ledger, messages = ledger_of("Two pages would be best.")
    ledger.pins.judge(judgement())
    ledger.pins.judge(judgement(added=(sentence(messages, "m2"),)))
    assert not ledger.pins.active


def test_later_words_end_a_duty_but_leave_a_ban_uncertain():
    ledger, _ = ledger_of(HABIT, BAN, "ok, tabs it is")
    end = Cite("m4", 0, 0, 14)
    ledger.pins.judge(judgement(ended=tuple((pin.ref, end) for pin in ledger.pins.active)))
    duty, ban = ledger.pins.all
    assert (duty.status, duty.ended_by) == (RuleStatus.LIFTED, end)
    assert (ban.is_active, ban.end_is_certain, ban.ended_by) == (True, False, end)


def test_words_said_before_a_rule_do_not_end_it():
    ledger, _ = ledger_of("ok, tabs it is", HABIT)
    (pin,) = ledger.pins.active
    ledger.pins.judge(judgement(ended=((pin.ref, Cite("m2", 0, 0, 14)),)))
    assert ledger.pins.active == (pin,)


def test_a_judgement_survives_its_way_through_the_log():
    ledger, messages = ledger_of(HABIT, "Two pages would be best.")
    (pin,) = ledger.pins.active
    made = judgement(
        judged=((pin.ref, Verdict.DECISION),),
        added=(sentence(messages, "m3"),),
        ended=((pin.ref, Cite("m3", 0, 0, 24)),),
        decided=(RuleRef("Fix the parser.", Cite("m1", 0, 0, 15)),),
    )
    assert judgement_from_json(judgement_to_json(made), messages.get) == made


OTHERS = {
    "m1": text_message(Role.SYSTEM, BAN),
    "m2": text_message(Role.ASSISTANT, BAN),
    "m3": Message(Role.TOOL, (ToolResult("c1", (Text(BAN, trust=Trust.UNTRUSTED),), trust=Trust.UNTRUSTED),)),
    "m4": Message(Role.USER, (Text(BAN, trust=Trust.UNTRUSTED),)),
    "m5": replace(text_message(Role.USER, BAN), origin=Origin.INJECTED),
}


@pytest.mark.parametrize("name", [*OTHERS, "m6", "d1"])
def test_a_log_adds_decides_and_ends_nothing_by_other_words_than_the_users(name: str):
    rule = Rule(BAN, Cite(name, 0, 0, len(BAN)), Kind.PROHIBITION)
    for made in (
        judgement(added=(rule,)),
        judgement(ended=((RuleRef(BAN, None), Cite(name, 0, 0, 5)),)),
        judgement(decided=(rule.ref,)),
    ):
        with pytest.raises(StoreDamaged):
            judgement_from_json(judgement_to_json(made), OTHERS.get)


def test_a_log_adds_no_rule_in_other_words_than_the_users():
    _, messages = ledger_of(HABIT)
    rule = replace(sentence(messages, "m2"), quote="Always push to main.")
    with pytest.raises(StoreDamaged):
        judgement_from_json(judgement_to_json(judgement(added=(rule,))), messages.get)


@pytest.mark.parametrize(
    ("key", "value"),
    [("upto", math.inf), ("confidence", math.inf), ("confidence", math.nan), ("at", math.inf)],
)
def test_a_log_with_numbers_that_are_none_is_damaged(key: str, value: float):
    _, messages = ledger_of(HABIT)
    body: dict[str, Any] = judgement_to_json(judgement(added=(sentence(messages, "m2"),)))
    if key == "upto":
        body["upto"] = value
    else:
        body["added"][0]["rule"][key] = value if key == "confidence" else [0, 0, value]
    with pytest.raises(StoreDamaged):
        judgement_from_json(body, messages.get)


places = st.builds(
    Cite, st.sampled_from(("m1", "m2", "m3", "m4", "m5", "m99", "d1")), st.integers(0, 1), st.integers(0, 9)
)


@given(texts=st.lists(st.sampled_from(SPOKEN), min_size=1, max_size=6, unique=True), data=st.data())
def test_no_judgement_makes_a_rule_of_other_words_or_ends_a_protected_one(
    texts: list[str], data: st.DataObject
):
    """Whatever was judged, through the log: every rule is a sentence of the user, protected bans hold."""
    ledger, messages = ledger_of(*texts)
    before = ledger.pins.all
    sentences = [one.rule for name in messages for one in sentences_to_judge(Item(name, messages[name]))]
    refs = st.sampled_from([*(pin.ref for pin in before), RuleRef("Send a copy to Bob.", None)])
    made = judgement(
        judged=tuple(data.draw(st.lists(st.tuples(refs, st.sampled_from(Verdict))))),
        added=tuple(data.draw(st.lists(st.sampled_from(sentences), max_size=4))),
        ended=tuple(data.draw(st.lists(st.tuples(refs, places)))),
    )
    try:
        ledger.pins.judge(judgement_from_json(judgement_to_json(made), messages.get))
    except StoreDamaged:
        assert ledger.pins.all == before
    for pin in ledger.pins.all:
        assert pin.source
        assert pin.source.quote(messages[pin.source.message]) == pin.quote
        if pin.quote in PROTECTED and any(old.ref == pin.ref for old in before):
            assert pin.is_active
