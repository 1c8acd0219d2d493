"""One compaction by every peer, on the same messages in one run.

    uv run python bench/side_by_side.py
    uv run python bench/side_by_side.py --messages 1000 10000 --peers langchain pydantic-ai-harness clew
    uv run python bench/side_by_side.py --shape real --messages 1000

Sessions are those of ``compact_pass.py``, with a rule in message 2 and another a tenth of the way in. Peers
are driven to the same share of the tokens as nearly as their settings allow. Where one asks a model for a
summary the scripted one answers, and its time is not counted. How to install them: ``bench/peers/README.md``.
"""

from __future__ import annotations

import argparse
import platform
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from compact_pass import SHAPES, session
from peers.catalogue import OWN, Peer, read_peers
from peers.run import JOB_SECONDS, Adapter, PeerMissing, Result

from clew.providers import OPENAI, CheckScope
from clew.tokens import counter_for

RESULTS = Path(__file__).parent / "results" / "side_by_side.md"
SIZES = (1_000, 10_000)
RUNS = 5
SHARE = 0.25
"""Of the tokens before, what the list may have after; the same as in ``compact_pass.py``."""
EARLY = "Never push to main, and don't edit anything under legacy/."
LATER = "From now on, never touch the billing module."
LATER_AT = 0.1
SWEPT = 30
"""Budgets from small to large, on a list with three calls at a time, so that cuts fall everywhere."""

RUNNING = Peer("clew-running", OWN, "running", "clew.compact in a running session, the last message new")
"""Not one of the peers that are measured by what they keep: there it is the same as clew."""
COUNTER = counter_for("gpt-4o")

Chat = list[dict[str, Any]]


# What is compacted -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A list to be compacted; it opens with a system prompt, which nobody touches."""

    messages: Chat
    later: int
    """Where the later rule is."""

    @cached_property
    def tokens(self) -> int:
        """Return the tokens of all but the system prompt."""
        return tokens_of(self.messages) - tokens_of(self.messages[:1])

    def job(self, share: float) -> dict[str, Any]:
        """Return it as a job for an adapter, both rules pinned for peers that know pins."""
        return {
            "id": f"{len(self.messages)} messages, {share:.2f}",
            "messages": self.messages,
            "target_tokens": int(self.tokens * share),
            "tokens": self.tokens,
            "pins": [1, self.later],
        }

    def share(self, after: Chat) -> float:
        """Return the share of the tokens that was kept."""
        return (tokens_of(after) - tokens_of(self.messages[:1])) / self.tokens


def tokens_of(messages: Chat) -> int:
    return COUNTER.count_all(OPENAI.parse(messages))


@cache
def case(count: int, seed: int, shape: str = "short") -> Case:
    messages: Chat = OPENAI.render(item.message for item in session(shape, count, seed))
    while messages[-1].get("tool_calls"):  # a call without its result is invalid before any peer sees it
        messages.pop()
    later = next(at for at in range(int(count * LATER_AT), count) if messages[at]["role"] == "user")
    messages[later] = {**messages[later], "content": f"{messages[later]['content']} {LATER}"}
    return Case(messages, later)


def parallel_case(turns: int = 12) -> Case:
    """Return a list in which every turn has three calls at once, so that most places are no place to cut."""
    messages: Chat = [{"role": "system", "content": "You help."}, {"role": "user", "content": EARLY}]
    for turn in range(turns):
        ids = [f"call_{turn}_{number}" for number in range(3)]
        call = {"name": "read_file", "arguments": f'{{"path": "src/module_{turn}.py"}}'}
        calls = [{"id": call_id, "type": "function", "function": call} for call_id in ids]
        messages.append({"role": "user", "content": f"Look at module {turn} and tell me what it does."})
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        for call_id in ids:
            lines = "\n".join(f"line {line} of module {turn} for {call_id}" for line in range(8))
            messages.append({"role": "tool", "tool_call_id": call_id, "content": lines})
        messages.append({"role": "assistant", "content": f"Module {turn} reads its settings and starts."})
    return Case(messages, 1)


# What comes of it ------------------------------------------------------------------------------------


@dataclass
class Row:
    """A peer, and what was seen of it."""

    peer: Peer
    versions: dict[str, str] = field(default_factory=dict)
    seconds: dict[int, list[float]] = field(default_factory=dict)
    cpu_seconds: dict[int, list[float]] = field(default_factory=dict)
    shares: dict[int, list[float]] = field(default_factory=dict)
    early: list[bool] = field(default_factory=list)
    later: list[bool] = field(default_factory=list)
    shown: list[bool] = field(default_factory=list)
    """Whether the model that wrote a summary was shown the later rule, for each list where one was asked."""
    refused: list[tuple[str, ...]] = field(default_factory=list)
    """The rules of the API that each list breaks."""
    errors: list[str] = field(default_factory=list)

    def checked(self, result: Result) -> bool:
        """Check a list; False where there is none."""
        if result.messages is None:
            self.errors.append(f"{result.id}: {result.error}")
            return False
        self.refused.append(OPENAI.check({"messages": result.messages}, scope=CheckScope.MESSAGES).rule_ids)
        return True

    def timed(self, size: int, given: Case, result: Result) -> None:
        """Take a pass on so many messages into account."""
        if not self.checked(result) or result.messages is None:
            return
        said = str(result.messages)
        self.seconds.setdefault(size, []).append(result.seconds)
        self.cpu_seconds.setdefault(size, []).append(result.cpu_seconds)
        self.shares.setdefault(size, []).append(given.share(result.messages))
        self.early.append(EARLY.partition(",")[0] in said)
        self.later.append(LATER.partition(", ")[2] in said)
        if result.calls:
            self.shown.append(given.later in result.shown)

    def cells(self, sizes: Sequence[int]) -> Iterator[str]:
        """Yield the cells of its line."""
        package, version = next(((k, v) for k, v in self.versions.items() if k != "python"), ("", ""))
        yield self.peer.name
        yield f"{package} {version}"
        for clock in (self.cpu_seconds, self.seconds):
            yield from (f"{statistics.median(clock[size]):.4f}" if size in clock else "–" for size in sizes)
        yield " · ".join(f"{statistics.mean(self.shares[size]):.2f}" for size in sizes if size in self.shares)
        yield from (f"{sum(found)}/{len(found)}" for found in (self.early, self.later))
        yield f"{sum(self.shown)}/{len(self.shown)}" if self.shown else "no model"
        yield f"{sum(map(bool, self.refused))}/{len(self.refused)}"

    def remarks(self) -> Iterator[str]:
        """Yield what a cell cannot tell."""
        yield from (f"- {self.peer.name}, {error}" for error in dict.fromkeys(self.errors))
        broken = Counter(rule for rules in self.refused for rule in rules)
        if broken:
            told = ", ".join(f"{rule} in {count}" for rule, count in broken.items())
            yield f"- {self.peer.name}, rules of the API broken: {told} of {len(self.refused)} lists"


def measured(peer: Peer, asked: argparse.Namespace) -> Row:
    """Time a peer, and check all that it returns."""
    row = Row(peer)
    with Adapter(peer, asked.timeout) as adapter:
        row.versions = adapter.versions
        adapter.do(case(100, seed=-1).job(asked.share))  # what is only ever done once is done
        swept = parallel_case()
        for step in range(1, SWEPT + 1):
            row.checked(adapter.do(swept.job(step / (SWEPT + 2))))
        for size in asked.messages:
            for seed in range(asked.runs):
                given = case(size, seed, asked.shape)
                result = adapter.do(given.job(asked.share))
                row.timed(size, given, result)
                if result.error:
                    break
    return row


def lines(asked: argparse.Namespace) -> Iterator[str]:
    """Yield the page, a peer at a time."""
    sizes = asked.messages
    yield "# One compaction, side by side\n"
    names, sizes_given = " ".join(asked.peers), " ".join(map(str, sizes))
    options = f"--shape {asked.shape} --messages {sizes_given} --runs {asked.runs} --peers {names}"
    yield f"`uv run python bench/side_by_side.py {options}`\n"
    how = f"{asked.shape} texts, median of {asked.runs}, down to {asked.share:.0%} of the tokens"
    yield f"Python {platform.python_version()}, {how}.\n"
    timed = (f"{size:,} messages, {clock}" for clock in ("CPU s", "s") for size in sizes)
    heads = (
        "peer",
        "version",
        *timed,
        "kept",
        "rule in message 2",
        "later rule",
        "shown to its model",
        "invalid",
    )
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    remarks, rows = [], []
    for name in asked.peers:
        peer = all_peers()[name]
        try:
            row = measured(peer, asked)
        except PeerMissing as cause:
            remarks.append(f"- {name} is skipped: {cause}")
            continue
        yield "| " + " | ".join(row.cells(sizes)) + " |"
        remarks += row.remarks()
        rows.append(row)
    yield from ratios(rows, sizes)
    yield "\n" + "\n".join(remarks)


def ratios(rows: Sequence[Row], sizes: Sequence[int]) -> Iterator[str]:
    """Yield each peer's CPU time as a multiple of the first one's."""
    first, *others = rows
    yield f"\nCPU time as a multiple of {first.peer.name}'s:\n"
    yield "| peer | " + " | ".join(f"{size:,} messages" for size in sizes) + " |"
    yield "|---" * (len(sizes) + 1) + "|"
    for row in others:
        found = (
            statistics.median(row.cpu_seconds[size]) / statistics.median(first.cpu_seconds[size])
            if size in row.cpu_seconds and size in first.cpu_seconds
            else None
            for size in sizes
        )
        yield f"| {row.peer.name} | " + " | ".join(f"{one:.1f}" if one else "–" for one in found) + " |"


def all_peers() -> dict[str, Peer]:
    """Return the peers of the catalogue, and clew in a running session."""
    return {**read_peers(), RUNNING.name: RUNNING}


def main() -> None:
    known = all_peers()
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", choices=SHAPES, default="short")
    parser.add_argument("--messages", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--peers", nargs="+", choices=known, default=list(known), metavar="NAME")
    parser.add_argument("--share", type=float, default=SHARE)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--timeout", type=float, default=JOB_SECONDS, help="seconds for one pass")
    parser.add_argument("--write", action="store_true", help="also write it to bench/results/")
    asked = parser.parse_args()
    page = []
    for line in lines(asked):
        print(line, flush=True)
        page.append(line)
    if asked.write:
        path = RESULTS if asked.shape == "short" else RESULTS.with_stem(f"side_by_side_{asked.shape}")
        path.write_text("\n".join(page) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
