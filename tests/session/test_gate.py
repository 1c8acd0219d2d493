"""The cost gate before a request: wait, prune or summarise, and what really ran."""

from __future__ import annotations

import pytest

from clew.budget import CostMove, Milestone
from clew.log.store import MemoryStore
from clew.message import Message, Role, Text, ToolCall, ToolResult, Trust, text_message
from clew.session import Request, Session
from clew.testing import good_summariser

SAME = "\n".join(f"{n}: the same listing of the same folder" for n in range(120))


def call(n: int, output: str) -> list[Message]:
    return [
        Message(Role.ASSISTANT, (ToolCall(f"c{n}", "list", {"of": n}, trust=Trust.ASSISTANT),)),
        Message(Role.TOOL, (ToolResult(f"c{n}", (Text(output),)),)),
    ]


def session_of(outputs: list[str], window: int, **more: object) -> Session:
    session = Session.open("gate", MemoryStore(), model="claude-sonnet-4-5", window=window, **more)
    session.add(text_message(Role.USER, "Look at every folder."))
    for n, output in enumerate(outputs):
        session.add(*call(n, output))
    return session


def event(session: Session) -> dict:
    return [stored.event.body for stored in session.events() if stored.event.kind == "token_budget"][-1]


@pytest.mark.parametrize("summariser", [None, good_summariser()])
def test_repetitions_are_pruned_and_no_model_is_asked_where_that_is_enough(summariser):
    outputs = [SAME] * 40
    session = session_of(outputs, 40_000, summariser=summariser)
    fitted = session.fit(auto=True)
    assert (fitted.choice.move, fitted.ran) == (CostMove.PRUNE, CostMove.PRUNE)
    assert {one.option.move for one in fitted.choice.estimates} == {CostMove.PRUNE, CostMove.SUMMARISE}
    assert fitted.compaction.calls == 0
    assert event(session)["choice"]["ran"] == "prune"


def test_without_repetitions_a_digest_is_made_and_reported_as_that():
    outputs = [" ".join(f"w{n}x{k}" for k in range(260)) for n in range(60)]
    session = session_of(outputs, 40_000)
    fitted = session.fit(auto=True)
    assert fitted.ran is (CostMove.SUMMARISE if fitted.compaction.digest else CostMove.PRUNE)
    assert event(session)["choice"]["ran"] == fitted.ran.value


def test_a_warm_cache_makes_it_wait_and_the_session_knows_how_old_it_is(monkeypatch):
    clock = [1_000.0]
    monkeypatch.setattr("clew.session.session.time.monotonic", lambda: clock[0])
    outputs = [" ".join(f"w{n}x{k}" for k in range(60)) for n in range(60)]
    session = session_of(outputs, 60_000, summariser=good_summariser())
    session.fit(auto=True)
    session.signal(Milestone("tests pass"))
    clock[0] += 5
    warm = session.fit()
    assert (warm.choice.move, warm.ran) == (CostMove.WAIT, CostMove.WAIT)
    session.signal(Milestone("tests pass"))
    clock[0] += 7_200
    cold = session.fit()
    assert cold.choice.estimates[-1].once.tokens < warm.choice.estimates[-1].once.tokens


def test_a_known_age_of_the_cache_goes_before_the_sessions_own():
    outputs = [" ".join(f"w{n}x{k}" for k in range(60)) for n in range(60)]
    session = session_of(outputs, 60_000)
    session.signal(Milestone("tests pass"))
    cold = session.fit(Request(cache_age_seconds=9_000))
    session.signal(Milestone("tests pass"))
    warm = session.fit(Request(cache_age_seconds=1))
    assert cold.choice.estimates[-1].once.tokens < warm.choice.estimates[-1].once.tokens
