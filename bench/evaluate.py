"""Run ``clew eval`` over folders of real sessions, at several budgets, and write down what it says.

    uv run python bench/evaluate.py FOLDER                  # all policies at 5, 10, 20, 40 %; an hour or so
    uv run python bench/evaluate.py FOLDER --share 0.10
    uv run python bench/evaluate.py --from A.json B.json    # what `clew eval FOLDER … --json` printed before
    uv run python bench/evaluate.py --show                  # a short table of what was written last
    uv run python bench/evaluate.py --show-own              # and of what tools lost at their own compactions

Of several files with the same cuts the later ones count: so clew alone can be measured again. Writes
``bench/results/eval.md`` and ``eval.json``. Nothing of the sessions themselves is in there.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
USUAL = 0.10
OWN, UNCUT, CEILING = "clew", "whole", "oracle"
COLUMNS = (
    "share", "continuity", "next_action", "goal", "redo", "reports", "roundtrip", "current", "retained",
    "far", "hard", "user", "in_context", "explained", "answered", "constraints", "decisions", "rules", "open",
    "files", "failed", "tests", "stale", "unsupported", "verbatim", "user_words", "agent_prose", "tool_lines",
    "bare_values", "recoverable", "recalled", "refetch_tokens", "rewritten", "over", "refused", "invalid",
    "seconds",
)  # fmt: skip
SHOWN = (
    "share", "continuity", "next_action", "goal", "redo", "reports", "roundtrip", "current", "retained",
    "far", "constraints", "open", "files", "refused", "invalid",
)  # fmt: skip
BY_SET = (
    "continuity", "next_action", "goal", "redo", "reports", "roundtrip", "current", "retained", "far",
    "in_context", "constraints", "open", "files", "refused", "invalid",
)  # fmt: skip
SHORT = {
    "constraints": "rules", "rules": "rules found", "roundtrip": "round", "refetch_tokens": "re-fetch",
    "continuity": "going on", "next_action": "next",
}  # fmt: skip
WHOLE = ("refetch_tokens", "rewritten")
WITH_INTERVAL = ("continuity", "next_action", "goal", "redo", "reports", "roundtrip", "current", "explained")
SAME = ("cuts", "sessions", "probes")
CEILED = ("retained", "far", "hard", "user", "in_context", "explained", "answered", "roundtrip")
HOW = """\
The columns are those of `clew eval` ([measure](../../docs/concepts/measure.md)); ± is half a 95 % interval by
session. `whole` is the uncut history, `oracle` knows what will be asked: the ceilings. `bare-values` and
`stuffed` are made to cheat. Less is better for *redo*, *stale*, *unsupported*, *re-fetch*, *rewritten*,
*over*, *refused*, *invalid* and *seconds*.
"""

Line = Mapping[str, Any]


def measured(folder: Path, share: str) -> dict[str, Any]:
    """Run the command; return what it prints."""
    command = [sys.executable, "-m", "clew", "eval", str(folder), "--ceiling", "--share", share, "--json"]
    return dict(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))


def summary_of(*figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is worth keeping of it."""
    if len({tuple(one[name] for name in SAME) for one in figures}) > 1:
        raise SystemExit("these figures are not of the same cuts")
    policies: dict[str, dict[str, Line]] = {}
    sets: dict[str, Line] = {}
    own: Mapping[str, Any] = {}
    for one in figures:
        for name, lines in one["policies"].items():
            policies.setdefault(name, {}).update(_by_share(lines))
        for name, lines in one["sets"].items():
            sets |= {name: line} if (line := _by_share(lines.get(OWN, {})).get(f"{USUAL:g}")) else {}
        own = one.get("compactions", own)
    return {
        **{name: figures[0][name] for name in SAME},
        "runs": len(figures),
        "policies": policies,
        "agreement": figures[0]["agreement"],
        "sets": sets,
        "compactions": {
            "policies": own.get("policies", {}),
            "judged": len(own.get("each", ())),
            "unjudged": len(own.get("unjudged", ())),
        },
        "python": platform.python_version(),
        "when": datetime.now(UTC).date().isoformat(),
    }


def lines_at(figures: Mapping[str, Any], share: float) -> dict[str, Line]:
    """Return the line of each policy at a budget; the best first, limits at the end."""
    found = figures["policies"].items()
    lines = {name: line for name, by_share in found if (line := by_share.get(f"{share:g}"))}
    return dict(sorted(lines.items(), key=lambda item: (_place(*item), -_rank(item[1]))))


def _by_share(lines: Line) -> dict[str, Line]:
    """Return a policy's lines by budget, whether it was measured at one or at several."""
    return {f"{lines['budget']:g}": lines} if "budget" in lines else dict(lines)


def _place(name: str, line: Line) -> int:
    if name in (CEILING, UNCUT, "bare-values", "stuffed"):
        return 2
    return int(line["share"] > line["budget"] * 1.1)


def _rank(line: Line) -> float:
    """Return what a line is ranked by; figures from before that was measured, by what was then."""
    return float(line.get("continuity") or line["explained"] or 0)


def budgets(figures: Mapping[str, Any]) -> list[float]:
    """Return the budgets that were measured."""
    return sorted({float(share) for by_share in figures["policies"].values() for share in by_share})


# The page ----------------------------------------------------------------------------------------------


def page(figures: Mapping[str, Any]) -> str:
    """Return the page."""
    return "\n".join(_lines(figures)) + "\n"


def _lines(figures: Mapping[str, Any]) -> Iterator[str]:
    yield "# What compaction keeps of real sessions\n"
    runs = figures["runs"]
    together = f", put together from {runs} runs of `clew eval FOLDER … --json`" if runs > 1 else ""
    yield f"`uv run python bench/evaluate.py FOLDER`{together}\n"
    cuts = f"{figures['cuts']:,} cuts of {figures['sessions']:,} sessions"
    needed = f"{figures['probes']:,} values that the continuation needed again"
    yield f"{figures['when']}, Python {figures['python']}: {cuts}, {needed}. No model.\n"
    yield HOW
    for share in budgets(figures):
        yield f"## At {share:.0%} of the tokens\n"
        yield from _table("policy", lines_at(figures, share), COLUMNS)
    yield "## clew, by set, at 10%\n"
    yield from _table("set", figures["sets"], ("cuts", *BY_SET))
    yield from _own(figures["compactions"])
    yield from _trust(figures)


def _table(what: str, lines: Mapping[str, Line], columns: tuple[str, ...]) -> Iterator[str]:
    yield f"| {what} | {' | '.join(SHORT.get(name, name) for name in columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for name, line in lines.items():
        shown = f"**{name}**" if name == OWN else name
        yield f"| {shown} | {' | '.join(_cell(line, column) for column in columns)} |"
    yield ""


def _cell(line: Line, column: str) -> str:
    value = line.get(column)
    if value is None:
        return "–"
    interval = line["interval"].get(column) if column in WITH_INTERVAL else None
    if interval:
        return f"{value:.2f} ±{(interval[1] - interval[0]) / 2:.2f}"
    return f"{value:,.0f}" if column in WHOLE or column == "cuts" else f"{value:.2f}"


def _own(found: Mapping[str, Any]) -> Iterator[str]:
    if not found["judged"]:
        return
    yield "## What the tools themselves left, and clew in as many tokens\n"
    yield f"{found['judged']} compactions on record are judged, {found['unjudged']} cannot be.\n"
    yield from _table("", found["policies"], COLUMNS[:-5])


def _trust(figures: Mapping[str, Any]) -> Iterator[str]:
    yield "## Agreement of halves, and the ceiling\n"
    yield f"- {halves(figures)}."
    for share in budgets(figures):
        lines = lines_at(figures, share)
        if OWN in lines and CEILING in lines:
            yield f"- clew reaches of the ceiling at {share:.0%}: {_reached(lines[OWN], lines[CEILING])}."


def _reached(ours: Line, ceiling: Line) -> str:
    both = (name for name in CEILED if ours.get(name) is not None and ceiling.get(name))
    return ", ".join(f"{name} {ours[name] / ceiling[name]:.2f}" for name in both)


def halves(figures: Mapping[str, Any]) -> str:
    """Return how far random halves of the sessions rank the policies alike."""
    if not figures["agreement"]:
        return "One session has no halves"
    taus = (
        f"{name} {tau['mean_tau']:.2f} (worst {tau['worst_tau']:.2f})"
        for name, tau in figures["agreement"].items()
    )
    return f"Kendall's tau of the rankings on random halves of the sessions: {', '.join(taus)}"


# In short ----------------------------------------------------------------------------------------------


def show(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield a short table at a tenth of the tokens."""
    yield f"{figures['cuts']} cuts of {figures['sessions']} sessions, 10% of the tokens ({figures['when']})"
    yield from _plain_table(lines_at(figures, USUAL))
    yield halves(figures)


def show_own(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield a short table of what the sessions' own tools left, and clew in as many tokens."""
    found = figures["compactions"]
    yield f"{found['judged']} compactions that tools made themselves ({figures['when']})"
    yield from _plain_table(found["policies"])


def _plain_table(lines: Mapping[str, Line]) -> Iterator[str]:
    width = max(map(len, lines))
    yield " ".join([" " * width, *(f"{SHORT.get(name, name):>8}" for name in SHOWN)])
    for name, line in lines.items():
        cells = ("–" if line.get(column) is None else f"{line[column]:.2f}" for column in SHOWN)
        yield " ".join([f"{name:{width}}", *(f"{cell:>8}" for cell in cells)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--share", default="0.05,0.10,0.20,0.40")
    parser.add_argument("--from", dest="before", type=Path, nargs="+", metavar="FILE", default=())
    parser.add_argument("--show", dest="shown", action="store_const", const=show)
    parser.add_argument("--show-own", dest="shown", action="store_const", const=show_own)
    asked = parser.parse_args()
    if asked.shown:
        print("\n".join(asked.shown(json.loads((RESULTS / "eval.json").read_text(encoding="utf-8")))))
        return 0
    if asked.folder is None and not asked.before:
        parser.error("name a folder with sessions")
    before = [json.loads(path.read_text("utf-8")) for path in asked.before]
    figures = summary_of(*(before or [measured(asked.folder, asked.share)]))
    (RESULTS / "eval.json").write_text(json.dumps(figures) + "\n", encoding="utf-8")
    (RESULTS / "eval.md").write_text(page(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
