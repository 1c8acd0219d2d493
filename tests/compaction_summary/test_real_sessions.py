"""Real sessions of many tools are shown whole to a summariser, and read back whole from its prompts."""

from __future__ import annotations

import pytest

from clew.compaction.ledger_claims import MandatoryContent
from clew.compaction.propose.summary import Limits, write
from clew.message import words
from clew.providers.model import run
from clew.testing import shown_messages
from tests.compaction_summary.scene import COUNTER, outline
from tests.compaction_verify.test_real_sessions import longest_session
from tests.conftest import real_data
from tests.summarisers import good_summariser

SETS = (
    "claude-code-entire-cli",
    "codex-session-bridge",
    "gemini-cli-session-bridge",
    "specstory-md",
    "swe-agent",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_a_real_session_is_read_whole_and_can_be_read_back_from_the_prompts(name: str):
    span = longest_session(real_data("transcripts") / name)
    model = good_summariser()
    steps = write(
        outline(span, MandatoryContent(), room_tokens=4_000),
        model_name="scripted",
        window_tokens=60_000,
        counter=COUNTER,
        limits=Limits(calls=400),
    )
    assert run(steps, model).read == tuple(item.id for item in span)
    said = dict.fromkeys((item.id for item in span), "")
    for one in (one for ask in model.asked for one in shown_messages(ask)):
        said[one.id] += one.text
    assert {one: solid(text) for one, text in said.items()} == {
        item.id: solid("".join(map(words, item.message.parts))) for item in span
    }


def solid(text: str) -> str:
    """Return a text without white space: between parts, and where a giant was cut, some comes in."""
    return "".join(text.split())
