"""Measure the compaction ladder on real sessions: what pruning alone frees, and what each rung frees live.

    uv run python bench/pruning.py FOLDER [SESSIONS_PER_SET]

``FOLDER`` holds one folder per data set. The first table prunes whole sessions with every rule and says what
that frees and how many exact values then are nowhere in the view. The second runs sessions message by message
in a window of 40,000 tokens with automatic compaction.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from clew.compaction.plan import Shrink
from clew.compaction.propose.prune import ALONE, RULES, Rule
from clew.compaction.propose.shrink import ShrinkCollector
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.compaction.propose.steps import steps_of
from clew.errors import ClewError
from clew.ledger.kinds import value_words
from clew.log.store import MemoryStore
from clew.message import Item, Message, Role, words
from clew.session import Request, Session
from clew.tokens import counter_for
from clew.transcripts import load

WINDOW = 40_000
FEWEST, MOST = 100, 1_500
"""Messages of a session that is measured."""
REASONS = {
    "repeated in": "repeated outputs",
    "asked again": "calls made again",
    "read again": "outdated reads",
    "changed in": "outdated reads",
    "nearly repeated": "nearly repeated outputs",
    "replaced by the plan": "replaced plans",
    "only confirms": "confirmations of calls",
    "only says": "confirmations of calls",
    "no longer current": "outdated text of files",
    "lines of it were changed": "outdated text of files",
    "the file was overwritten": "outdated text of files",
    "done in": "failed edits made later",
    "shown again": "text shown again later",
    "a log": "logs",
    "a large output": "large outputs",
    "thinking": "thinking of earlier turns",
    "room for": "excerpts",
}


def sessions(folder: Path, most: int) -> Iterator[tuple[str, list[Message]]]:
    """Yield some sessions of every data set, chosen by a fixed seed."""
    for kind in sorted(path for path in folder.iterdir() if path.is_dir() and path.name != "_labels"):
        files = sorted(path for path in kind.iterdir() if path.name != "SOURCE.txt")
        random.Random(7).shuffle(files)
        taken = 0
        for path in files:
            if taken == most:
                break
            try:
                found = load(path)
            except (ClewError, OSError):
                continue
            messages = found[0].full() if found else []
            if FEWEST <= len(messages) <= MOST:
                taken += 1
                yield kind.name, messages


def kind_of(reason: str) -> str:
    """Return what a reason is about."""
    found = (name for mark, name in REASONS.items() if mark in reason)
    return next(found, re.sub(r"\d+", "#", reason))


def pruned(messages: list[Message]) -> Counter[tuple[str, str]]:
    """Prune a session with every rule; count tokens and values by kind of reason."""
    counter = counter_for("unknown")
    view = [Item(f"m{n}", message) for n, message in enumerate(messages, start=1)]
    context = ShrinkContext(view, counter)
    steps, collector = steps_of(view), ShrinkCollector(context)
    rules: tuple[Rule, ...] = (*RULES, *ALONE)
    for rule in rules:
        for stub in rule(context, steps):
            collector.add(stub.place, stub.text, stub.reason, 8, stub.instead)
    shown = {shrink.id: shrink for shrink in collector.shrinks()}
    after = [shown[item.id].message if item.id in shown else item.message for item in view]
    left = {word for message in after for part in message.parts for word in value_words(words(part))}
    totals: Counter[tuple[str, str]] = Counter()
    totals["all", "tokens"] = counter.count_all(messages)
    for item in view:
        if shrink := shown.get(item.id):
            kind = kind_of(shrink.reason)
            gone = {word for part in item.message.parts for word in value_words(words(part))}
            totals[kind, "tokens"] += counter.count(item.message) - counter.count(shrink.message)
            totals[kind, "messages"] += 1
            totals[kind, "values"] += len(gone)
            totals[kind, "gone"] += len(gone - left)
    return totals


def live(messages: list[Message]) -> Counter[tuple[str, str]]:
    """Run a session message by message with automatic compaction; count tokens by rung and reason."""
    session = Session.open("live", MemoryStore(), window=WINDOW)
    totals: Counter[tuple[str, str]] = Counter()
    for message in messages:
        session.add(message)
        if message.role is Role.ASSISTANT:
            continue
        before = {item.id: item.message for item in session.view()}
        done = session.fit(Request(made=40), auto=True).compaction
        if done is None:
            continue
        totals["", "compactions"] += 1
        for op in done.plan.operations:
            if isinstance(op, Shrink):
                saved = session.counter.count(before[op.id]) - session.counter.count(op.message)
                totals[op.rung.value, kind_of(op.reason)] += saved
        for freed in done.plan.freed:
            if freed.rung.value in ("summarise", "fold"):
                totals[freed.rung.value, "digest"] += freed.tokens
    return totals


def main(folder: str, per_set: str = "6") -> None:
    """Print both tables."""
    whole: Counter[tuple[str, str]] = Counter()
    runs: Counter[tuple[str, str]] = Counter()
    count = lived = 0
    for _, messages in sessions(Path(folder), int(per_set)):
        whole.update(pruned(messages))
        count += 1
        if count % 3 == 0:  # a live run takes seconds
            try:
                runs.update(live(messages))
                lived += 1
            except ClewError as error:
                print(f"not measured live: {error}", file=sys.stderr)
    print(f"## Pruning alone: {count} sessions, {whole['all', 'tokens']:,} tokens\n")
    heads = ("what is pruned", "messages", "tokens freed", "of all tokens", "values in them")
    print(f"| {' | '.join(heads)} | nowhere else in the view |")
    print("|---|---|---|---|---|---|")
    kinds = sorted({kind for kind, _ in whole} - {"all"}, key=lambda kind: -whole[kind, "tokens"])
    for kind in kinds:
        row = [whole[kind, name] for name in ("messages", "tokens", "values", "gone")]
        share, gone = row[1] / whole["all", "tokens"], row[3] / max(1, row[2])
        print(f"| {kind} | {row[0]:,} | {row[1]:,} | {share:.2%} | {row[2]:,} | {row[3]:,} ({gone:.0%}) |")
    total = sum(tokens for (rung, _), tokens in runs.items() if rung)
    print(f"\n## Live in {WINDOW:,} tokens: {lived} sessions, {runs['', 'compactions']} compactions\n")
    print("| step | what | tokens freed | share |\n|---|---|---|---|")
    for (rung, kind), tokens in runs.most_common():
        if rung:
            print(f"| {rung} | {kind} | {tokens:,} | {tokens / total:.1%} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
