"""Choose the weights of ``src/clew/memory/weights.toml`` on the part of the data set aside for it.

    python bench/retrieval_fit.py DATA --transcripts DIR [--write]

Data: the questions for tuning of the benchmarks under DATA (LoCoMo, LongMemEval, REALTALK; those of
``clew bench retrieval``), and lost values of agent sessions, asked for as in ``bench/retrieval_shown.py``
(its ``tune`` part). The features of every candidate come from the search itself. The weights are those that
make any candidate with the answer most likely under a softmax over the candidates; each set counts as
``SHARES`` says. What results are reported on is never looked at.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import retrieval_shown as shown

from clew import Session, SqliteStore
from clew.memory import Memory, StaticEmbedder, analyse, embed_lacking, passages
from clew.memory.features import DenseFeatures, LexicalFeatures
from clew.memory.index.sqlite import SqliteIndex
from clew.memory.scope import InView
from clew.memory.search import Query, score_candidates
from clew_evals.retrieval.datasets import datasets
from clew_evals.words import first_place

WEIGHTS = Path(__file__).parent.parent / "src" / "clew" / "memory" / "weights.toml"
STRENGTH = 1e-3
STEPS = 400
SHARES = {
    "chat": {"agent": 1.0, "locomo": 1.0, "longmemeval": 1.0, "realtalk": 1.0},
    "agent": {"agent": 1.0, "locomo": 0.05, "longmemeval": 0.05, "realtalk": 0.05},
}
"""How much each set counts, by kind of session. Without a little of the chats, what agents rarely say is
left to chance; with more of them, fewer lost values are shown (67 % with 0.05, 59 % with 1.0)."""
SESSIONS = 60
PER_SET = 8


def questions(data, embedder):
    """Yield (data set, features of the candidates, which of them are evidence) of the public benchmarks."""
    for name, pools in datasets(data).items():
        for pool in pools:
            asked = [question for question in pool.questions if question.tuned_on]
            if not asked:
                continue
            with (
                tempfile.TemporaryDirectory() as folder,
                SqliteIndex(Path(folder) / "i.db", model=embedder.name) as index,
            ):
                index.add("bench", [analyse(piece) for entry in pool.entries for piece in passages(entry)])
                list(embed_lacking(index, embedder))
                for question in asked:
                    judged, _ = score_candidates(
                        index, "bench", Query(text=question.text, at=question.at), embedder
                    )
                    entries = [one.candidate.row.entry for one in judged]
                    found = [(entry.session, entry.ref) in question.evidence for entry in entries]
                    yield name, judged, found


def lost_values(transcripts, embedder):
    """Yield the same of lost values of agent sessions."""
    sets = Counter()
    for file, cut in shown.candidates(transcripts, "tune"):
        if sets.total() == SESSIONS:
            return
        if sets[file.set] < PER_SET:
            with tempfile.TemporaryDirectory() as folder:
                some = list(_lost_values(Path(folder) / "s.db", cut, embedder))
            sets[file.set] += bool(some)
            yield from some


def _lost_values(path, cut, embedder):
    shown.compacted(path, cut)
    with SqliteStore(path) as store, SqliteIndex(path, model=embedder.name) as index:
        session = Session.open("s", store, window=200_000)
        memory = Memory(store, session.ctx, index, embedder=embedder, numbered=session)
        memory.catch_up()
        view = session.view()
        for probe in shown.lost_values(cut, view):
            for _, text in shown.queries(probe):
                query = Query(text=text, at=memory.now, in_view=InView("s", view))
                judged, _ = score_candidates(index, "local", query, embedder)
                texts = [one.candidate.row.entry.text for one in judged]
                yield "agent", judged, [first_place(text, probe.kind, probe.key) >= 0 for text in texts]


def fit(found, columns, shares):
    """Return one weight for each of the columns."""
    sets = Counter(name for name, _, _ in found)
    every = np.concatenate([features[:, columns] for _, features, _ in found])
    mean, spread = every.mean(axis=0), every.std(axis=0) + 1e-9
    rows = (every - mean) / spread
    right = np.concatenate([right for _, _, right in found])
    sizes = [len(right) for _, _, right in found]
    begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    question = np.repeat(np.arange(len(found)), sizes)
    score = np.array([shares[name] / sets[name] for name, _, _ in found])[question]
    weights, first, second = (np.zeros(len(columns)) for _ in range(3))
    for step in range(1, STEPS + 1):  # Adam
        scores = rows @ weights
        likely = np.exp(scores - np.maximum.reduceat(scores, begins)[question])
        of_all = likely / np.add.reduceat(likely, begins)[question]
        of_right = likely * right / np.add.reduceat(likely * right, begins)[question]
        slope = rows.T @ ((of_all - of_right) * score) + 2 * STRENGTH * weights
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        rate = 0.05 * min(1.0, 2 - 2 * step / STEPS)
        weights -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return weights / spread


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--transcripts", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="replace weights.toml")
    args = parser.parse_args()
    embedder = StaticEmbedder()
    found = [
        (name, np.array([(*one.lexical, *(one.dense or ())) for one in judged]), np.array(right))
        for some in (questions(args.data, embedder), lost_values(args.transcripts, embedder))
        for name, judged, right in some
        if any(right)
    ]
    names = LexicalFeatures._fields + DenseFeatures._fields
    text = "# What each feature is worth, by kind of session. Made by bench/retrieval_fit.py; see"
    text += " docs/concepts/retrieval.md.\n"
    for kind, shares in SHARES.items():
        for mode, kept in (("lexical", LexicalFeatures._fields), ("dense", names)):
            weights = fit(found, [names.index(name) for name in kept], shares)
            lines = [f"{name} = {weight:.4f}" for name, weight in zip(kept, weights, strict=True)]
            text += f"\n[{kind}.{mode}]\n" + "\n".join(lines) + "\n"
    print(text)
    if args.write:
        WEIGHTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
