"""Print what was measured of the peers at one budget, from ``bench/results/peers.json``.

python bench/peers/show.py 0.10            # the table
python bench/peers/show.py 0.10 --ahead    # where somebody is ahead of clew at equal tokens
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers.tables import RESULTS, line_ahead, place_of

SHOWN = (
    "share", "retained", "far", "hard", "bound", "told", "roundtrip", "constraints", "open", "files",
    "invalid",
)  # fmt: skip
SHORT = {"constraints": "rules", "roundtrip": "round"}


def table(figures: Mapping[str, Any], share: float) -> Iterator[str]:
    """Yield the lines of a plain table, the best first; who takes more than the budget at the end."""
    yield f"{figures['cuts']} cuts, {share:.0%} of the tokens ({figures['when']})"
    mine = [line for line in figures["lines"] if line["budget"] == share]
    width = max(len(line["policy"]) for line in mine)
    yield " ".join([" " * width, *(f"{SHORT.get(name, name):>8}" for name in SHOWN)])
    for rank, heading in enumerate(("", "-- more tokens than the budget", "-- cheats and the ceiling")):
        several = [line for line in mine if place_of(line, share) == rank]
        if heading and several:
            yield heading
        for line in sorted(several, key=lambda line: -(line["told"] or 0)):
            cells = (f"{'–' if line[name] is None else format(line[name], '.2f'):>8}" for name in SHOWN)
            yield " ".join([f"{line['policy']:{width}}", *cells])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("share", type=float)
    parser.add_argument("--ahead", action="store_true")
    asked = parser.parse_args()
    figures = json.loads((RESULTS / "peers.json").read_text(encoding="utf-8"))
    if asked.ahead:
        mine = [one for one in figures["ahead"] if one["budget"] == asked.share and one["at_equal_tokens"]]
        print("\n".join(map(line_ahead, mine)) or "nobody")
    else:
        print("\n".join(table(figures, asked.share)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
