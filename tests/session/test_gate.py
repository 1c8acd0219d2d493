"""The cost gate before a request: wait, prune or summarise, and what really ran."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest

import clew
from clew.budget import (
    Compact,
    CostMove,
    Fill,
    Milestone,
    Policy,
    Region,
    ResultArrived,
    Stop,
    TokenBudget,
    levels_for,
)
from clew.errors import BudgetExceeded, ClewError
from clew.log.store import MemoryStore
from clew.message import Message, Role, Text, ToolCall, ToolResult, Trust, text_message
from clew.session import Request, Session
from clew.session.fit import _log
from tests.summarisers import good_summariser

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
    assert bool(fitted.why_otherwise) is (fitted.choice.move is not fitted.ran)
    assert event(session)["choice"].get("why_otherwise", "") == fitted.why_otherwise


def test_a_choice_that_is_not_what_ran_is_explained_in_the_event():
    session = session_of([SAME] * 40, 40_000)
    fitted = session.fit(auto=True)
    other = replace(fitted, choice=replace(fitted.choice, move=CostMove.SUMMARISE))
    assert fitted.why_otherwise == ""
    assert "why_otherwise" not in event(session)["choice"]
    _log(session._replay, other, Request())
    said = event(session)["choice"]
    assert (said["move"], said["ran"]) == ("summarise", "prune")
    assert said["why_otherwise"] == "pruning alone reached the size, so no digest was needed"
    waiting = replace(other, compaction=None, refused="nothing could be made smaller")
    assert waiting.why_otherwise == "nothing could be made smaller"


@pytest.mark.parametrize(("made", "age"), [(1, 5), (1, 4_000), (200, 5)])
def test_no_call_is_priced_where_old_output_is_shortened_and_no_model_is_asked(made, age):
    asked: list[str] = []
    outputs = ["\n".join(f"rate_{n}_{k} = {n * k}" for k in range(50)) for n in range(35)]
    chosen = []
    for summariser in (None, lambda prompt: asked.append(prompt) or "{}"):
        session = session_of(outputs, 40_000, summariser=summariser)
        session.add(text_message(Role.ASSISTANT, "Read."), text_message(Role.USER, "Go on."))
        request = Request(signals=(Milestone("read"),), cache_age_seconds=age, made=made)
        fitted = session.fit(request, auto=True)
        estimate = {one.option.move: one.once.tokens for one in fitted.choice.estimates}
        chosen.append((fitted.choice.move, fitted.ran, estimate[CostMove.PRUNE]))
        assert fitted.compaction.digest is None
    assert chosen[0] == chosen[1]
    assert chosen[0][:2] == (CostMove.PRUNE, CostMove.PRUNE)
    assert not asked


def test_a_warm_cache_makes_it_wait_and_the_session_knows_how_old_it_is(monkeypatch):
    clock = [1_000.0]
    monkeypatch.setattr("clew.session.session.time.monotonic", lambda: clock[0])
    session = session_of([], 60_000, summariser=good_summariser())
    for n in range(330):  # prose is not shortened, so that a model would be asked
        session.add(
            text_message(Role.ASSISTANT, f"Folder {n} has parts {' '.join(f'w{n}x{k}' for k in range(9))}."),
            text_message(Role.USER, f"Then go on with folder {n + 1}."),
        )
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


# One oversized result ----------------------------------------------------------------------------------

LINES = [
    f"12:00:{n % 60:02} worker {n * 7919 % 10_007} served request {n} in {n % 97} ms" for n in range(9_000)
]


def long_output(session: Session, share: float) -> str:
    """Return an output of about this share of the usable window."""
    room, size = share * session.gauge.window.usable_tokens, 0
    for n, line in enumerate(LINES):
        size += session.counter.count_text(line)
        if size > room:
            return "\n".join(LINES[:n])
    raise AssertionError("more lines are needed")


@pytest.mark.parametrize("window", [20_000, 60_000, 200_000])
@pytest.mark.parametrize("summariser", [None, good_summariser()])
def test_a_new_result_that_takes_most_of_the_window_is_shortened_and_nothing_else_changes(window, summariser):
    session = session_of(["a.py\nb.py"] * 4, window, summariser=summariser)
    session.fit(auto=True)
    before = session.view()
    whole = long_output(session, 0.58)
    session.add(*call(9, whole))
    fitted = session.fit(auto=True)
    assert fitted.compaction is not None
    assert (fitted.compaction.plan.trigger, fitted.ran) == ("oversized", CostMove.PRUNE)
    assert session.view()[: len(before)] == before  # so the prompt cache is kept
    most = session.gauge.policy.oversized.of(session.gauge.window.usable_tokens)
    assert most // 2 < session.counter.count(session.view()[-1].message) <= most + 100
    assert LINES[0] in session.view()[-1].message.parts[0].text
    assert session.fit(auto=True).compaction is None
    session.undo()
    assert session.view()[-1].message == call(9, whole)[1]


def test_a_result_that_leaves_most_of_the_window_free_is_read_whole():
    session = session_of(["a.py\nb.py"] * 4, 60_000)
    session.add(*call(9, long_output(session, 0.4)))
    before = session.view()
    assert session.fit(auto=True).compaction is None
    assert session.view() == before


def test_a_result_that_the_model_has_answered_is_not_oversized_any_more():
    session = session_of(["a.py\nb.py"] * 4, 60_000)
    session.add(*call(9, long_output(session, 0.52)), text_message(Role.ASSISTANT, "Nothing is wrong in it."))
    assert session.fit(auto=True).compaction is None


def test_a_result_reported_by_the_caller_is_shortened_from_the_limit_of_the_policy_on():
    session = session_of(["a.py\nb.py"] * 4, 60_000)
    session.add(*call(9, long_output(session, 0.4)))
    session.signal(ResultArrived(session.counter.count(session.view()[-1].message), "list"))
    fitted = session.fit(auto=True)
    assert fitted.compaction is not None
    assert fitted.compaction.plan.trigger == "oversized"


def test_a_result_that_is_to_stay_verbatim_is_not_shortened():
    session = session_of(["a.py\nb.py"] * 4, 60_000, policy=Policy(keep_tokens=36_000))
    session.add(*call(9, long_output(session, 0.55)))
    assert not isinstance(session.measure().verdict, Compact)


# The event of a turn that compacts -----------------------------------------------------------------------


def test_the_event_of_a_compacting_turn_shows_the_window_before_and_after():
    outputs = [" ".join(f"w{n}x{k}" for k in range(260)) for n in range(60)]
    session = session_of(outputs, 40_000)
    used = session.tokens
    fitted = session.fit(auto=True)
    body = event(session)
    assert body["before"]["verdict"]["is"] == "compact"
    assert body["before"]["verdict"]["trigger"] == "pressure"
    before, after = (
        sum(one["asked"] for one in part["slices"] if one["region"] in ("history", "tool outputs"))
        for part in (body["before"], body)
    )
    assert (before, after) == (used, session.tokens)
    assert TokenBudget.from_json(body["before"]) == fitted.before
    assert TokenBudget.from_json(body) == fitted.budget
    session.fit(auto=True)
    assert "before" not in event(session)


def test_the_reserve_for_the_next_result_is_the_one_learnt_from_earlier_results():
    session = session_of(["a.py"], 40_000)
    plain = session.measure().allotment.of(Region.NEXT_RESULT).given
    session.add(*call(1, long_output(session, 0.2)))
    learnt = session.measure().allotment.of(Region.NEXT_RESULT).given
    assert learnt == session.counter.count(session.view()[-1].message) > plain


def test_after_three_failures_it_asks_also_if_most_of_the_request_is_not_in_the_view():
    session = Session.open("main", MemoryStore(), window=4_000)
    session.add({"role": "user", "content": "Look at the files. " + "word " * 900})
    for n in range(3):
        session.pin(f"Rule {n}: never touch " + " ".join(f"file_{n}_{i}.py" for i in range(90)))
    verdicts = []
    for _ in range(6):
        with contextlib.suppress(ClewError):
            verdicts.append(session.fit(auto=True).budget.verdict)
    refusals = [one for one in session.events() if one.event.kind == "refusal"]
    assert len(refusals) <= 3, [type(one).__name__ for one in verdicts]


@pytest.mark.parametrize("share", [0.45, 0.6, 0.7, 0.75])
def test_a_system_prompt_that_fills_most_of_the_window_does_not_stop_compaction(share: float):
    window = 24_000
    session = Session.open("gate", MemoryStore(), window=window)
    session.add(text_message(Role.SYSTEM, "You read files and report. " * int(window * share / 6)))
    session.add(text_message(Role.USER, "Fix the build."))
    system = session.tokens
    for n in range(12):
        session.add(*call(n, "\n".join(f"line {n * 7919 + k} of log {k * 31 % 977}" for k in range(220))))
        fitted = session.fit(auto=True)
        assert not isinstance(fitted.verdict, Stop)
        assert session.tokens <= session.gauge.window.usable_tokens
    assert session.trace()
    assert system > share * 0.8 * window


@pytest.mark.parametrize(
    ("window", "rules", "clauses", "tools", "lines"),
    [
        (12_000, 12, 26, 0, 15),  # a third of the window is rules
        (20_000, 12, 60, 0, 60),  # half of it: a digest with them is larger than the messages it replaces
        (12_000, 0, 0, 4_000, 15),
        (20_000, 6, 30, 4_000, 40),
    ],
)
def test_what_is_sent_beside_the_view_counts_for_target_and_band(
    window: int, rules: int, clauses: int, tools: int, lines: int
):
    session = Session.open("gate", MemoryStore(), window=window)
    session.add(text_message(Role.USER, "Go through the claims."))
    for n in range(rules):
        session.pin(f"Rule {n}: " + f"clause {n} of the policy applies to every claim; " * clauses)
    left = None
    for turn in range(120):
        session.add(
            *call(turn, "\n".join(f"claim {turn * 31 + j} row {j * 7919} paid" for j in range(lines)))
        )
        fitted = session.fit(Request(fixed_tokens={Region.TOOLS: tools}), auto=True)
        assert not fitted.refused
        if fitted.compaction:
            before, after = Fill.of(fitted.before.allotment), Fill.of(fitted.budget.allotment)
            levels = levels_for(before, session.gauge.policy, session._replay.state.results)
            assert left is None or before.used_tokens - left >= levels.band
            assert after.used_tokens <= session.gauge.most_left(before.fixed_tokens)
            left = after.used_tokens
    assert left


def test_a_target_raised_for_what_the_model_has_not_read_is_said_in_the_reason():
    outputs = [" ".join(f"w{n}x{k}" for k in range(260)) for n in range(48)]
    session = session_of([*outputs, " ".join(f"new{k}" for k in range(1_200))], 40_000)
    fitted = session.fit(auto=True)
    asked, plan = fitted.before.verdict.target_tokens, fitted.compaction.plan
    assert plan.target_tokens > asked
    assert f"down to {plan.target_tokens:,}, not {asked:,}: the model has not read" in plan.reason


def test_what_is_sent_beside_a_list_counts_for_the_band():
    said = [{"role": "user", "content": "Go on. " + "word " * 300}, {"role": "assistant", "content": "Done."}]
    result = clew.compact(said * 60, window=16_000, fixed_tokens=3_000)
    assert result.plan
    assert result.conversation.view.state.after_tokens == result.tokens_after + 3_000


def test_a_turn_whose_compaction_fails_and_raises_has_its_event():
    session = Session.open("gate", MemoryStore(), window=2_000)
    session.add(text_message(Role.USER, "Fix the build."))
    names = [f"c{n}" for n in range(300)]  # not even excerpts of so many results fit
    calls = (ToolCall(name, "list", {"of": name}, trust=Trust.ASSISTANT) for name in names)
    results = (ToolResult(name, (Text(SAME),)) for name in names)
    session.add(Message(Role.ASSISTANT, tuple(calls)), Message(Role.TOOL, tuple(results)))
    with pytest.raises(BudgetExceeded):
        session.fit(auto=True)
    assert event(session)["verdict"]["is"] == "compact"
    assert event(session)["choice"]["ran"] == "wait"
