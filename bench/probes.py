"""Run the probes of what an agent needs to go on (next action, goal, redo, …) on a sample of cuts.

    nice uv run python bench/probes.py FOLDER   # 60 cuts at 5, 10 and 20 %
    nice uv run python bench/probes.py FOLDER --policy clew --cuts 120
    nice uv run python bench/probes.py FOLDER --policy clew --misses goal    # asked and not found
    nice uv run python bench/probes.py FOLDER --chains 10    # 30k -> 10k, against one compaction to that size
    nice uv run python bench/probes.py FOLDER --cache /tmp/cuts.pickle       # cuts and needs, read once

A quick look while a digest is worked on: a minute or two on one core. The whole table is that of
``evaluate.py``. Files are drawn with a fixed seed: two runs see the same cuts. Intervals are by session.
"""

from __future__ import annotations

import argparse
import pickle
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from clew.message import Item
from clew_evals.chains import GROWN, TARGET, WINDOW, Growth, mean_drift, run_growths
from clew_evals.find_needs import needs_of
from clew_evals.finished_work import presents_deleted, presents_finished, presents_overruled
from clew_evals.layout import GOAL, layout_of
from clew_evals.next_action import reasons_in_view, targets_in_view
from clew_evals.passages import view_text
from clew_evals.policies import POLICIES
from clew_evals.score import score_policy
from clew_evals.sessions import Cut, SessionFile, cuts_of, session_files
from clew_evals.study import Study, StudyRow, sessions_of
from clew_evals.summary import ResultLine, summarise_rows
from clew_evals.turns import plain
from clew_evals.words import Survival

SEED = 17
COMPARED = ("clew", "tail", "first-and-tail", "masked", "story-calls-recent", "graded-40", "graded-60")
ASKED = (
    "continuity", "next_action", "next_target", "next_reason", "goal", "redo", "reports", "roundtrip",
    "current",
)  # fmt: skip
FLOORS = ("share", "retained", "far", "in_context", "rules", "open", "files", "refused", "seconds")
LONG = 4 * WINDOW
"""Tokens of a session for a chain."""
IN_CHAINS = ("share", *GROWN, "seconds")
MADE_OF = ("verbatim", "user_words", "agent_prose", "tool_lines", "bare_values")


def sampled(folder: Path, cuts: int) -> Iterator[Cut]:
    """Yield cuts with their needs, one to a session, from files drawn at random."""
    source = random.Random(SEED)
    files = session_files([folder])
    source.shuffle(files)
    for file in files:
        found = _cut_of(file, source)
        if found is not None:
            cuts -= 1
            yield replace(found, needs=needs_of(found, lambda _: False))
        if not cuts:
            return


def _cut_of(file: SessionFile, source: random.Random) -> Cut | None:
    for session in sessions_of(file):
        cuts = list(cuts_of(session, file.set))
        if cuts:
            found = source.choice(cuts)
            return replace(found, session=f"{file.path.name}#{found.session}")
    return None


def cached(path: Path | None, folder: Path, cuts: int) -> list[Cut]:
    """Return the sample, from a file if it was drawn before."""
    if path is not None and path.exists():
        held: list[Cut] = pickle.loads(path.read_bytes())
        return held[:cuts]
    found = list(sampled(folder, cuts))
    if path is not None:
        path.write_bytes(pickle.dumps(found))
    return found


def rows_of(cuts: list[Cut], policies: list[str], shares: list[float]) -> Iterator[StudyRow]:
    """Yield a row for every policy, budget and cut."""
    for cut in cuts:
        for share in shares:
            given = cut.budgeted(share)
            for name in policies:
                policy = replace(POLICIES[name], recall=None, recall_by_words=None)  # searching takes long
                score = score_policy(given, policy)
                yield StudyRow(cut.set, cut.session, cut.format, cut.at, cut.tokens, 0, share, name, score)


def table(lines: list[ResultLine], names: tuple[str, ...]) -> Iterator[str]:
    """Yield a plain table; each figure with half of its interval."""
    width = max(len(line.policy) for line in lines)
    yield " ".join([" " * width, *(f"{name:>12}" for name in names)])
    for line in lines:
        yield " ".join([f"{line.policy:{width}}", *(f"{_cell(line, name):>12}" for name in names)])


def _cell(line: ResultLine, name: str) -> str:
    mean = line.means.get(name)
    if mean is None:
        return "–"
    half = f"±{(mean.high - mean.low) / 2:.2f}" if mean.interval else ""
    return f"{mean.value:.2f}{half}"


# Chains ------------------------------------------------------------------------------------------------


def show_chains(folder: Path, sessions: int, policies: list[str]) -> None:
    """Print what chains lose against one compaction of the same history to the same size."""
    files = session_files([folder])
    random.Random(SEED).shuffle(files)
    chosen = tuple(POLICIES[name] for name in policies)
    plan = Study(chosen, cut_shares=(0.75,), least_tokens=LONG, jobs=1)
    found: list[Growth] = []
    for file in files:
        found += run_growths([file], plan, {})
        if len({one.session for one in found}) >= sessions:
            break
    for name in policies:
        mine = [one for one in found if one.policy == name]
        count = sum(one.compactions for one in mine)
        print(f"\n{name}: {len(mine)} sessions, {count} compactions {WINDOW:,} -> {TARGET:,}")
        print(f"{'':>14} {'chained':>8} {'at once':>8}   chained - at once")
        for metric in IN_CHAINS:
            print(_chain_line(mine, metric))


def _chain_line(mine: list[Growth], metric: str) -> str:
    both = [(getattr(one.chained, metric), getattr(one.at_once, metric)) for one in mine]
    known = [pair for pair in both if None not in pair]
    difference = mean_drift(mine, metric)
    if difference is None:
        return f"{metric:>14}        –        –"
    chained, at_once = (sum(side) / len(known) for side in zip(*known, strict=True))
    interval = f"[{difference.low:+.3f}, {difference.high:+.3f}] of {len(known)}"
    return f"{metric:>14} {chained:8.3f} {at_once:8.3f}   {difference.value:+.3f} {interval}"


# What was missed ---------------------------------------------------------------------------------------


def missed(cut: Cut, view: list[Item], what: str) -> list[str]:
    """Return what a view was asked for and does not do, in words."""
    needs = cut.needs
    assert needs is not None
    text, layout = view_text(view), layout_of(view)
    settled = needs.settled
    match what:
        case "goal":
            stated = [section.text for section in layout.under(GOAL)] or list(layout.requested)
            return [f"asked  {one[:300]!r}\n     stated {stated}" for one in settled.goals]
        case "redo":
            return [
                *(f"finished: {one[:200]!r}" for one in presents_finished(settled, layout)),
                *(f"overruled: {one!r}" for one in presents_overruled(settled, layout)),
                *(f"deleted: {one}" for one in presents_deleted(settled, layout)),
            ]
        case "reports":
            flat = plain(text)
            return [one for report in needs.reports for one in report if one not in flat]
        case _:
            asked = dict.fromkeys(one for call in needs.next_calls for one in call.targets)
            lost = [
                one
                for one, held in zip(asked, targets_in_view(needs.next_calls, text), strict=True)
                if not held
            ]
            reasons = [call.reason for call in needs.next_calls if call.reason]
            held = reasons_in_view(needs.next_calls, Survival(text))
            gone = [one for one, kept in zip(reasons, held, strict=True) if kept < 0.8]
            return [*(f"{one.kind} {one.key}" for one in lost), *(f"reason: {one}" for one in gone)]


def show_misses(cuts: list[Cut], policy: str, share: float, what: str) -> None:
    for cut in cuts:
        given = cut.budgeted(share)
        value = getattr(score_policy(given, POLICIES[policy]), what)
        if value is None or value == (0 if what == "redo" else 1):
            continue
        print(f"\n## {cut.set}/{cut.session} at {cut.at:g}: {what} {value:.2f}")
        view = list(POLICIES[policy].compact(given.blind()))
        for line in missed(given, view, what):
            print("   -", line)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cuts", type=int, default=60)
    parser.add_argument("--share", default="0.05,0.10,0.20")
    parser.add_argument("--policy", action="append", choices=list(POLICIES))
    parser.add_argument("--misses", choices=("goal", "redo", "reports", "next_action"))
    parser.add_argument("--chains", type=int, metavar="SESSIONS", help="chains over so many sessions")
    parser.add_argument("--cache", type=Path, help="keep the cuts here; delete it when the probes change")
    asked = parser.parse_args()
    begun = time.perf_counter()
    if asked.chains:
        show_chains(asked.folder, asked.chains, asked.policy or ["clew"])
        return 0
    cuts = cached(asked.cache, asked.folder, asked.cuts)
    sets = len({cut.set for cut in cuts})
    print(f"{len(cuts)} cuts of {sets} sets, read in {time.perf_counter() - begun:.0f} s")
    shares = [float(one) for one in asked.share.split(",")]
    policies = asked.policy or list(COMPARED)
    if asked.misses:
        show_misses(cuts, policies[0], shares[0], asked.misses)
        return 0
    rows = list(rows_of(cuts, policies, shares))
    for share in shares:
        lines = summarise_rows(row for row in rows if row.share == share)
        for names in (ASKED, FLOORS, MADE_OF):
            print(f"\nat {share:.0%}")
            print("\n".join(table(lines, names)))
    print(f"\n{time.perf_counter() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
