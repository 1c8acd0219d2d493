"""Logic yields questions; drivers ask them."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import ModelBusy, ModelError, ModelRefused, ModelTimeout
from clew.providers.model import Ask, Steps, run, run_async
from clew.testing import AsyncScriptedModel, ScriptedModel, ScriptExhausted


def tries(times: int) -> Steps[list[str]]:
    """Ask so many questions; note each answer, or the name of what went wrong."""
    noted: list[str] = []
    for number in range(times):
        try:
            reply = yield Ask(instruction=f"question {number}")
        except ModelError as error:
            noted.append(type(error).__name__)
        else:
            noted.append(reply.text)
    return noted


def awaited(steps: Steps[object], model: ScriptedModel) -> object:
    return asyncio.run(run_async(steps, AsyncScriptedModel(model)))


both_drivers = pytest.mark.parametrize("drive", [run, awaited], ids=["sync", "async"])


@both_drivers
def test_a_failure_is_raised_where_the_question_was_asked(drive):
    model = ScriptedModel("one", ModelTimeout(), "three")
    assert drive(tries(3), model) == ["one", "ModelTimeout", "three"]
    assert [ask.instruction for ask in model.asked] == ["question 0", "question 1", "question 2"]


@both_drivers
def test_steps_that_ask_nothing_have_a_result(drive):
    assert drive(tries(0), ScriptedModel()) == []


@both_drivers
def test_a_failure_that_the_steps_let_pass_reaches_the_caller(drive):
    def trusting() -> Steps[str]:
        return (yield Ask(instruction="go")).text

    with pytest.raises(ModelRefused, match="no"):
        drive(trusting(), ScriptedModel(ModelRefused("no")))


@both_drivers
def test_steps_are_closed_where_something_else_breaks(drive):
    closed: list[bool] = []

    def careful() -> Steps[str]:
        try:
            return (yield Ask(instruction="go")).text
        finally:
            closed.append(True)

    with pytest.raises(ScriptExhausted) as raised:
        drive(careful(), ScriptedModel())
    assert closed == [True]  # now, not when somebody lets go of the traceback
    assert raised.tb is not None


@given(st.lists(st.sampled_from(["a", "", ModelTimeout(), ModelBusy("x", 1.0), ModelRefused()]), max_size=6))
def test_both_drivers_give_the_same(lines):
    assert run(tries(len(lines)), ScriptedModel(*lines)) == awaited(tries(len(lines)), ScriptedModel(*lines))


@both_drivers
def test_a_stop_that_escapes_from_a_model_is_not_taken_for_a_result(drive):
    with pytest.raises((StopIteration, RuntimeError)):
        drive(tries(1), ScriptedModel(lambda _: next(iter(()))))
