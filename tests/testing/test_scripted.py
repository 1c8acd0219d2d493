"""The scripted model: it says its lines and remembers the questions."""

from __future__ import annotations

import asyncio

import pytest

from clew.errors import ClewError, ModelBusy
from clew.message import Role, text_message
from clew.providers.model import Ask, Reply, Stop
from clew.testing import AsyncScriptedModel, ScriptedModel, ScriptExhausted

GO = Ask(instruction="Summarise the session.", purpose="summarise")


def test_lines_are_said_in_order_and_questions_remembered():
    reply = Reply(text_message(Role.ASSISTANT, "two"), Stop.MAX_TOKENS)
    model = ScriptedModel("one", reply, lambda ask: Reply(text_message(Role.ASSISTANT, ask.purpose)))
    assert [model.ask(GO).text, model.ask(GO), model.ask(GO).text] == ["one", reply, "summarise"]
    assert model.asked == [GO, GO, GO]


def test_a_failure_is_raised_each_time_as_if_for_the_first_time():
    model = ScriptedModel.always(ModelBusy("x", 3.0))
    depths = []
    for _ in range(3):
        with pytest.raises(ModelBusy) as raised:
            model.ask(GO)
        depths.append(len(raised.traceback))
    assert len(set(depths)) == 1


def test_one_question_too_many_is_no_error_that_logic_could_survive():
    model = ScriptedModel("only")
    model.ask(GO)
    with pytest.raises(
        ScriptExhausted, match=r"question 2 .*\(summarise\): 'Summarise the session.'"
    ) as raised:
        model.ask(GO)
    assert not isinstance(raised.value, ClewError)


def test_the_awaited_twin_speaks_the_same_lines():
    model = ScriptedModel("one", name="me", window_tokens=99)
    twin = AsyncScriptedModel(model)
    assert asyncio.run(twin.ask(GO)).text == "one"
    assert (model.asked, twin.name, twin.window_tokens) == ([GO], "me", 99)
