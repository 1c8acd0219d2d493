"""What of the ledger must survive a compaction: rules and claims for a digest.

In goes the ``Ledger`` that a session keeps as its messages arrive; out comes ``MandatoryContent``: the active
rules, and claims on goal, open work, decisions, files, test runs and failures, most important first.
``propose`` writes them into a digest and ``verify`` checks that they are there. An open item becomes::

    Claim("", ClaimKind.OPEN, "request: add a test for leap years", (Cite("m31"),), Trust.ASSISTANT)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from clew.compaction.plan import Claim, ClaimKind, Digest, RuleQuote, Topic
from clew.compaction.plan.digest import (
    APPROVED_PLAN,
)
from clew.compaction.quote_claims import beginning, clip, quote_claim
from clew.compaction.work_claims import (
    MOST_REFUSALS,
    changed_files,
    deleted_again,
    edited_after,
    failure_claims,
    folder_claim,
    last_check_claim,
    last_run_claim,
    looked_at,
    refusal_claims,
)
from clew.ledger.decisions import DecidedBy, Decision
from clew.ledger.goal import Goal
from clew.ledger.ledger import Ledger
from clew.ledger.loop import Loop, LoopKind
from clew.ledger.outcome import Ended
from clew.message import Cite, Item, Trust

LONG_AFTER = 20
"""Messages after which a to-do list or an announcement is stated with its age; chosen by hand."""
FEW_TESTS = 10
"""Failing tests up to which each says if files were edited since; the line on the last run does. By hand."""
MOST_ENDED = 8
MOST_DECISIONS, MOST_OF_USER = 20, 60
"""Decisions that a digest may state: the latest, and more of the user's."""
LONGEST_OPTION = 120
"""Characters of the option or question that an answer chose from; chosen by hand."""
LONGEST_WHOLE_GOAL = 1_200
"""Characters of the goal that nearly every view has room for."""
_COMMIT = re.compile(r"\bgit\b[^|;&\n]{0,60}\bcommit\b")
_ENDED = "no longer holds: "


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """An entry of the ledger: an open item or a decision."""

    id: str
    text: str
    """Verbatim."""
    source: Cite


@dataclass(frozen=True, slots=True)
class MandatoryContent:
    """What must survive a compaction, as the ledger has it."""

    pins: tuple[RuleQuote, ...] = ()
    """The active rules."""
    claims: tuple[Claim, ...] = ()
    """What a digest should say, most important first. These need no grounding, because code made them."""
    open_items: tuple[LedgerEntry, ...] = ()
    decisions: tuple[LedgerEntry, ...] = ()
    goals: tuple[LedgerEntry, ...] = ()
    """The goal, and those that the user has moved on from."""
    collapsed: tuple[RuleQuote, ...] = ()
    """Active rules that a line of the claims stands for, because there is no room for their words."""


@dataclass(frozen=True, slots=True)
class LedgerContent:
    """All that a ledger has for a digest, whatever the digest covers."""

    content: MandatoryContent
    """With every claim."""
    repeated: frozenset[int]
    """The indices of the claims that every digest repeats; others only if their source leaves the view."""

    def of_span(
        self,
        span: Sequence[Item],
        shown: tuple[str, Digest] | None = None,
        unseen: Collection[str] = (),
    ) -> MandatoryContent:
        """Return the mandatory content of a digest of this span; see ``mandatory_content``."""
        dropped_ids = {*unseen, *(item.id for item in span)}
        if shown is not None and shown[0] in dropped_ids:
            dropped_ids.update(shown[1].covers)
        claims = [
            claim
            for number, claim in enumerate(self.content.claims)
            if number in self.repeated or _leaves(claim, dropped_ids)
        ]
        return replace(self.content, claims=tuple(claims))


def mandatory_content(
    ledger: Ledger,
    span: Sequence[Item],
    shown: tuple[str, Digest] | None = None,
    unseen: Collection[str] = (),
) -> MandatoryContent:
    """Return the mandatory content of a digest of this span, most important first.

    Always repeated: rules, goal, open items, facts, changed files, the last test run and check. The rest only
    if its source leaves the view.
    ``shown`` is the digest in the view with the id of its message: if that is in the span, all that it covers
    leaves the view too. ``unseen`` are messages that left it before, without a digest.
    """
    return ledger_content(ledger).of_span(span, shown, unseen)


def ledger_content(ledger: Ledger) -> LedgerContent:
    """Return what a ledger has for any digest, most important first."""
    first = [*_goal_claim(ledger), *_open_item_claims(ledger), *_fact_claims(ledger)]
    early = [*_early_words(ledger)]
    state = [*changed_files(ledger), *last_run_claim(ledger), *last_check_claim(ledger)]
    rest = (
        *folder_claim(ledger),
        *deleted_again(ledger),
        *_ended_rule_claims(ledger),
        *_plan_claim(ledger),
        *refusal_claims(ledger),
        *failure_claims(ledger),
        *_decision_claims(ledger),
        *looked_at(ledger),
    )
    before_state = len(first) + len(early)
    return LedgerContent(
        MandatoryContent(
            tuple(_active_rules(ledger)),
            (*first, *early, *state, *rest),
            tuple(LedgerEntry(loop.id, loop.text, loop.source) for loop in ledger.loops.collapsed),
            tuple(LedgerEntry(decision.id, decision.quote, decision.source) for decision in ledger.decisions),
            tuple(_goals(ledger)),
        ),
        frozenset((*range(len(first)), *range(before_state, before_state + len(state)))),
    )


def cited_by(ledger: Ledger) -> Iterator[Cite]:
    """Yield the places of rules, early words, refusals, failures and decisions that a digest may state."""
    yield from (pin.source for pin in ledger.pins.active if pin.source)
    yield from (words.source for words in ledger.user_quotes)
    yield from (refusal.asked for refusal in ledger.refusals[-MOST_REFUSALS:])
    yield from (plan.asked for plan in (ledger.plan,) if plan)
    yield from (cite for failure in ledger.failures for cite in failure.sources[-1:])
    yield from (decision.source for decision in ledger.decisions[-MOST_DECISIONS:])


def is_restated(claim: Claim) -> bool:
    """Whether a claim of an earlier digest is one that the ledger restates in its current form."""
    return claim.topic is not None or claim.kind in (ClaimKind.GOAL, ClaimKind.OPEN, ClaimKind.NEXT)


def _leaves(claim: Claim, dropped_ids: set[str]) -> bool:
    return any(cite.message in dropped_ids for cite in claim.sources)


def _active_rules(ledger: Ledger) -> Iterator[RuleQuote]:
    # System rules too: those in the prompt are never pinned, but later system messages may leave the view.
    for pin in ledger.pins.active:
        yield RuleQuote(pin.id, pin.quote, pin.source or Cite("by-hand"), pin.trust, pin.needed_lead)


def _goal_claim(ledger: Ledger) -> Iterator[Claim]:
    if goal := ledger.goal:
        yield quote_claim(ClaimKind.GOAL, goal.quote, goal.source, goal.trust)
        yield from _ended_since(ledger, goal)


def _goals(ledger: Ledger) -> Iterator[LedgerEntry]:
    """Yield the goals, each of them once."""
    by_quote = {goal.quote: goal for goal in reversed(ledger.goals)}
    for goal in reversed(by_quote.values()):
        yield LedgerEntry(goal.id, goal.quote, goal.source)


def _ended_since(ledger: Ledger, goal: Goal) -> Iterator[Claim]:
    """Yield the ended rules that the goal's quote still contains."""
    for pin in ledger.pins.all:
        in_goal = pin.source is not None and pin.source.message == goal.source.message
        if in_goal and not pin.is_active and pin.ended_by is not None and pin.quote in beginning(goal.quote):
            yield Claim(
                "",
                ClaimKind.GOAL,
                f'{_ENDED}"{pin.quote}"',
                (pin.ended_by,),
                Trust.ASSISTANT,
                topic=Topic.ENDED_RULE,
            )


def _ended_rule_claims(ledger: Ledger) -> Iterator[Claim]:
    """Yield the rules that ended last: a quote of one elsewhere would seem to be in force."""
    goal = ledger.goal.source.message if ledger.goal else ""
    ended = [
        (pin.quote, pin.ended_by)
        for pin in ledger.pins.all
        if not pin.is_active and pin.ended_by and pin.source and pin.source.message != goal
    ]
    for quote, by in ended[-MOST_ENDED:]:
        yield Claim(
            "", ClaimKind.DECISION, f'{_ENDED}"{clip(quote)}"', (by,), Trust.USER, topic=Topic.ENDED_RULE
        )


def _open_item_claims(ledger: Ledger) -> Iterator[Claim]:
    for loop in ledger.loops.collapsed:
        if loop.kind is LoopKind.REQUEST and ledger.goal and _is_goal(loop, ledger.goal):
            continue  # the goal quotes it word for word
        status = _status(loop, ledger)
        notes = [f'to: "{clip(loop.accepts, LONGEST_OPTION)}"' if loop.accepts else "", status]
        note = ", ".join(filter(None, notes))
        text = f"{loop.kind.value}: {clip(loop.text)}{f' ({note})' if note else ''}"
        # A test's name comes from a tool; other open items were stated by a person or the model.
        trust = Trust.UNTRUSTED if loop.kind is LoopKind.TEST else Trust.ASSISTANT
        yield Claim("", ClaimKind.OPEN, text, (loop.source,), trust)


def _status(loop: Loop, ledger: Ledger) -> str:
    """Return the state of an open item, by what the messages after it show."""
    if loop.kind is LoopKind.TEST:
        if loop.status:
            return loop.status
        if len(ledger.loops.tests.open) > FEW_TESTS:
            return ""
        return "edited since, not run again" if edited_after(ledger, loop.source) else ""
    if loop.kind is LoopKind.PROMISE and not loop.status:
        return f"as of {loop.source.message}" if _is_old(loop.source, ledger) else ""
    if loop.kind is not LoopKind.TODO:
        return loop.status
    written = ledger.loops.tasks.as_of(loop)
    if not _is_old(written, ledger):
        return loop.status
    if _looks_done(ledger, written):
        return f"as of {written.message}, not updated since"
    return f"{loop.status} as of {written.message}".strip()


def _is_old(cite: Cite, ledger: Ledger) -> bool:
    return cite.number > 0 and len(ledger) - cite.number > LONG_AFTER


def _looks_done(ledger: Ledger, since: Cite) -> bool:
    """Whether work was finished after this place: a commit, or tests that pass with the files as they are."""
    run = ledger.last_run
    if run and run.failed == 0 and run.source.number > since.number and not edited_after(ledger, run.source):
        return True
    return any(
        command.last.number > since.number and command.ended is Ended.OK and _COMMIT.search(command.name)
        for command in ledger.artifacts.commands
    )


def _fact_claims(ledger: Ledger) -> Iterator[Claim]:
    for fact in ledger.facts.all:
        yield Claim("", ClaimKind.FACT, fact.quote, (fact.source,), fact.trust, verbatim=True)


def _early_words(ledger: Ledger) -> Iterator[Claim]:
    """Yield early statements of the user, unless a rule or the goal quotes them.

    Of a long goal a small view shows only a part, which begins like the goal.
    """
    quoted = {pin.quote.casefold() for pin in ledger.pins.all}
    quoted |= {one.quote.casefold() for one in ledger.decisions if one.offered}  # with the question there
    goal = beginning(ledger.goal.quote, LONGEST_WHOLE_GOAL) if ledger.goal else ""
    for words in ledger.user_quotes:
        if words.quote.casefold() not in quoted and words.quote not in goal:
            yield quote_claim(ClaimKind.USER, words.quote, words.source, words.trust)


def _is_goal(loop: Loop, goal: Goal) -> bool:
    """Whether a request is the goal: part of its message, or the same words."""
    if loop.source.message != goal.source.message:
        return loop.text == goal.quote
    start = beginning(goal.quote)
    return loop.text in start or (loop.text in goal.quote and loop.text.startswith(start))


def _plan_claim(ledger: Ledger) -> Iterator[Claim]:
    """Yield the plan that the person approved, in the agent's words."""
    if (plan := ledger.plan) and plan.answered:
        text = f"{APPROVED_PLAN}{plan.plan}"
        sources = (plan.asked, plan.answered)
        yield Claim("", ClaimKind.DECISION, text, sources, Trust.ASSISTANT, topic=Topic.PLAN)


def _decision_claims(ledger: Ledger) -> Iterator[Claim]:
    latest = _latest_decisions(ledger)
    for decision in latest:
        if not decision.chosen and any(decision.quote in one.quote for one in latest if one is not decision):
            continue
        if decision.chosen and decision.offered:
            asked = "asked" if decision.chosen.endswith("?") else "offered"
            option = clip(decision.chosen.replace("**", ""), LONGEST_OPTION)
            text = f'{clip(decision.quote)} ({asked}: "{option}")'
            trust = min(decision.trust, Trust.ASSISTANT)
            yield Claim("", ClaimKind.DECISION, text, (decision.source, decision.offered), trust)
        else:
            yield quote_claim(ClaimKind.DECISION, decision.quote, decision.source, decision.trust)


def _latest_decisions(ledger: Ledger) -> list[Decision]:
    """Return the user's last decisions and, fewer, those of the model, oldest first."""
    of_user = [decision for decision in ledger.decisions if decision.by is DecidedBy.USER][-MOST_OF_USER:]
    kept = {decision.id for decision in (*of_user, *ledger.decisions[-MOST_DECISIONS:])}
    return [decision for decision in ledger.decisions if decision.id in kept]
