"""From turn to turn, every byte that was sent before is sent again; and every request is valid."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import BudgetExceeded, CompactionRefused
from clew.log.store import MemoryStore
from clew.message import Message, Role, Thinking, Trust, text_message
from clew.providers.formats import WIRES as FORMATS
from clew.providers.rules import Unverified
from clew.request import Marks, Parts, assemble
from clew.request.prompt_cache import layout_of
from clew.session import Session
from tests.conftest import tries
from tests.request.scene import (
    COUNTER,
    FENCE,
    RESTS,
    TOOLS,
    WIRES,
    items,
    passing,
    request_points,
    sent_again,
    standing,
)
from tests.session.sessions import sessions
from tests.session.talk import answer, call
from tests.strategies import ordinary_histories


def parts(view, turn):
    pieces = [*passing(turn), *standing()]
    return Parts(view=view, pieces=pieces, tools=TOOLS, fence=FENCE)


def requests(messages, wire):
    for turn, shown in enumerate(request_points(messages)):
        yield assemble(parts(items(shown), turn), COUNTER).body(wire, RESTS[wire], Marks(minimum_tokens=0))


@pytest.mark.parametrize("wire", WIRES)
@given(messages=sessions(least=2, most=5))
@settings(max_examples=25)
def test_each_request_begins_with_the_bytes_of_the_one_before(wire, messages):
    for before, after in pairwise(requests(messages, wire)):
        assert json.dumps(before) != json.dumps(after)
        assert sent_again(after).startswith(sent_again(before))


@pytest.mark.parametrize("wire", WIRES)
@given(messages=sessions(least=1, most=3) | ordinary_histories())
@settings(max_examples=tries(20, 40))
def test_every_request_passes_the_strict_check_of_its_wire(wire, messages):
    for body in requests(messages, wire):
        report = FORMATS[wire].check(body, unverified=Unverified.REFUSE)
        assert not report.refused, report


@given(messages=sessions(least=4, most=8), target=st.integers(300, 2_000))
@settings(max_examples=25)
def test_after_a_compaction_the_prefix_is_stable_again(messages, target):
    session = Session.open("main", MemoryStore(), window=200_000)
    session.add(*messages)
    try:
        session.compact(target_tokens=target)
    except (BudgetExceeded, CompactionRefused):
        return
    sent = []
    for turn in range(3):
        session.add(text_message(Role.USER, f"go on {turn}"))
        sent.append(assemble(parts(session.view(), turn), COUNTER).body("anthropic", {}, Marks()))
        session.add(text_message(Role.ASSISTANT, f"did {turn}"))
    for before, after in pairwise(sent):
        assert sent_again(after).startswith(sent_again(before))


@given(messages=sessions(least=2, most=4))
@settings(max_examples=25)
def test_a_cache_sees_the_same_prefix_that_the_bytes_show(messages):
    for before, after in pairwise(requests(messages, "anthropic")):
        first, second = layout_of(before, "anthropic", 1), layout_of(after, "anthropic", 1)
        assert first.shared(second) == first.kept


@pytest.mark.parametrize("wire", WIRES)
def test_nothing_of_the_request_s_own_stands_before_the_history(wire):
    shown = items([text_message(Role.USER, "hello")])
    first, second = (assemble(parts(shown, turn), COUNTER).body(wire, RESTS[wire]) for turn in (1, 1_234_567))
    assert sent_again(first) == sent_again(second)
    assert "1234567" not in sent_again(second)


def thinking_step(number):
    thought = Thinking(f"hm {number}", signature="c2ln", trust=Trust.ASSISTANT)
    step = call(number, "look", what="x")
    return [Message(Role.ASSISTANT, (thought, *step.parts)), answer(number, f"found {number}")]


def test_in_a_loop_with_signed_thinking_the_end_stands_inside_the_last_result():
    loop = [text_message(Role.USER, "look"), *thinking_step(1), *thinking_step(2)]
    rest = {
        **RESTS["anthropic"],
        "thinking": {"type": "enabled", "budget_tokens": 1_024},
        "max_tokens": 4_000,
    }
    first, second = (
        assemble(parts(items(loop[:count]), count), COUNTER).body("anthropic", rest, Marks(minimum_tokens=0))
        for count in (3, 5)
    )
    for body in (first, second):
        (result,) = body["messages"][-1]["content"]
        assert result["content"][-1]["text"].startswith("<clew-context>")
        assert not FORMATS["anthropic"].check(body).refused
    before, after = layout_of(first, "anthropic", 1), layout_of(second, "anthropic", 1)
    assert before.shared(after) == before.kept
    assert second["messages"][2]["content"][0]["content"] == "found 1"


def test_once_the_user_spoke_again_the_end_stands_behind_the_words():
    talk = [
        text_message(Role.USER, "look"),
        *thinking_step(1),
        text_message(Role.ASSISTANT, "so"),
        text_message(Role.USER, "and?"),
    ]
    body = assemble(parts(items(talk), 1), COUNTER).body("anthropic", {})
    assert [block["type"] for block in body["messages"][-1]["content"]] == ["text", "text"]
