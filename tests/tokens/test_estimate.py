"""The estimator: how near it comes, and the laws it keeps for any text."""

from __future__ import annotations

import argparse
import base64
import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.tokens import exact as estimator
from clew.tokens.exact import SHAPE, BytePairs, Feature, estimate
from clew.tokens.families import EMPTY_TALLY, FAMILIES, Tally

O200K = FAMILIES["o200k"].scale
# Words, marks or digits may join where two texts meet; no pattern is wider than this is high.
SEAM = 8.0

PROSE = """\
A clew is the ball of thread that led Theseus back out of the maze. Ariadne gave it to him at the door; he
tied one end to the post, and unwound it as he went in. What he met inside is another story. The point is
that he never had to remember the way: he only had to keep hold of the thread, and follow it home again.
"""
CODE = Path(argparse.__file__).read_text(encoding="utf-8")
ITEMS = [{"id": 1000 + i, "name": f"part-{i}", "price": 9.5 * i, "in_stock": i % 3 > 0} for i in range(30)]
LOG = "\n".join(
    f"2026-11-15 04:{i:02d}:07,{i * 37 % 1000:03d} INFO worker[{4000 + i}] done job=img-{i} in {i * 13} ms"
    for i in range(40)
)
CHINESE = """\
编译失败的原因是缺少一个头文件，我已经把它加到了项目的配置里。服务器昨天晚上重启了两次，日志显示内存不足。
请在合并之前运行全部测试，并把结果发到讨论组。周五之前不要部署到生产环境，因为财务部门正在结账。
"""
SAMPLES = {
    "prose": PROSE,
    "code": CODE,
    "JSON": json.dumps(ITEMS, indent=2),
    "log": LOG,
    "base64": base64.b64encode(random.Random(1).randbytes(2_000)).decode(),
    "hex": random.Random(2).randbytes(1_000).hex(),
    "CJK": CHINESE,
    "white space": "\n".join(f"| {f'name{i}':<20} | {'x' * (i % 5):>12} | {i:>6} |" for i in range(40)),
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_each_class_of_text_is_estimated_within_15_percent(kind: str):
    exact = BytePairs("o200k_base").count(SAMPLES[kind])
    assert estimate(SAMPLES[kind]).tokens(O200K) == pytest.approx(exact, rel=0.15)


def test_nothing_is_no_tokens():
    assert estimate("") == EMPTY_TALLY


@given(st.text())
def test_no_kind_is_ever_negative(text: str):
    assert min(estimate(text)) >= 0


@given(st.text(), st.text())
def test_two_texts_together_cost_what_they_cost_apart_save_at_the_seam(one: str, other: str):
    together = estimate(one + other).tokens(O200K)
    apart = (estimate(one) + estimate(other)).tokens(O200K)
    assert together == pytest.approx(apart, abs=SEAM)


@given(st.text(), st.text())
def test_a_longer_text_never_costs_less_save_at_the_seam(one: str, more: str):
    assert estimate(one + more).tokens(O200K) >= estimate(one).tokens(O200K) - SEAM


@given(st.text("ab XY,.-\n09é的", max_size=40), st.integers(2, 50))
def test_a_text_repeated_costs_in_proportion(text: str, times: int):
    line = text + "\n"
    once, often = estimate(line).tokens(O200K), estimate(line * times).tokens(O200K)
    assert often == pytest.approx(once * times, abs=SEAM * times)


def test_each_script_has_its_kind():
    kinds = {text: estimate(text) for text in ("word", "1234", "的", "при", "é", "→", "😀")}
    dominant = {
        text: max(Tally._fields, key=lambda kind: getattr(tally, kind)) for text, tally in kinds.items()
    }
    assert dominant == {
        "word": "words",
        "1234": "digits",
        "的": "cjk",
        "при": "scripts",
        "é": "words",
        "→": "marks",
        "😀": "scripts",
    }


def test_vietnamese_is_latin():
    assert estimate("Quá trình biên dịch thất bại vì thiếu một tệp").scripts == pytest.approx(0)


def test_half_a_surrogate_pair_is_estimated():
    assert estimate("\ud83d").tokens(O200K) > 0


def test_a_kind_may_have_one_feature(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(estimator, "_ASCII", estimator._reading([Feature("words", SHAPE, b" a", 2.0)]))
    assert estimate("one two") == Tally(words=4.0)
