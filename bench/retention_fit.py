"""Learn what is needed again, and how well that carries over to sessions from elsewhere.

    uv run --with numpy --with scikit-learn python bench/retention_fit.py PATH... [--measure] [--write]

Every subject that a session has named by a cut is a candidate; its label is whether the continuation needed
it (``clew_evals``). The table of ``clew.compaction.propose.retention`` is fitted as a logistic regression
with one column for every step, sessions counting alike. Each set of sessions (another repository, another
tool) is judged
by a table fitted without it. ``--measure`` compacts every cut to a tenth by that table, and by hand, and
scores what is left; ``--write`` fits on all of them and writes ``retention.toml``.
"""

from __future__ import annotations

import argparse
import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from clew.compaction.plan.apply import apply
from clew.compaction.propose import Situation, brief_of, propose
from clew.compaction.propose.company import Company
from clew.compaction.propose.retention import (
    EDGES,
    TABLE,
    VERSION,
    VOICES,
    Ranking,
    Table,
    features,
    table_of,
)
from clew.compaction.propose.subjects import subjects
from clew.compaction.propose.worth import worth
from clew.ledger import Ledger
from clew.ledger.kinds import ValueKind
from clew.message import Item
from clew_evals.asking import needs_of, session_name
from clew_evals.cuts import COUNTER, Cut, cuts_of
from clew_evals.exact import key_of
from clew_evals.files import SessionFile, labels_near, session_files
from clew_evals.policies import POLICIES, Policy
from clew_evals.score import Score, scored
from clew_evals.study import Study, common_keys, mark, sessions_of

TARGET = Path(__file__).parents[1] / "src" / "clew" / "ladder" / TABLE
SHARES = (0.01, 0.03)
"""Of the tokens before a cut: how much of what is needed bare names of this size hold, by each ranking."""
STRENGTH = 1.0
CHARACTERS_PER_TOKEN = 3.5
UNSEEN = ("dotted name", "quoted")
"""Forms that the measure has no eyes for: they get what the least of the others gets, and not nothing."""
BETWEEN_NAMES = 2
"""Tokens."""
SHARE = 0.10
METRICS = (
    "retained", "far", "hard", "user", "in_context", "explained", "constraints", "open", "files", "refused",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Candidates:
    """What was named by one cut."""

    set: str
    tokens: int
    rows: list[tuple[tuple[str, str | int], ...]]
    """The features of each."""
    needed: np.ndarray
    by_hand: np.ndarray
    sizes: np.ndarray


def candidates(cut: Cut) -> Candidates:
    """Return what was named by a cut, with labels."""
    ledger = Ledger()
    ledger.extend((*cut.system, *cut.items))
    known = {key: one for key, one in subjects(ledger.values).items() if one.kind is not ValueKind.QUOTED}
    company = Company(ledger.values)
    asked = {probe.key for probe in cut.needs.probes} if cut.needs else set()
    return Candidates(
        cut.set,
        cut.tokens,
        [tuple(features(one, company)) for one in known.values()],
        np.array([not asked.isdisjoint(_names(one.kind, key)) for key, one in known.items()]),
        np.array([worth(one, company) for one in known.values()]),
        np.array([len(key) / CHARACTERS_PER_TOKEN + BETWEEN_NAMES for key in known]),
    )


def _names(kind: ValueKind, key: str) -> tuple[str, ...]:
    """Return what a subject may be asked for as: a file by its path, or by its name alone."""
    return (key_of("path", key), key.rsplit("/", 1)[-1]) if kind is ValueKind.PATH else (key,)


def read(files: Sequence[SessionFile]) -> list[Cut]:
    """Return every cut of the files, with what its continuation needs."""
    plan = Study(jobs=1)
    common = common_keys(files, plan)
    labels = labels_near([file.path for file in files[:1]])
    found = []
    for file in files:
        is_common = _Marks(common.get(file.set, frozenset()))
        for session in sessions_of(file):
            for cut in cuts_of(session, file.set):
                needs = needs_of(cut, is_common, labels.get(session_name(file.path), ()))
                found.append(replace(cut, needs=needs, later=()))
    return found


class _Marks(frozenset[int]):
    """What is common to a set."""

    def __call__(self, key: str) -> bool:
        return mark(key) in self


# Fitting -----------------------------------------------------------------------------------------------


class Columns:
    """A column for each step of each list."""

    def __init__(self, cuts: Iterable[Candidates]) -> None:
        found = dict.fromkeys(feature for cut in cuts for row in cut.rows for feature in row)
        self.by_feature = {feature: number for number, feature in enumerate(found)}

    def matrix(self, cuts: Iterable[Candidates]) -> csr_matrix:
        """Return a row for each candidate, with a one in each of its columns."""
        rows = [row for cut in cuts for row in cut.rows]
        places = [self.by_feature[feature] for row in rows for feature in row]
        starts = np.cumsum([0, *map(len, rows)])
        return csr_matrix((np.ones(len(places)), places, starts), (len(rows), len(self.by_feature)))


def fitted(cuts: Sequence[Candidates], columns: Columns) -> dict[str, Any]:
    """Return a table fitted to these cuts, as it is written down."""
    held = [cut for cut in cuts if cut.needed.any()]
    weights = np.concatenate([np.full(len(cut.rows), 1 / len(cut.rows)) for cut in held])
    model = LogisticRegression(C=STRENGTH, max_iter=300)
    needed = np.concatenate([cut.needed for cut in held])
    model.fit(columns.matrix(held), needed, sample_weight=weights * len(weights) / weights.sum())
    return written(model.intercept_[0], dict(zip(columns.by_feature, model.coef_[0], strict=True)))


def written(start: float, points: Mapping[tuple[str, str | int], float]) -> dict[str, Any]:
    """Return points as the table writes them: each list begins at its mean, or forms at none."""

    def steps(name: str, count: int) -> list[float]:
        return [round(float(points.get((name, i), 0.0)), 3) for i in range(count)]

    forms = {str(place): round(float(value), 3) for (name, place), value in points.items() if name == "form"}
    voices = {
        voice.name.lower(): steps(f"named_by.{voice.name.lower()}", len(EDGES["count"]) + 1)
        for voice in VOICES
    }
    error = points.get(("in_error", 1), 0.0) - points.get(("in_error", 0), 0.0)
    start += points.get(("in_error", 0), 0.0)
    unseen = min(value for form, value in forms.items() if form not in UNSEEN)
    forms |= dict.fromkeys(UNSEEN, unseen)
    return {
        "start": round(float(start), 3),
        "in_error": round(float(error), 3),
        **{name: steps(name, len(edges) + 1) for name, edges in EDGES.items() if name != "count"},
        "form": dict(sorted(forms.items(), key=lambda one: -one[1])),
        "named_by": voices,
    }


# Judging -----------------------------------------------------------------------------------------------


def chances(table: Table, cut: Candidates) -> np.ndarray:
    """Return the log-odds that a table gives to each candidate of a cut."""
    lists = {f"named_by.{voice.name.lower()}": row for voice, row in zip(VOICES, table.named_by, strict=True)}
    lists |= {"form": table.form, "in_error": (0.0, table.in_error), **table.steps}
    points = [sum(lists[name][place] for name, place in row) for row in cut.rows]
    return 1 / (1 + np.exp(-table.start - np.array(points)))


def held(cut: Candidates, worths: np.ndarray, share: float) -> float:
    """Return how much of what is needed the names hold that are worth most per token."""
    order = np.argsort(-worths / cut.sizes, kind="stable")
    kept = order[np.cumsum(cut.sizes[order]) <= share * cut.tokens]
    return float(cut.needed[kept].sum() / cut.needed.sum())


def judged(cuts: Sequence[Candidates], worths: Sequence[np.ndarray]) -> list[float]:
    """Return how well a ranking does: the area under its curve, and what names of each size hold."""
    asked = [
        (cut, worth)
        for cut, worth in zip(cuts, worths, strict=True)
        if 0 < cut.needed.sum() < len(cut.needed)
    ]
    if not asked:
        return [float("nan")] * (1 + len(SHARES))
    area = np.mean([roc_auc_score(cut.needed, worth) for cut, worth in asked])
    return [
        float(area),
        *(float(np.mean([held(cut, worth, share) for cut, worth in asked])) for share in SHARES),
    ]


def main() -> None:
    """Fit without each set in turn, and say how the table does on it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--measure", action="store_true", help="score digests of a tenth, ranked either way")
    parser.add_argument("--write", action="store_true", help="fit on all of them and write the table")
    asked = parser.parse_args()
    whole = read(session_files(asked.paths))
    cuts = [candidates(cut) for cut in whole]
    tables = folds(cuts)
    report = compared(cuts, tables)
    if asked.measure:
        measured(whole, tables)
    if asked.write:
        columns = Columns(cuts)
        TARGET.write_text(as_toml(fitted(cuts, columns), report), encoding="utf-8")


def folds(cuts: Sequence[Candidates]) -> dict[str, dict[str, Any]]:
    """Return for each set the table that was fitted without it."""
    columns = Columns(cuts)
    names = sorted({cut.set for cut in cuts})
    return {name: fitted([cut for cut in cuts if cut.set != name], columns) for name in names}


def compared(cuts: Sequence[Candidates], tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Print how each set is ranked by a table fitted without it, and by hand; return the last line."""
    by_set: defaultdict[str, list[Candidates]] = defaultdict(list)
    for cut in cuts:
        by_set[cut.set].append(cut)
    columns = " | ".join(
        f"{name} {how}"
        for name in ("area", *(f"names {s:.0%}" for s in SHARES))
        for how in ("learnt", "by hand")
    )
    print(f"| held-out set | cuts | needed of named | {columns} |")
    print("|---" * (3 + 2 * (1 + len(SHARES))) + "|")
    learnt: list[np.ndarray] = []
    order: list[Candidates] = []
    for name in sorted(by_set):
        worths = [chances(table_of(tables[name]), cut) for cut in by_set[name]]
        print(_row(name, by_set[name], worths))
        learnt += worths
        order += by_set[name]
    last = _row("all, by cut", order, learnt)
    print(last)
    return last


def _row(name: str, cuts: Sequence[Candidates], worths: Sequence[np.ndarray]) -> str:
    pairs = zip(judged(cuts, worths), judged(cuts, [cut.by_hand for cut in cuts]), strict=True)
    told = " | ".join(f"{value:.3f}" for value in itertools.chain.from_iterable(pairs))
    needed = sum(int(cut.needed.sum()) for cut in cuts)
    return f"| {name} | {len(cuts)} | {needed:,} of {sum(len(cut.rows) for cut in cuts):,} | {told} |"


# Measuring ---------------------------------------------------------------------------------------------


EVERYTHING = Policy("the whole of it", lambda cut: cut.items, keeps_budget=False)
"""What is there to be quoted: nothing that repeats the session's own words is bound or told better."""


def measured(cuts: Sequence[Cut], tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Print what digests of a tenth keep of each set: by a table fitted without it, by hand, at best."""
    print(f"\n| set | cuts | ranking | {' | '.join(METRICS)} |")
    print("|---" * (3 + len(METRICS)) + "|")
    by_ranking: defaultdict[str, list[Score]] = defaultdict(list)
    for name, table in tables.items():
        own = [cut.budgeted(SHARE) for cut in cuts if cut.set == name]
        rankings = {"learnt": table_of(table), "by hand": worth}
        policies = [Policy(how, partial(compacted, rank)) for how, rank in rankings.items()]
        for policy in (*policies, EVERYTHING, POLICIES["oracle"]):
            scores = [scored(cut, policy) for cut in own]
            by_ranking[policy.name] += scores
            print(_scores(name, policy.name, scores))
    for how, scores in by_ranking.items():
        print(_scores("all", how, scores))


def compacted(rank: Ranking, cut: Cut) -> list[Item]:
    """Compact a cut with a ranking of one's own."""
    ledger = Ledger()
    view = (*cut.system, *cut.items)
    ledger.extend(view)
    target = cut.budget_tokens + COUNTER.count_all(item.message for item in cut.system)
    now = Situation(view, COUNTER, target, ledger.values, lambda span: brief_of(ledger, span), ranking=rank)
    own = {item.id for item in cut.system}
    return [item for item in apply(propose(now), view) if item.id not in own]


def _scores(name: str, how: str, scores: Sequence[Score]) -> str:
    means = []
    for metric in METRICS:
        known = [value for score in scores if (value := getattr(score, metric)) is not None]
        means.append(f"{np.mean(known):.2f}" if known else "")
    return f"| {name} | {len(scores)} | {how} | {' | '.join(means)} |"


def as_toml(table: Mapping[str, Any], report: str) -> str:
    """Return the table as a file for people."""
    lines = [
        "# Points for what a subject is, who named it, how often and how recently: added up they are the",
        "# log-odds that the session needs it again. Made by bench/retention_fit.py of public sessions; see",
        "# docs/concepts/retention.md. The steps are those of clew.compaction.propose.retention.EDGES.",
        f"version = {VERSION}",
        "# held-out: cuts | needed of named | area, learnt and by hand | held by names of 1 %, and of 3 %",
        f'report = "{report.strip("| ")}"',
        "",
    ]
    lines += [f"{name} = {value}" for name, value in table.items() if not isinstance(value, dict)]
    for name in ("form", "named_by"):
        lines += ["", f"[{name}]", *(f'"{key}" = {value}' for key, value in table[name].items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
