"""Which questions take long: search by kind of question and by filter, in one workspace.

    python bench/retrieval_kinds.py [TURNS] [--ask N]

The turns are those of ``bench/retrieval.py``. Times are the processor's, in milliseconds, at the median and
at the 95th percentile, by words alone and with vectors.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path

import retrieval

from clew.memory.embedders import StaticEmbedder, embed_lacking
from clew.memory.index import EntryKind, Filters
from clew.memory.index.sqlite import SqliteIndex
from clew.memory.search import Query, search
from clew.message import Trust

AT = "2025-01-01T00:00:00Z"
COMMON = 60
"""So many of the most frequent words are called common."""


def by_frequency():
    """Return the words of the made-up turns, the most frequent first."""
    rng = random.Random(7)
    words = retrieval.vocabulary(rng)
    rng.shuffle(words)
    return words


def asked(rng, plain):
    """Return questions by kind."""
    words = by_frequency()
    common = words[:COMMON]

    def some(make):
        return [make() for _ in plain]

    return {
        "3 to 7 words of a turn": plain,
        "common words only": some(lambda: " ".join(rng.sample(common, 4))),
        "24 words, most common": some(lambda: " ".join(rng.sample(words, 4) + rng.sample(common, 20))),
        "800 words": some(lambda: " ".join(rng.choices(words[:3_000], k=800))),
        "about me": [f"what did I say about {one}" for one in plain],
        "about both of us": [f"remind me what you told me about {one}" for one in plain],
        "a path that is not there": some(lambda: "where is src/{}/{}_{}.py?".format(*rng.sample(words, 3))),
        "a value of two common words": some(lambda: "where is {}.{}?".format(*rng.sample(common, 2))),
        "a value that ends in one letter": some(lambda: f"what is {rng.choice(common)}.c?"),
        "a quotation": ['who said "{} {}"?'.format(*one.split()[:2]) for one in plain],
        "of a day": [f"{one} on {1 + n % 28} May 2022" for n, one in enumerate(plain)],
        "of a year": [f"{one} in 2022" for one in plain],
    }


def filtered(turns):
    """Return filters by what they ask for."""
    last = turns // retrieval.PER_SESSION
    return {
        "in one session": Filters(sessions=(f"s{last // 2}",)),
        "in 20 sessions": Filters(sessions=tuple(f"s{n}" for n in range(0, last, max(1, last // 20)))[:20]),
        "by a role": Filters(roles=("user",)),
        "of some kinds": Filters(kinds=(EntryKind.TURN, EntryKind.ARTIFACT, EntryKind.DOCUMENT)),
        "of some trust": Filters(trust=Trust.USER),
        "after a time": Filters(after="2024-06-01"),
        "within two days": Filters(after="2022-03-01", before="2022-03-03"),
    }


def measure(turns, number):
    """Yield each kind with its times."""
    embedder = StaticEmbedder()
    with (
        tempfile.TemporaryDirectory() as folder,
        SqliteIndex(Path(folder) / "index.db", model=embedder.name) as index,
    ):
        kept, _ = retrieval.built(index, turns)
        list(embed_lacking(index, embedder, batch=5_000))
        rng = random.Random(9)
        plain = [" ".join(rng.sample(one.text.split(), rng.randint(3, 7))) for one in kept[:number]]
        search(index, "w", Query(text=plain[0], at=AT), embedder)  # the first one reads all vectors' signs
        cases = {name: (texts, Filters()) for name, texts in asked(rng, plain).items()}
        cases |= {name: (plain, filters) for name, filters in filtered(turns).items()}
        for name, (texts, filters) in cases.items():
            queries = [Query(text=text, at=AT, filters=filters) for text in texts]
            words = retrieval.timed(lambda query: search(index, "w", query), queries)
            vectors = retrieval.timed(lambda query: search(index, "w", query, embedder), queries)
            yield (
                name,
                [words["cpu_p50_ms"], words["cpu_p95_ms"], vectors["cpu_p50_ms"], vectors["cpu_p95_ms"]],
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("turns", type=int, nargs="?", default=100_000)
    parser.add_argument("--ask", type=int, default=60, help="questions of each kind")
    args = parser.parse_args()
    for name, times in measure(args.turns, args.ask):
        print(
            json.dumps({"turns": args.turns, "kind": name, "words_ms": times[:2], "hybrid_ms": times[2:]}),
            flush=True,
        )
