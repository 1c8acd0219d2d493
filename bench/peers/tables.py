"""The figures of the peers as a page and as JSON."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from peers.catalogue import OWN, REPOSITORY, Peer

from clew_evals import POLICIES, StudyRow, agreement, summarise_rows
from clew_evals.report.figures import SLACK
from clew_evals.study import probes_by_cut, usual_budget
from clew_evals.summary import HEADLINE, difference

RESULTS = REPOSITORY / "bench" / "results"
COMPARED = (
    "continuity", "next_action", "goal", "reports", "roundtrip", "current", "retained", "far", "hard",
    "in_context", "explained", "answered", "constraints", "open", "files", "failed", "tests",
)  # fmt: skip
"""Where more is better."""
COLUMNS = (
    "share", *COMPARED, "redo", "unsupported", "refetch_tokens", "rewritten", "invalid", "calls", "seconds",
)  # fmt: skip
HEADS = {"refetch_tokens": "re-fetch", "seconds": "CPU s"}
HOW = """\
Every list is in OpenAI's chat format, without thoughts; summaries are written by the scripted model of
`bench/peers/peerkit`, the same for all. The columns are those of `clew eval` (`docs/concepts/measure.md`);
± is half a 95 % interval by session. *share* is what was really taken: who takes a tenth more than its budget
stands below those who keep it. *invalid* is judged by OpenAI's rules; *CPU s* is the pass alone. In italics:
plain policies of `clew eval`, its two cheats, and the ceiling.
"""
AGREEING = (HEADLINE, "explained", "retained", "roundtrip")
FEW = 20


@dataclass(frozen=True, slots=True)
class Measured:
    """A peer that was run, and where what it made is kept."""

    peer: Peer
    versions: Mapping[str, str]
    folder: Path
    jobs: int = 0
    errors: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """Return its package and version."""
        return next((f"{name} {number}" for name, number in self.versions.items() if name != "python"), "")


def to_json(
    rows: Sequence[StudyRow], measured: Sequence[Measured], missing: Mapping[str, str], command: str
) -> dict[str, Any]:
    """Return everything that the page tells."""
    cuts = probes_by_cut(rows)
    return {
        "command": command,
        "python": platform.python_version(),
        "when": datetime.now(UTC).date().isoformat(),
        "sessions": len({row.session for row in rows}),
        "cuts": len(cuts),
        "probes": sum(cuts.values()),
        "versions": {one.peer.name: one.version for one in measured},
        "errors": {
            one.peer.name: {"jobs": one.jobs, "failed": dict(Counter(one.errors))}
            for one in measured
            if one.errors
        },
        "missing": dict(missing),
        "lines": [{"policy": line.policy, **line.to_json()} for line in summarise_rows(rows)],
        "ahead": list(ahead(rows)),
        "agreement": {metric: _tau(rows, metric) for metric in AGREEING if rows},
    }


def _tau(rows: Sequence[StudyRow], metric: str) -> dict[str, float]:
    """Return how far halves of the sessions rank all policies alike, at the budget nearest to a tenth."""
    budget = usual_budget(row.share for row in rows)
    found = agreement([row for row in rows if row.share == budget], metric)
    return {"mean_tau": round(found.mean, 3), "worst_tau": round(found.worst, 3)}


def ahead(rows: Sequence[StudyRow]) -> Iterator[dict[str, Any]]:
    """Yield where somebody is ahead of clew: in what, by how much, and whether it is more than chance."""
    lines = {(line.policy, line.share): line for line in summarise_rows(rows)}
    for (policy, share), line in lines.items():
        ours = lines.get((OWN, share))
        if ours is None or policy == OWN or _is_apart(policy):
            continue
        for metric in COMPARED:
            if metric not in line.means or metric not in ours.means:
                continue
            found = difference(rows, (policy, OWN), share, metric)
            if found and found.value > 0:
                yield {
                    "policy": policy,
                    "budget": share,
                    "metric": metric,
                    "theirs": round(line.means[metric].value, 4),
                    "clew": round(ours.means[metric].value, 4),
                    "by": [round(one, 4) for one in (found.value, found.low, found.high)],
                    "certain": bool(found.interval) and found.low > 0,
                    "share": round(line.means["share"].value, 4),
                    "at_equal_tokens": line.means["share"].value <= share * SLACK,
                }


def _is_apart(policy: str) -> bool:
    known = POLICIES.get(policy)
    return policy != OWN and known is not None and (known.is_cheat or known.sees_future)


def write(figures: Mapping[str, Any]) -> None:
    """Write the page and the figures."""
    write_both("peers", figures, page(figures))


def write_both(name: str, figures: Mapping[str, Any], text: str) -> None:
    """Write a page, and beside it the figures that it is made of."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(figures) + "\n", encoding="utf-8")
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")


def page(figures: Mapping[str, Any]) -> str:
    """Return the page."""
    return "\n".join(_lines(figures)) + "\n"


def _lines(figures: Mapping[str, Any]) -> Iterator[str]:
    yield "# Peers on the measure\n"
    yield f"`{figures['command']}`\n"
    yield (
        f"{figures['when']}, Python {figures['python']}: {figures['cuts']:,} cuts of {figures['sessions']:,} "
        f"real sessions, {figures['probes']:,} values that the continuation needed again.\n"
    )
    yield HOW
    yield from _few(figures["lines"])
    for share in dict.fromkeys(line["budget"] for line in figures["lines"]):
        yield from _table(figures, share)
    yield from _ahead(figures["ahead"])
    yield from _agreement(figures["agreement"])
    yield from _remarks(figures)


def _few(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a warning about the columns that few cuts were asked for."""
    counts: dict[str, int] = {}
    for line in lines:
        for name, asked in line["asked"].items():
            counts[name] = max(asked, counts.get(name, 0))
    rare = [f"{name} at {counts[name]}" for name in COMPARED if 0 < counts.get(name, 0) < FEW]
    if rare:
        yield f"Asked at few cuts, so to be taken with care: {', '.join(rare)}.\n"


def _table(figures: Mapping[str, Any], share: float) -> Iterator[str]:
    yield f"## At {share:.0%} of the tokens\n"
    yield f"| policy | version | {' | '.join(HEADS.get(name, name) for name in COLUMNS)} |"
    yield "|---" * (len(COLUMNS) + 2) + "|"
    mine = [line for line in figures["lines"] if line["budget"] == share]
    mine.sort(key=lambda line: (place_of(line, share), -rank_of(line)))
    for line in mine:
        name = line["policy"]
        shown = f"**{name}**" if name == OWN else f"*{name}*" if name not in figures["versions"] else name
        cells = " | ".join(_cell(line, column) for column in COLUMNS)
        yield f"| {shown} | {figures['versions'].get(name, 'in clew eval')} | {cells} |"
    yield ""


def rank_of(line: Mapping[str, Any]) -> float:
    """Return what a line is ranked by; figures from before that was measured, by what was then."""
    return float(line.get(HEADLINE) or line["explained"] or 0)


def place_of(line: Mapping[str, Any], share: float) -> int:
    """Return 0 for who keeps its budget, 1 for who does not, 2 for cheats and the ceiling."""
    return 2 if _is_apart(line["policy"]) else int(line["share"] > share * SLACK)


def _cell(line: Mapping[str, Any], column: str) -> str:
    value = line.get(column)
    if value is None:
        return "–"
    if column == HEADLINE:
        interval = line["interval"][column]
        return f"{value:.2f} ±{(interval[1] - interval[0]) / 2:.2f}" if interval else f"{value:.2f} ±–"
    if column in ("refetch_tokens", "rewritten"):
        return f"{value:,.0f}"
    return f"{value:.3f}" if column == "seconds" else f"{value:.2f}"


def _ahead(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "## Where somebody is ahead of clew\n"
    equal = [one for one in found if one["at_equal_tokens"]]
    yield "At equal tokens (differences over the same cuts; bold where the 95 % interval leaves out zero):\n"
    yield from map(line_ahead, equal)
    if not equal:
        yield "- nobody, in any column where more is better."
    yield "\nWith more tokens than the budget:\n"
    more: dict[tuple[str, float], list[Mapping[str, Any]]] = {}
    for one in found:
        if not one["at_equal_tokens"]:
            more.setdefault((one["policy"], one["budget"]), []).append(one)
    for (policy, budget), several in more.items():
        names = ", ".join(f"{one['metric']} {one['theirs']:.2f} ({one['clew']:.2f})" for one in several)
        yield f"- {policy} at {budget:.0%}, taking {several[0]['share']:.0%}: {names}"
    if not more:
        yield "- nobody."
    yield ""


def line_ahead(one: Mapping[str, Any]) -> str:
    """Return one figure in which somebody is ahead, as a line."""
    by, low, high = one["by"]
    told = (
        f"{one['policy']} at {one['budget']:.0%}: {one['metric']} {one['theirs']:.2f}, clew {one['clew']:.2f}"
    )
    line = f"{told} (by {by:.2f}, {low:.2f} to {high:.2f})"
    return f"- **{line}**" if one["certain"] else f"- {line}"


def _agreement(found: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    taus = (f"{name} {tau['mean_tau']:.2f} (worst {tau['worst_tau']:.2f})" for name, tau in found.items())
    yield "## Agreement of halves\n"
    yield f"Kendall's tau of the rankings on random halves of the sessions: {', '.join(taus)}.\n"


def _remarks(figures: Mapping[str, Any]) -> Iterator[str]:
    if not figures["errors"] and not figures["missing"]:
        return
    yield "## What went wrong\n"
    for name, why in figures["missing"].items():
        yield f"- {name} is skipped: {why}"
    for name, told in figures["errors"].items():
        for error, count in told["failed"].items():
            counted = "counted as nothing kept" if name == OWN else "left out of its means"
            yield f"- {name}: {error} ({count} of {told['jobs']} lists; {counted})"
