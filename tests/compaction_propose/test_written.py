"""Whoever writes prose is told what about and how long, and what comes back takes its place in the digest."""

from __future__ import annotations

from dataclasses import replace

from clew.compaction.plan import Claim, ClaimKind, Condense
from clew.compaction.propose import Written, outline, propose
from clew.compaction.task import Keep
from clew.message import Cite, Role, Trust
from tests.compaction_propose.sessions import Living, session, situation, tokens_of

STEPS = ["ask", "rule", "read", "edit", "run", "fail", "talk", "plan", "read", "log", "run", "parallel"] * 8


def prose(text: str, *turns: str, kind: ClaimKind = ClaimKind.FACT) -> Claim:
    return Claim("", kind, text, tuple(Cite(turn) for turn in turns), Trust.ASSISTANT)


def test_nothing_is_to_be_written_where_the_view_fits_or_pruning_is_enough():
    view = Living(session(STEPS)).view
    assert outline(situation(view, tokens_of(view))) is None
    assert outline(situation(view, int(tokens_of(view) * 0.9))) is None


def test_the_outline_is_of_the_span_that_the_plan_condenses():
    living = Living(session(STEPS))
    now = living.situation(6_000)
    asked = outline(now)
    plan = propose(now, Written((prose("Much was said.", "m4"),), "a model", "7"))
    (condense,) = (op for op in plan.operations if isinstance(op, Condense))
    assert asked is not None
    assert tuple(item.id for item in asked.span) == condense.ids
    assert asked.brief.pins == condense.digest.pins
    assert 100 < asked.room_tokens < 2_000
    assert asked.earlier is None


def test_the_outline_of_a_fold_names_the_digest_that_goes_into_it():
    living = Living(session(STEPS))
    (first,) = living.compact(6_000).digests
    living.go_on(STEPS)
    asked = outline(living.situation(6_000))
    assert asked is not None
    assert asked.earlier == first
    assert asked.span[0].id == first.id


def test_what_is_written_stands_beside_what_code_says():
    living = Living(session(STEPS))
    now = replace(living.situation(6_000), keep=Keep(for_prose=True))
    claims = (
        prose("The port of the reports went ahead step by step.", "m4", "m6"),
        prose("Chose to keep the old cache.", "m9", kind=ClaimKind.DECISION),
    )
    plain, written = propose(now).digests[0], propose(now, Written(claims, "a model", "7")).digests[0]
    assert (written.author, written.prompt_version) == ("a model", "7")
    texts = [claim.text for claim in written.claims]
    assert all(claim.text in texts for claim in claims)
    assert written.pins == plain.pins
    for kind in (ClaimKind.GOAL, ClaimKind.OPEN):
        assert [one.text for one in written.claims if one.kind is kind] == [
            one.text for one in plain.claims if one.kind is kind
        ]


def test_prose_is_taken_in_its_order_as_far_as_the_room_goes():
    living = Living(session(STEPS))
    claims = tuple(prose(f"{n}: " + "much was said about this. " * 20, "m4") for n in range(100))
    plan = propose(living.situation(6_000), Written(claims, "a model", "7"))
    facts = [one for one in plan.digests[0].claims if one.kind is ClaimKind.FACT]
    kept = [one.text for one in facts if not one.verbatim]
    assert plan.fits
    assert 0 < len(kept) < 100
    assert kept == [claim.text for claim in claims[: len(kept)]]


def test_prose_is_believed_no_more_than_its_sources():
    living = Living(session(STEPS))
    result = next(name for name, message in living.log.items() if message.role is Role.TOOL)
    claim = Claim("", ClaimKind.FACT, "The handler is in the file.", (Cite(result),), Trust.USER)
    digest = propose(living.situation(4_000), Written((claim,), "a model", "7")).digests[0]
    (kept,) = (one for one in digest.claims if one.text == claim.text)
    assert kept.trust is Trust.UNTRUSTED
