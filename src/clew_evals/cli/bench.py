"""``clew bench``: measure recall quality on public benchmarks."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clew.cli.terminal import Terminal
from clew.errors import MissingExtra
from clew.memory.embedders import SentenceEmbedder, StaticEmbedder, embed_lacking
from clew.memory.index import Embedder
from clew.memory.index.sqlite import SqliteIndex
from clew_evals.retrieval.benchmark import Result, ask_all, ask_baselines, below, fill, summary
from clew_evals.retrieval.datasets import Pool, datasets

SHOWN = {
    "any@5": "turn_any5", "all@5": "turn_all5", "share@5": "turn_r5", "share@10": "turn_r10",
    "nDCG@10": "turn_ndcg10", "sessions any@5": "session_any5", "share@10 ": "session_r10",
    "tokens": "tokens",
}  # fmt: skip
"""Columns, and the figures they show."""
CLEW = ("lexical", "hybrid", "encoder")


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Measure and report."""
    figures: dict[str, dict[str, Any]] = {}
    embedders = _embedders(args.encoder, term)
    for name, pools in datasets(args.data).items():
        results: dict[str, list[Result]] = {}
        for pool in pools:
            term.note(f"{name}: {pool.name}, {len(pool.entries)} turns, {len(pool.questions)} questions")
            for mode, result in _ask(pool, embedders):
                results.setdefault(mode, []).append(result)
        figures[name] = {mode: summary(some) for mode, some in results.items()}
        for mode in CLEW:
            if mode in results:
                figures[name][mode]["below_bm25"] = below(results[mode], results["bm25"])
    if args.json:
        term.write(json.dumps(figures))
    else:
        for line in _table(figures):
            term.say(line)
    return 0


def _embedders(encoder: Path | None, term: Terminal) -> dict[str, Embedder]:
    """Return the embedders to measure, each with the name of its mode."""
    try:
        shipped: dict[str, Embedder] = {"hybrid": StaticEmbedder()}
    except MissingExtra as missing:
        term.note(f"skipping vector search: {missing}")
        return {}
    return {**shipped, "encoder": SentenceEmbedder(encoder)} if encoder else shipped


def _ask(pool: Pool, embedders: Mapping[str, Embedder]) -> Iterator[tuple[str, Result]]:
    """Yield each result with its mode: the baselines, lexical search, then with each embedder."""
    yield from ask_baselines(pool)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        with SqliteIndex(path, model="") as index:
            fill(index, pool)
            for result in ask_all(index, pool):
                yield "lexical", result
        for mode, embedder in embedders.items():
            with SqliteIndex(path, model=embedder.name) as index:
                for _ in embed_lacking(index, embedder):
                    pass
                for result in ask_all(index, pool, embedder):
                    yield mode, result


def _table(figures: dict[str, dict[str, Any]]) -> Iterator[str]:
    yield f"{'':34}{'questions':>10}" + "".join(f"{name:>15}" for name in SHOWN)
    for name, modes in figures.items():
        for mode, result in modes.items():
            kinds = {f"  {kind}": some for kind, some in result["per_kind"].items()} if mode in CLEW else {}
            for label, row in {f"{name}, {mode}": result, **kinds}.items():
                if row["questions"]:
                    cells = "".join(f"{row[figure]:>15}" for figure in SHOWN.values())
                    yield f"{label:34}{row['questions']:>10}{cells}"
            if mode in CLEW and (interval := result["turn_r10_interval"]):
                yield f"{'  95 % interval of share@10':34}{interval[0]} to {interval[1]}"
            for kind, found in result.get("below_bm25", {}).items():
                low, high = found["interval"]
                yield f"  {kind}: {found['difference']} below plain BM25 ({low} to {high})"
