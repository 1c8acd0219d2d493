"""How fast searching is, and how large the index gets: 10k, 100k, 1M turns in one workspace.

    python bench/retrieval.py [TURNS ...] [--no-vectors]

The turns are made up: words by Zipf's law from 50,000, 8 to 60 words a turn, 400 turns a session. Questions
take 3 to 7 words from one turn that exists, so that there is something to find. Two baselines over the same
words in the same process, any of the question's words matching, ten hits by BM25: a plain FTS5 table, and
tantivy (Rust, https://github.com/quickwit-oss/tantivy-py), the fastest single library at hand. Neither has
exact values, dates, speakers, neighbours, filters, workspaces or vectors; both say what the floor is.
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
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path

from clew.memory.embedders import StaticEmbedder, embed_lacking
from clew.memory.index import Entry
from clew.memory.index.sqlite import SqliteIndex
from clew.memory.search import Query, search
from clew.memory.terms import analyse
from clew.message import Trust

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


def percent_found(found, kept):
    """Return how often the turn that a question was made from came first."""
    return round(100 * sum(one == entry.ref for one, entry in zip(found, kept, strict=False)) / len(found), 1)


def seconds_since(begin):
    return time.perf_counter() - begin


def built(index, count):
    """Put the turns in; return some to ask about, and how long it took."""
    chance = random.Random(6)
    kept, spent, batch = [], 0.0, []
    for entry in turns(random.Random(7), count):
        batch.append(entry)
        if chance.random() < QUESTIONS * 1.5 / count:
            kept.append(entry)
        if len(batch) == BATCH:
            begin = time.perf_counter()
            index.add("w", [analyse(one) for one in batch])
            spent += seconds_since(begin)
            batch = []
    return kept[:QUESTIONS], spent


def ours(folder, count, vectors):
    """Measure clew's index; return the report, and what was asked."""
    embedder = StaticEmbedder() if vectors else None
    path = Path(folder) / "index.db"
    at = "2025-01-01T00:00:00Z"
    with closing(SqliteIndex(path, model=embedder.name if embedder else "")) as index:
        kept, spent = built(index, count)
        report = {"turns": count, "add_per_s": round(count / spent)}
        if embedder:
            begin = time.perf_counter()
            list(embed_lacking(index, embedder, batch=5_000))
            report["embed_per_s"] = round(count / seconds_since(begin))
        rng = random.Random(9)
        questions = [" ".join(rng.sample(one.text.split(), rng.randint(3, 7))) for one in kept]

        def ask(text, embedder=None):
            return search(index, "w", Query(text=text, at=at), embedder)

        begin = time.perf_counter()
        ask(questions[0], embedder)
        report["first_search_ms"] = round(1000 * seconds_since(begin))
        report["lexical"] = timed(ask, questions)
        if embedder:
            report["hybrid"] = timed(lambda text: ask(text, embedder), questions)
        new = [entry._replace(session="new") for entry in turns(random.Random(8), 200)]
        report["append"] = timed(lambda entry: index.add("w", [analyse(entry)]), new)
        first = [hits[0].entry.ref if (hits := ask(text, embedder)) else "" for text in questions]
        report["found_first"] = percent_found(first, kept)
    report["bytes_per_turn"] = round(path.stat().st_size / count)
    report["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return report, questions, kept


def plain_fts5(folder, count, questions, kept):
    """Measure a table of FTS5 and nothing else."""
    path = Path(folder) / "plain.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE VIRTUAL TABLE plain USING fts5 (text, content = '')")
        begin = time.perf_counter()
        rows = ((n, entry.text) for n, entry in enumerate(turns(random.Random(7), count)))
        database.executemany("INSERT INTO plain (rowid, text) VALUES (?, ?)", rows)
        database.commit()
        spent = seconds_since(begin)
        sql = "SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT 10"

        def ask(text):
            return database.execute(sql, (" OR ".join(text.split()),)).fetchall()

        def append(entry):
            database.execute("INSERT INTO plain (rowid, text) VALUES (?, ?)", (None, entry.text))
            database.commit()

        report = {"search": timed(ask, questions)}
        first = [f"t{rows[0][0]}" if (rows := ask(text)) else "" for text in questions]
        report["append"] = timed(append, list(turns(random.Random(8), 50)))
    return {
        **report,
        "found_first": percent_found(first, kept),
        "add_per_s": round(count / spent),
        "bytes_per_turn": round(path.stat().st_size / count),
    }


def tantivy(folder, count, questions, kept):
    """Measure the library tantivy; None where it is not installed."""
    if find_spec("tantivy") is None:
        return None
    from tantivy import Document, Index, SchemaBuilder

    path = Path(folder) / "tantivy"
    path.mkdir()
    builder = SchemaBuilder()
    builder.add_text_field("ref", stored=True, tokenizer_name="raw")
    builder.add_text_field("text", stored=False)
    index = Index(builder.build(), path=str(path))
    writer = index.writer(heap_size=256_000_000, num_threads=1)
    begin = time.perf_counter()
    for entry in turns(random.Random(7), count):
        writer.add_document(Document(ref=entry.ref, text=entry.text))
    writer.commit()
    writer.wait_merging_threads()
    spent = seconds_since(begin)
    index.reload()
    searcher = index.searcher()

    def ask(text):
        found = searcher.search(index.parse_query(text, ["text"]), 10).hits
        return [searcher.doc(address)["ref"][0] for _, address in found]

    report = {"search": timed(ask, questions)}
    first = [(ask(text) or [""])[0] for text in questions]
    writer = index.writer(heap_size=32_000_000, num_threads=1)

    def append(entry):
        writer.add_document(Document(ref=entry.ref, text=entry.text))
        writer.commit()

    report["append"] = timed(append, list(turns(random.Random(8), 50)))
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return {
        **report,
        "found_first": percent_found(first, kept),
        "add_per_s": round(count / spent),
        "bytes_per_turn": round(size / count),
    }


def measure(count, vectors):
    """Return all that is measured at one size; ours first, so that its memory is its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # tantivy may still write
        report, questions, kept = ours(folder, count, vectors)
        report["plain_fts5"] = plain_fts5(folder, count, questions, kept)
        report["tantivy"] = tantivy(folder, count, questions, kept)
    return report


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("turns", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--no-vectors", action="store_true")
    args = parser.parse_args()
    for count in args.turns:
        print(json.dumps(measure(count, not args.no_vectors)), flush=True)
