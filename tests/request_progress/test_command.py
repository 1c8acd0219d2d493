"""``clew progress``."""

from __future__ import annotations

import json

from tests.cli.conftest import EXAMPLE, Run, clew

__all__ = ["clew"]


def test_the_last_session_tells_its_progress(clew: Run) -> None:
    assert clew("import", str(EXAMPLE)).returncode == 0
    told = clew("progress").stdout
    assert told.startswith("ck1  ")
    assert "\n  goal " in told
    assert "\n  changed " in told


def test_other_programs_get_json(clew: Run) -> None:
    clew("import", str(EXAMPLE))
    found = json.loads(clew("progress", "mini-swe-agent:sphinx-9229", "--json").stdout)
    (now,) = found["checkpoints"]
    assert (found["session"], now["name"], now["since"], now["why"]) == (
        "mini-swe-agent:sphinx-9229",
        "ck1",
        0,
        "now",
    )


def test_without_a_session_it_says_how_to_get_one(clew: Run) -> None:
    done = clew("progress")
    assert done.returncode == 2
    assert "clew import" in done.stderr


def test_what_clew_keeps_for_itself_is_no_session(clew: Run) -> None:
    clew("import", str(EXAMPLE))
    assert clew("notes", "add", "Use tabs.").returncode == 0  # is newer than the session
    assert clew("progress").stdout.startswith("ck1  ")
    assert "clew:" not in clew("sessions").stdout
