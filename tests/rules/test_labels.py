"""On sentences labelled by reading, the finder does not fall behind what bench/constraints.py measured."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import LONG_RUN, in_long_run, real_data

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import constraints
import constraints_rules

SPLITS = constraints.SPLITS if LONG_RUN else constraints.COLD


@pytest.fixture(scope="module")
def counts() -> dict[str, Counter[tuple[str, bool]]]:
    finder = constraints.Finder()
    by_split: dict[str, Counter[tuple[str, bool]]] = {split: Counter() for split in SPLITS}
    lost: Counter[str] = Counter()
    for one in constraints.labelled(real_data("transcripts"), lost, SPLITS):
        by_split[one.split][one.label, finder.hits(one)] += 1
    by_split["lost"] = Counter({("lost", False): lost.total()})
    return by_split


@pytest.mark.slow
def test_nearly_all_labelled_sentences_are_found_again_by_their_hash(
    counts: dict[str, Counter[tuple[str, bool]]],
):
    kept = sum(counts[split].total() for split in SPLITS)
    assert counts["lost"].total() < 0.07 * kept


@pytest.mark.slow
@pytest.mark.parametrize(
    ("split", "recall", "precision"),
    [
        ("held-out", 0.88, 0.85),
        ("test", 0.87, 0.82),
        pytest.param("second-test", 0.88, 0.84, marks=in_long_run),
        pytest.param("first-test", 0.87, 0.82, marks=in_long_run),
        pytest.param("dev", 0.95, 0.88, marks=in_long_run),
    ],
)
def test_recall_and_precision_hold(
    counts: dict[str, Counter[tuple[str, bool]]], split: str, recall: float, precision: float
):
    found = counts[split]
    standing = found["standing", True]
    right = standing + found["decision", True]
    assert standing / (standing + found["standing", False]) >= recall
    assert right / (right + found["none", True]) >= precision


def test_kappa_of_two_raters_is_that_of_a_worked_example():
    pairs = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    assert constraints_rules.kappa(pairs) == pytest.approx((0.7, 0.4))


def test_the_labels_of_the_second_rater_are_the_four_of_the_guideline():
    rows = [json.loads(line) for line in constraints_rules.LABELS.read_text("utf-8").splitlines()]
    rated = [row for row in rows if "second" in row]
    assert len(rated) == 544 + 641
    assert {row["second"] for row in rated} == set(constraints_rules.FOUR)
    assert {row["split"] for row in rated} == {"second", "third", "untouched", "learnt", "fourth"}


def test_the_raters_agree_on_what_is_a_standing_rule():
    rows = [json.loads(line) for line in constraints_rules.LABELS.read_text("utf-8").splitlines()]
    rated = [row for row in rows if row["split"] in ("learnt", "fourth")]
    pairs = [(constraints_rules.standing(row["label"]), row["second"]) for row in rated]
    same, kappa = constraints_rules.kappa([(one, constraints_rules.standing(two)) for one, two in pairs])
    assert same > 0.98
    assert kappa > 0.9
    assert sum("agreed" in row for row in rated) == 8
