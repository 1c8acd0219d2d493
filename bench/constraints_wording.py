"""Fit the model of a standing rule, and print how precision trades against recall.

    uv run python bench/constraints_wording.py FOLDER [--write]

FOLDER holds the session files of the labelled repositories, as for ``constraints_rules.py``. The splits that
judge are left out. Prints, cross-validated by owner, precision and recall of the pins at each threshold, for
people that the tables were not tuned on and for the others; the threshold of ``force.py`` was read off this
table. ``--write`` fits all labelled sentences and writes ``src/clew/rules/data/wording.json``.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from constraints import FRESH, wilson
from constraints_rules import LABELS, RIGHT, key, texts_of

from clew.message import Trust
from clew.rules.evidence import Evidence
from clew.rules.find import binding_sentences, found_in
from clew.rules.force import judge_by_tables
from clew.rules.rule import Force
from clew.rules.sentences import Sentence
from clew.rules.wording import Wording, features_of

MODEL = Path(__file__).parents[1] / "src" / "clew" / "rules" / "data" / "wording.json"
JUDGES = frozenset(("untouched", "thirteenth", "fourteenth"))
"""Splits that are measured and never fitted."""
UNREAD = "twelfth"
"""The tables were hardly tuned on owners that are in this split alone."""
EXAMPLES = 19
EXAMPLE_WORTH = 8.0
"""The examples of the guideline (a round of invented sentences) must be kept. Other invented sentences make
the model worse on people: their authors write more plainly."""
LEAST = (-0.5, 0.0, 0.3, 0.5, 0.7, 0.9, 1.1, 1.4)
MOST = 25
"""Sentences from which on an owner counts no more, in the report."""
FEWEST = 3
SMALLEST = 0.02
"""Features in fewer sentences and smaller weights are left out: without them the figures are the same."""
SHRINK, SHRINK_WORDS = 10.0, 40.0
"""Strength of the pull to zero, for signs and for words, chosen by cross-validation."""
WORDS = ("w ", "o ", "p ", "l ")
ROUNDS = 150
FOLDS = 8
EDGE = 60_000
"""Characters of a text that are read."""


class Example(NamedTuple):
    """A labelled sentence."""

    features: frozenset[str]
    is_rule: bool
    worth: float
    owner: str
    split: str
    standing: bool
    """The tables call it a standing rule."""


def example(sentence: Sentence, seen: Evidence) -> tuple[frozenset[str], bool]:
    """Return the features of a sentence, and whether the tables call it a standing rule."""
    found = found_in(sentence, seen, 0, Trust.USER)
    judged = judge_by_tables(sentence, seen, found.kind, Trust.USER) if found else None
    why = judged.why if judged and judged.force is Force.STANDING else ""
    return features_of(sentence, seen, why), bool(why)


def labelled(folder: Path) -> list[Example]:
    """Return the labelled sentences that the session files hold."""
    rows = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
    labels = {
        (row["source"], row["sentence"]): (row["split"], row.get("blind", row.get("agreed", row["label"])))
        for row in rows
        if row["split"] not in JUDGES
    }
    found: dict[tuple[str, str], Example] = {}
    for source in sorted({source for source, _ in labels}):
        files = folder / source.replace("/", "+", 1)
        for text in texts_of(files) if files.is_dir() else ():
            for sentence, seen in binding_sentences(text[:EDGE], Trust.USER):
                name = source, key(sentence.text)
                split, label = labels.get(name, ("", "unsure"))
                if label == "unsure" or name in found:
                    continue
                features, standing = example(sentence, seen)
                owner = source.split("/")[0].lower()
                found[name] = Example(features, label in RIGHT, 1.0, owner, split, standing)
    return list(found.values())


def guideline() -> list[Example]:
    """Return the examples of the guideline."""
    found: list[Example] = []
    for line in FRESH.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row.get("round") != EXAMPLES:
            continue
        for sentence, seen in binding_sentences(row.get("message", row["text"]), Trust.USER):
            if sentence.text in row["text"] or row["text"] in sentence.text:
                features, standing = example(sentence, seen)
                found.append(Example(features, row["label"] == "standing", EXAMPLE_WORTH, "", "", standing))
    return found


def fit(data: list[Example]) -> Wording:
    """Return the model after gradient descent with steps that shrink by what each weight has moved."""
    uses = Counter(name for one in data for name in one.features)
    known = [(tuple(n for n in one.features if uses[n] >= FEWEST), one.is_rule, one.worth) for one in data]
    weights: defaultdict[str, float] = defaultdict(float)
    moved: defaultdict[str, float] = defaultdict(lambda: 1e-8)
    bias = 0.0
    for _ in range(ROUNDS):
        slope: defaultdict[str, float] = defaultdict(float)
        tilt = 0.0
        for features, is_rule, worth in known:
            score = bias + sum([weights[name] for name in features])
            error = worth * (1 / (1 + math.exp(-max(-30.0, min(30.0, score)))) - is_rule)
            tilt += error
            for name in features:
                slope[name] += error
        for name, value in slope.items():
            step = value + (SHRINK_WORDS if name.startswith(WORDS) else SHRINK) * weights[name]
            moved[name] += step * step
            weights[name] -= 0.2 * step / math.sqrt(moved[name])
        moved[""] += tilt * tilt
        bias -= 0.2 * tilt / math.sqrt(moved[""])
    kept = {name: round(value, 2) for name, value in sorted(weights.items()) if abs(value) >= SMALLEST}
    return Wording(round(bias, 3), kept)


def cross_validated(data: list[Example], more: list[Example]) -> list[float]:
    """Return the score of each sentence by a model that has not seen its owner."""
    owners = sorted({one.owner for one in data}, key=key)
    fold = {owner: number % FOLDS for number, owner in enumerate(owners)}
    scores = [0.0] * len(data)
    for number in range(FOLDS):
        model = fit([*(one for one in data if fold[one.owner] != number), *more])
        for index, one in enumerate(data):
            if fold[one.owner] == number:
                scores[index] = model.score(one.features)
    return scores


def report(name: str, data: list[tuple[Example, float]]) -> None:
    """Print precision and recall of the pins at each threshold; no owner counts more than ``MOST``."""
    size = Counter(one.owner for one, _ in data)
    worth = {owner: min(1.0, MOST / count) for owner, count in size.items()}
    rules = sum(worth[one.owner] for one, _ in data if one.is_rule)
    print(f"{name}: {len(data)} sentences of {len(size)} owners, {sum(one.is_rule for one, _ in data)} rules")
    for least in (-math.inf, *LEAST):
        pins = [one for one, score in data if one.standing and score >= least]
        right = sum(worth[one.owner] for one in pins if one.is_rule)
        share = right / max(sum(worth[one.owner] for one in pins), 1e-9)
        plain = wilson(sum(one.is_rule for one in pins), len(pins))
        print(f"| ≥ {least} | {plain} | {100 * share:.0f} % | {100 * right / rules:.0f} % |")


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--write", action="store_true")
    given = arguments.parse_args()
    data, more = labelled(given.folder), guideline()
    rules = sum(one.is_rule for one in data)
    print(f"{len(data)} labelled sentences, {rules} of them rules; {len(more)} examples")
    if given.write:
        model = fit([*data, *more])
        fields = {"bias": model.bias, "weights": model.weights}
        MODEL.write_text(json.dumps(fields, ensure_ascii=False, indent=0) + "\n", "utf-8")
        print(f"{len(model.weights)} weights written")
        return
    scored = list(zip(data, cross_validated(data, more), strict=True))
    read = {one.owner for one in data if one.split != UNREAD}
    report("new people", [pair for pair in scored if pair[0].owner not in read])
    report("all", scored)


if __name__ == "__main__":
    main()
