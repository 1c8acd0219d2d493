"""What a line takes is estimated closely, and what was chosen is weighed anew."""

from __future__ import annotations

import pytest

from clew.compaction.plan import Claim, ClaimKind
from clew.compaction.propose.gauge import Gauge
from clew.message import Cite, Trust
from tests.compaction_propose.sessions import COUNTER


def quotes(*texts: str) -> list[Claim]:
    return [Claim("", ClaimKind.FACT, text, (Cite("m1"),), Trust.UNTRUSTED, verbatim=True) for text in texts]


PROSE = quotes(*(f"the reader keeps what the writer has left for it, number {n} of many" for n in range(60)))
CODE = quotes(*(f"x{n}=f({n}){{[{n}]}};y{n}->z{n}%{n}" for n in range(60)))


def test_lines_that_are_like_the_sample_take_what_was_estimated():
    assert Gauge(COUNTER, PROSE).error(PROSE) == pytest.approx(1.0, abs=0.02)


def test_lines_that_are_denser_than_the_sample_are_found_to_take_more():
    gauge = Gauge(COUNTER, [*PROSE, *CODE])
    counted = COUNTER.count_text("\n".join(f"- {one.text}" for one in CODE))
    assert gauge.error(CODE) > 1.1
    assert gauge.error(CODE) * sum(map(gauge.line, CODE)) == pytest.approx(counted, rel=0.01)
