"""Write down what a reader made of the cuts: ``bench/results/reader.md``; with ``--show`` on the screen.

    uv run python bench/reader/report.py SCORES.jsonl … [--model NAME]
    uv run python bench/reader/report.py SCORES.jsonl … --show

Intervals are 95 %, paired, by resampling cuts (one to a session) 2,000 times with a fixed seed.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results" / "reader.md"
RESAMPLES, SEED = 2_000, 1
FEWEST_CUTS = 3
"""Of a tool or set, for a line of its own."""
OURS, NONE, FULL = "clew", "none", "full"
TITLES = {
    "short": "Short histories (9k-24k tokens)",
    "long": "Long histories (50k-200k tokens)",
    "real": "Compactions that tools made themselves, at their own number of tokens",
    "chain": "After a chain of compactions (30k -> 10k), and one compaction to the same size",
}
HOW = """\
A causal model is given a compacted context and then the real continuation of the session; it generates
nothing. **Recovered** is how much of the likelihood that the whole history gives to the agent's next 1,500
tokens the view gives back: 0 is the first request alone, 1 the whole history. **Gain** is the same in nats
per token over the first request alone, for histories too long for the model. **Values read** is the share of
exact values in the continuation, stated before the cut and not since, whose every token is predicted. All
policies have as many tokens as clew's view; *clew, …* are other settings of clew, and no best other of a
tool or set. *clew's advantage* is in nats per token; every interval is 95 %,
paired by cut.
"""

Cut = dict[str, Any]


def nats(cuts: Sequence[Cut], name: str) -> float:
    """Return the nats per token of a context, over all tokens of the cuts."""
    return sum(cut[name]["nats"] for cut in cuts) / max(1, sum(cut[name]["counted"] for cut in cuts))


def recovered(cuts: Sequence[Cut], name: str) -> float:
    """Return the share of what the whole history gives over the first request alone."""
    least, most = nats(cuts, NONE), nats(cuts, FULL)
    return (least - nats(cuts, name)) / (least - most) if least != most else 0.0


def gain(cuts: Sequence[Cut], name: str) -> float:
    """Return the nats per token over the first request alone."""
    return nats(cuts, NONE) - nats(cuts, name)


def values_read(cuts: Sequence[Cut], name: str) -> float:
    """Return the share of exact values that are read."""
    return sum(cut[name]["read"] for cut in cuts) / max(1, sum(cut[name]["values"] for cut in cuts))


Figure = Callable[[Sequence[Cut]], float]


def interval(cuts: Sequence[Cut], figure: Figure) -> tuple[float, float]:
    """Return where a figure lies in 95 % of resamples of the cuts."""
    source = random.Random(SEED)
    found = sorted(figure(source.choices(cuts, k=len(cuts))) for _ in range(RESAMPLES))
    edge = int(RESAMPLES * 0.025)
    return found[edge], found[-1 - edge]


def with_interval(cuts: Sequence[Cut], figure: Figure, form: str = ".3f") -> str:
    """Return a figure and its interval as text."""
    low, high = interval(cuts, figure)
    return f"{figure(cuts):{form}} [{low:{form}}, {high:{form}}]"


def _ahead(one: str, other: str, cuts: Sequence[Cut]) -> float:
    return nats(cuts, other) - nats(cuts, one)


def better_in(cuts: Sequence[Cut], one: str, other: str) -> int:
    """Return at how many cuts one context makes the continuation likelier than another."""
    return sum(cut[one]["nats"] < cut[other]["nats"] for cut in cuts)


# The page ----------------------------------------------------------------------------------------------


def page(rows: Sequence[dict[str, Any]], command: str, model: str) -> Iterator[str]:
    """Yield the page."""
    yield "# Compacted contexts, read by a language model\n"
    yield f"`{command}`; reader: {model}; {datetime.now(UTC).date().isoformat()}.\n"
    yield HOW
    for kind, title in TITLES.items():
        lines = list(_kind([row for row in rows if row["kind"] == kind]))
        if lines:
            yield f"## {title}\n"
            yield from lines


def _kind(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    labels = dict.fromkeys(name for row in rows for name in row["contexts"] if "@" in name)
    for share in dict.fromkeys(label.partition("@")[2] for label in labels):
        names = [label for label in labels if label.endswith(f"@{share}")]
        ours = f"{OURS}@{share}"
        kept = [row for row in rows if all(name in row["contexts"] for name in (NONE, ours))]
        everywhere = [
            name for name in names if sum(name in row["contexts"] for row in kept) >= 0.9 * len(kept)
        ]
        cuts = [row for row in kept if all(name in row["contexts"] for name in everywhere)]
        if len(cuts) >= FEWEST_CUTS:
            yield from _share(cuts, share, everywhere, ours)


def _share(rows: Sequence[dict[str, Any]], share: str, names: Sequence[str], ours: str) -> Iterator[str]:
    cuts = [row["contexts"] for row in rows]
    whole = [cut for cut in cuts if FULL in cut]
    if 2 * len(whole) < len(cuts):
        whole = []
    title = f"recovered ({len(whole)} cuts that the model can read whole)" if whole else "gain"
    size = sum(cut[ours]["tokens"] for cut in cuts) / len(cuts)
    values = sum(cut[ours]["values"] for cut in cuts)
    at = f"At {float(share):.0%}" if share[0].isdigit() else "At the same size"
    yield f"### {at}: {len(cuts)} cuts, about {size:,.0f} tokens, {values:,} values\n"
    yield f"| policy | {title} | values read | nats per token | clew's advantage | clew better in |"
    yield "|---|---|---|---|---|---|"
    ordered = sorted(names, key=lambda name: nats(cuts, name))
    if whole:
        yield _line(whole, whole, FULL, ours)
    for name in (*ordered, NONE):
        yield _line(cuts, whole, name, ours)
    yield ""
    yield from _by(rows, names, ours, "tool")
    yield from _by(rows, names, ours, "set")


def _line(cuts: Sequence[Cut], whole: Sequence[Cut], name: str, ours: str) -> str:
    """Return the row of a context; ``whole`` are the cuts whose whole history was read, if these are most."""
    shown = name.partition("@")[0]
    figure = recovered if whole else gain
    cells = [
        f"**{shown}**" if name == ours else shown,
        with_interval(whole or cuts, lambda some: figure(some, name)),
        with_interval(cuts, lambda some: values_read(some, name)),
        f"{nats(cuts, name):.4f}",
    ]
    if name == ours:
        cells += ["", ""]
    else:
        cells.append(with_interval(cuts, partial(_ahead, ours, name), "+.3f"))
        cells.append(f"{better_in(cuts, ours, name)} of {len(cuts)}")
    return f"| {' | '.join(cells)} |"


def _by(rows: Sequence[dict[str, Any]], names: Sequence[str], ours: str, what: str) -> Iterator[str]:
    """Yield clew against the best of the others, tool by tool or set by set."""
    groups: defaultdict[str, list[Cut]] = defaultdict(list)
    for row in rows:
        groups[row[what]].append(row["contexts"])
    others = [name for name in names if not name.startswith(OURS)]
    large = {group: cuts for group, cuts in groups.items() if len(cuts) >= FEWEST_CUTS}
    if len(groups) < 2 or not others or not large:
        return
    yield f"| {what} | cuts | gain | best other | its gain | clew's advantage |"
    yield "|---|---|---|---|---|---|"
    for group, cuts in large.items():
        best = min(others, key=partial(nats, cuts))
        ahead = with_interval(cuts, partial(_ahead, ours, best), "+.3f")
        shown = f"{best.partition('@')[0]} | {gain(cuts, best):.3f}"
        yield f"| {group} | {len(cuts)} | {gain(cuts, ours):.3f} | {shown} | {ahead} |"
    yield ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("scores", type=Path, nargs="+")
    parser.add_argument("--model", default="Qwen2.5-Coder-1.5B-Instruct Q4_K_M, dequantised to bfloat16")
    parser.add_argument("--show", action="store_true", help="print the page and write nothing")
    asked = parser.parse_args()
    lines = (line for path in asked.scores for line in path.read_text(encoding="utf-8").splitlines())
    rows = list({row["id"]: row for row in map(json.loads, lines)}.values())
    if not rows:
        parser.error("no cut was scored; run bench/reader/score.py first")
    text = "\n".join(page(rows, "uv run python bench/reader/report.py SCORES.jsonl", asked.model)) + "\n"
    if asked.show:
        print(text)
    else:
        RESULTS.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
