"""Choose the weights of ``src/clew/memory/weights.toml`` on the part of the benchmarks set aside for it.

    python bench/retrieval_fit.py DATA [--write]

For each question, the features of every candidate come from the search itself. The weights are those that
make the turns with the answer most likely under a softmax over the candidates, both benchmarks counting the
same. Questions that results are reported on are never looked at.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from clew.memory.datasets import datasets
from clew.memory.embedding import embed_lacking
from clew.memory.features import DENSE, LEXICAL
from clew.memory.search import Query, judge
from clew.memory.static import StaticEmbedder
from clew.memory.words import analyse
from clew.store.index import SqliteIndex

WEIGHTS = Path(__file__).parent.parent / "src" / "clew" / "memory" / "weights.toml"
STRENGTH = 1e-3
STEPS = 1_500


def examples(data, embedder):
    """Yield (data set, features of the candidates, which of them are evidence)."""
    for name, pools in datasets(data).items():
        for pool in pools:
            asked = [question for question in pool.questions if question.tuned_on]
            if not asked:
                continue
            with (
                tempfile.TemporaryDirectory() as folder,
                SqliteIndex(Path(folder) / "i.db", model=embedder.name) as index,
            ):
                index.add("bench", [analyse(entry) for entry in pool.entries])
                list(embed_lacking(index, embedder))
                for question in asked:
                    judged = judge(index, "bench", Query(text=question.text, at=question.at), embedder)
                    entries = [one.seen.row.entry for one in judged]
                    found = [(entry.session, entry.ref) in question.evidence for entry in entries]
                    if any(found):
                        yield name, np.array([j.features for j in judged]), np.array(found)


def fit(found, columns):
    """Return one weight for each of the columns."""
    sets = [name for name, _, _ in found]
    every = np.concatenate([features[:, columns] for _, features, _ in found])
    mean, spread = every.mean(axis=0), every.std(axis=0) + 1e-9
    data = [((f[:, columns] - mean) / spread, y, 1 / sets.count(name)) for name, f, y in found]
    weights, first, second = (np.zeros(len(columns)) for _ in range(3))
    for step in range(1, STEPS + 1):  # Adam
        slope = 2 * STRENGTH * weights
        for features, right, share in data:
            scores = features @ weights
            chances = np.exp(scores - scores.max())
            chances /= chances.sum()
            slope += share * (chances @ features - features[right].mean(axis=0))
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        rate = 0.03 * min(1.0, 2 - 2 * step / STEPS)
        weights -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return weights / spread


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true", help="replace weights.toml")
    args = parser.parse_args()
    found = list(examples(args.data, StaticEmbedder()))
    names = LEXICAL + DENSE
    text = "# What each feature is worth. Made by bench/retrieval_fit.py; see docs/concepts/retrieval.md.\n"
    for mode, kept in (("lexical", LEXICAL), ("dense", names)):
        weights = fit(found, [names.index(name) for name in kept])
        lines = [f"{name} = {weight:.4f}" for name, weight in zip(kept, weights, strict=True)]
        text += f"\n[{mode}]\n" + "\n".join(lines) + "\n"
    print(text)
    if args.write:
        WEIGHTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
