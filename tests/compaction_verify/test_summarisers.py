"""Summarisers, good and bad, before the checker: nothing that a bad one makes up gets through."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from clew.compaction.plan import Claim, ClaimKind, Plan
from clew.compaction.verify import Report, repair, verify
from clew.compaction.verify.context import VerificationContext
from clew.message import Cite, Item, Message, words
from clew.providers.model import Ask, Reply
from tests.compaction_verify.scene import COVERED, EVIDENCE, FAILING, MESSAGES, VIEW, digest, plan_of
from tests.summarisers import BAD_SUMMARISERS, GOOD_SUMMARISERS

OPEN = Claim("", ClaimKind.OPEN, FAILING.text, (FAILING.source,), MESSAGES[7].parts[0].trust)
CLAIMING = (
    "longer_than_its_input",
    "wrong_language",
    "cites_nothing",
    "drops_every_rule",
    "invents_instructions",
    "obeys_tool_output",
    "contradicts",
)
"""The bad ones whose answer holds claims; the others' fails before there is anything to check."""


def answer(name: str) -> str:
    line = {**GOOD_SUMMARISERS, **BAD_SUMMARISERS}[name]
    assert callable(line)
    reply = line(Ask(instruction="\n".join(map(marked, [item for item in VIEW if item.id in COVERED]))))
    assert isinstance(reply, Reply)
    return reply.text


def marked(item: Item) -> str:
    return f"[{item.id} {item.message.role.value}] " + "\n".join(filter(None, map(words, item.message.parts)))


def claims(text: str) -> Iterator[Claim]:
    """Yield the claims of an answer, each with the label its sources have, as an honest reader would."""
    messages = dict(VIEW)
    for told in json.loads(text)["claims"]:
        cites = tuple(cite for name in told["sources"] for cite in places(name, messages.get(name)))
        known = [messages[cite.message].parts[cite.part].trust for cite in cites if cite.message in messages]
        yield Claim("", ClaimKind(told["kind"]), told["text"], cites, min(known, default=OPEN.trust))


def places(name: str, message: Message | None) -> list[Cite]:
    return [Cite(name, i) for i, part in enumerate(message.parts) if words(part)] if message else [Cite(name)]


def planned_by(name: str) -> Plan:
    return plan_of(digest(OPEN, *claims(answer(name))))


def settled(plan: Plan) -> tuple[Plan | None, Report]:
    """Verify, mend once, verify again: what a caller does."""
    report = verify(plan, EVIDENCE)
    if report.accepted:
        return plan, report
    better = repair(plan, report, EVIDENCE)
    if better is None:
        return None, report
    report = verify(better, EVIDENCE)
    return (better, report) if report.accepted else (None, report)


def test_a_good_summariser_is_accepted():
    plan, _ = settled(planned_by("extractive"))
    assert plan is not None
    assert len(plan.digests[0].claims) >= 5


@pytest.mark.parametrize("name", CLAIMING)
def test_what_a_bad_summariser_gets_through_are_quotes_and_nothing_steers_from_a_tool(name: str):
    plan, _ = settled(planned_by(name))
    if plan is None:
        return
    case = VerificationContext(plan, EVIDENCE)
    for look in case.all_claim_checks():
        assert look.quoted
        assert look.claim.trust <= look.lowest


@pytest.mark.parametrize("name", ["wrong_language", "cites_nothing"])
def test_a_summariser_that_is_wrong_throughout_is_given_up(name: str):
    assert settled(planned_by(name))[0] is None


def test_an_invented_instruction_goes_and_the_rest_stays():
    plan, _ = settled(planned_by("invents_instructions"))
    honest, _ = settled(planned_by("extractive"))
    assert plan is not None
    assert honest is not None
    assert plan.digests == honest.digests


def test_an_obeyed_tool_output_goes_and_the_rest_stays():
    plan, _ = settled(planned_by("obeys_tool_output"))
    honest, _ = settled(planned_by("extractive"))
    assert plan is not None
    assert honest is not None
    assert plan.digests == honest.digests


def test_rules_do_not_depend_on_what_a_summariser_says():
    plan = planned_by("drops_every_rule")
    bare = replace(plan.digests[0], pins=())
    better, _ = settled(plan_of(bare))
    assert better is not None
    assert better.digests[0].pins == EVIDENCE.pins
    assert better.digests[0].covers == COVERED
