"""Laws of the ladder, over sessions of all sorts: it fits or says why not, and touches only what it may."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.budget import Trigger
from clew.compaction.decide import decide
from clew.compaction.plan import Condense, Plan, Shrink
from clew.compaction.plan.plan import apply
from clew.compaction.propose import propose
from clew.compaction.task import Keep
from clew.compaction.verify import Level, verify
from clew.errors import BudgetExceeded
from clew.message import Message, Thinking, Trust, fixed_prefix, words
from clew.providers.model import drive
from clew.session.summariser import no_model
from tests.compaction_propose.sessions import (
    COUNTER,
    Living,
    items,
    kinds,
    misquotes,
    session,
    shares,
    situation,
    tokens_of,
    touched,
)
from tests.conftest import tries
from tests.strategies import wild_histories


def planned(living: Living, target: int, keep: Keep | None = None) -> Plan | None:
    """Return what is proposed; None where it says that it cannot be done."""
    try:
        return propose(living.situation(target, keep))
    except BudgetExceeded:
        return None


@settings(max_examples=tries(20, 60))
@given(kinds, shares, st.integers(0, 12))
def test_the_view_fits_afterwards_and_the_tokens_add_up(steps: list[str], share: float, keep: int):
    living = Living(session(steps))
    before = tokens_of(living.view)
    plan = planned(living, int(before * share), Keep(keep))
    if plan is None:
        return
    assert (plan.tokens_before, plan.tokens_after) == (before, tokens_of(apply(plan, living.view)))
    assert plan.fits
    assert sum(freed.tokens for freed in plan.freed) == plan.tokens_before - plan.tokens_after
    assert sum(freed.operations for freed in plan.freed) == len(plan.operations)
    assert all(freed.tokens > 0 for freed in plan.freed)


@settings(max_examples=tries(20, 60))
@given(kinds, shares, st.integers(1, 12), st.integers(0, 2_000), st.booleans())
def test_the_last_messages_stay_verbatim_or_the_compaction_is_refused(
    steps: list[str], share: float, messages: int, tokens: int, by_window: bool
):
    living = Living(session(steps))
    whole = tokens_of(living.view)
    task = living.situation(int(whole * share), Keep(messages, messages, tokens))
    if by_window:  # the target may be raised, and as many stay as fit
        task = replace(task, trigger=Trigger.PRESSURE, most_tokens=int(whole * 0.8))
    try:
        plan = drive(decide(task), no_model).plan
    except BudgetExceeded:
        return
    after = apply(plan, living.view)
    if by_window:
        assert tokens_of(after) <= max(task.target_tokens, int(whole * 0.8))
        return
    least = len(living.view) - fixed_prefix(living.view)
    last = next((n for n in range(messages, least) if tokens_of(living.view[-n:]) >= tokens), least)
    assert after[-min(last, least) :] == list(living.view[-min(last, least) :])


@settings(max_examples=tries(20, 60))
@given(kinds, shares)
def test_every_plan_is_accepted_by_who_checks_it(steps: list[str], share: float):
    living = Living(session(steps))
    target = int(tokens_of(living.view) * share)
    plan = planned(living, target)
    if plan is None:
        return
    report = verify(plan, living.evidence(target))
    assert [finding for finding in report.findings if finding.level is not Level.NOTE] == []


@settings(max_examples=tries(20, 40))
@given(kinds, shares)
def test_the_system_prompt_is_never_touched(steps: list[str], share: float):
    living = Living(session(steps))
    plan = planned(living, int(tokens_of(living.view) * share))
    if plan is not None:
        assert "m1" not in touched(plan)


@settings(max_examples=tries(20, 40))
@given(kinds, shares)
def test_compacting_twice_is_compacting_once(steps: list[str], share: float):
    living = Living(session(steps))
    target = int(tokens_of(living.view) * share)
    if planned(living, target) is None:
        return
    living.compact(target)
    assert propose(living.situation(target)).operations == ()


@given(wild_histories, st.integers(1, 300))
def test_any_history_at_all_fits_or_is_refused(messages: list[Message], target: int):
    view = items(messages)
    try:
        plan = propose(situation(view, target))
    except BudgetExceeded:
        return
    assert plan.fits
    assert tokens_of(apply(plan, view)) == plan.tokens_after


@settings(max_examples=tries(8, 25))
@given(st.lists(kinds, min_size=8, max_size=20), st.floats(0.15, 0.7))
def test_a_chain_of_compactions_quotes_the_originals(stretches: list[list[str]], share: float):
    living = Living(session([]))
    for steps in stretches:
        living.go_on(steps)
        target = int(tokens_of(living.view) * share)
        covered = set(living.shown[1].covers) if living.shown else set()
        if planned(living, target) is None:
            continue
        plan = living.compact(target)
        for digest in plan.digests:
            assert misquotes(digest.claims, living.log.get) == []
            assert covered <= set(digest.covers)


@settings(max_examples=25)
@given(st.lists(kinds, min_size=4, max_size=10), st.floats(0.15, 0.7))
def test_a_chain_of_compactions_is_accepted_throughout(stretches: list[list[str]], share: float):
    living = Living(session([]))
    for steps in stretches:
        living.go_on(steps)
        target = int(tokens_of(living.view) * share)
        if planned(living, target) is None:
            continue
        evidence = living.evidence(target)
        report = verify(living.compact(target), evidence)
        assert [finding for finding in report.findings if finding.level is not Level.NOTE] == []


@settings(max_examples=tries(20, 40))
@given(kinds, shares)
def test_no_claim_is_believed_more_than_its_sources(steps: list[str], share: float):
    living = Living(session(steps))
    plan = planned(living, int(tokens_of(living.view) * share))
    for digest in plan.digests if plan else ():
        for claim in digest.claims:
            parts = [living.log[cite.message].parts[cite.part] for cite in claim.sources]
            assert claim.trust <= min(part.trust for part in parts)


@settings(max_examples=tries(20, 40))
@given(kinds, shares)
def test_a_smaller_form_is_smaller_and_labelled_no_higher(steps: list[str], share: float):
    living = Living(session(steps))
    plan = planned(living, int(tokens_of(living.view) * share))
    for op in plan.operations if plan else ():
        if isinstance(op, Shrink):
            before = living.log[op.id]
            assert COUNTER.count(op.message) < COUNTER.count(before)
            spoken = [part for part in before.parts if not isinstance(part, Thinking)]
            shown = [part for part in op.message.parts if not isinstance(part, Thinking)]
            labels = zip(shown, spoken, strict=True)
            assert all(new.trust <= old.trust for new, old in labels)
        elif isinstance(op, Condense):
            assert op.digest.trust >= Trust.UNTRUSTED


@settings(max_examples=tries(20, 60))
@given(st.lists(kinds, min_size=1, max_size=4), shares)
def test_what_is_cut_short_names_its_original_and_hides_no_decision_or_failure(
    stretches: list[list[str]], share: float
):
    """Truncate only what is persisted and summarised: in the digest, or in the excerpt itself."""
    living = Living(session([kind for steps in stretches for kind in steps]))
    task = living.situation(int(tokens_of(living.view) * share))
    try:
        plan = propose(task)
    except BudgetExceeded:
        return
    shown = {item.id: item.message for item in apply(plan, living.view)}
    stated = "\n".join(claim.text for digest in plan.digests for claim in digest.claims)
    whole = {item.id: item.message for item in living.view}
    for op in plan.operations:
        if isinstance(op, Shrink):
            for part, smaller in zip(whole[op.id].parts, op.message.parts, strict=False):
                if words(part) != words(smaller) and not isinstance(part, Thinking):
                    assert re.search(r"\bm\d+\b|^\[(?:written|created|updated)\]$", words(smaller)), words(
                        smaller
                    )
    quotes = [(one.source, one.quote) for one in task.ledger.decisions]
    quotes += [
        (cite, line)
        for one in task.ledger.failures
        if not one.is_fixed
        for cite, line in zip(one.sources, one.lines, strict=False)
    ]
    for cite, quote in quotes:
        if cite.message in shown and quote not in stated:
            assert quote in words(shown[cite.message].parts[cite.part]), (cite, quote)
