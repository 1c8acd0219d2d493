"""How far down a compaction should go: the whole bill of real sessions, by share of the window that is left.

    uv run python bench/band.py [--window 40000 200000] [--write]

The sizes of the messages are those of real sessions, read from ``../shared/data/transcripts``; a session
shorter than four windows is continued with the next ones of its tool. Each reply of the model is one request.
A request reads what was sent before from the cache (0.1 of the input price) and writes what is new (1.25); a
compaction at 85 % of the usable window leaves the given share of it and writes all of that but the system
prompt and tools. Nothing is compacted in fact: only sizes count, so that every share is tried on the same
sessions. Costs are relative to the same session without compaction, in a window that holds all of it.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import clew
from clew.budget import DEFAULT, Limit, Policy
from clew.message import Role
from clew.session.gauge import Gauge
from clew.tokens import counter_for, model_named

DATA = Path(__file__).parents[2] / "shared" / "data" / "transcripts"
RESULTS = Path(__file__).parent / "results" / "band.md"
TOOLS = (
    "claude-code-context-evaluator",
    "claude-code-entire-cli",
    "mini-swe-agent",
    "opencode-gatomia",
    "swe-agent",
)
SHARES = (0.60, 0.50, 0.40, 0.35, 0.30, 0.25, 0.20, 0.15)
READ, WRITE = 0.1, 1.25
FIXED = 12_000
"""System prompt and tools of a coding agent, in tokens."""
LENGTH = 4
"""Windows that a session fills in all."""


class Bill(NamedTuple):
    """What a session costs, in tokens of plain input."""

    cost: float
    compactions: int


def sizes_of(folder: Path) -> Iterator[list[tuple[bool, int]]]:
    """Yield the sessions of a tool: for each message whether the model wrote it, and its tokens."""
    counter = counter_for("claude-sonnet-4-5")
    for path in sorted(
        one for one in folder.rglob("*") if one.is_file() and one.suffix not in (".md", ".txt")
    ):
        try:
            sessions = [one.full() for one in clew.load(str(path))]
        except clew.ClewError:
            continue
        for messages in sessions:
            if len(messages) > 20:
                yield [(one.role is Role.ASSISTANT, counter.count(one)) for one in messages]


def long_enough(sessions: Sequence[list[tuple[bool, int]]], tokens: int) -> Iterator[list[tuple[bool, int]]]:
    """Yield sessions of at least so many tokens, short ones one after the other."""
    joined: list[tuple[bool, int]] = []
    for session in sessions:
        joined = [*joined, *session]
        if sum(size for _, size in joined) >= tokens:
            yield joined
            joined = []


def billed(session: Sequence[tuple[bool, int]], window: int | None, policy: Policy) -> Bill:
    """Return the cost of a session; without a window nothing is compacted."""
    usable = Gauge(model_named("unknown"), policy, window).window.usable_tokens if window else 0
    fixed = min(FIXED, usable // 4) if window else FIXED
    start, target = policy.compact_at.of(usable), policy.down_to.of(usable)
    sent, view, cost, compactions = 0, fixed, 0.0, 0
    for is_reply, size in session:
        if is_reply:
            if window and view >= start:
                view, sent, compactions = max(target, fixed), fixed, compactions + 1
            cost += sent * READ + (view - sent) * WRITE
            sent = view
        view += size
    return Bill(cost, compactions)


def rows(windows: Sequence[int]) -> Iterator[str]:
    tools = {tool: list(sizes_of(DATA / tool)) for tool in TOOLS}
    for sessions in tools.values():
        random.Random(1).shuffle(sessions)
    yield "| window | down to | cost | least | most | compactions a session | sessions |"
    yield "|---|---|---|---|---|---|---|"
    for window in windows:
        long = [one for sessions in tools.values() for one in long_enough(sessions, window * LENGTH)]
        plain = [billed(one, None, DEFAULT).cost for one in long]
        for share in SHARES:
            found = [billed(one, window, Policy(down_to=Limit(share=share))) for one in long]
            ratios = sorted(bill.cost / whole for bill, whole in zip(found, plain, strict=True))
            total = sum(bill.cost for bill in found) / sum(plain)
            each = sum(bill.compactions for bill in found) / len(found)
            yield (
                f"| {window:,} | {share:.0%} | {total:.2f} | {ratios[0]:.2f} | {ratios[-1]:.2f} | {each:.1f}"
                f" | {len(long)} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--window", type=int, nargs="+", default=[40_000, 200_000])
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    args = parser.parse_args()
    table = "\n".join(rows(args.window))
    print(table)
    if args.write:
        RESULTS.write_text(f"# Band\n\n{__doc__.strip()}\n\n{table}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
