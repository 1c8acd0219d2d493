"""Standing rules from their beginning to their end."""

from __future__ import annotations

import pytest

from clew.errors import NotFound
from clew.ledger import Ledger, MadeBy, Pin, PinStatus
from clew.ledger.constraints.values import Kind
from clew.message import Cite, Item, Message, Origin, Role, Text, ToolResult, Trust, said
from tests.ledger.sessions import assistant, call, did, items, ledger_of, user

RULE = "Never modify files under legacy/."


def test_a_rule_becomes_a_pin_with_quote_and_place():
    (pin,) = ledger_of(user(f"Please fix the bug. {RULE}")).pins.active
    assert (pin.id, pin.quote, pin.source) == ("p1", RULE, Cite("m0", 0, 20, 53))
    assert (pin.kind, pin.trust, pin.made_by, pin.status) == (
        Kind.PROHIBITION,
        Trust.USER,
        MadeBy.FOUND,
        PinStatus.ACTIVE,
    )


def test_a_rule_said_again_is_one_pin():
    (pin,) = ledger_of(user(RULE), assistant("ok"), user("never modify files under legacy/")).pins.all
    assert (pin.source, pin.repeated) == (Cite("m0", 0, 0, 33), (Cite("m2", 0, 0, 32),))


def test_a_rule_that_is_taken_back_says_by_what():
    (pin,) = ledger_of(user(RULE), user("You may modify files under legacy/ now.")).pins.all
    assert (pin.status, pin.ended_by) == (PinStatus.LIFTED, Cite("m1", 0, 0, 39))
    assert pin.why


def test_a_rule_that_is_contradicted_says_by_which():
    old, new = ledger_of(
        user("Always use spaces for indentation."), user("Always use tabs for indentation.")
    ).pins.all
    assert (old.status, old.replaced_by, new.status) == (PinStatus.SUPERSEDED, new.id, PinStatus.ACTIVE)


def test_what_tools_and_machines_write_is_no_rule():
    ledger = ledger_of(
        did("Read", {"file_path": "a"}, RULE),
        user(RULE, origin=Origin.INJECTED),
        user(RULE, origin=Origin.SUMMARY),
    )
    assert ledger.pins.all == ()


def test_the_prompt_is_not_pinned_but_later_instructions_are():
    prompt = [said(Role.SYSTEM, RULE), said(Role.DEVELOPER, "Always answer in French.")]
    ledger = ledger_of(*prompt, user("hello"), said(Role.DEVELOPER, "Never run git push."))
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
    pin = ledger.pins.pin("Keep it under 80 columns.", Kind.LIMIT)
    assert pin == Pin("p1", "Keep it under 80 columns.", None, Kind.LIMIT, made_by=MadeBy.PERSON)
    assert ledger.pins.active == (pin,)


def test_a_person_edits_a_rule_and_the_old_words_stay():
    ledger = ledger_of(user(RULE))
    new = ledger.pins.edit("p1", "Never modify files under legacy/ or old/.")
    old = ledger.pins.get("p1")
    assert (old.status, old.replaced_by, old.quote) == (PinStatus.SUPERSEDED, "p2", RULE)
    assert ledger.pins.active == (new,)


def test_a_person_revokes_a_rule_and_one_runs_out():
    ledger = ledger_of(user(RULE))
    ledger.pins.pin("Do not merge before Friday.")
    assert ledger.pins.revoke("p1").status is PinStatus.REVOKED
    assert ledger.pins.expire("p2", "it is Friday").status is PinStatus.EXPIRED
    assert ledger.pins.active == ()
    assert [pin.why for pin in ledger.pins.all] == ["revoked by hand", "it is Friday"]


def test_a_rule_made_by_hand_can_be_taken_back_in_words():
    ledger = ledger_of()
    ledger.pins.pin(RULE, Kind.PROHIBITION)
    ledger.add(Item("m0", user("You may modify files under legacy/ now.")))
    assert [pin.status for pin in ledger.pins.all] == [PinStatus.LIFTED]


def test_a_pin_that_is_not_there_is_an_error():
    with pytest.raises(NotFound, match="no rule p9"):
        ledger_of().pins.revoke("p9")
