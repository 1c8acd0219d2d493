"""Fit the model of the wording of a rule, and print how precision trades against recall.

    uv run python bench/constraints_wording.py FOLDER [--write]

FOLDER holds the session files of the labelled repositories, as for ``constraints_rules.py``. The split that
judges is left out. Prints, cross-validated by owner, how many pins of the tables the model keeps at each
score, by reason, and how many of them are right, for the splits that the tables were not tuned on; the
thresholds of ``force.py`` were read off this table. ``--write`` fits all labelled sentences and writes
``src/clew/rules/data/wording.json``.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from constraints import FRESH, INVENTED, wilson
from constraints_rules import LABELS, RIGHT, key, texts_of

from clew.message import Trust
from clew.rules.find import binding_sentences
from clew.rules.force import judge_by_tables, needed_score
from clew.rules.languages import ENGLISH
from clew.rules.rule import Force, Kind
from clew.rules.wording import Wording, features_of

MODEL = Path(__file__).parents[1] / "src" / "clew" / "rules" / "data" / "wording.json"
JUDGES = frozenset(("untouched",))
"""Splits that are measured and never fitted."""
INVENTED_WORTH = 0.3
"""Weight of an invented sentence: their authors write more plainly than people do..."""
EXAMPLES = 19
EXAMPLE_WORTH = 3.0
"""...but those of this round are the examples of the guideline, which must be kept."""
UNREAD = ("wording", "eleventh")
"""Splits that the tables were not tuned on."""
LEAST = (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0)
FEWEST = 3
SMALLEST = 0.1
"""Features in fewer sentences and smaller weights are left out: without them the figures are the same."""
SHRINK = 3.3
"""Strength of the pull to zero, chosen by cross-validation."""
ROUNDS = 120
FOLDS = 6
EDGE = 60_000
"""Characters of a text that are read."""


class Example(NamedTuple):
    """A labelled sentence."""

    features: frozenset[str]
    is_rule: bool
    worth: float
    owner: str
    split: str
    why: str
    """Why the tables call it a standing rule; empty if they do not."""
    language: str = ENGLISH


def labelled(folder: Path) -> list[Example]:
    """Return the labelled sentences that the session files hold."""
    rows = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
    labels = {
        (row["source"], row["sentence"]): (row["split"], row.get("agreed", row["label"]))
        for row in rows
        if row["split"] not in JUDGES and row["label"] != "unsure"
    }
    found: dict[tuple[str, str], Example] = {}
    for source in sorted({source for source, _ in labels}):
        files = folder / source.replace("/", "+", 1)
        for text in texts_of(files) if files.is_dir() else ():
            for sentence, seen in binding_sentences(text[:EDGE], Trust.USER):
                name = source, key(sentence.text)
                if name not in labels or name in found:
                    continue
                split, label = labels[name]
                judged = judge_by_tables(sentence, seen, Kind.REQUIREMENT, Trust.USER)
                why = judged.why if judged.force is Force.STANDING else ""
                owner, features = source.split("/")[0], features_of(sentence)
                found[name] = Example(features, label in RIGHT, 1.0, owner, split, why, seen.language)
    return list(found.values())


def invented() -> list[Example]:
    """Return the invented sentences that are not kept for judging."""
    found: list[Example] = []
    for line in (*FRESH.read_text("utf-8").splitlines(), *INVENTED.read_text("utf-8").splitlines()):
        row = json.loads(line)
        if row["split"] == "cold":
            continue
        for sentence, _ in binding_sentences(row.get("message", row["text"]), Trust.USER):
            if sentence.text in row["text"] or row["text"] in sentence.text:
                features = features_of(sentence)
                worth = EXAMPLE_WORTH if row.get("round") == EXAMPLES else INVENTED_WORTH
                found.append(Example(features, row["label"] == "standing", worth, "", "", ""))
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
            step = value + SHRINK * weights[name]
            moved[name] += step * step
            weights[name] -= 0.3 * step / math.sqrt(moved[name])
        moved[""] += tilt * tilt
        bias -= 0.3 * tilt / math.sqrt(moved[""])
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


def report(data: list[tuple[Example, float]]) -> None:
    """Print the precision of the pins by reason and score, and what is pinned with the shipped thresholds."""
    by_reason: defaultdict[str, list[tuple[float, bool]]] = defaultdict(list)
    for one, score in data:
        if one.why:
            reason = one.why.split(" '")[0]
            by_reason[reason if one.language == ENGLISH else f"{reason}, not English"].append(
                (score, one.is_rule)
            )
    print(f"| reason | tables alone | {' | '.join(f'≥ {least}' for least in LEAST)} |")
    print(f"|{'---|' * (len(LEAST) + 2)}")
    for reason, pins in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        cells = [[right for score, right in pins if score >= least] for least in (-math.inf, *LEAST)]
        print(f"| {reason} | {' | '.join(f'{sum(right)}/{len(right)}' for right in cells)} |")
    rules = sum(one.is_rule for one, _ in data)
    for name, kept in (
        ("tables alone", [one for one, _ in data if one.why]),
        ("both", [one for one, score in data if one.why and score >= needed_score(one.why, one.language)]),
    ):
        right = sum(one.is_rule for one in kept)
        print(f"{name}: right pins {wilson(right, len(kept))}, standing rules pinned {wilson(right, rules)}")


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--write", action="store_true")
    given = arguments.parse_args()
    data, more = labelled(given.folder), invented()
    rules = sum(one.is_rule for one in data)
    print(f"{len(data)} labelled sentences, {rules} of them rules; {len(more)} invented")
    if given.write:
        model = fit([*data, *more])
        fields = {"bias": model.bias, "weights": model.weights}
        MODEL.write_text(json.dumps(fields, ensure_ascii=False, indent=0) + "\n", "utf-8")
        print(f"{len(model.weights)} weights written")
        return
    scored = list(zip(data, cross_validated(data, more), strict=True))
    report([(one, score) for one, score in scored if one.split in UNREAD])


if __name__ == "__main__":
    main()
