"""Rules that only the digest of a plain list shows are stated again at its end, where that is safe."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import clew
from clew.integrations.fitting import Fitting
from clew.proxy import in_flight
from clew.proxy.relay import HttpRequest
from clew.proxy.stats import Stats
from clew.session import CompactResult

RULE = "Never modify files under legacy/."
WINDOW = 8_000
MODELS = {"anthropic": "claude-sonnet-4-5", "openai": "gpt-4o", "responses": "gpt-4o"}
KEYS = {"anthropic": "messages", "openai": "messages", "responses": "input"}
STATED = "Reminder of the rules that the user set."
wires = pytest.mark.parametrize("wire", list(KEYS))


def talk(turns: int) -> list[dict[str, object]]:
    """Return a conversation whose first message, with the rule, leaves every view of it."""
    entries: list[dict[str, object]] = [{"role": "user", "content": f"Tidy up the billing code. {RULE}"}]
    for n in range(turns):
        story = f"Module {n} reads the rates of table {n} and rounds them to cents. " * 12
        entries += [
            {"role": "assistant", "content": f"Module {n} is tidy now. {story}"},
            {
                "role": "user",
                "content": f"Good. Now module {n + 1}: it has the same fault as before. {story}",
            },
        ]
    return entries


def body(wire: str, entries: list[dict[str, object]]) -> dict[str, object]:
    limit = {"max_tokens": 99} if wire == "anthropic" else {}
    return {"model": MODELS[wire], **limit, KEYS[wire]: entries}


def fitted(wire: str, entries: list[dict[str, object]]) -> clew.CompactResult:
    return clew.compact(body(wire, entries), WINDOW)


@wires
def test_they_come_after_the_newest_message_and_change_nothing_before(wire):
    result = fitted(wire, talk(30))
    sent = result.with_rules()
    assert result.digest
    assert sent[:-1] == result.messages
    assert STATED in json.dumps(sent[-1])
    assert RULE in json.dumps(sent[-1])
    assert not clew.check(body(wire, sent), wire).refused
    assert RULE not in json.dumps(result.messages[1:])


@wires
def test_an_item_of_a_list_of_bans_is_restated_with_the_line_above_it(wire):
    first, *rest = talk(30)
    banned = {**first, "content": f"{first['content']}\n\nPlease don't:\n- push to main\n- delete files\n"}
    stated = json.dumps(fitted(wire, [banned, *rest]).with_rules()[-1])
    assert "- Please don't: push to main" in stated
    assert "- Please don't: delete files" in stated
    assert "- push to main" not in stated


def test_the_next_call_continues_from_the_whole_list_or_from_the_view():
    first = fitted("anthropic", talk(30))
    more = [
        *talk(30),
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Now the tests."},
    ]
    later = clew.compact(body("anthropic", more), WINDOW, previous=first)
    assert later.with_rules()[: len(first.messages)] == first.messages
    assert json.dumps(later.with_rules()).count(STATED) == 1


def thinking(signature: str) -> list[dict[str, object]]:
    call = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.py"}}
    thought = {"type": "thinking", "thinking": "I read it.", "signature": signature}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "x = 1"}
    return [{"role": "assistant", "content": [thought, call]}, {"role": "user", "content": [result]}]


@pytest.mark.parametrize(
    "last",
    [[{"role": "assistant", "content": "The answer is"}], thinking("c2ln")],
    ids=["words to continue", "a tool loop with thinking"],
)
def test_nothing_is_added_where_the_api_would_take_it_for_something_else(last):
    result = fitted("anthropic", [*talk(30), *last])
    assert result.digest
    assert result.with_rules() == result.messages


def test_nothing_is_added_if_the_rule_is_in_view_or_there_is_no_room():
    whole = fitted("anthropic", talk(1))
    assert whole.with_rules() == whole.messages
    filled = replace(fitted("anthropic", talk(30)), tokens_after=WINDOW)
    assert filled.with_rules() == filled.messages


@wires
def test_the_proxy_restates_them_in_each_compacted_request(wire):
    flight = in_flight.InFlight(Stats(), WINDOW)
    http = HttpRequest("POST", "/v1/x", [("x-claude-code-session-id", "s")])
    sent = []
    for turns in (30, 31):
        raw = json.dumps(body(wire, talk(turns))).encode()
        reaction = flight.fit_request(http, raw, wire, preview=False)
        assert reaction
        assert reaction.body
        sent.append(json.loads(reaction.body)[KEYS[wire]])
        assert not clew.check(json.loads(reaction.body), wire).refused
    assert [json.dumps(one).count(STATED) for one in sent] == [1, 1]
    assert all(STATED in json.dumps(one[-1]) for one in sent)
    assert sent[1][: len(sent[0]) - 1] == sent[0][:-1]  # so that the cache keeps the rest


def test_an_error_leaves_the_fitted_list(monkeypatch):
    def fails(result: object) -> list[object]:
        raise ValueError("no")

    monkeypatch.setattr(CompactResult, "_restated_rules", fails)
    fitting, result = Fitting(WINDOW), fitted("anthropic", talk(30))
    assert fitting.to_send(result) == result.messages
    assert fitting.errors == 1
    raw = json.dumps(body("anthropic", talk(30))).encode()
    flight = in_flight.InFlight(Stats(), WINDOW)
    reaction = flight.fit_request(HttpRequest("POST", "/v1/x", []), raw, "anthropic", preview=False)
    assert reaction
    assert reaction.body
    assert json.loads(reaction.body)["messages"] == result.messages
