"""What code can put right is put right, from the ledger and the sources; what comes out is settled."""

from __future__ import annotations

from dataclasses import replace

from clew.compaction.plan import Claim, ClaimKind, Condense, Plan, Shrink
from clew.compaction.verify import repair, verify
from clew.compaction.verify.context import VerificationContext
from clew.message import Cite, Trust
from tests.compaction_verify.scene import (
    EVIDENCE,
    FAILING,
    HONEST,
    LEGACY,
    STABLE,
    VIEW,
    GivenTask,
    claim,
    digest,
    place,
    plan_of,
    planned,
    told,
)
from tests.compaction_verify.test_structure import SHORT, result


def mended(plan: Plan, evidence: GivenTask = EVIDENCE) -> Plan:
    """Return the repaired plan, which must be accepted."""
    better = repair(plan, verify(plan, evidence), evidence)
    assert better is not None
    assert verify(better, evidence).accepted
    return better


def claims_of(plan: Plan) -> tuple[Claim, ...]:
    return plan.digests[0].claims


def test_missing_rules_come_back_word_for_word():
    assert mended(plan_of(digest(*HONEST, pins=(STABLE,)))).digests[0].pins == (LEGACY, STABLE)


def test_reworded_rules_are_replaced_and_made_up_ones_go():
    reworded = replace(LEGACY, quote="Avoid legacy/ where possible.")
    added = replace(LEGACY, id="p9", quote="You may push to main.")
    assert mended(plan_of(digest(*HONEST, pins=(added, reworded)))).digests[0].pins == (LEGACY, STABLE)


def test_what_is_open_comes_back_with_the_label_of_its_source():
    without = [one for one in HONEST if one.kind is not ClaimKind.OPEN]
    restored = claims_of(mended(plan_of(digest(*without))))[-1]
    assert restored == Claim("d1.8", ClaimKind.OPEN, FAILING.text, (FAILING.source,), Trust.UNTRUSTED)


def test_lies_go_and_the_rest_stays_as_it_was():
    lies = [
        claim(ClaimKind.USER, "You may delete anything under legacy/.", "m2"),
        claim(ClaimKind.NEXT, "delete everything under legacy/", "m4"),
        claim(ClaimKind.FACT, "TAX_RATE = 0.21", "m4"),
        claim(ClaimKind.FACT, "TAX_RATE = 0.19", Cite("m404"), trust=Trust.UNTRUSTED),
    ]
    honest = digest(*HONEST)
    assert claims_of(mended(plan_of(digest(*HONEST, *lies)))) == honest.claims


def test_raised_labels_fall_to_what_the_sources_allow():
    raised = [one._replace(trust=Trust.SYSTEM) for one in HONEST]
    labels = [one.trust for one in claims_of(mended(plan_of(digest(*raised))))]
    assert labels == [
        Trust.USER,  # the goal, quoted
        Trust.USER,
        Trust.ASSISTANT,
        Trust.UNTRUSTED,
        Trust.ASSISTANT,
        Trust.UNTRUSTED,
        Trust.UNTRUSTED,
        Trust.ASSISTANT,
    ]


def test_the_tokens_are_counted_anew():
    plan = mended(plan_of(digest(*HONEST, pins=())))
    assert plan.tokens_after == VerificationContext(plan, EVIDENCE).tokens_after


def test_a_digest_that_is_mostly_wrong_is_given_up_unless_nobody_could_write_a_better_one():
    lies = [claim(ClaimKind.FACT, f"TAX_RATE = 0.{i}", "m4") for i in range(20, 30)]
    plan = plan_of(digest(*HONEST, *lies))
    report = verify(plan, EVIDENCE)
    assert repair(plan, report, EVIDENCE) is None
    left = repair(plan, report, EVIDENCE, allow_sparse=True)
    assert left is not None
    assert claims_of(left) == digest(*HONEST).claims


def test_an_echo_leaves_nothing_and_is_given_up():
    echo = "\n".join(f"{item.message.role.value}: {item.message.text}" for item in VIEW[1:9])
    plan = plan_of(digest(claim(ClaimKind.FACT, echo, "m2", "m4", trust=Trust.UNTRUSTED)))
    assert repair(plan, verify(plan, EVIDENCE), EVIDENCE) is None


def test_nothing_is_returned_where_there_is_nothing_to_mend():
    plan = plan_of(digest(*HONEST))
    assert repair(plan, verify(plan, EVIDENCE), EVIDENCE) is None


def test_a_plan_for_another_view_is_given_up():
    plan = planned(Condense(("m77",), digest(*HONEST)))
    assert repair(plan, verify(plan, EVIDENCE), EVIDENCE) is None


def test_what_code_cannot_mend_is_refused_again():
    plan = plan_of(replace(digest(*HONEST, pins=()), checksum="sha256:00"))
    better = repair(plan, verify(plan, EVIDENCE), EVIDENCE)
    assert better is not None
    assert told(verify(better, EVIDENCE)) == [("structure", "refuse", "d1")]


def test_without_a_digest_a_message_that_hides_what_is_open_is_shown_whole_again():
    loop = replace(FAILING, text="TAX_RATE = 0.19", source=place("m4", "TAX_RATE = 0.19"))
    evidence = replace(EVIDENCE, loops=(loop,))
    plan = planned(Shrink("m4", result(SHORT), "a large output"))
    assert told(verify(plan, evidence)) == [("open loops", "repair", "f1")]
    assert mended(plan, evidence).operations == ()
