"""What chains of compactions leave, as a page and as JSON."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from peers.catalogue import OWN
from peers.tables import HEADS, Measured, place_of, rank_of, write_both

from clew_evals import StudyRow, summarise_rows
from clew_evals.chains import Link
from clew_evals.summary import HEADLINE, difference

DRIFTING = ("constraints", "retained", "far", HEADLINE, "roundtrip", "files", "open")
"""What is told after each number of compactions, and compared: more is better."""
ONCE = ("share", "unsupported", "invalid", "calls", "seconds")
"""What is told of the longest chains alone."""
HEADS_HERE = {**HEADS, "constraints": "rule"}
HOW = """\
The first part of each session comes in 1, 5 or 20 pieces; after each a peer compacts its last list and what
came since, down to {share:.0%} of the whole. All chains end at the same cut with the same room: what they
differ in is drift. *rule* is one rule of the user's, a message of its own in the first tenth. The other
columns are those of `clew eval` (`docs/concepts/measure.md`); those behind *open* are of the longest chain.
Who takes a tenth more than the room stands below those who keep it. In italics: plain policies, the two
cheats, and the ceiling.

Summaries are written by the scripted model of `bench/peers/peerkit`: first sentences of what it is shown,
its own earlier lines included. A rule is such a sentence, so here it has the same chance as any other to be
written down again. *clew* is handed its last result each time (`after=`), *clew-list* nothing but the list.
Peers that keep a state beside the list (google-adk, langmem, agno, llama-index, semantic-kernel) get the
list anew each time, and know less than they would.
"""


def to_json(
    links: Sequence[Link],
    measured: Sequence[Measured],
    missing: Mapping[str, str],
    command: str,
    share: float,
) -> dict[str, Any]:
    """Return everything that the page tells."""
    rows = [_row(link) for link in links]
    lines = summarise_rows(rows)
    return {
        "command": command,
        "python": platform.python_version(),
        "when": datetime.now(UTC).date().isoformat(),
        "room": share,
        "sessions": len({row.session for row in rows}),
        "times": sorted({link.times for link in links}),
        "versions": {one.peer.name: one.version for one in measured},
        "errors": {one.peer.name: dict(Counter(one.errors)) for one in measured if one.errors},
        "missing": dict(missing),
        "lines": [{"policy": line.policy, "times": int(line.share), **line.to_json()} for line in lines],
        "ahead": list(_ahead(rows, share)),
    }


def _row(link: Link) -> StudyRow:
    """Return a link as a row whose budget is the number of compactions: what the lines are told apart by."""
    return StudyRow(link.set, link.session, "", 1.0, 0, 0, float(link.times), link.policy, link.score)


def _ahead(rows: Sequence[StudyRow], share: float) -> Iterator[dict[str, Any]]:
    """Yield where somebody that keeps the room is ahead of clew after so many compactions."""
    for line in summarise_rows(rows):
        if line.policy.startswith(OWN) or place_of(_placed(line.policy, line.means["share"].value), share):
            continue
        for metric in DRIFTING:
            found = difference(rows, (line.policy, OWN), line.share, metric)
            if found and found.value > 0:
                yield {
                    "policy": line.policy,
                    "times": int(line.share),
                    "metric": metric,
                    "by": [round(one, 4) for one in (found.value, found.low, found.high)],
                    "certain": bool(found.interval) and found.low > 0,
                }


def _placed(policy: str, share: float) -> dict[str, Any]:
    return {"policy": policy, "share": share}


def write(figures: Mapping[str, Any]) -> None:
    """Write the page and the figures."""
    write_both("peers_chains", figures, page(figures))


def page(figures: Mapping[str, Any]) -> str:
    """Return the page."""
    return "\n".join(_lines(figures)) + "\n"


def _lines(figures: Mapping[str, Any]) -> Iterator[str]:
    yield "# Peers under many compactions\n"
    yield f"`{figures['command']}`\n"
    told = f"{figures['sessions']:,} real sessions, a cut of each"
    yield f"{figures['when']}, Python {figures['python']}: {told}.\n"
    yield HOW.format(share=figures["room"])
    yield from _table(figures)
    yield "## Where somebody is ahead of clew in as many tokens\n"
    yield from map(_line_ahead, figures["ahead"])
    if not figures["ahead"]:
        yield "- nobody, after any number of compactions."
    yield from _remarks(figures)


def by_policy(figures: Mapping[str, Any]) -> dict[str, dict[int, Mapping[str, Any]]]:
    """Return the lines of each policy by the number of compactions, the best first."""
    found: dict[str, dict[int, Mapping[str, Any]]] = {}
    for line in figures["lines"]:
        found.setdefault(line["policy"], {})[line["times"]] = line
    most = figures["times"][-1]

    def rank(item: tuple[str, dict[int, Mapping[str, Any]]]) -> tuple[int, float]:
        last = item[1][most]
        return place_of(last, figures["room"]), -rank_of(last)

    return dict(sorted(((name, lines) for name, lines in found.items() if most in lines), key=rank))


def _table(figures: Mapping[str, Any]) -> Iterator[str]:
    times = figures["times"]
    each = " / ".join(f"{number}×" for number in times)
    heads = [*(f"{HEADS_HERE.get(name, name)} {each}" for name in DRIFTING)]
    yield f"| policy | version | {' | '.join([*heads, *(HEADS_HERE.get(name, name) for name in ONCE)])} |"
    yield "|---" * (len(DRIFTING) + len(ONCE) + 2) + "|"
    for name, lines in by_policy(figures).items():
        shown = f"**{name}**" if name == OWN else f"*{name}*" if name not in figures["versions"] else name
        drifting = (" / ".join(_figure(lines.get(number), metric) for number in times) for metric in DRIFTING)
        once = (_figure(lines[times[-1]], metric) for metric in ONCE)
        version = figures["versions"].get(name, "in clew eval")
        yield f"| {' | '.join([shown, version, *drifting, *once])} |"
    yield ""


def _figure(line: Mapping[str, Any] | None, metric: str) -> str:
    value = line and line.get(metric)
    return "–" if value is None else f"{value:.2f}"


def _line_ahead(one: Mapping[str, Any]) -> str:
    by, low, high = one["by"]
    line = f"{one['policy']} after {one['times']}×: {one['metric']} by {by:.2f} ({low:.2f} to {high:.2f})"
    return f"- **{line}**" if one["certain"] else f"- {line}"


def _remarks(figures: Mapping[str, Any]) -> Iterator[str]:
    if figures["errors"] or figures["missing"]:
        yield "\n## What went wrong\n"
    for name, why in figures["missing"].items():
        yield f"- {name} is skipped: {why}"
    for name, failed in figures["errors"].items():
        for error, count in failed.items():
            yield f"- {name}: {error} ({count} chains ended in it and are left out of its means)"
