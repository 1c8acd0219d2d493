"""Print the three figures of the README from ``bench/results``: clew and the usual ways.

uv run python bench/figures.py

Each row names the command that measures it; nothing is measured here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
WAYS = ("clew", "clear tool output", "keep newest", "summary")
READER = {"clew": "**clew**", "clear tool output": "masked", "keep newest": "recent"}
CHAINS = {
    "clew": "clew",
    "clear tool output": "langchain-clear",
    "keep newest": "tail",
    "summary": "langchain",
}
LOOP = {
    "clew": "| LangChain | **clew** |",
    "clear tool output": "| LangChain | ClearToolUses |",
    "keep newest": "| Strands | SlidingWindow |",
    "summary": "| LangChain | SummarizationMiddleware(keep 20) |",
}
SECTION = "## Long histories"


def reader() -> dict[str, str]:
    """Return how well a model predicts the real continuation, from a twentieth of a long session."""
    section = (RESULTS / "reader.md").read_text(encoding="utf-8").split(SECTION)[1].split("### ")[1]
    found = {
        way: re.search(rf"^\| {re.escape(name)} \| (\S+) ", section, re.M) for way, name in READER.items()
    }
    return {way: one[1] for way, one in found.items() if one}


def rules_kept() -> dict[str, str]:
    """Return how often a rule of the user is in the view after twenty compactions in a row."""
    figures = json.loads((RESULTS / "peers_chains.json").read_text(encoding="utf-8"))
    last = max(figures["times"])
    kept = {line["policy"]: line["constraints"] for line in figures["lines"] if line["times"] == last}
    return {way: f"{kept[name]:.2f}" for way, name in CHAINS.items()}


def cost() -> dict[str, str]:
    """Return the cost of one tool loop relative to no compaction, prompt cache included."""
    text = (RESULTS / "frameworks.md").read_text(encoding="utf-8")
    rows = {way: text.split(start)[1].split("\n")[0].split("|") for way, start in LOOP.items()}
    return {way: cells[3].strip() for way, cells in rows.items()}


def main() -> None:
    """Print the table."""
    table = {
        "a model continues from 5% (nats, more is better)": reader(),
        "a rule is kept after 20 compactions (share)": rules_kept(),
        "cost of a tool loop (uncompacted: 1.00)": cost(),
    }
    width = max(map(len, table))
    print(" " * width, *(f"{way:>{max(8, len(way))}}" for way in WAYS))
    for title, row in table.items():
        print(f"{title:<{width}}", *(f"{row.get(way, '–'):>{max(8, len(way))}}" for way in WAYS))


if __name__ == "__main__":
    main()
