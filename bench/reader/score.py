"""Let a causal model read compacted contexts: how likely is the real continuation, which values can it read.

    python bench/reader/score.py OUT.jsonl CUTS.jsonl.gz --weights MODEL.gguf --gguf-path DIR
    python bench/reader/score.py OUT.jsonl CUTS.jsonl.gz --copy     # the copy model, in plain Python

Needs PyTorch with CUDA, transformers, tokenizers and numpy; the ``gguf`` package may be in a folder of its
own. Neither clew nor zstandard has to be installed. Contexts are made by ``--workers`` processes while the
model reads. Cuts that OUT already holds are left out, so a run that was cut short (``--seconds``) is taken
up by the same command.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reader.models import CopyReader, GgufReader, GgufTokenizer, Reader, Reading, Tokenizer
from reader.policies import Policies, Row, Rows, block, first_request

LONGEST_REPLY, LONGEST_INPUT = 700, 1_200
"""Tokens of one message of the continuation, the agent's and others'."""
SCORED, LONGEST_CONTINUATION = 1_500, 7_000
"""Tokens of the agent that are scored, and of the continuation in all."""
SYSTEM_TOKENS, REQUEST_TOKENS = 1_500, 600
LARGEST_VIEW = 24_000
NONE, FULL, OURS = "none", "full", "clew"
"""Contexts: the first request alone, the whole history, clew's view."""


@dataclass(slots=True)
class Continuation:
    """What really came next, as tokens: which of them count, and where exact values are."""

    ids: list[int] = field(default_factory=list)
    counted: list[int] = field(default_factory=list)
    """Places of the agent's tokens..."""
    first: int = 0
    """...and how many of these are of its first message."""
    values: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Iterable[Row], reader: Tokenizer) -> Continuation:
        """Take as much of a continuation as is scored."""
        made = cls()
        policies = Policies(reader)
        for row in rows:
            is_agent = row["role"] == "assistant"
            text = row["text"] if is_agent else policies.edges(row["text"], LONGEST_INPUT, 3 / 4, "\n[...]\n")
            if is_agent:
                text = reader.decode(reader.encode(text)[:LONGEST_REPLY])
            if not made._add({**row, "text": text}, reader) or len(made.counted) >= SCORED:
                break
        return made

    def _add(self, row: Row, reader: Tokenizer) -> bool:
        ids, spans = reader.offsets(block(row))
        if len(self.ids) + len(ids) > LONGEST_CONTINUATION:
            return False
        base, head = len(self.ids), len(f"<|im_start|>{row['role']}\n")
        end = head + len(row["text"])
        self.ids += ids
        if row["role"] == "assistant":
            self.counted += [base + i for i, (start, _) in enumerate(spans) if head <= start < end]
            self.first = self.first or len(self.counted)
            for start, stop in row.get("values", ()):
                held = [i for i, (a, b) in enumerate(spans) if a < head + stop <= end and b > head + start]
                if held:
                    self.values.append((base + held[0], base + held[-1] + 1))
        return True


def read_one(reader: Reader, context: Sequence[int], continuation: Continuation) -> dict[str, Any] | None:
    """Return what a reader makes of a continuation after a context; None if that is too long for it."""
    start = len(context)
    if start + len(continuation.ids) > reader.longest:
        return None
    read: Reading = reader.read([*context, *continuation.ids], start)
    nats = [read.nats[place] for place in continuation.counted]
    spans = continuation.values
    return {
        "nats": sum(nats),
        "counted": len(nats),
        "first_nats": sum(nats[: continuation.first]),
        "first_counted": continuation.first,
        "values": len(spans),
        "read": sum(all(read.expected[a:b]) for a, b in spans),
        "tokens": start,
    }


def contexts_of(
    row: Row, reader: Tokenizer, only: Collection[str] | None = None
) -> Iterator[tuple[str, Rows]]:
    """Yield every context that is compared at a cut: clew's views, the plain policies' in as many tokens.

    ``only`` names the plain policies that are read.
    """
    policies = Policies(reader)
    history = [one for one in row["prefix"] if one["role"] != "system"]
    first = first_request(history)
    short = policies.edges(first["text"], REQUEST_TOKENS, 3 / 4, "\n[...]\n") if first else ""
    yield NONE, [{**first, "text": short}] if first else []
    if row["kind"] != "real":
        yield FULL, history
    for label, view in row["views"].items():
        rows = [one for one in view if one["role"] != "system"]
        room = policies.size(rows)
        if room > LARGEST_VIEW:
            continue
        yield label, rows
        name, _, share = label.partition("@")
        if name == OURS:
            for policy, shown in policies.views(history, room).items():
                if only is None or policy in only:
                    yield f"{policy}@{share}", shown


class Prepared(NamedTuple):
    """A cut as a model reads it: the tokens of every context and of the continuation."""

    about: dict[str, str]
    continuation: Continuation
    contexts: dict[str, list[int]]


def prepared(row: Row, tokenizer: Tokenizer, only: Collection[str] | None = None) -> Prepared:
    """Return the tokens of everything that is read at a cut, of the plain policies only those named."""
    policies = Policies(tokenizer)
    system = [
        {**one, "text": policies.edges(one["text"], SYSTEM_TOKENS, 3 / 4, "\n[...]\n")}
        for one in row["prefix"]
        if one["role"] == "system"
    ][:1]
    contexts = {
        name: [token for one in (*system, *rows) for token in tokenizer.encode(block(one))]
        or tokenizer.encode("<|endoftext|>")
        for name, rows in contexts_of(row, tokenizer, only)
    }
    about = {name: row[name] for name in ("id", "set", "tool", "kind")}
    return Prepared(about, Continuation.of(row["continuation"], tokenizer), contexts)


def scored(cut: Prepared, reader: Reader) -> dict[str, Any] | None:
    """Return the scores of all contexts of a cut; None if nothing of its continuation counts."""
    if not cut.continuation.counted:
        return None
    results = {name: read_one(reader, context, cut.continuation) for name, context in cut.contexts.items()}
    return {**cut.about, "contexts": {name: one for name, one in results.items() if one is not None}}


_worker: list[Tokenizer] = []
"""The tokenizer of a worker process."""


def _start_worker(weights: Path, gguf_path: Path | None) -> None:
    _worker.append(GgufTokenizer(weights, gguf_path))


def _prepared_by_worker(row: Row, only: Collection[str] | None) -> Prepared:
    return prepared(row, _worker[0], only)


def rows_in(paths: Iterable[Path]) -> Iterator[Row]:
    """Yield the cuts of files that ``cuts.py`` wrote."""
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("cuts", type=Path, nargs="+")
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument("--weights", type=Path, help="a GGUF file of a Qwen2 model")
    model.add_argument("--copy", action="store_true", help="the copy model, in plain Python")
    parser.add_argument("--gguf-path", type=Path, help="the folder that holds the gguf package")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--workers", type=int, default=12, help="processes that make contexts")
    parser.add_argument("--policies", nargs="+", help="read only these plain policies beside clew's views")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this long")
    asked = parser.parse_args()
    begun = time.monotonic()
    known = set()
    if asked.out.exists():
        known = {json.loads(line)["id"] for line in asked.out.read_text(encoding="utf-8").splitlines()}
    rows = (row for row in rows_in(asked.cuts) if row["id"] not in known)
    if asked.copy:
        copy = CopyReader()
        count = _score_all(
            (prepared(row, copy, asked.policies) for row in rows), copy, asked.out, begun + asked.seconds
        )
    else:
        workers = multiprocessing.get_context("spawn").Pool(
            asked.workers, _start_worker, (asked.weights, asked.gguf_path)
        )
        with workers:
            cuts = workers.imap(
                partial(_prepared_by_worker, only=asked.policies), rows
            )  # before the model loads, so that none waits
            reader = GgufReader(asked.weights, asked.gguf_path, asked.device)
            print(f"model ready after {time.monotonic() - begun:.0f} s", flush=True)
            count = _score_all(cuts, reader, asked.out, begun + asked.seconds)
    print(f"{count} cuts read, {time.monotonic() - begun:.0f} s")
    return 0


def _score_all(cuts: Iterable[Prepared], reader: Reader, out: Path, until: float) -> int:
    """Write the scores of cuts to a file as they come; return how many were read before the time is up."""
    count = 0
    with out.open("a", encoding="utf-8") as file:
        for cut in cuts:
            if time.monotonic() > until:
                print("out of time; the same command goes on from here")
                break
            result = scored(cut, reader)
            if result is not None:
                file.write(json.dumps(result) + "\n")
                file.flush()
                count += 1
    return count


if __name__ == "__main__":
    raise SystemExit(main())
