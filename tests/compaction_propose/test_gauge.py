"""What a line takes is estimated closely."""

from __future__ import annotations

import pytest

from clew.compaction.plan import Claim, ClaimKind
from clew.compaction.propose.claim_sizer import ClaimSizer
from clew.message import Cite, Trust
from tests.compaction_propose.sessions import COUNTER


def quotes(*texts: str) -> list[Claim]:
    return [Claim("", ClaimKind.FACT, text, (Cite("m1"),), Trust.UNTRUSTED, verbatim=True) for text in texts]


PROSE = quotes(*(f"the reader keeps what the writer has left for it, number {n} of many" for n in range(60)))


def test_lines_that_are_like_the_sample_take_what_was_estimated():
    counted = COUNTER.count_text("\n".join(f"- {one.text}" for one in PROSE))
    assert sum(map(ClaimSizer(COUNTER, PROSE).line, PROSE)) == pytest.approx(counted, rel=0.02)
