"""Put every peer on chains: the same sessions and the same room, compacted 1, 5 or 20 times on the way.

    uv run python bench/peers/chains.py FOLDER
    uv run python bench/peers/chains.py FOLDER --sessions 20 --peers langchain strands clew

The first part of a session comes in pieces; after each a peer compacts its last list and what came since,
down to a tenth of the whole. All chains end at the same cut with the same room, so what they differ in is
drift. A rule of the user's is planted in the first tenth, and pinned for peers that know pins. Writes
``bench/results/peers_chains.md`` and ``.json``; what was done is kept, as ``measure.py`` does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers.catalogue import OWN, Peer, read_peers
from peers.chain_tables import page, to_json, write
from peers.kept import Kept
from peers.measure import (
    AT_ONCE,
    BESIDE,
    JOB_SECONDS,
    Progress,
    answered,
    asker,
    errors_of,
    score_of_result,
    told,
)
from peers.run import Adapter, PeerMissing, Result
from peers.sample import Case, as_case, sample
from peers.tables import Measured

from clew.providers import OPENAI
from clew_evals import POLICIES
from clew_evals.chains import Link, after_times, pieces, plant_rule
from clew_evals.sessions import COUNTER

TIMES = (1, 5, 20)
SHARE = 0.10
SESSIONS = 40
WITHOUT_MEMORY = "clew-list"
"""clew given nothing but the list: what its digest tells is read back from the text."""

Chat = list[dict[str, Any]]


def chained_peers() -> dict[str, Peer]:
    """Return the peers by name; clew both with its last result at hand and with the bare list."""
    known = read_peers()
    own = known[OWN]
    return {**known, OWN: replace(own, variant="after"), WITHOUT_MEMORY: replace(own, name=WITHOUT_MEMORY)}


def with_rule(case: Case) -> Case:
    """Return the case with a rule planted, which is all that counts as one; room for a tenth."""
    assert case.cut.needs is not None
    found = as_case(case.session, plant_rule(case.cut, case.cut.needs))
    return replace(found, cut=found.cut.budgeted(SHARE))


# Running ---------------------------------------------------------------------------------------------


def compacted(adapter: Adapter, case: Case, times: int) -> Result:
    """Return a peer's last list after so many compactions, with what all of them took.

    Where one of them fails the list stays as it is, and the next one has to do with more.
    """
    system, body = case.messages[: len(case.cut.system)], case.messages[len(case.cut.system) :]
    view: Chat = []
    results: list[Result] = []
    come = 0
    for piece in pieces(case.cut.items, times):
        grown = [*map(_as_said, view), *body[come : come + len(piece)]]
        come += len(piece)
        results.append(adapter.do(_job(case, [*system, *grown], str(times))))
        left = results[-1].messages
        view = grown if left is None else left[len(system) :]
    return replace(
        results[-1],
        seconds=sum(one.seconds for one in results),
        cpu_seconds=sum(one.cpu_seconds for one in results),
        calls=sum(one.calls for one in results),
        shown=(),
    )


def _job(case: Case, messages: Chat, name: str) -> dict[str, Any]:
    parsed = OPENAI.parse(messages[len(case.cut.system) :])
    now = replace(case, messages=messages)
    return {
        "id": name,
        "messages": messages,
        "target_tokens": case.cut.budget_tokens,
        "tokens": COUNTER.count_all(parsed),
        "pins": list(now.stating()),
    }


def _as_said(message: dict[str, Any]) -> dict[str, Any]:
    """Return a summary that a peer gave as a system prompt as words, or it would never be looked at again."""
    return {**message, "role": "user"} if message["role"] == "system" else message


def run_peer(peer: Peer, cases: Sequence[Case], progress: Progress) -> Measured:
    """Let a peer go through every chain; what it has done before is not done again."""
    with Adapter(peer, JOB_SECONDS) as adapter:
        kept = Kept.of(peer, {**adapter.versions, "variant": peer.variant})
        for case in cases:
            done = kept.read(case.name)
            missing = [times for times in TIMES if str(times) not in done]
            for times in missing:
                done[str(times)] = compacted(adapter, case, times)
            if missing:
                kept.write(case.name, done)
            progress.step(peer.name)
        return Measured(peer, adapter.versions, kept.folder)


# Scoring ---------------------------------------------------------------------------------------------


def links_of(measured: Sequence[Measured], case: Case) -> list[Link]:
    """Score where every chain ended, and those of the plain policies; what ended in an error has none."""
    links = []
    for one in measured:
        results = Kept(one.folder).read(case.name)
        for times in TIMES:
            score = score_of_result(case, results[str(times)])
            if score:
                links.append(Link(case.cut.set, case.session, one.peer.name, times, score))
    for name in BESIDE:
        for times in TIMES:
            score = after_times(case.cut, POLICIES[name], times)
            links.append(Link(case.cut.set, case.session, name, times, score))
    return links


def scored_all(measured: Sequence[Measured], cases: Sequence[Case]) -> Iterator[Link]:
    with ProcessPoolExecutor(AT_ONCE, mp_context=get_context("spawn")) as pool:
        for done, links in enumerate(pool.map(partial(links_of, measured), cases), start=1):
            told("scoring", done, len(cases))
            yield from links


# The command -----------------------------------------------------------------------------------------


def main() -> int:
    known = chained_peers()
    asked = answered(asker(__doc__, known, SESSIONS))
    cases = [with_rule(case) for case in sample(asked.folder, asked.sessions, told)]
    progress = Progress(len(cases) * len(asked.peers))
    missing: dict[str, str] = {}

    def work(name: str) -> Measured | None:
        try:
            return run_peer(known[name], cases, progress)
        except PeerMissing as cause:
            missing[name] = str(cause)
            return None

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = [one for one in pool.map(work, asked.peers) if one]
    measured = [errors_of(one, cases) for one in found]
    command = f"uv run python bench/peers/chains.py FOLDER --sessions {asked.sessions}"
    figures = to_json(list(scored_all(measured, cases)), measured, missing, command, SHARE)
    if asked.dry_run:
        print(page(figures))
    else:
        write(figures)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
