"""Print what was measured of the peers, from ``bench/results``.

python bench/peers/show.py 0.10            # the table at one budget
python bench/peers/show.py 0.10 --ahead    # where somebody is ahead of clew at equal tokens
python bench/peers/show.py --chains        # after 1, 5 and 20 compactions
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers.chain_tables import by_policy
from peers.tables import RESULTS, line_ahead, place_of, rank_of

SHOWN = (
    "share", "retained", "far", "hard", "in_context", "explained", "roundtrip", "constraints", "open",
    "files", "invalid",
)  # fmt: skip
SHORT = {"constraints": "rules", "roundtrip": "round", "in_context": "context", "explained": "explain"}
CHAINED = {"constraints": "rule", "retained": "retained", "explained": "explained", "roundtrip": "round"}
HEADINGS = ("", "-- more tokens than the budget", "-- cheats and the ceiling")


def table(figures: Mapping[str, Any], share: float) -> Iterator[str]:
    """Yield the lines of a plain table, the best first; who takes more than the budget at the end."""
    yield f"{figures['cuts']} cuts, {share:.0%} of the tokens ({figures['when']})"
    mine = [line for line in figures["lines"] if line["budget"] == share]
    width = max(len(line["policy"]) for line in mine)
    yield " ".join([" " * width, *(f"{SHORT.get(name, name):>8}" for name in SHOWN)])
    for rank, heading in enumerate(HEADINGS):
        several = [line for line in mine if place_of(line, share) == rank]
        if heading and several:
            yield heading
        for line in sorted(several, key=lambda line: -rank_of(line)):
            cells = (f"{_cell(line, name):>8}" for name in SHOWN)
            yield " ".join([f"{line['policy']:{width}}", *cells])


def chains(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a plain table: what is left after more and more compactions."""
    times = figures["times"]
    number = "/".join(map(str, times))
    yield f"{figures['sessions']} sessions, {figures['room']:.0%} of the tokens, after {number} compactions"
    lines = by_policy(figures)
    width = max(map(len, lines))
    heads = (f"{head:>14}" for head in CHAINED.values())
    yield "  ".join([" " * width, *heads, "share", "invalid"])
    last_place = 0
    for name, mine in lines.items():
        longest = mine[times[-1]]
        place = place_of(longest, figures["room"])
        if place != last_place:
            yield HEADINGS[place]
            last_place = place
        cells = (" ".join(_cell(mine.get(one), metric) for one in times) for metric in CHAINED)
        ends = (f"{_cell(longest, 'share'):>5}", f"{_cell(longest, 'invalid'):>7}")
        yield "  ".join([f"{name:{width}}", *(f"{cell:>14}" for cell in cells), *ends])


def _cell(line: Mapping[str, Any] | None, name: str) -> str:
    value = line and line.get(name)
    return "–" if value is None else f"{value:.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("share", type=float, nargs="?", default=0.10)
    parser.add_argument("--ahead", action="store_true")
    parser.add_argument("--chains", action="store_true")
    asked = parser.parse_args()
    if asked.chains:
        print("\n".join(chains(json.loads((RESULTS / "peers_chains.json").read_text(encoding="utf-8")))))
        return 0
    figures = json.loads((RESULTS / "peers.json").read_text(encoding="utf-8"))
    if asked.ahead:
        mine = [one for one in figures["ahead"] if one["budget"] == asked.share and one["at_equal_tokens"]]
        print("\n".join(map(line_ahead, mine)) or "nobody")
    else:
        print("\n".join(table(figures, asked.share)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
