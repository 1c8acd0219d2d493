"""Nine frameworks on one tool loop: without compaction, with their own, with clew.

    uv run --no-default-groups --group frameworks python bench/frameworks/compare.py [names…] [--write]
    uv run --no-default-groups --group hermes python bench/frameworks/compare.py hermes --write

Those that are not installed are skipped; their rows of the last run stay.

63 requests a run. *sent*: tokens of all requests. *breaks*: requests that share less than 90 % of the
request before as their beginning, so that the prompt cache is written again. *cost*: 1.25 for each new
token, 0.1 for each that the request before began with too, 1 for what a summariser reads; in thousand tokens
of plain input. Claude Code's summariser reads the conversation from the prompt cache (the same system prompt,
tools and messages, and an instruction), so it counts like any other request. *rule*: of the 42 requests after
it was said, how many show it word for word, and whether the last does. *kept*: messages that the framework's
own history holds at the end. The model is scripted and its summaries are bland on purpose: what a framework
keeps by itself is what counts.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout, suppress
from importlib.metadata import PackageNotFoundError, version
from io import StringIO
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from clew.message import Message
from clew.tokens import counter_for
from frameworks.drivers import DRIVERS, MODEL, RULE, Run

RESULTS = Path(__file__).parents[1] / "results" / "frameworks.md"
PACKAGES = (
    *("anthropic", "openai", "langchain", "pydantic-ai-slim", "openai-agents", "google-adk"),
    *("strands-agents", "claude-agent-sdk", "hermes-agent"),
)
READ, WRITE, BREAK = 0.1, 1.25, 0.9


class Figures(NamedTuple):
    """What a run sent, and what that costs."""

    sent: int
    breaks: int
    cost: float
    peak: int
    rule: int
    last: bool
    kept: int


def figures(run: Run, kept: int) -> Figures:
    counter = counter_for(MODEL)
    before: list[tuple[str, int]] = []
    sent = breaks = peak = 0
    cost = float(sum(map(counter.count_text, run.summaries)))
    asked = dict(run.cached_summaries)
    for n, messages in enumerate(run.sent):
        now = sized(messages)
        total, shared = sum(size for _, size in now), common(before, now)
        whole = sum(size for _, size in before)
        breaks += bool(before) and shared < BREAK * whole
        cost += shared * READ + (total - shared) * WRITE
        if summary := sized(asked.get(n + 1, ())):
            shared = common(now, summary)
            cost += shared * READ + (sum(size for _, size in summary) - shared) * WRITE
        sent, peak, before = sent + total, max(peak, total), now
    later = [RULE in str(messages) for messages in run.sent[run.reads + 1 :]]
    return Figures(sent, breaks, cost, peak, sum(later), later[-1], kept)


def sized(messages: Sequence[Message]) -> list[tuple[str, int]]:
    """Return the messages of a request, each with its tokens."""
    counter = counter_for(MODEL)
    return [(key(one), counter.count(one)) for one in messages]


def key(message: Message) -> str:
    return repr((message.role, message.parts))


def common(before: Sequence[tuple[str, int]], now: Sequence[tuple[str, int]]) -> int:
    """Return the tokens of the messages that two requests begin with."""
    shared = 0
    for (old, _), (new, size) in zip(before, now, strict=False):
        if old != new:
            break
        shared += size
    return shared


def rows(names: Sequence[str]) -> Iterator[str]:
    yield "| framework | set-up | sent M | breaks | cost k | of none | peak k | rule | kept |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name in names:
        driver, none = DRIVERS[name](), 0.0
        for setup in driver.setups:
            run = Run()
            try:
                with redirect_stdout(StringIO()):  # Hermes prints what it does
                    kept = len(driver.run(run, setup))
            except ImportError as error:
                print(f"{driver.name} is skipped: {error}", file=sys.stderr)
                break
            found = figures(run, kept)
            none = none or found.cost
            bold = "**" if setup.startswith("clew") else ""
            rule = f"{found.rule}, {'yes' if found.last else 'no'}"
            cost = f"{found.cost / 1e3:.0f} | {found.cost / none:.2f}"
            yield (
                f"| {driver.name} | {bold}{setup}{bold} | {found.sent / 1e6:.2f} | {found.breaks} | {cost}"
                f" | {found.peak / 1e3:.0f} | {rule} | {found.kept} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(DRIVERS), help=", ".join(DRIVERS))
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    os.environ.setdefault("OPENAI_AGENTS_DISABLE_TRACING", "1")
    table = []
    for line in rows(args.names or list(DRIVERS)):
        print(line, flush=True)
        table.append(line)
    if args.write:
        write(table)


def write(table: Sequence[str]) -> None:
    """Write the page; rows and versions of frameworks that were not run stay."""
    old = RESULTS.read_text(encoding="utf-8").splitlines()
    ran = {line.split("|")[1] for line in table}
    kept = [line for line in old if line.startswith("| ") and line.split("|")[1] not in ran]
    used = dict(re.findall(r"([\w-]+) (\d[\w.]*)(?=[,.])", next(line for line in old if "Packages:" in line)))
    for name in PACKAGES if " LangChain " in ran else PACKAGES[-1:]:  # Hermes has other versions beside it
        with suppress(PackageNotFoundError):
            used[name] = version(name)
    packages = ", ".join(f"{name} {number}" for name, number in used.items())
    head = [
        "# Nine frameworks on one tool loop",
        "",
        (__doc__ or "").strip(),
        "",
        f"Packages: {packages}.",
        "",
    ]
    RESULTS.write_text("\n".join([*head, *table[:2], *kept, *table[2:]]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
