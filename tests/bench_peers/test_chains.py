"""Chains feed a peer its own last list with what came since, and end at the same cut as one compaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from peers.catalogue import read_peers
from peers.chain_tables import by_policy, page, to_json
from peers.chains import chained_peers, compacted, links_of, run_peer, with_rule
from peers.measure import Progress
from peers.run import Result
from peers.sample import Case, sample
from peers.tables import Measured

from clew_evals import score_of
from clew_evals.chains import PLANTED, Link
from tests.evals.sessions import write_sessions

SUMMARY = {"role": "system", "content": "Earlier: much."}


@dataclass
class Forgetful:
    """A peer that keeps nothing but a word about it, and fails where it is told to."""

    fails_at: int = -1
    jobs: list[Mapping[str, Any]] = field(default_factory=list)

    def do(self, job: Mapping[str, Any]) -> Result:
        self.jobs.append(job)
        failed = len(self.jobs) == self.fails_at
        return Result(str(job["id"]), None if failed else [SUMMARY], 1.0, "broke" if failed else None, 0.5, 2)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    (drawn,) = sample(write_sessions(tmp_path_factory.mktemp("made") / "sessions", 1), 1, least=1_000)
    return with_rule(drawn)


def test_a_rule_is_planted_early_and_pinned(case: Case):
    (at,) = case.stating()
    assert case.messages[at]["content"] in PLANTED
    assert at < len(case.messages) * 0.2
    assert case.cut.budget_tokens == int(case.cut.tokens * 0.10)


def test_every_message_comes_once_and_the_last_list_comes_back_as_words(case: Case):
    peer = Forgetful()
    result = compacted(peer, case, 5)  # type: ignore[arg-type]
    told = [job["messages"] for job in peer.jobs]
    assert [one[0] for one in told[1:]] == [{"role": "user", "content": "Earlier: much."}] * (len(told) - 1)
    assert [*told[0], *(message for one in told[1:] for message in one[1:])] == case.messages
    assert (result.messages, result.calls, result.cpu_seconds) == ([SUMMARY], 2 * len(told), 0.5 * len(told))


def test_where_a_pass_fails_the_list_stays_and_grows(case: Case):
    peer = Forgetful(fails_at=2)
    compacted(peer, case, 5)  # type: ignore[arg-type]
    before, after = peer.jobs[1]["messages"], peer.jobs[2]["messages"]
    assert after[: len(before)] == before
    assert peer.jobs[2]["tokens"] > peer.jobs[1]["tokens"]


@pytest.mark.slow
def test_clew_keeps_the_rule_through_twenty_compactions(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BENCH_ENVS", str(tmp_path))
    measured = run_peer(chained_peers()["clew"], [case], Progress(1))
    kept = {(link.policy, link.times): link.score.constraints for link in links_of([measured], case)}
    assert [kept["clew", times] for times in (1, 5, 20)] == [1, 1, 1]
    assert kept["tail", 20] == 0


def test_the_page_tells_each_policy_once_with_all_its_chains(case: Case):
    whole, nothing = (score_of(case.cut, view, 0.0) for view in (case.cut.items, ()))
    links = [
        Link("set", "s", name, times, score)
        for name, score in (("clew", nothing), ("langmem", nothing), ("tail", whole))
        for times in (1, 20)
    ]
    measured = [Measured(read_peers()["langmem"], {"langmem": "1"}, Path("x"), 2, ("broke",) * 2)]
    figures = to_json(links, measured, {"agno": "not installed"}, "chains.py FOLDER", 0.10)
    assert list(by_policy(figures)) == ["clew", "langmem", "tail"]
    written = page(figures)
    assert written.count("\n| **clew** | in clew eval | 0.00 / 0.00 |") == 1
    assert "- langmem: broke (2 chains ended in it and are left out of its means)" in written
    assert "- nobody, after any number of compactions." in written
