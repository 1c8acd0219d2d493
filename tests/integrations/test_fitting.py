"""What all integrations share: they fit messages, log them if asked to, and let no error out."""

from __future__ import annotations

import logging

import pytest

from clew import MemoryStore, Session
from clew.integrations.fitting import Fitting


def conversation(name: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[turn % 2], "content": f"{name}{turn}"} for turn in range(5)]


def test_one_session_records_every_message_of_two_conversations():
    session = Session.open("both", MemoryStore())
    fitting = Fitting(50_000, session=session)
    for name in ("a", "b", "a"):
        fitting.fit(conversation(name), name)
    assert len(session.ledger) == 10
    assert fitting.errors == 0


def test_a_conversation_that_the_log_holds_is_not_recorded_again():
    session = Session.open("one", MemoryStore())
    Fitting(50_000, session=session).fit(conversation("a"), "a")
    Fitting(50_000, session=session).fit(conversation("a"), "a")
    assert len(session.ledger) == 5


def test_if_only_the_log_fails_the_fitted_messages_are_returned_and_the_report_says_so(
    caplog: pytest.LogCaptureFixture,
):
    def no_session(key: str) -> Session:
        raise OSError(f"no disk for {key}")

    fitting = Fitting(50_000, session=no_session)
    with caplog.at_level(logging.WARNING, "clew.integrations"):
        assert fitting.fit(conversation("a"), "a") is not None
    assert "clew did not log the messages: OSError: no disk for a" in caplog.text
