"""Let a causal model continue prompts greedily, for ``bench/rules_obeyed.py``.

    python bench/reader/reply.py PROMPTS.jsonl.gz REPLIES.jsonl --weights MODEL.gguf --gguf-path DIR

Each prompt is a line ``{"id": …, "prompt": …}``, each reply ``{"id": …, "reply": …}``. Needs what
``score.py`` needs. Prompts that REPLIES already answers are left out, so the same command takes up a run
that was cut short.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reader.models import GgufReader

LONGEST_REPLY = 120
TOKENS_AT_ONCE = 120_000
"""Of prompts in one batch, with padding: about 30 GB for a model of 1.5 billion parameters."""


def batches(prompts: Sequence[tuple[str, list[int]]]) -> Iterator[list[tuple[str, list[int]]]]:
    """Yield prompts of about one length together, the longest first, so that little padding is read."""
    batch: list[tuple[str, list[int]]] = []
    for one in sorted(prompts, key=lambda prompt: -len(prompt[1])):
        if batch and len(batch[0][1]) * (len(batch) + 1) > TOKENS_AT_ONCE:
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("prompts", type=Path)
    parser.add_argument("replies", type=Path)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--gguf-path", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this long")
    asked = parser.parse_args()
    begun = time.monotonic()
    reader = GgufReader(asked.weights, asked.gguf_path, asked.device)
    known = set()
    if asked.replies.exists():
        known = {json.loads(line)["id"] for line in asked.replies.read_text(encoding="utf-8").splitlines()}
    with gzip.open(asked.prompts, "rt", encoding="utf-8") as lines:
        rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    left = [(str(row["id"]), reader.encode(row["prompt"])) for row in rows if row["id"] not in known]
    with asked.replies.open("a", encoding="utf-8") as out:
        for batch in batches(left):
            if time.monotonic() - begun > asked.seconds:
                print("out of time; the same command goes on from here")
                break
            replies = reader.continued([ids for _, ids in batch], LONGEST_REPLY)
            for (name, _), reply in zip(batch, replies, strict=True):
                out.write(json.dumps({"id": name, "reply": reply}) + "\n")
            out.flush()
    print(f"{len(left)} prompts, {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
