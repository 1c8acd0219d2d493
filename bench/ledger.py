"""What keeping the ledger costs: on real sessions, late in a long one, and with one giant message.

    uv run python bench/ledger.py ../shared/data/transcripts

Times are CPU time of one process, best of several runs where a run is short. Memory is what the process grew
by while the ledger was filled; the sessions themselves are in memory before.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from clew.errors import InputError
from clew.ledger import Ledger
from clew.ledger.exchange import OpenCalls
from clew.message import Item, Message, Role, Text, ToolCall, ToolResult, text_message, words
from clew.transcripts import load, open_source

RESULTS = Path(__file__).parent / "results" / "ledger.md"
NOT_SESSIONS = ("SOURCE.txt", "LICENSE", "README.md")
SETS = (
    "claude-code-context-evaluator",
    "claude-code-entire-cli",
    "codex-session-bridge",
    "opencode-gatomia",
    "opencode-nimbus",
    "mini-swe-agent",
    "specstory-md",
    "tau2-retail-toolorchestra",
)
ONE_SESSION = SETS[:2] + SETS[3:5]
"""Sets that make one long session when strung together: people at work, no prompt that comes back."""
LONG = 100_000
PROBE = 100
"""Messages of which the cost is compared at several depths of a session."""


def sessions(folder: Path) -> list[list[Item]]:
    found = []
    for path in sorted(folder.iterdir()):
        if path.name in NOT_SESSIONS:
            continue
        try:
            loaded = load(open_source(path))
        except InputError:
            continue
        found += [[Item(entry.id, entry.message) for entry in session.full_entries()] for session in loaded]
    return found


def size(talk: list[Item]) -> int:
    return sum(len(words(part)) for item in talk for part in item.message.parts)


def filled(talk: list[Item]) -> Ledger:
    ledger = Ledger()
    ledger.extend(talk)
    return ledger


def seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def rate_rows(by_set: dict[str, list[list[Item]]]) -> Iterator[str]:
    yield "| set | sessions | messages | MB of text | messages/s | MB/s | µs a message |"
    yield "|---|---|---|---|---|---|---|"
    total: Counter[str] = Counter()
    for name, talks in by_set.items():
        spent = seconds(lambda talks=talks: [filled(talk) for talk in talks])
        row = {
            "sessions": len(talks),
            "messages": sum(map(len, talks)),
            "text": sum(map(size, talks)),
            "us": int(spent * 1e6),
        }
        total.update(row)
        yield rate_row(name, row)
    yield rate_row("**all**", total)


def rate_row(name: str, row: dict[str, int]) -> str:
    spent = row["us"] / 1e6
    cells = (
        f"{row['sessions']:,}",
        f"{row['messages']:,}",
        f"{row['text'] / 1e6:.1f}",
        f"{row['messages'] / spent:,.0f}",
        f"{row['text'] / 1e6 / spent:.1f}",
        f"{row['us'] / row['messages']:.0f}",
    )
    return f"| {name} | {' | '.join(cells)} |"


def share_rows(talks: list[list[Item]]) -> Iterator[str]:
    """Yield what each part of the ledger takes of the time."""
    spent: Counter[str] = Counter()
    for talk in talks:
        ledger, calls = Ledger(), OpenCalls()
        kept = ledger._kept
        for number, item in enumerate(talk):
            before = time.process_time_ns()
            reading = calls.read(item, number)
            for name in (
                "reading",
                "pins",
                "goals",
                "decisions",
                "loops",
                "artifacts",
                "approvals",
                "failures",
            ):
                match name:
                    case "reading":
                        pass
                    case "failures":
                        kept.failures.add(reading, [])
                    case _:
                        getattr(kept, name).add(reading)
                now = time.process_time_ns()
                spent[name] += now - before
                before = now
    yield "| part | share of the time |"
    yield "|---|---|"
    for name, part in spent.most_common():
        yield f"| {name} | {part / spent.total():.0%} |"


def renamed(talks: list[list[Item]], count: int) -> list[Item]:
    """Return one long session made of real ones, again and again, every message under an id of its own."""
    endless = itertools.cycle(itertools.chain.from_iterable(talks))
    return [Item(f"m{n}", item.message) for n, item in enumerate(itertools.islice(endless, count))]


def memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def depth_rows(talk: list[Item], probe: list[Item]) -> Iterator[str]:
    """Yield the cost of the same messages early and late in a session, and what the ledger weighs there."""
    yield "| after messages | µs a message | active pins | MB | copy, ms | to JSON, ms | JSON, MB |"
    yield "|---|---|---|---|---|---|---|"
    gc.collect()
    base = memory_mb()
    ledger = Ledger()
    added = 0
    for depth in (100, 1_000, 10_000, 50_000, LONG):
        ledger.extend(talk[added:depth])
        added = depth
        best = min(seconds(lambda: ledger.copy().extend(probe)) - seconds(ledger.copy) for _ in range(3))
        copying = min(seconds(ledger.copy) for _ in range(3))
        gc.collect()
        grown = memory_mb() - base
        started = time.process_time()
        written = json.dumps(ledger.to_json(), ensure_ascii=False)
        writing = time.process_time() - started
        kept = f"{len(ledger.pins.active)} | {grown:.0f}"
        cost = f"{copying * 1e3:.1f} | {writing * 1e3:.0f} | {len(written) / 1e6:.1f}"
        yield f"| {depth:,} | {best / len(probe) * 1e6:.0f} | {kept} | {cost} |"
        del written


LOG_LINE = "2026-01-01 12:00:00 INFO worker.pool task_42 finished in 12ms (src/pool/worker.py:17)\n"
TYPED_LINE = "I looked at the parser; let's use a lock file instead of polling. Is that fine? Never push.\n"


def giant_rows() -> Iterator[str]:
    yield "| MB | as a tool's output, ms | as the user's text, ms |"
    yield "|---|---|---|"
    asked = Item("a", Message(Role.ASSISTANT, (ToolCall("1", "Bash", {"command": "cat log"}),)))
    for megabytes in (0.1, 1, 10, 50):
        output = LOG_LINE * int(megabytes * 1e6 / len(LOG_LINE))
        told = Item("b", Message(Role.TOOL, (ToolResult("1", (Text(output),)),)))
        typed = Item("c", text_message(Role.USER, TYPED_LINE * int(megabytes * 1e6 / len(TYPED_LINE))))
        costs = [
            min(seconds(lambda t=talk: filled(t)) for _ in range(3)) for talk in ([asked, told], [typed])
        ]
        yield f"| {megabytes} | {costs[0] * 1e3:.0f} | {costs[1] * 1e3:.0f} |"


def report(root: Path) -> str:
    by_set = {name: sessions(root / name) for name in SETS}
    filled(by_set[SETS[0]][0])  # patterns compiled, tables read
    talks = [talk for name in ONE_SESSION for talk in by_set[name]]
    probe = next(talk for talk in by_set[SETS[1]] if len(talk) > PROBE)[:PROBE]
    probe = [Item(f"p{item.id}", item.message) for item in probe]
    parts = [
        "# Keeping the ledger\n\n`uv run python bench/ledger.py FOLDER`\n",
        "## Real sessions\n",
        *rate_rows(by_set),
        f"\n## Where the time goes\n\nOn `{SETS[1]}`, every part timed by itself.\n",
        *share_rows(by_set[SETS[1]]),
        "\n## Late in a long session\n",
        f"Real sessions strung together. The same {PROBE} messages are added to a copy at each depth.\n",
        *depth_rows(renamed(talks, LONG), probe),
        "\n## One giant message\n",
        *giant_rows(),
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    text = report(parser.parse_args().root)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
