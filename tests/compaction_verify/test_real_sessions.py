"""Honest plans for real sessions of many tools are accepted: no check cries wolf."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.compaction.verify import Level, verify
from clew.errors import BudgetExceeded, ClewError
from clew.message import Item
from clew.providers import ANTHROPIC
from clew.transcripts import load, open_source
from tests.compaction_verify.honest import items, proposed
from tests.conftest import real_data

SETS = (
    "aider-swe-bench-md",
    "claude-code-context-evaluator",
    "claude-code-entire-cli",
    "codex-session-bridge",
    "copilot-cli-starcar",
    "gemini-cli-session-bridge",
    "mini-swe-agent",
    "opencode-gatomia",
    "opencode-nimbus",
    "openhands-sdk-llm-logs",
    "specstory-md",
    "swe-agent",
    "trail-gaia",
)
SHORTEST = 12


def longest_session(folder: Path) -> list[Item]:
    """Return the session in the largest file of a set that has one."""
    for path in sorted(folder.iterdir(), key=lambda path: (-path.stat().st_size, path.name)):
        for view in _sessions(path):
            if len(view) >= SHORTEST:
                return view
    pytest.skip(f"no session of {SHORTEST} messages in {folder.name}")


def _sessions(path: Path) -> Iterator[list[Item]]:
    try:
        transcripts = load(open_source(path))
    except ClewError:
        return  # a licence, a note on where it comes from
    for transcript in transcripts:
        yield items([entry.message for entry in transcript.entries])


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.3, 0.1])
@pytest.mark.parametrize("name", SETS)
def test_what_the_ladder_proposes_for_a_real_session_is_accepted(name: str, share: float):
    view = longest_session(real_data("transcripts") / name)
    try:
        plan, evidence = proposed(view, share, wire=ANTHROPIC)
    except BudgetExceeded:
        pytest.skip("the system prompt alone is larger than that")
    report = verify(plan, evidence)
    assert [finding for finding in report.findings if finding.level is not Level.NOTE] == []
