"""How fast searching is, and how large the index gets: 10k, 100k, 1M turns in one workspace.

    python bench/retrieval.py [TURNS ...] [--no-vectors]

The turns are made up: words by Zipf's law from 50,000, 8 to 60 words a turn, 400 turns a session. Questions
take 3 to 7 words from one turn that exists, so that there is something to find. The baseline is a plain FTS5
table in the same process: bm25() over the same words, any of the question's words matching.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sqlite3
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from clew.memory.embedding import embed_lacking
from clew.memory.search import Query, search
from clew.memory.static import StaticEmbedder
from clew.memory.words import analyse
from clew.message import Trust
from clew.ports.index import Entry
from clew.store.index import SqliteIndex

WORDS = 50_000
PER_SESSION = 400
BATCH = 2_000
QUESTIONS = 200


def vocabulary(rng):
    parts = [a + b for a in "bcdfghjklm" for b in "aeiou"]
    words = {"".join(rng.choices(parts, k=rng.randint(2, 4))) for _ in range(WORDS * 2)}
    return sorted(words)[:WORDS]


def turns(rng, count):
    """Yield made-up turns."""
    words = vocabulary(rng)
    weights = list(accumulate(1 / (rank + 5) for rank in range(len(words))))
    rng.shuffle(words)
    for n in range(count):
        said = rng.choices(words, cum_weights=weights, k=rng.randint(8, 60))
        day = f"{2020 + n % 5}-{1 + n % 12:02}-{1 + n % 28:02}"
        yield Entry(
            ref=f"t{n}",
            session=f"s{n // PER_SESSION}",
            time=f"{day}T12:00:00Z",
            role="user" if n % 2 else "assistant",
            trust=Trust.USER,
            text=" ".join(said),
        )


def timed(function, each):
    """Return percentiles by the clock, and of the processor's time, which a busy machine does not blur."""
    wall, cpu = [], []
    for one in each:
        begin, busy = time.perf_counter(), time.process_time()
        function(one)
        wall.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - busy)
    return {
        f"{what}_{name}_ms": round(1000 * sorted(times)[int(len(times) * share)], 2)
        for what, times in (("wall", wall), ("cpu", cpu))
        for name, share in (("p50", 0.5), ("p95", 0.95))
    }


def measure(count, vectors):
    rng = random.Random(7)
    embedder = StaticEmbedder() if vectors else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.db"
        index = SqliteIndex(path, model=embedder.name if embedder else "")
        baseline = sqlite3.connect(Path(folder) / "plain.db")
        baseline.execute("CREATE VIRTUAL TABLE plain USING fts5 (text, content = '')")
        kept, spent, batch, row = [], 0.0, [], 0
        for entry in turns(rng, count):
            batch.append(entry)
            if rng.random() < QUESTIONS * 1.5 / count:
                kept.append(entry)
            if len(batch) == BATCH:
                begin = time.perf_counter()
                index.add("w", [analyse(one) for one in batch])
                spent += time.perf_counter() - begin
                rows = [(row + i, one.text) for i, one in enumerate(batch)]
                baseline.executemany("INSERT INTO plain (rowid, text) VALUES (?, ?)", rows)
                row += len(batch)
                batch = []
        baseline.commit()
        report = {"turns": count, "add_per_s": round(row / spent)}
        if embedder:
            begin = time.perf_counter()
            list(embed_lacking(index, embedder, batch=5_000))
            report["embed_per_s"] = round(row / (time.perf_counter() - begin))
        questions = [" ".join(rng.sample(one.text.split(), rng.randint(3, 7))) for one in kept[:QUESTIONS]]
        at = "2025-01-01T00:00:00Z"

        def ask(text, embedder=None):
            return search(index, "w", Query(text=text, at=at), embedder)

        def plain(text):
            match = " OR ".join(text.split())
            sql = "SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT 10"
            return baseline.execute(sql, (match,)).fetchall()

        new = [replace(entry, session="new") for entry in turns(random.Random(8), 200)]
        with closing(index), closing(baseline):
            begin = time.perf_counter()
            ask(questions[0], embedder)
            report["first_search_ms"] = round(1000 * (time.perf_counter() - begin))
            report["lexical"] = timed(ask, questions)
            if embedder:
                report["hybrid"] = timed(lambda text: ask(text, embedder), questions)
            report["plain_fts5"] = timed(plain, questions)
            report["append"] = timed(lambda entry: index.add("w", [analyse(entry)]), new)
            report["found_first"] = sum(
                (hits := ask(text, embedder)) != [] and hits[0].entry == entry
                for text, entry in zip(questions, kept, strict=False)
            ) / len(questions)
            report["bytes_per_turn"] = round(path.stat().st_size / count)
            report["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return report


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("turns", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--no-vectors", action="store_true")
    args = parser.parse_args()
    for count in args.turns:
        print(json.dumps(measure(count, not args.no_vectors)), flush=True)
