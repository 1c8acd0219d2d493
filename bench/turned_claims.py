"""Count how often the checker notices that a word of a sentence was turned into its opposite.

    uv run python bench/turned_claims.py [--half look|judge] [--seconds 75]

Sentences of real agents (``CLEW_TEST_DATA/transcripts``), each compared with its own message: with one word
turned ("fails" to "is green"), which must be refused, and with one word of the same meaning ("fails" to "is
failing"), which must not. The table of opposites was made with the sessions of the half ``look``.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

from clew.compaction.verify.assertions import negated_word
from clew.compaction.verify.opposites import turned_word
from clew.compaction.verify.reversals import reversed_clause
from clew.compaction.verify.wording import Wording, plain
from clew.errors import ClewError
from clew.message import Role
from clew.transcripts import load

DATA = Path(os.environ.get("CLEW_TEST_DATA", Path(__file__).parents[2] / "shared" / "data")) / "transcripts"
WORDS = {
    "fails": ("is green", "is failing"),
    "failed": ("passed", "was a failure"),
    "passes": ("is broken", "is green"),
    "passed": ("failed", "succeeded"),
    "pass": ("fail", "succeed"),
    "chose": ("rejected", "picked"),
    "rejected": ("accepted", "ruled out"),
    "only": ("any", "exclusively"),
    "enabled": ("disabled", "turned on"),
    "disabled": ("enabled", "switched off"),
    "before": ("after", "prior to"),
    "after": ("before", "following"),
    "works": ("is broken", "is working"),
    "missing": ("present", "absent"),
    "required": ("optional", "mandatory"),
    "broken": ("working", "failing"),
}
"""Each word with one of the opposite and one of the same meaning."""
PAIRS = 60


def sentences(half: str, seconds: float) -> Iterator[tuple[str, str, str]]:
    """Yield a word, a sentence that has it, and the message of the sentence."""
    paths = sorted(path for path in DATA.rglob("*") if path.is_file())
    random.Random(11).shuffle(paths)
    started = time.process_time()
    for path in paths[half == "judge" :: 2]:
        if time.process_time() - started > seconds:
            return
        try:
            session = next(iter(load(path)), None)
        except ClewError:
            continue
        said = [message.text for message in (session.full() if session else ())][:120]
        roles = [message.role for message in (session.full() if session else ())][:120]
        for role, text in zip(roles, said, strict=True):
            for sentence in re.split(r"(?<=[.!?])\s+|\n+", text) if role is Role.ASSISTANT else ():
                word = next((word for word in WORDS if re.search(rf"\b{word}\b", sentence)), None)
                if word and 20 < len(sentence) < 300:
                    yield word, sentence, text


def is_refused_without(text: str, source: str) -> bool:
    """Return True if the checks without the table of opposites refuse a claim."""
    return bool(negated_word(text, plain(source)) or reversed_clause(text, [Wording(source)], strictly=False))


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--half", choices=("look", "judge"), default="judge")
    arguments.add_argument("--seconds", type=float, default=75.0)
    asked = arguments.parse_args()
    found = list(sentences(asked.half, asked.seconds))
    random.Random(9).shuffle(found)
    for kind, name in enumerate(("turned", "the same meaning")):
        pairs = [
            (re.sub(rf"\b{word}\b", WORDS[word][kind], text, count=1), source)
            for word, text, source in found[kind * PAIRS : (kind + 1) * PAIRS]
        ]
        before = [is_refused_without(*pair) for pair in pairs]
        now = [
            old or turned_word(text, [source]) is not None
            for old, (text, source) in zip(before, pairs, strict=True)
        ]
        print(f"{name}: {sum(now)} of {len(pairs)} refused, without the table {sum(before)}")


if __name__ == "__main__":
    main()
