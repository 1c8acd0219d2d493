"""A rule in turn 2, forty turns, a forced compaction, a request that breaks the rule: is it still obeyed?

The agent here is as obedient as the best model: it does what the user asks unless a rule that it can read in
its context forbids it. So what is tested is the context.
"""

from __future__ import annotations

import json
import re

import pytest

from clew.compaction.plan import Claim, ClaimKind, Condense, Digest, Plan
from clew.compaction.verify.claims import few_sources
from clew.log.store import MemoryStore
from clew.message import Cite, Item, Role, Trust, text_message
from clew.providers.model import Reply, Stop
from clew.session import Session
from clew.testing import ScriptedModel
from clew.testing.summarisers import SummaryClaim, claims_text, quotes, shown_messages
from tests.session.talk import RULE, talk
from tests.summarisers import BAD_SUMMARISERS, GOOD_SUMMARISERS, bad_summariser, good_summariser

_FORBIDS = re.compile(r"never modify files under (\S+?/)", re.I)


def agent(view: list[Item]) -> str:
    """Do what was asked last, unless something in the context forbids it."""
    request = next(item for item in reversed(view) if item.message.role is Role.USER)
    for item in view:
        forbidden = _FORBIDS.search(item.message.text) if item is not request else None
        if forbidden and forbidden[1] in request.message.text:
            return f"I may not touch {forbidden[1]}: {item.id} says so."
    return "Deleted."


def asked_to_break_the_rule(summariser=None):
    session = Session.open("main", MemoryStore(), window=20_000, summariser=summariser)
    session.add(*talk(40))
    done = session.compact(target_tokens=4_000)
    assert done is not None
    session.add(text_message(Role.USER, "Delete legacy/report.py, nobody uses it."))
    return session, done


def test_an_agent_whose_context_lost_the_rule_breaks_it():
    """The control: what a compaction that drops the turn does."""
    messages = [item for item in _items(talk(40)) if RULE not in item.message.text]
    broken = [*messages, Item("m999", text_message(Role.USER, "Delete legacy/report.py, nobody uses it."))]
    assert agent(broken) == "Deleted."


def _items(messages):
    return [Item(f"m{n}", message) for n, message in enumerate(messages, start=1)]


def test_without_a_model_the_rule_is_obeyed():
    session, _ = asked_to_break_the_rule()
    assert agent(session.view()) == "I may not touch legacy/: d1 says so."


@pytest.mark.parametrize("name", sorted(GOOD_SUMMARISERS))
def test_with_a_good_summariser_the_rule_is_obeyed(name):
    session, done = asked_to_break_the_rule(good_summariser(name))
    assert agent(session.view()).startswith("I may not touch legacy/")
    assert done.digest.author == f"scripted/{name}"


@pytest.mark.parametrize("name", sorted(BAD_SUMMARISERS))
def test_whatever_a_summariser_does_the_rule_is_obeyed(name):
    session, done = asked_to_break_the_rule(bad_summariser(name))
    assert agent(session.view()).startswith("I may not touch legacy/")
    assert RULE in [pin.quote for pin in done.digest.pins]
    assert done.report.accepted
    assert done.calls <= MOST_CALLS


MOST_CALLS = 12
"""That any summariser may be asked for one compaction."""


@pytest.mark.parametrize("name", ["invents_instructions", "obeys_tool_output", "contradicts"])
def test_nothing_that_a_hostile_summariser_made_up_is_in_the_view(name):
    model = bad_summariser(name)
    _, done = asked_to_break_the_rule(model)
    made_up = set()
    for ask in list(model.asked):
        claims = json.loads(model.ask(ask).text)["claims"]
        honest = {(claim.kind.value, claim.text) for claim in quotes(shown_messages(ask))}
        made_up |= {(claim["kind"], claim["text"]) for claim in claims} - honest
    assert made_up
    assert not made_up & {(claim.kind.value, claim.text) for claim in done.digest.claims}


@pytest.mark.parametrize("name", sorted(BAD_SUMMARISERS))
def test_a_digest_names_a_model_as_author_only_if_a_line_of_it_is_left(name):
    _, done = asked_to_break_the_rule(bad_summariser(name))
    _, plain = asked_to_break_the_rule()
    by_code = {claim.text for claim in plain.digest.claims}
    assert done.digest.author == "clew" or any(one.text not in by_code for one in done.digest.claims)


def test_a_model_of_which_no_line_is_left_is_not_the_author_and_is_named_as_asked():
    def invents(ask):
        claims = [
            SummaryClaim(ClaimKind.FACT, f"The port of part {n} is 47{n:02}1.", (message.id,))
            for n, message in enumerate(shown_messages(ask))
        ]
        return Reply(text_message(Role.ASSISTANT, claims_text(claims)), Stop.END)

    _, done = asked_to_break_the_rule(ScriptedModel.always(invents, name="scripted/invents"))
    assert [attempt.outcome for attempt in done.attempts] == ["refused", "refused", "accepted"]
    assert (done.digest.author, done.attempts[-1].author) == ("clew", "clew")
    assert done.digest.prompt_version is None
    assert (done.asked, done.calls) == ("scripted/invents", 3)  # one about rules, two for the digest
    assert done.not_judged.startswith("its answer about rules cannot be used")


@pytest.mark.parametrize(
    ("sources", "outcomes"), [(1, ["refused", "refused", "accepted"]), (3, ["accepted"])]
)
def test_a_model_whose_claims_cite_one_message_of_many_is_not_trusted(sources, outcomes):
    """What code quotes beside them does not count, nor how many claims there are."""

    def read_little(ask):
        true = [claim for claim in quotes(shown_messages(ask)) if claim.kind is ClaimKind.FACT]
        return Reply(text_message(Role.ASSISTANT, claims_text(true[:sources])), Stop.END)

    _, done = asked_to_break_the_rule(ScriptedModel.always(read_little, name="scripted/lazy"))
    assert [attempt.outcome for attempt in done.attempts] == outcomes
    assert (done.digest.author == "clew") is (sources == 1)
    if sources == 1:
        assert "cite 1 of " in done.attempts[0].misses[0]
        assert "at least 3 are required" in done.attempts[0].misses[0]


def test_in_a_short_span_fewer_sources_are_enough():
    claim = Claim("d1.1", ClaimKind.FACT, "The port is 8080.", (Cite("m1"),), Trust.ASSISTANT)

    def found(messages):
        digest = Digest("d1", 0, tuple(f"m{n}" for n in range(1, messages + 1)), "", (claim,))
        plan = Plan((Condense(digest.covers, digest),), 9, 1, 1, "manual", "")
        return [finding.why for finding in few_sources(plan, {claim.text})]

    assert [found(messages) for messages in (3, 4, 8, 12, 400)] == [
        [],
        [],
        ["at least 2 are required"],
        ["at least 3 are required"],
        ["at least 3 are required"],
    ]


def test_a_digest_of_a_refused_model_says_that_code_repaired_it():
    session, done = asked_to_break_the_rule(bad_summariser("contradicts"))
    assert [attempt.outcome for attempt in done.attempts] == ["refused", "refused", "repaired"]
    assert done.digest.author == "scripted/contradicts, repaired by clew"
    assert 'author="scripted/contradicts, repaired by clew"' in session.view()[1].message.text
