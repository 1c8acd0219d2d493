"""Fit the weights of the constraint finder again and print them beside those in use.

    uv run python bench/constraints_fit.py [FOLDER]

Logistic regression on the cues that fire in labelled sentences, pulled towards the weights in use: where the
sentences say nothing about a cue, its weight stays. The splits that nobody tunes on are left out. A rule
counts twice, a product decision hardly at all: it is a requirement of the user too, kept elsewhere.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections import Counter, defaultdict
from pathlib import Path

from constraints import COLD, FRESH, INVENTED, labelled

from clew.message import Trust
from clew.rules.find import rule_sentences
from clew.rules.words import model

WORTH = {"standing": 2.0, "decision": 0.05, "none": 1.0}
LEARNT_FROM = frozenset(("dev", "learnt"))
STEPS = 300
Example = tuple[frozenset[str], bool, float]


def cues_at(text: str, start: int, end: int) -> frozenset[str] | None:
    """Return the cues that fire in the sentence at a place, or None where it is not the speaker's."""
    for sentence, seen in rule_sentences(text, Trust.USER):
        if min(end, sentence.end) - max(start, sentence.start) > (end - start) / 2:
            return frozenset(hit.cue for hit in seen.hits)
    return None


def examples(root: Path) -> list[Example]:
    found: list[Example] = []
    for one in labelled(root, Counter()):
        if one.split not in COLD and one.label in WORTH:
            cues = cues_at(one.text, one.start, one.end)
            if cues is not None:
                found.append((cues, one.label == "standing", WORTH[one.label]))
    for line in (*INVENTED.read_text("utf-8").splitlines(), *FRESH.read_text("utf-8").splitlines()):
        row = json.loads(line)
        if row["split"] in LEARNT_FROM:
            cues = cues_at(row["text"], 0, len(row["text"])) or frozenset()
            found.append((cues, row["label"] == "standing", 1.0))
    return found


def fit(data: list[Example], start: dict[str, float], bias: float) -> tuple[dict[str, float], float]:
    """Return weights and bias after gradient descent with steps that shrink by what each weight has moved."""
    weights = dict(start)
    moved: defaultdict[str, float] = defaultdict(lambda: 1e-8)
    for _ in range(STEPS):
        slope: Counter[str] = Counter()
        for cues, is_rule, worth in data:
            score = bias + sum(weights[cue] for cue in cues)
            error = (1 / (1 + math.exp(-max(-30.0, min(30.0, score)))) - is_rule) * worth
            slope[""] += error
            for cue in cues:
                slope[cue] += error
        for cue, weight in weights.items():
            step = slope[cue] + weight - start[cue]
            moved[cue] += step * step
            weights[cue] = weight - 0.5 * step / math.sqrt(moved[cue])
        moved[""] += slope[""] ** 2
        bias -= 0.5 * slope[""] / math.sqrt(moved[""])
    return weights, bias


def main(root: Path) -> None:
    table = model()
    in_use = {name: cue.weight for name, cue in table.cues.items()}
    data = examples(root)
    weights, bias = fit(data, in_use, table.bias)
    print(f"{len(data):,} sentences, {sum(is_rule for _, is_rule, _ in data)} rules")
    print(f"{'bias':14}{table.bias:6.1f} → {bias:5.1f}")
    for name in sorted(weights, key=lambda name: -weights[name]):
        print(f"{name:14}{in_use[name]:6.1f} → {weights[name]:5.1f}")


if __name__ == "__main__":
    data_folder = Path(os.environ.get("CLEW_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else data_folder / "transcripts")
