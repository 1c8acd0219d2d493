"""Count on real sessions how often rules that were found do not fit, so that one line leads to them.

    uv run python bench/rules_shown.py FOLDER [--per-set 12]

``FOLDER`` holds sets, each a folder of sessions. Every session is compacted without a model for three windows
(at the default size) and to three shares of its own size.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import clew
from clew.compaction.verify.report import LossKind
from clew.errors import ClewError
from clew.message import Message
from clew.providers import convert
from clew.session.result import CompactResult
from clew.transcripts import load

WINDOWS = (200_000, 32_000, 8_000)
SHARES = (0.25, 0.1, 0.05)


def sessions(folder: Path, per_set: int) -> Iterator[list[Message]]:
    """Yield the messages of some sessions of every set."""
    draw = random.Random(3)
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        files = sorted(place.glob("*.zst"))
        for file in draw.sample(files, min(per_set, len(files))):
            try:
                yield load(file)[0].full()
            except (ClewError, IndexError):
                continue  # not a session


def compactions(messages: list[Message]) -> Iterator[tuple[str, CompactResult]]:
    """Yield the compactions of a session, each with its row of the table."""
    listed = convert(messages, "anthropic").items
    tokens = clew.compact(listed, window=10**9).tokens_before
    for window in WINDOWS:
        if tokens > window:
            yield f"window {window:,}", clew.compact(listed, window=window)
    for share in SHARES:
        yield f"{share:.0%} of the session", clew.compact(listed, target_tokens=max(300, int(tokens * share)))


def main() -> None:
    """Print compactions, rules, rules in view word for word, and compactions that left some out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--per-set", type=int, default=12)
    given = parser.parse_args()
    made, rules, shown, partial = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for messages in sessions(given.folder, given.per_set):
        try:
            for name, done in compactions(messages):
                made[name] += 1
                for kept in done.report.kept if done.report else ():
                    if kept.matter is LossKind.RULE:
                        rules[name] += kept.before
                        shown[name] += kept.stand
                        partial[name] += kept.stand < kept.before
        except ClewError as refused:
            made[type(refused).__name__] += 1
    print(f"{'':24}{'compactions':>12}{'rules':>8}{'in view':>8}{'with fewer':>12}")
    for name, number in made.items():
        print(f"{name:24}{number:>12}{rules[name]:>8}{shown[name]:>8}{partial[name]:>12}")


if __name__ == "__main__":
    main()
