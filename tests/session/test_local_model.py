"""A real model as a weak summariser: it garbles and contradicts its sources, and the checks catch that."""

import pytest

from clew.compaction.verify import Level
from clew.log.store import MemoryStore
from clew.message import Role, text_message
from clew.providers.clients import open_model
from clew.session import Session
from tests.local_model import served
from tests.session.talk import RULE, talk
from tests.session.test_behaviour import agent

WINDOW_TOKENS = 8_192

pytestmark = [pytest.mark.local_model, pytest.mark.slow]


@pytest.fixture(scope="module")
def model():
    with served(WINDOW_TOKENS) as address:
        opened = open_model(f"openai-chat/smollm2@{address}/v1", window_tokens=WINDOW_TOKENS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def compacted(model):
    """Return a session that the model summarised, and what came of it."""
    session = Session.open("main", MemoryStore(), window=20_000, summariser=model)
    session.add(*talk(3))
    done = session.compact(target_tokens=700)
    session.add(text_message(Role.USER, "Delete legacy/report.py, nobody uses it."))
    return session, done


def test_the_rule_stands_and_is_obeyed(compacted):
    session, done = compacted
    assert RULE in [pin.quote for pin in done.digest.pins]
    assert agent(session.view()).startswith("I may not touch legacy/")


def test_it_was_asked_and_what_took_effect_passed_every_check(compacted):
    _, done = compacted
    assert done.calls
    assert done.attempts
    assert all(finding.level is Level.NOTE for finding in done.report.findings)


def test_whatever_it_wrote_each_line_leads_to_its_source(compacted):
    session, done = compacted
    assert all(session.expand(claim.id).quotes for claim in done.digest.claims)
