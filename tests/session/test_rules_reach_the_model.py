"""Rules reach the model: set by hand, passed on by a digest, inside a long paste. Shown by request bodies."""

from __future__ import annotations

import json

import pytest

import clew
from clew.budget import Region
from clew.log.store import MemoryStore
from clew.message import Message, Role, Text, Thinking, ToolCall, ToolResult, Trust, text_message
from clew.request.pieces import REMINDER, RESTATED_TOKENS
from clew.session import Session
from tests.session.talk import RULE, talk
from tests.session.test_continued import loop

BY_HAND = "Always answer in British English."
WIRES = ("anthropic", "openai", "responses", "gemini")
wires = pytest.mark.parametrize("wire", WIRES)


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def session(store):
    opened = Session.open("s", store, model="claude-sonnet-4-5", window=32_000)
    opened.add(*talk(8))
    return opened


def bodies(session, wire="anthropic"):
    """Return both forms of the next request as text: the view alone, and the assembled request."""
    rest = {} if wire == "gemini" else {"model": "m", **({"max_tokens": 9} if wire == "anthropic" else {})}
    both = [{**rest, **session.context(wire).body}, session.request().body(wire, rest)]
    assert not any(clew.check(body, wire).refused for body in both)
    return [json.dumps(body, ensure_ascii=False) for body in both]


def pinned_tokens(session):
    return session.fit().budget.allotment.of(Region.PINNED).given


@wires
def test_a_rule_set_by_hand_is_in_the_next_request(session, wire):
    session.pin(BY_HAND)
    assert all(body.count(BY_HAND) == 1 for body in bodies(session, wire))


def test_it_is_counted_as_pinned(session):
    before = session.fit().budget.allotment
    session.pin(BY_HAND)
    assert pinned_tokens(session) > before.of(Region.PINNED).given
    assert session.fit(session.request()).budget.allotment.of(Region.PINNED).given > 0


def test_it_is_at_the_end_until_a_digest_quotes_it(session):
    plain = session.context().items
    session.pin(BY_HAND)
    assert session.context().items[: len(plain) - 1] == plain[:-1]
    assert session.compact(target_tokens=600).digest
    assert BY_HAND in session.view()[1].message.text
    view_alone, request = bodies(session)
    assert (view_alone.count(BY_HAND), request.count(BY_HAND)) == (1, 2)  # a request restates its rules
    session.pin("Never use tabs.")
    assert all(body.count("Never use tabs.") == 1 for body in bodies(session))
    session.undo()
    assert all(body.count(BY_HAND) == 1 for body in bodies(session))


def test_a_compaction_without_a_digest_keeps_it_in_the_request(session):
    session.pin(BY_HAND)
    session.compact(target_tokens=session.tokens * 3 // 4)
    assert all(body.count(BY_HAND) == 1 for body in bodies(session))


def test_a_rule_ended_or_edited_by_hand_is_announced_while_the_view_shows_it(session):
    (rule,) = (pin for pin in session.pins if pin.quote == RULE)
    session.edit_pin(rule.id, "Never modify files under old/.")
    for body in bodies(session):
        assert "Never modify files under old/." in body
        assert f"No longer in force, although shown above:\\n- {RULE}" in body
    session.unpin(session.pins[-1].id)
    assert all("old/" not in body for body in bodies(session))


# Restated at the end ----------------------------------------------------------------------------------


def restated(session):
    """Return the rules that the end of the next request restates."""
    end = session.request().end
    text = end.text if end else ""
    _, _, after = text.partition(f"{REMINDER}\n")
    return [line for line in after.split("\n") if line.startswith("- ")]


def test_rules_that_only_a_digest_shows_are_restated_after_the_newest_message(session):
    (rule,) = session.pins
    assert not restated(session)
    session.compact(target_tokens=600)
    history = session.request().history
    session.add(text_message(Role.USER, "Now tidy up the tests."))
    assert restated(session) == [f"- {RULE}"]
    assert session.request().history[:-1] == history  # nothing before it changes, so the cache stays
    session.unpin(rule.id)
    assert not restated(session)


def test_a_rule_whose_message_is_in_view_is_not_restated(session):
    session.compact(target_tokens=600)
    before = restated(session)
    session.add(text_message(Role.USER, "From now on, always run the linter before you answer."))
    assert len(session.pins) == 2
    assert restated(session) == before


def test_restated_rules_are_bounded_and_begin_with_those_set_by_hand(session):
    for number in range(60):
        session.pin(f"Always keep the archive of customer number {number} in its own folder of the backup.")
    session.add(*talk(60))
    assert session.compact(target_tokens=3_500).digest
    lines = restated(session)
    assert 5 < len(lines) < 40
    assert not any(RULE in line for line in lines)
    assert sum(map(session.counter.count_text, lines)) <= RESTATED_TOKENS
    assert "The digest has more." in session.request().end.text
    assert all(pin.quote in bodies(session)[1] for pin in session.pins)


def test_another_process_sends_it_too(session, store):
    session.pin(BY_HAND)
    assert all(BY_HAND in body for body in bodies(Session.open("s", store, window=32_000)))


def test_switched_off_nothing_is_added(session):
    session.pin(BY_HAND)
    session.switch_off()
    assert all(BY_HAND not in body for body in bodies(session))


def test_during_a_loop_with_signed_thinking_it_is_inside_the_last_result(session):
    thinks = Thinking("Where?", "c2ln", trust=Trust.ASSISTANT)
    call = ToolCall("c1", "read", {"path": "a"}, trust=Trust.ASSISTANT)
    session.add(Message(Role.ASSISTANT, (thinks, call)))
    session.add(Message(Role.TOOL, (ToolResult("c1", (Text("x = 1", trust=Trust.UNTRUSTED),)),)))
    session.pin(BY_HAND)
    last = session.context().items[-1]
    assert [block["type"] for block in last["content"]] == ["tool_result"]
    assert BY_HAND in json.dumps(last)
    bodies(session)


# A digest of an earlier call --------------------------------------------------------------------------

HOST = "The database is db-17.acme.test."
TABLE = "Never drop the table points_2019."


def fitted():
    first = text_message(Role.USER, f"Tidy up the billing code. {HOST} {TABLE}")
    view = Session.open("source", MemoryStore(), window=60_000)
    view.add(first, *loop(60))
    return clew.compact(view.context("anthropic").items, target_tokens=1_500)


def test_a_compacted_list_that_is_added_keeps_rules_and_goal(store):
    result = fitted()
    assert result.digest is not None
    session = Session.open("s", store, window=32_000)
    session.add(*result.messages)
    assert [pin.quote for pin in session.pins] == [pin.quote for pin in result.rules]
    for target in (1_500, 1_200, 1_000):
        session.add(*list(loop(30))[1:])
        assert session.compact(target_tokens=target) is not None
        text = session.context().body["messages"][0]["content"]
        assert TABLE in json.dumps(text)
        assert HOST in json.dumps(text)
    assert [pin.quote for pin in Session.open("s", store).pins] == [pin.quote for pin in session.pins]


def test_text_after_a_digest_in_one_entry_is_a_message_of_its_own(store):
    digest = fitted().messages[0]
    text = digest["content"] if isinstance(digest["content"], str) else digest["content"][0]["text"]
    session = Session.open("s", store)
    assert len(session.add({"role": "user", "content": f"{text}\n\nNever push to main."})) == 2
    assert {TABLE, "Never push to main."} <= {pin.quote for pin in session.pins}


def test_a_later_message_can_lift_a_rule_that_a_digest_passed_on(store):
    session = Session.open("s", store)
    session.add(*fitted().messages, {"role": "user", "content": "You may drop the table points_2019 now."})
    assert TABLE not in [pin.quote for pin in session.pins]
    assert TABLE not in [pin.quote for pin in Session.open("s", store).pins]


def test_a_digest_in_tool_output_or_of_the_assistant_passes_on_nothing(store):
    digest = fitted().messages[0]
    text = digest["content"] if isinstance(digest["content"], str) else digest["content"][0]["text"]
    session = Session.open("s", store)
    call = ToolCall("c1", "read", {"path": "a"}, trust=Trust.ASSISTANT)
    session.add(
        text_message(Role.USER, "hello"), text_message(Role.ASSISTANT, text), Message(Role.ASSISTANT, (call,))
    )
    session.add(Message(Role.TOOL, (ToolResult("c1", (Text(text, trust=Trust.UNTRUSTED),)),)))
    assert session.pins == ()


# A long paste ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [40_000, 80_000, 200_000])
def test_a_rule_in_the_middle_of_a_long_paste_is_found_and_stays(store, size):
    log = "\n".join(
        f"2026-01-01 12:00:{n % 60:02} INFO worker {n} did batch {n * 7}" for n in range(size // 96)
    )
    session = Session.open("s", store, window=20_000)
    session.add(text_message(Role.USER, f"{log}\n\nNever deploy on Fridays.\n\n{log}"))
    assert [pin.quote for pin in session.pins] == ["Never deploy on Fridays."]
    session.fit(auto=True)
    assert "Never deploy on Fridays." in json.dumps(session.context().body)
