"""A study: many sessions, cut, compacted by every policy at every budget, and scored, in several processes.

``study(session_files([folder]), Study(shares=(0.1,)))`` returns a row for each policy and cut; ``summary.py``
makes means of them. A value that many sessions of a set name (a framework, a common path) is not asked for:
it would be known without any memory.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from typing import TypeAlias, TypeVar
from zlib import crc32

from clew.errors import ClewError
from clew.message import Item
from clew.transcripts import Transcript, load
from clew_evals.answerers import read_plainly, reader_named
from clew_evals.find_needs import needs_of
from clew_evals.passages import PassageSpeaker, passages
from clew_evals.policies import POLICIES, USUAL, EvalPolicy
from clew_evals.score import Score, score_policy
from clew_evals.sessions import (
    CUT_SHARES,
    LEAST_TOKENS,
    Cut,
    Label,
    Labels,
    SessionFile,
    cuts_of,
    session_name,
)
from clew_evals.words import keys_in

READ_PER_PART = 40_000
"""Characters of a part that are looked through for what is common to a set."""
COMMON_SHARE = 0.15
"""Of a set's sessions that name a value, for it to be common."""
USUAL_BUDGET = 0.10
FEWEST_SESSIONS = 8
"""In a set up to this size nothing is called common."""

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called after each file: what is being done ("reading"), how many files are done, of how many."""
Common: TypeAlias = Mapping[str, frozenset[int]]
"""By set: the marks of values that too many of its sessions name; see ``mark``."""
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Study:
    """What is compared, and how."""

    policies: tuple[EvalPolicy, ...] = tuple(POLICIES[name] for name in USUAL)
    shares: tuple[float, ...] = (0.10,)
    """Of the tokens, what a view may take."""
    cut_shares: tuple[float, ...] = CUT_SHARES
    least_tokens: int = LEAST_TOKENS
    labels: Labels = field(default_factory=dict)
    jobs: int = 0
    """Processes; 0 for one on each core."""
    reader: str = ""
    """The name of the model that reads views and answers questions; empty for the plain reader."""


@dataclass(frozen=True, slots=True)
class StudyRow:
    """How one policy did at one cut with one budget."""

    set: str
    """The folder of the session's file."""
    session: str
    format: str
    at: float
    """The share of the session's tokens before the cut."""
    tokens: int
    """Of what was compacted."""
    probes: int
    """Values that were asked for."""
    share: float
    """Of these tokens, what the policy might use."""
    policy: str
    score: Score


def study(
    files: Sequence[SessionFile], plan: Study, common: Common | None = None, progress: Progress | None = None
) -> list[StudyRow]:
    """Return a row for every policy, budget and cut; the same each time, but for the seconds."""
    known = common_keys(files, plan, progress) if common is None else common
    measure = partial(_rows_of, plan, known)
    return [row for rows in map_files(measure, files, plan.jobs, progress, "measuring") for row in rows]


def common_keys(files: Sequence[SessionFile], plan: Study, progress: Progress | None = None) -> Common:
    """Return by set the marks of values that too many of its sessions name."""
    sessions: Counter[str] = Counter()
    counts: defaultdict[str, Counter[int]] = defaultdict(Counter)
    result = map_files(partial(_keys_of, plan), files, plan.jobs, progress, "reading")
    for file, marks in zip(files, result, strict=True):
        for item in marks:
            sessions[file.set] += 1
            counts[file.set].update(item)
    return {
        name: frozenset(mark for mark, count in counts[name].items() if count > max(2, COMMON_SHARE * total))
        for name, total in sessions.items()
        if total > FEWEST_SESSIONS
    }


def probes_by_cut(rows: Iterable[StudyRow]) -> dict[tuple[str, float], int]:
    """Return how many values were asked for at each cut."""
    return {(row.session, row.at): row.probes for row in rows}


def usual_budget(shares: Iterable[float]) -> float:
    """Return the budget nearest to a tenth: the one that is shown if only one can be."""
    return min(shares, key=lambda share: abs(share - USUAL_BUDGET))


def mark(key: str) -> int:
    """Return the number a key is counted by: the same in every process."""
    return crc32(key.encode("utf-8", "surrogatepass"))


def common_in(common: Common, set_name: str) -> Callable[[str], bool]:
    """Return a function that says whether a key is common to the sessions of a set."""
    marks = common.get(set_name, frozenset())
    return lambda key: mark(key) in marks


def last_cuts(file: SessionFile, plan: Study) -> Iterator[tuple[str, Cut]]:
    """Yield the last cut of each session of a file that is long enough, after the session's name."""
    for session in sessions_of(file):
        cuts = list(cuts_of(session, file.set, plan.cut_shares, plan.least_tokens))
        if cuts:
            yield f"{file.path.name}#{session.id}", cuts[-1]


def _keys_of(plan: Study, file: SessionFile) -> list[array[int]]:
    """Return for each session of a file that will be cut the marks of all values before its last cut."""
    return [array("Q", sorted(map(mark, _keys(cut.items)))) for _, cut in last_cuts(file, plan)]


def _keys(items: Sequence[Item]) -> set[str]:
    names: set[str] = set()
    for passage in passages(items):
        if passage.speaker is not PassageSpeaker.SYSTEM:
            names |= keys_in(passage.text[:READ_PER_PART])
    return names


def _rows_of(plan: Study, common: Common, file: SessionFile) -> list[StudyRow]:
    is_common = common_in(common, file.set)
    labels: Sequence[Label] = plan.labels.get(session_name(file.path), ())
    reader = reader_named(plan.reader) or read_plainly
    rows = []
    for session in sessions_of(file):
        for cut in cuts_of(session, file.set, plan.cut_shares, plan.least_tokens):
            needs = needs_of(cut, is_common, labels)
            for share in plan.shares:
                budgeted = replace(cut, needs=needs).budgeted(share)  # one for all: it remembers its text
                rows += [
                    StudyRow(
                        set=file.set,
                        session=f"{file.path.name}#{cut.session}",
                        format=cut.format,
                        at=cut.at,
                        tokens=cut.tokens,
                        probes=sum(not probe.refetched for probe in needs.probes),
                        share=share,
                        policy=policy.name,
                        score=score_policy(budgeted, policy, reader),
                    )
                    for policy in plan.policies
                ]
    return rows


def sessions_of(file: SessionFile) -> Iterator[Transcript]:
    """Yield the sessions of a file; none if it cannot be read."""
    try:
        yield from load(file.path)
    except ClewError:
        return  # what cannot be read has nothing to be measured by; `clew show` says why


def map_files(
    work: Callable[[SessionFile], _Result],
    files: Sequence[SessionFile],
    jobs: int,
    progress: Progress | None,
    doing: str,
) -> Iterator[_Result]:
    """Do the work for each file, in several processes; yield what comes of it in the order of the files."""
    report = progress or (lambda *_: None)
    count = min(jobs or os.cpu_count() or 1, len(files))
    if count <= 1:
        for done, file in enumerate(files, start=1):
            yield work(file)
            report(doing, done, len(files))
        return
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        for done, result in enumerate(pool.map(work, files, chunksize=2), start=1):
            yield result
            report(doing, done, len(files))
