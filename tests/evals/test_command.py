"""``clew eval`` as people and programs use it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run, clew
from tests.evals.sessions import write_sessions

__all__ = ["clew"]

ASKED = (
    "share", "retained", "far", "hard", "in_context", "in_context_far", "explained", "constraints", "files",
    "open",
    "recoverable", "recalled", "roundtrip", "current", "unsupported", "tokens", "rewritten", "refetch_tokens",
    "calls", "invalid", "seconds",
)  # fmt: skip


def test_json_has_every_metric_for_every_policy(clew: Run, tmp_path: Path):
    folder = write_sessions(tmp_path / "sessions", 2)
    policies = ("--policy", "tail", "--policy", "clew")
    done = clew("eval", str(folder), "--least", "1000", *policies, "--json", "--jobs", "1")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["cuts"], told["sessions"]) == (4, 2)
    assert list(told["policies"]) == ["tail", "clew"]
    assert set(ASKED) <= told["policies"]["clew"].keys()
    assert told["sets"]["sessions"] == told["policies"]


def test_the_table_has_a_row_for_each_policy_and_the_report_is_written(clew: Run, tmp_path: Path):
    folder = write_sessions(tmp_path / "sessions", 2)
    report = tmp_path / "report.html"
    options = (
        "--least",
        "1000",
        "--policy",
        "tail",
        "--policy",
        "frame",
        "--jobs",
        "1",
        "--html",
        str(report),
    )
    done = clew("eval", str(folder), *options)
    assert done.returncode == 0
    assert "4 cuts of 2 sessions" in done.stdout
    assert [name for name in ("tail", "frame", "oracle") if f"\n{name} " in done.stdout] == ["tail", "frame"]
    assert report.read_text().startswith("<!doctype html>")


def test_sessions_that_are_too_short_are_one_line(clew: Run, tmp_path: Path):
    done = clew("eval", str(write_sessions(tmp_path / "sessions", 1)), "--least", "900000")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("clew: no session of at least 900,000 tokens")
    assert "try --least" in done.stderr


def test_attacks_are_told_by_policy_by_number_of_compactions_and_by_family(clew: Run, tmp_path: Path):
    folder = write_sessions(tmp_path / "sessions", 1)
    options = ("--least", "1000", "--policy", "tail", "--policy", "clew", "--jobs", "1", "--json")
    told = json.loads(clew("eval", str(folder), *options, "--attack").stdout)["attacks"]
    assert {policy: [told[policy][times] for times in ("1", "5", "20", "100")] for policy in told} == {
        "tail": [0, 0, 0, 0],
        "clew": [1, 1, 1, 1],
    }
    assert (len(told["clew"]["families"]), told["clew"]["attacks"]) == (2, 8)


def test_a_reader_that_means_nothing_is_said_at_once(clew: Run, tmp_path: Path):
    done = clew("eval", str(write_sessions(tmp_path / "sessions", 1)), "--reader", "nobody")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no model is named 'nobody'" in done.stderr


def test_a_reader_that_cannot_be_reached_is_said_at_once(clew: Run, tmp_path: Path):
    model = "openai-chat/nobody@http://127.0.0.1:9/v1"
    done = clew("eval", str(write_sessions(tmp_path / "sessions", 1)), "--reader", model)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("clew: ")


def test_the_ceiling_is_explained_where_it_is_asked_for(clew: Run, tmp_path: Path):
    folder = write_sessions(tmp_path / "sessions", 1)
    options = ("--least", "1000", "--policy", "clew", "--jobs", "1", "--json")
    without, with_it = (
        json.loads(clew("eval", str(folder), *options, *more).stdout) for more in ((), ("--ceiling",))
    )
    assert (list(without["policies"]), "of_the_ceiling" in without) == (["clew"], False)
    policies = with_it["policies"]
    assert list(policies) == ["clew", "whole", "oracle"]
    assert (policies["whole"]["share"], policies["whole"]["retained"]) == (1, 1)
    assert with_it["of_the_ceiling"]["explained"] == round(
        policies["clew"]["explained"] / policies["oracle"]["explained"], 4
    )


def test_every_table_fits_80_columns_with_its_numbers_whole(clew: Run, tmp_path: Path):
    folder = write_sessions(tmp_path / "sessions", 2)
    options = ("--least", "1000", "--policy", "clew", "--policy", "bare-values", "--jobs", "1")
    done = clew("eval", str(folder), *options, COLUMNS="80")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "…" not in done.stdout


def test_a_single_session_has_no_interval(clew: Run, tmp_path: Path):
    folder = write_sessions(tmp_path / "sessions", 1)
    options = ("--least", "1000", "--policy", "oracle", "--jobs", "1")
    assert "±–" in clew("eval", str(folder), *options).stdout
    told = json.loads(clew("eval", str(folder), *options, "--json").stdout)
    assert set(told["policies"]["oracle"]["interval"].values()) == {None}


def test_who_keeps_to_its_room_stands_above_who_does_not_and_limits_below(clew: Run, tmp_path: Path):
    folder = write_sessions(tmp_path / "sessions", 1)
    chosen = [part for name in ("oracle", "whole", "stuffed", "tail") for part in ("--policy", name)]
    lines = clew("eval", str(folder), "--least", "1000", "--jobs", "1", *chosen).stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("at 10%"))
    assert [line.split()[0] for line in lines[at + 2 : at + 6]] == ["tail", "whole", "oracle", "stuffed"]
