"""What holds for every session, every target and every summariser."""

import re
from itertools import takewhile

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.budget import region_of
from clew.compaction.plan.render import parse_digest
from clew.errors import BudgetExceeded, CompactionRefused
from clew.log.store import MemoryStore
from clew.message import Item, Role, Trust, text_message
from clew.providers import CheckScope
from clew.session import Session
from tests.conftest import tries
from tests.session.sessions import GERMAN, RULES, sessions
from tests.session.talk import RULE, talk
from tests.summarisers import BAD_SUMMARISERS, bad_summariser

targets = st.integers(150, 6_000)
HOSTS = (Role.SYSTEM, Role.DEVELOPER)
summarisers = st.none() | st.sampled_from(sorted(BAD_SUMMARISERS)).map(bad_summariser)


def opened(messages, summariser=None):
    session = Session.open("main", MemoryStore(), window=200_000, summariser=summariser)
    session.add(*messages)
    return session


def compacted(session, target):
    """Compact; a typed reason may stand in the way."""
    try:
        return session.compact(target_tokens=target)
    except (BudgetExceeded, CompactionRefused):
        return None


def system_of(view):
    return list(takewhile(lambda item: item.message.role in HOSTS, view))


def pins_of(view):
    shown = [parse_digest(item.message.text) for item in view if item.id.startswith("d")]
    return [(pin.quote, pin.source.message, pin.trust) for one in shown if one for pin in one.pins]


@given(sessions(), targets, summarisers)
@settings(max_examples=tries(20, 60))
def test_the_view_fits_or_a_typed_reason_is_given_and_nothing_changes(messages, target, summariser):
    session = opened(messages, summariser)
    before = session.view()
    done = compacted(session, target)
    if done is None:
        assert session.view() == before
    else:
        system = sum(session.counter.count(item.message) for item in system_of(before))
        after = sum(session.counter.count(item.message) for item in session.view())
        assert after == done.plan.tokens_after <= target + system


@given(sessions(), targets, summarisers)
@settings(max_examples=tries(20, 60))
def test_the_view_is_never_invalid_on_any_wire(messages, target, summariser):
    session = opened(messages, summariser)
    compacted(session, target)
    for wire in ("anthropic", "openai", "responses", "gemini"):
        sent = session.context(wire)
        assert not sent.wire.check(sent.body, scope=CheckScope.MESSAGES).refused


@given(sessions(), st.lists(targets, min_size=1, max_size=4), summarisers)
@settings(max_examples=tries(20, 40))
def test_the_system_prompt_is_never_touched(messages, chain, summariser):
    session = opened(messages, summariser)
    before = system_of(session.view())
    for target in chain:
        compacted(session, target)
    assert system_of(session.view())[: len(before)] == before


@given(sessions(), st.lists(targets, min_size=1, max_size=4), summarisers)
@settings(max_examples=tries(20, 60))
def test_what_a_host_says_later_can_be_read_in_the_view_or_is_named_as_lost(messages, chain, summariser):
    session = opened(messages, summariser)
    done = [one for target in chain if (one := compacted(session, target))]
    shown = "\n".join(item.message.text for item in session.view())
    lost = "\n".join(loss.text for one in done for loss in one.report.lost)
    said = [line for item in messages if item.role in HOSTS for line in item.text.split("\n")]
    assert not [line for line in said if line.strip() not in shown and line not in lost]


@given(sessions(), st.lists(targets, min_size=1, max_size=4))
@settings(max_examples=tries(20, 40))
def test_every_rule_that_stands_can_be_read_in_the_view_word_for_word(messages, chain):
    session = opened(messages)
    for target in chain:
        compacted(session, target)
    shown = "\n".join(item.message.text for item in session.view())
    missing = [pin for pin in session.ledger.pins.active if pin.quote not in shown]
    # A rule that collapsed may still be read elsewhere, for example in the goal.
    counts = re.findall(r"(\d+) more rules apply, not shown for lack of room", shown)
    assert len(missing) <= max(map(int, counts), default=0)


@given(sessions(), st.lists(targets, min_size=1, max_size=4))
@settings(max_examples=tries(20, 40))
def test_undoing_every_compaction_is_as_if_there_had_been_none(messages, chain):
    session = opened(messages)
    before = session.view()
    done = [one for target in chain if (one := compacted(session, target))]
    if done:
        session.undo(len(done))
    assert session.view() == before


@given(sessions(), st.lists(targets, min_size=1, max_size=3))
@settings(max_examples=tries(20, 40))
def test_switched_off_is_the_full_history(messages, chain):
    session = opened(messages)
    before = session.view()
    for target in chain:
        compacted(session, target)
    session.switch_off()
    assert session.view() == before
    session.switch_on()
    compact = session.view()
    elsewhere = Session.open(session.name, session.store, off=True)
    assert (elsewhere.view(), elsewhere.is_off) == (before, True)
    elsewhere.add(text_message(Role.USER, "And?"))
    assert session.view() == [*compact, *elsewhere.view()[-1:]]


@given(sessions(), targets)
@settings(max_examples=tries(20, 40))
def test_compacting_twice_is_compacting_once(messages, target):
    session = opened(messages)
    compacted(session, target)
    once = session.view()
    compacted(session, target)
    assert session.view() == once


@given(sessions(), st.lists(targets, min_size=1, max_size=4), summarisers)
@settings(max_examples=tries(20, 60))
def test_no_label_rises(messages, chain, summariser):
    """A claim is believed no more than the least of what it cites; a digest, no more than its claims."""
    session = opened(messages, summariser)
    for target in chain:
        done = compacted(session, target)
        for claim in done.digest.claims if done and done.digest else ():
            cited = [session.expand(cite.message) for cite in claim.sources]
            assert cited
            assert claim.trust <= min(_label(session, cite) for cite in claim.sources)
            assert done.digest.trust <= claim.trust


def _label(session, cite) -> Trust:
    (item,) = session.originals([cite.message])
    return item.message.parts[cite.part].trust


@given(sessions(), st.lists(targets, min_size=1, max_size=4), summarisers)
@settings(max_examples=tries(20, 40))
def test_what_is_open_stays_in_the_view(messages, chain, summariser):
    session = opened(messages, summariser)
    for target in chain:
        compacted(session, target)
    shown = "\n".join(_words(item) for item in session.view())
    for loop in session.ledger.loops.open:
        assert loop.text[:300] in shown or loop.text.replace("\n", "\n  ")[:300] in shown


def _words(item: Item) -> str:
    said = [item.message.text]
    said += [str(call.arguments) for call in item.message.calls]
    said += [result.text for result in item.message.results]
    return "\n".join(said)


@given(sessions(), targets)
@settings(max_examples=tries(20, 30))
def test_text_of_tools_never_becomes_a_rule(messages, target):
    session = opened(messages)
    compacted(session, target)
    assert {quote for quote, _, _ in pins_of(session.view())} <= {*RULES, GERMAN}


@given(sessions(), targets)
@settings(max_examples=tries(20, 30))
def test_what_is_reopened_is_what_was_left(messages, target):
    session = opened(messages)
    compacted(session, target)
    again = Session.open("main", session._replay.store, window=200_000)
    assert (again.view(), again.tokens) == (session.view(), session.tokens)
    assert again.ledger.to_json() == session.ledger.to_json()


def test_rules_are_byte_identical_after_a_hundred_compactions():
    session = opened(talk(30))
    kept = set()
    for round_ in range(100):
        done = session.compact(target_tokens=2_500)
        assert done is not None, round_
        kept.add(tuple(pins_of(session.view())))
        session.add(*list(talk(6))[5:-1])
    assert kept == {((RULE, "m4", Trust.USER),)}
    assert region_of(session.view()[0].message).value == "system"
