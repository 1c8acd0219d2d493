"""Put every peer on the cuts of ``clew eval``, at the same budgets and by the same measure.

    uv run python bench/peers/measure.py FOLDER                    # a seeded sample, some fifteen minutes
    uv run python bench/peers/measure.py FOLDER --all              # every cut; hours
    uv run python bench/peers/measure.py FOLDER --peers langchain clew --sessions 20

FOLDER holds session files; without it the transcripts in ``CLEW_TEST_DATA`` are taken. What a peer has done
is kept beside the environments: broken off, it goes on where it stopped, and a new version of a peer or of
clew is measured anew. Writes ``bench/results/peers.md`` and ``peers.json``.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers.catalogue import Peer, read_peers
from peers.kept import Kept
from peers.run import Adapter, PeerMissing, Result
from peers.sample import Case, sample
from peers.tables import Measured, page, to_json, write

from clew.providers import OPENAI, CheckScope
from clew_evals import POLICIES, Score, StudyRow, score_of, score_policy
from clew_evals.score import score_refusal

SHARES = (0.05, 0.10, 0.20, 0.40)
SESSIONS = 80
JOB_SECONDS = 30.0
LONGEST = 120
"""Characters of an error that are told."""
GIVES_UP = "PinsDoNotFit"
"""How clew says that what must be kept does not fit: by the measure it has then kept nothing."""
AT_ONCE = os.cpu_count() or 1
BESIDE = (
    "tail",
    "clear-and-trim",
    "user-messages",
    "frame",
    "random-lines",
    "bare-values",
    "stuffed",
    "oracle",
)
"""Plain policies, cheats and the ceiling that stand in the same table."""


# Running ---------------------------------------------------------------------------------------------


@dataclass
class Progress:
    """How far all peers together are, told on one line."""

    total: int
    done: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def step(self, peer: str) -> None:
        """Count one case of one peer."""
        with self.lock:
            self.done += 1
            told("running", self.done, self.total, peer)


def told(doing: str, done: int, of: int, what: str = "") -> None:
    end = "\n" if done == of else "\r"
    print(f"{doing:10} {done:>6,} of {of:,}  {what:32}", end=end, file=sys.stderr, flush=True)


def run_peer(
    peer: Peer, cases: Sequence[Case], shares: Sequence[float], step: Callable[[str], None]
) -> Measured:
    """Let a peer compact every case at every share; what it has done before is not done again."""
    with Adapter(peer, JOB_SECONDS) as adapter:
        kept = Kept.of(peer, adapter.versions)
        for case in cases:
            done = kept.read(case.name)
            jobs = [job for share in shares if (job := case.job(share))["id"] not in done]
            for job in jobs:
                done[str(job["id"])] = adapter.do(job)
            if jobs:
                kept.write(case.name, done)
            step(peer.name)
        return Measured(peer, adapter.versions, kept.folder)


# Scoring ---------------------------------------------------------------------------------------------


def rows_of(measured: Sequence[Measured], shares: Sequence[float], case: Case) -> list[StudyRow]:
    """Score what every peer, and the plain policies, left of a case; errors have no row."""
    rows = []
    kept = [(one.peer.name, Kept(one.folder).read(case.name)) for one in measured]
    for share in shares:
        cut = case.cut.budgeted(share)
        place = (cut.set, case.session, cut.format, cut.at, cut.tokens)
        asked = sum(not probe.refetched for probe in cut.needs.probes) if cut.needs else 0
        for name, results in kept:
            score = score_of_result(replace(case, cut=cut), results[f"{share:g}"])
            if score:
                rows.append(StudyRow(*place, asked, share, name, score))
        for name in BESIDE:
            rows.append(StudyRow(*place, asked, share, name, score_policy(cut, POLICIES[name])))
    return rows


def score_of_result(case: Case, result: Result) -> Score | None:
    """Score a peer's list; None where it broke. The API of its format judges whether it is valid."""
    if result.messages is None:
        gave_up = (result.error or "").startswith(GIVES_UP)
        return score_refusal(case.cut, result.cpu_seconds, POLICIES["clew"]) if gave_up else None
    score = score_of(case.cut, case.view(result.messages), result.cpu_seconds)
    refused = OPENAI.check({"messages": result.messages}, scope=CheckScope.MESSAGES).rule_ids
    before = OPENAI.check({"messages": case.messages}, scope=CheckScope.MESSAGES).rule_ids
    return replace(score, invalid=float(bool(set(refused) - set(before))), calls=float(result.calls))


def scored_all(
    measured: Sequence[Measured], cases: Sequence[Case], shares: Sequence[float]
) -> Iterator[StudyRow]:
    work = partial(rows_of, measured, shares)
    with ProcessPoolExecutor(AT_ONCE, mp_context=get_context("spawn")) as pool:
        for done, rows in enumerate(pool.map(work, cases), start=1):
            told("scoring", done, len(cases))
            yield from rows


def errors_of(measured: Measured, cases: Sequence[Case]) -> Measured:
    """Return what was measured with what went wrong."""
    kept = Kept(measured.folder)
    every = [result for case in cases for result in kept.read(case.name).values()]
    errors = tuple(one.error.partition("\n")[0][:LONGEST] for one in every if one.error)
    return replace(measured, jobs=len(every), errors=errors)


# The command -----------------------------------------------------------------------------------------


def main() -> int:
    asked = _asked()
    cases = sample(asked.folder, None if asked.all else asked.sessions, told)
    known = read_peers()
    progress = Progress(len(cases) * len(asked.peers))
    missing: dict[str, str] = {}

    def work(name: str) -> Measured | None:
        try:
            return run_peer(known[name], cases, asked.share, progress.step)
        except PeerMissing as cause:
            missing[name] = str(cause)
            return None

    with ThreadPoolExecutor(asked.at_once) as pool:
        found = [one for one in pool.map(work, asked.peers) if one]
    measured = [errors_of(one, cases) for one in found]
    rows = list(scored_all(measured, cases, asked.share))
    command = f"uv run python bench/peers/measure.py FOLDER {_as_command(asked)}".rstrip()
    figures = to_json(rows, measured, missing, command)
    if asked.dry_run:
        print(page(figures))
    else:
        write(figures)
    return 0


def _asked() -> argparse.Namespace:
    parser = asker(__doc__, read_peers(), SESSIONS)
    parser.add_argument("--share", type=float, nargs="+", default=SHARES, metavar="S")
    parser.add_argument("--all", action="store_true", help="every cut of every session")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="peers that run side by side")
    return answered(parser)


def asker(about: str | None, known: Collection[str], sessions: int) -> argparse.ArgumentParser:
    """Return what is asked of whoever measures peers, on whatever."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=data_folder())
    parser.add_argument("--peers", nargs="+", choices=known, default=list(known), metavar="NAME")
    parser.add_argument("--sessions", type=int, default=sessions, help="how many are drawn; one cut of each")
    parser.add_argument("--dry-run", action="store_true", help="print the page, write nothing")
    return parser


def answered(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Return the answers; without a folder there is nothing to be measured on."""
    asked = parser.parse_args()
    if asked.folder is None:
        parser.error("name a folder with sessions, or set CLEW_TEST_DATA")
    return asked


def data_folder() -> Path | None:
    """Return the sessions that ``CLEW_TEST_DATA`` names, if it does."""
    folder = os.environ.get("CLEW_TEST_DATA")
    return Path(folder) / "transcripts" if folder else None


def _as_command(asked: argparse.Namespace) -> str:
    return "--all" if asked.all else f"--sessions {asked.sessions}"


if __name__ == "__main__":
    raise SystemExit(main())
