"""Does recall show the value that a compaction lost? Measured on real sessions, through the agent's tool.

    python bench/retrieval_shown.py TRANSCRIPTS [--part held|tune] [--sessions N] [--keep DIR] [--user]

Each session is cut at half of its tokens, put into a store and compacted to a tenth. A *lost value* is an
exact value (path, name, id, number) that the real continuation writes again, that the first part holds and
that the view no longer shows. ``recall_search`` is asked for it in three ways, never with the value itself:

- ``line``: the other words of the line that first says it (at least three);
- ``use``: the words around its use after the cut, with a gap where the value stood;
- ``name``: a name of several parts in plain words (``alphaSession`` as "alpha session").

*shown* counts values that stand in what the tool prints; *in view* is how many of its hits the view shows
anyway. *elsewhere* counts those that ``recall`` prints, the tool of ``clew mcp`` and of the frameworks, which
does not know the view. The baseline is plain BM25 (k1 1.2, b 0.75, lower case, no stemming) over pieces of
600 characters of the same messages, its best five printed whole. Sessions that lost a value are taken in the
order of the SHA-256 of their names, at most four from a folder: every second one is measured on (``held``),
the others are for tuning (``tune``). Intervals: bootstrap over sessions.

``--user`` measures something else: whether a message of the user is among the five hits when an agent asks
what the user said about three of its words, drawn at random; and the same words without "the user".
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from clew import Session, SqliteStore
from clew.hosts.search import TURN_KINDS, search_text
from clew.memory.index import Filters
from clew.memory.terms import stem, stop_words, surface
from clew.memory.tools.tool import ask_later
from clew.message import Role
from clew_evals.passages import view_text
from clew_evals.reuse import reuse_probes
from clew_evals.sessions import cuts_of, session_files
from clew_evals.study import sessions_of
from clew_evals.words import first_place

SESSIONS = 30
PER_SET = 4
PER_SESSION = 20
"""Lost values of one session, evenly taken, so that none outweighs the others."""
CUT = 0.5
TARGET = 0.10
LEAST_WORDS = 3
HITS = 5
PIECE = 600
WAYS = ("line", "use", "name")
PER_USER = 6
ASKED = ("what did the user say about {}?", "what did the user want for {}?", "did the user ask for {}")
_WORD = re.compile(r"\w+")
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_HIT = re.compile(r"^\[([^,\]]+), [^\n]*\]\n(`{3,})\n(.*?)\n\2$", re.MULTILINE | re.DOTALL)


def candidates(folder, part):
    """Yield files with their cuts, in the order of their hashes; those for tuning are never measured on."""
    ranked = sorted(session_files([folder]), key=lambda one: hashlib.sha256(one.path.name.encode()).digest())
    for n, file in enumerate(ranked):
        if (n % 2 == 1) == (part == "tune"):
            for session in sessions_of(file):
                yield from ((file, cut) for cut in cuts_of(session, file.set, (CUT,)))


def compacted(path, cut):
    """Put the first part of a session into a store, and compact it."""
    with SqliteStore(path) as store:
        session = Session.open("s", store, window=200_000, mask_secrets=False)
        session.add(*(item.message for item in (*cut.system, *cut.items)))
        session.compact(target_tokens=max(1_500, int(cut.tokens * TARGET)))
        session.close()


def lost_values(cut, view):
    """Return values that the continuation needs and the view does not show."""
    said = view_text(view)
    probes = [p for p in reuse_probes(cut, lambda _: False) if first_place(said, p.kind, p.key) < 0]
    step = max(1, len(probes) // PER_SESSION)
    return probes[::step][:PER_SESSION]


def queries(probe):
    """Yield each way to ask for a value, and the words."""
    line = probe.lines[0].replace(probe.value, " ").replace(probe.key, " ")
    if len(_WORD.findall(line)) >= LEAST_WORDS:
        yield "line", " ".join(_WORD.findall(line))
    use = probe.question.replace("____", " ")
    if len(_WORD.findall(use)) >= LEAST_WORDS:
        yield "use", use
    parts = _PARTS.findall(probe.key)
    if probe.kind in ("identifier", "path", "file", "env") and len(parts) > 1:
        yield "name", " ".join(parts).lower()


class Bm25:
    """Plain BM25 over pieces of fixed size."""

    def __init__(self, texts):
        self.pieces = [text[at : at + PIECE] for text in texts for at in range(0, len(text), PIECE - 100)]
        self.words = [Counter(_WORD.findall(piece.lower())) for piece in self.pieces]
        self.having = Counter(word for words in self.words for word in words)
        self.lengths = [sum(words.values()) for words in self.words]
        self.mean = sum(self.lengths) / max(1, len(self.lengths))
        self.postings = defaultdict(list)
        for n, words in enumerate(self.words):
            for word, count in words.items():
                self.postings[word].append((n, count))

    def search(self, query):
        """Return the best pieces, one below the other."""
        scores = Counter()
        for word in set(_WORD.findall(query.lower())):
            having = self.having[word]
            weight = math.log(1 + (len(self.pieces) - having + 0.5) / (having + 0.5))
            for n, count in self.postings[word]:
                norm = 1.2 * (0.25 + 0.75 * self.lengths[n] / self.mean)
                scores[n] += weight * count * 2.2 / (count + norm)
        return "\n".join(self.pieces[n] for n, _ in scores.most_common(HITS))


def measured(file, cut, keep):
    """Yield a row for each lost value and way to ask."""
    with tempfile.TemporaryDirectory() as folder:
        name = hashlib.sha256(file.path.name.encode()).hexdigest()[:12]
        kept = (Path(keep) if keep else Path(folder)) / f"{name}.log.db"
        if not kept.exists():
            compacted(kept, cut)
        path = Path(folder) / "s.db"
        shutil.copy(kept, path)
        with SqliteStore(path) as store, Session.open("s", store, window=200_000) as session:
            view = session.view()
            probes = lost_values(cut, view)
            plain = Bm25([view_text([item]) for item in cut.items])
            squeezed = _squeezed("\n".join(text for item in view if (text := view_text([item]))))
            box = session.memory.toolbox(session, ask_later)
            session.memory.catch_up()
            for probe in probes:
                for way, query in queries(probe):
                    begin, busy = time.perf_counter(), time.process_time()
                    answer = box.run("recall_search", {"query": query}).text
                    took, cpu = 1000 * (time.perf_counter() - begin), 1000 * (time.process_time() - busy)
                    hits = _HIT.findall(answer)
                    other = search_text(
                        session.memory, query, HITS, Filters(sessions=("s",), kinds=TURN_KINDS)
                    )
                    by_bm25 = first_place(plain.search(query), probe.kind, probe.key) >= 0
                    yield {
                        "session": file.path.name, "set": file.set, "kind": probe.kind, "way": way,
                        "query": query, "key": probe.key,
                        "shown": first_place(view_text_of(answer), probe.kind, probe.key) >= 0,
                        "bm25": by_bm25, "hits": len(hits), "characters": len(answer),
                        "elsewhere": first_place(other, probe.kind, probe.key) >= 0,
                        "elsewhere_characters": len(other), "ms": took, "cpu_ms": cpu,
                        "in_view": sum(_squeezed(text) in squeezed for _, _, text in hits),
                    }  # fmt: skip


def asked_of_user(file, cut):
    """Yield a row for some messages of the user: whether they are found by what an agent would ask."""
    messages = [item.message for item in cut.items]
    said = [(n, one.text) for n, one in enumerate(messages, 1) if one.role is Role.USER and fits(one.text)]
    with tempfile.TemporaryDirectory() as folder, SqliteStore(Path(folder) / "s.db") as store:
        session = Session.open("s", store, window=200_000, mask_secrets=False)
        session.add(*messages)
        rng = random.Random(file.path.name)
        for number, text in rng.sample(said, min(PER_USER, len(said))):
            words = [word for word in dict.fromkeys(surface(text)) if word.isalpha() and len(word) > 3]
            words = [word for word in words if stem(word) not in stop_words()]
            if len(words) > LEAST_WORDS:
                some = " ".join(rng.sample(words, LEAST_WORDS))
                found = {}
                for way, ask in (("words", "{}"), ("user", rng.choice(ASKED))):
                    hits = session.memory.search(ask.format(some), limit=HITS)
                    found[way] = any(hit.entry.ref == f"m{number}" for hit in hits)
                yield {"session": file.path.name, **found}
        session.close()


def fits(text):
    """Whether a text is of a person: neither "ok" nor a paste, nor written by the tool."""
    return 40 < len(text) < 600 and not text.lstrip().startswith(("<", "[", "{"))


def view_text_of(answer):
    return answer.replace("\\\\", "/")


def _squeezed(text):
    return " ".join(text.split())


def interval(rows, field, rounds=1_000):
    """Return the mean and the 95 % interval in percent, sessions drawn with replacement."""
    by = defaultdict(list)
    for row in rows:
        by[row["session"]].append(float(row[field]))
    rng = random.Random(1)
    groups = list(by.values())
    means = sorted(
        statistics.fmean(value for group in rng.choices(groups, k=len(groups)) for value in group)
        for _ in range(rounds)
    )
    mean = statistics.fmean(value for group in groups for value in group)
    return [round(100 * x, 1) for x in (mean, means[int(0.025 * rounds)], means[int(0.975 * rounds)])]


def percentile(rows, field, share):
    values = sorted(row[field] for row in rows)
    return round(values[int(len(values) * share)], 1)


def report(rows):
    """Return the figures by way of asking."""
    found = {}
    for way in WAYS:
        some = [row for row in rows if row["way"] == way]
        if some:
            found[way] = {
                "values": len(some),
                "sessions": len({row["session"] for row in some}),
                "shown": interval(some, "shown"),
                "elsewhere": interval(some, "elsewhere"),
                "bm25": interval(some, "bm25"),
                "hits_in_view": round(statistics.fmean(row["in_view"] for row in some), 2),
                "hits": round(statistics.fmean(row["hits"] for row in some), 2),
                "tokens": round(statistics.fmean(row["characters"] for row in some) / 4),
                "elsewhere_tokens": round(statistics.fmean(row["elsewhere_characters"] for row in some) / 4),
                **{f"{field}_{name}": percentile(some, field, share)
                   for field in ("ms", "cpu_ms") for name, share in (("p50", 0.5), ("p95", 0.95))},
            }  # fmt: skip
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("transcripts", type=Path)
    parser.add_argument("--part", choices=("held", "tune"), default="held")
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--keep", type=Path, help="folder for the compacted stores, used again next time")
    parser.add_argument("--rows", type=Path, help="write every row here, as JSON lines")
    parser.add_argument("--user", action="store_true", help="measure questions about what the user said")
    args = parser.parse_args()
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
    rows, sets = [], Counter()
    for file, cut in candidates(args.transcripts, args.part):
        if sets.total() == args.sessions:
            break
        if args.user or sets[file.set] < PER_SET:
            found = list(asked_of_user(file, cut) if args.user else measured(file, cut, args.keep))
            sets[file.set] += bool(found)
            rows += found
            print(json.dumps({"done": file.path.name, "rows": len(rows)}), file=sys.stderr, flush=True)
    if args.rows:
        args.rows.write_text("\n".join(map(json.dumps, rows)))
    asked = {way: interval(rows, way) for way in ("words", "user")} if args.user else None
    print(json.dumps({"messages": len(rows), **asked} if asked else report(rows), indent=1))
