"""Calls met with their results."""

from __future__ import annotations

from clew.ledger import exchange as exchange_module
from clew.ledger.exchange import OpenCalls
from clew.message import Cite, Message, Role, Text, ToolCall, ToolResult
from tests.ledger.sessions import call, items, result


def pairs(*messages):
    calls = OpenCalls()
    readings = [calls.read(item, number) for number, item in enumerate(items(*messages))]
    return [(one.asked, one.answered, one.result.text) for reading in readings for one in reading.exchanges]


def test_a_result_answers_the_nearest_call_of_its_id_that_waits():
    assert pairs(
        call("a", call_id="x"),
        call("b", call_id="x"),
        result("x", "second"),
        result("x", "first"),
        result("x", "none"),
    ) == [
        (Cite("m1"), Cite("m2"), "second"),
        (Cite("m0"), Cite("m3"), "first"),
    ]


def test_parallel_calls_of_one_id_are_answered_in_order():
    twins = Message(Role.ASSISTANT, (ToolCall("x", "a"), ToolCall("x", "b")))
    answers = Message(Role.TOOL, (ToolResult("x", (Text("one"),)), ToolResult("x", (Text("two"),))))
    assert pairs(twins, answers) == [
        (Cite("m0", 0), Cite("m1", 0), "one"),
        (Cite("m0", 1), Cite("m1", 1), "two"),
    ]


def test_of_too_many_waiting_calls_the_oldest_is_abandoned(monkeypatch):
    monkeypatch.setattr(exchange_module, "MOST_OPEN", 2)
    asked = [call("a", call_id=f"x{n}") for n in range(3)]
    assert pairs(*asked, result("x0", "late"), result("x2", "ok")) == [(Cite("m2"), Cite("m4"), "ok")]


def test_waiting_calls_come_back_from_json():
    calls = OpenCalls()
    for number, item in enumerate(
        items(call("Bash", {"command": "ls"}, call_id="x"), call("b", call_id="y"))
    ):
        calls.read(item, number)
    again = OpenCalls.from_json(calls.to_json())
    (answer,) = items(result("x", "a.py"))
    (one,) = again.read(answer, 2).exchanges
    assert (one.action.subject, one.asked) == ("ls", Cite("m0"))
