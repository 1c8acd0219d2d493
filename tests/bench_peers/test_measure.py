"""Peers stand on the cuts of ``clew eval``: valid lists, the same measure, and nothing is done twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from peers.catalogue import read_peers
from peers.kept import Kept
from peers.measure import rows_of, run_peer, score_of_result
from peers.run import Result
from peers.sample import Case, sample
from peers.tables import Measured, page, to_json

from clew.providers import OPENAI, CheckScope
from clew_evals import score_of
from tests.evals.sessions import write_sessions

CLEW = read_peers()["clew"]


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    return sample(write_sessions(tmp_path_factory.mktemp("made") / "sessions"), 2, least=1_000)


@pytest.fixture
def kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCH_ENVS", str(tmp_path))
    return tmp_path


def test_a_sample_is_one_cut_of_each_session_and_the_same_each_time(cases: list[Case], tmp_path: Path):
    again = sample(write_sessions(tmp_path / "sessions"), 2, least=1_000)
    assert [case.messages for case in again] == [case.messages for case in cases]
    assert len({case.session for case in cases}) == len(cases) == 2


def test_every_list_is_valid_and_says_what_the_cut_says(cases: list[Case]):
    for case in cases:
        assert OPENAI.check({"messages": case.messages}, scope=CheckScope.MESSAGES).rule_ids == ()
        said = [item.message for item in case.view(case.messages)]
        assert said == [item.message for item in case.cut.items]


def test_a_list_that_is_left_alone_keeps_everything(cases: list[Case]):
    case = cases[0]
    score = score_of_result(case, Result("x", case.messages, 0.1, None, 0.1, calls=2))
    assert score is not None
    assert (score.share, score.retained, score.invalid, score.calls) == (1, 1, 0, 2)


def test_a_result_without_its_call_is_invalid_and_an_error_has_no_score(cases: list[Case]):
    case = cases[0]
    orphaned = [message for message in case.messages if not message.get("tool_calls")]
    score = score_of_result(case, Result("x", orphaned, 0.1, None))
    assert score is not None
    assert score.invalid == 1
    assert score_of_result(case, Result("x", None, 0.1, "broke")) is None


def test_clew_that_gives_up_has_kept_nothing(cases: list[Case]):
    score = score_of_result(cases[0], Result("x", None, 0.1, "PinsDoNotFit: rules alone take 9 tokens"))
    assert score is not None
    assert (score.refused, score.retained, score.share) == (1, 0, 0)


@pytest.mark.slow
def test_clew_is_run_once_scored_and_told_in_the_table(cases: list[Case], kept_apart: Path):
    told: list[str] = []
    measured = run_peer(CLEW, cases, (0.1,), told.append)
    before = sorted(path.stat().st_mtime_ns for path in kept_apart.rglob("*.gz"))
    assert run_peer(CLEW, cases, (0.1,), told.append) == measured
    assert sorted(path.stat().st_mtime_ns for path in kept_apart.rglob("*.gz")) == before
    assert told == ["clew"] * 4
    rows = [row for case in cases for row in rows_of([measured], (0.1,), case)]
    written = page(to_json(rows, [measured], {"langmem": "not installed"}, "measure.py FOLDER"))
    assert "\n| **clew** | clew " in written
    assert "- langmem is skipped: not installed" in written


def test_what_went_wrong_is_told(cases: list[Case]):
    measured = Measured(CLEW, {"python": "3", "clew": "9"}, Path("x"), 4, ("took too long",) * 2)
    score = score_of(cases[0].cut, cases[0].cut.items, 0.0)
    assert score.retained == 1
    figures = to_json([], [measured], {}, "measure.py")
    assert figures["versions"] == {"clew": "clew 9"}
    assert "- clew: took too long (2 of 4 lists; counted as nothing kept)" in page(figures)


def test_kept_results_come_back_as_they_were(kept_apart: Path):
    kept = Kept.of(CLEW, {"clew": "1"})
    result = Result("case 0.1", [{"role": "user", "content": "ä"}], 0.5, None, 0.25, 1, (3,))
    kept.write("case", {result.id: result})
    assert kept.read("case") == {result.id: result}
    assert Kept.of(CLEW, {"clew": "2"}).read("case") == {}
