"""A study gives the same figures each time, and intervals that hold the mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew_evals import (
    POLICIES,
    SessionFile,
    Study,
    StudyRow,
    agreement,
    labels_near,
    session_files,
    study,
    summarise_rows,
)
from clew_evals.chains import run_chains
from clew_evals.report import Findings, page
from clew_evals.study import common_keys, mark
from clew_evals.summary import kendall
from tests.conftest import real_data, sampled
from tests.evals.sessions import write_sessions

PLAN = Study(
    tuple(POLICIES[name] for name in ("tail", "frame", "oracle")), (0.05, 0.10), least_tokens=1_000, jobs=1
)


def without_seconds(rows: list[StudyRow]) -> list[StudyRow]:
    return [replace(row, score=replace(row.score, seconds=0.0)) for row in rows]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[SessionFile]:
    return session_files([write_sessions(tmp_path_factory.mktemp("made") / "sessions")])


@pytest.fixture(scope="module")
def rows(files: list[SessionFile]) -> list[StudyRow]:
    return study(files, PLAN)


def test_every_session_is_found_and_belongs_to_its_folder(files: list[SessionFile]):
    assert [(file.path.name, file.set) for file in files] == [
        ("alpha.json", "sessions"),
        ("beta.json", "sessions"),
        ("gamma.json", "sessions"),
    ]


def test_there_is_a_row_for_every_policy_budget_and_cut(rows: list[StudyRow]):
    assert len(rows) == 3 * 2 * 2 * 3
    assert all(row.probes > 0 for row in rows)


def test_a_rerun_gives_the_same(files: list[SessionFile], rows: list[StudyRow]):
    assert without_seconds(study(files, PLAN)) == without_seconds(rows)


@pytest.mark.slow
def test_several_processes_give_the_same(files: list[SessionFile], rows: list[StudyRow]):
    assert without_seconds(study(files, replace(PLAN, jobs=2))) == without_seconds(rows)


def test_means_lie_within_their_intervals(rows: list[StudyRow]):
    for line in summarise_rows(rows):
        assert (line.cuts, line.sessions) == (6, 3)
        for mean in line.means.values():
            assert mean.low <= mean.value <= mean.high


def test_the_ceiling_is_above_the_others(rows: list[StudyRow]):
    lines = {
        line.policy: line.means["explained"].value for line in summarise_rows(rows) if line.share == 0.10
    }
    assert max(lines, key=lambda name: lines[name]) == "oracle"


def test_halves_agree_where_the_order_is_clear(rows: list[StudyRow]):
    found = agreement([row for row in rows if row.share == 0.10], "retained")
    assert (found.metric, found.policies) == ("retained", 3)
    assert found.worst <= found.mean <= 1


def test_what_most_sessions_of_a_large_set_name_is_common(tmp_path: Path):
    folder = write_sessions(tmp_path / "sessions", 1)
    words = (folder / "alpha.json").read_text()
    for number in range(10):
        (folder / f"copy{number}.json").write_text(words)
    common = common_keys(session_files([folder]), PLAN)
    assert mark("limit_alpha_3x") in common["sessions"]
    assert {row.probes for row in study(session_files([folder]), PLAN, common)} == {0}


def test_a_planted_rule_is_all_that_counts_in_a_chain(files: list[SessionFile]):
    links = run_chains(files[:1], PLAN, {}, times=(1, 3))
    kept = {(link.policy, link.times): link.score.constraints for link in links}
    assert kept["oracle", 1] == kept["oracle", 3] == 1
    assert kept["tail", 3] == 0


def test_the_report_is_one_file_with_a_figure_for_each_question(
    files: list[SessionFile], rows: list[StudyRow]
):
    links = run_chains(files[:1], PLAN, {}, times=(1, 3))
    written = page(Findings(rows, links, command="clew eval <x>"))
    assert written.count("<svg") == 9
    assert "clew eval &lt;x&gt;" in written
    assert "http" not in written
    assert "<script" not in written


@given(st.lists(st.integers(0, 100), unique=True, max_size=12))
def test_kendall_is_one_with_itself_and_minus_one_turned_round(ranks: list[int]):
    values = [float(rank) for rank in ranks]
    assert kendall(values, values) == 1.0
    if len(values) > 1:
        assert kendall(values, [-value for value in values]) == -1.0


@pytest.mark.slow
def test_on_real_sessions_no_cheat_wins():
    folder = real_data("transcripts") / "codex-session-bridge"
    names = ("bare-values", "stuffed", "tail", "user-then-agent", "oracle")
    plan = Study(tuple(POLICIES[name] for name in names), labels=labels_near([folder]), jobs=1)
    rows = study(sampled(session_files([folder]), 6), plan)
    means = {
        line.policy: {name: mean.value for name, mean in line.means.items()} for line in summarise_rows(rows)
    }
    told = {policy: found["explained"] for policy, found in means.items()}
    assert max(told["bare-values"], told["stuffed"]) < 0.1 < min(told["tail"], told["user-then-agent"])
    assert told["oracle"] > 0.9
    for cheat in ("bare-values", "stuffed"):
        for metric in ("roundtrip", "constraints", "open"):
            assert means[cheat][metric] < means["user-then-agent"][metric]
