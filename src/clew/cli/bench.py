"""Measure how well clew finds things again, on public benchmarks that lie on this computer.

DIR holds `locomo10.json` (github.com/snap-research/locomo) or `longmemeval_oracle.json`
(github.com/xiaowu0162/LongMemEval), in any folder below it; .gz will do. Nothing is downloaded and no
model is asked. How it is measured stands in docs/concepts/retrieval.md.

examples:
  clew bench retrieval --data ~/benchmarks
  clew bench retrieval --data ~/benchmarks --json
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clew.cli.terminal import Terminal
from clew.errors import MissingExtra
from clew.memory.datasets import Pool, datasets
from clew.memory.embedding import embed_lacking
from clew.memory.static import StaticEmbedder
from clew.memory.trial import Result, ask_all, fill, summary
from clew.store.index import SqliteIndex

SHOWN = ("turn_r5", "turn_r10", "turn_ndcg10", "session_r5", "session_r10")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("what", choices=["retrieval"], help="what to measure")
    parser.add_argument("--data", metavar="DIR", type=Path, default=Path("data"), help="default: ./data")
    parser.add_argument("--json", action="store_true", help="for other programs")


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Measure and report."""
    figures: dict[str, dict[str, Any]] = {}
    for name, pools in datasets(args.data).items():
        results: dict[str, list[Result]] = {}
        for pool in pools:
            term.note(f"{name}: {pool.name}, {len(pool.entries)} turns, {len(pool.questions)} questions")
            for mode, result in _ask(pool, term):
                results.setdefault(mode, []).append(result)
        figures[name] = {mode: summary(some) for mode, some in results.items()}
    if args.json:
        term.write(json.dumps(figures))
    else:
        for line in _table(figures):
            term.write(line)
    return 0


def _ask(pool: Pool, term: Terminal) -> Iterator[tuple[str, Result]]:
    """Yield each result with its mode: words alone, then with the embedder that clew brings along."""
    try:
        embedder = StaticEmbedder()
    except MissingExtra as missing:
        term.note(f"without vectors: {missing}")
        embedder = None
    with tempfile.TemporaryDirectory() as folder:
        model = embedder.name if embedder else ""
        with SqliteIndex(Path(folder) / "bench.db", model=model) as index:
            fill(index, pool)
            for result in ask_all(index, pool):
                yield "lexical", result
            if embedder:
                for _ in embed_lacking(index, embedder):
                    pass
                for result in ask_all(index, pool, embedder):
                    yield "hybrid", result


def _table(figures: dict[str, dict[str, Any]]) -> Iterator[str]:
    yield f"{'':34}{'questions':>10}" + "".join(f"{name:>14}" for name in SHOWN)
    for name, modes in figures.items():
        for mode, found in modes.items():
            kinds = {f"  {kind}": some for kind, some in found["per_kind"].items()}
            rows = {f"{name}, {mode}": found, **kinds}
            for label, row in rows.items():
                if row["questions"]:
                    yield f"{label:34}{row['questions']:>10}" + "".join(f"{row[f]:>14.1f}" for f in SHOWN)
