"""The policy's numbers against real coding sessions: sizes of results, and how long sessions go on."""

from __future__ import annotations

from functools import cache
from statistics import median
from typing import NamedTuple

import pytest

from clew.budget import DEFAULT, FRESH
from clew.budget.cost import FEWEST_REQUESTS, MOST_REQUESTS
from clew.errors import ClewError
from clew.message import Role
from clew.tokens import counter_for
from clew.transcripts import load, open_source
from tests.conftest import in_long_run, real_data, sampled, tries

SETS = (
    "claude-code-context-evaluator",
    "claude-code-entire-cli",
    "codex-session-bridge",
    "copilot-cli-gatomia",
    "copilot-cli-starcar",
    "gemini-cli-entire",
    "gemini-cli-session-bridge",
    "mini-swe-agent",
    "opencode-gatomia",
    "opencode-nimbus",
    "openhands-sdk-llm-logs",
    "specstory-md",
    "swe-agent",
)
MOST_FILES = 120
"""Of all sets together, in every run; the long run reads all."""
USABLE = 192_000


class Session(NamedTuple):
    requests: int
    results: list[int]
    """The tokens that tools answered with, by message."""


@cache
def real_sessions() -> list[Session]:
    folder = real_data("transcripts")
    count = counter_for("claude-opus-4-5").count_text
    found = []
    paths = sorted(path for name in SETS for path in (folder / name).rglob("*") if path.is_file())
    for path in sampled(paths, MOST_FILES):
        try:
            transcripts = load(open_source(path))
        except ClewError:
            continue  # a README, a licence
        for transcript in transcripts:
            messages = [entry.message for entry in transcript.entries]
            requests = sum(message.role is Role.ASSISTANT for message in messages)
            answers = [[count(result.text) for result in message.results] for message in messages]
            if requests > 1:
                found.append(Session(requests, [sum(sizes) for sizes in answers if sizes]))
    return found


def larger_than_expected(session: Session) -> int:
    state, larger = FRESH, 0
    for tokens in session.results:
        larger += tokens > state.results.expected_tokens(DEFAULT, USABLE)
        state = state.saw_result(tokens)
    return larger


@pytest.mark.slow
def test_the_room_for_results_fits_real_sessions():
    sessions = real_sessions()
    sizes = [tokens for session in sessions for tokens in session.results]
    assert len(sizes) > tries(2_000, 10_000)
    assert sum(map(larger_than_expected, sessions)) / len(sizes) < 0.01
    assert sum(tokens > DEFAULT.oversized.of(USABLE) for tokens in sizes) / len(sizes) < 0.005


@in_long_run  # quantiles of a sample scatter too much
@pytest.mark.parametrize("made", [2, 10, 40, 160])
def test_the_requests_to_come_fit_real_sessions(made: int):
    left = sorted(session.requests - made for session in real_sessions() if session.requests > made)
    assert MOST_REQUESTS * 0.6 < median(left) < MOST_REQUESTS * 1.4
    assert left[len(left) // 4] > FEWEST_REQUESTS * 0.8
