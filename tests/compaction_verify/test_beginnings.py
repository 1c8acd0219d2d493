"""Where there is no room for more, the goal and what is open may be told by how they begin."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clew.compaction.ledger_claims import LedgerEntry
from clew.compaction.plan import ClaimKind
from clew.compaction.verify import verify
from clew.message import Trust
from tests.compaction_verify.scene import EVIDENCE, HONEST, claim, digest, place, plan_of

PROMISE = "Next I will mend test_total in tests/test_invoice.py."
LOOP = LedgerEntry("l1", PROMISE, place("m9", PROMISE))
TOLD = claim(ClaimKind.OPEN, f"promise: {PROMISE}", LOOP.source, trust=Trust.ASSISTANT)
KNOWN = replace(EVIDENCE, loops=(*EVIDENCE.loops, LOOP), ledger_claims=(TOLD,))


def findings(text: str, kind: ClaimKind = ClaimKind.OPEN) -> set[str]:
    """Return the checks that find something in a digest that tells of the loop so."""
    told = claim(kind, text, LOOP.source, trust=Trust.ASSISTANT)
    report = verify(plan_of(digest(*HONEST, told)), KNOWN)
    return {one.check for one in report.findings if one.what}


@pytest.mark.parametrize("length", [40, 45])
def test_a_marked_beginning_of_an_open_loop_stands_for_it(length: int):
    assert findings(f"promise: {PROMISE[:length]}…") == findings(TOLD.text)


@pytest.mark.parametrize(
    "text",
    [f"promise: {PROMISE[:20]}…", f"promise: {PROMISE[:45]}", f"promise: {PROMISE[5:]}…"],
    ids=["too short", "not marked", "not the beginning"],
)
def test_less_than_that_does_not(text: str):
    assert "open loops" in findings(text)
