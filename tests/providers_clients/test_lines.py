"""The official SDKs against a scripted server: what is sent, what comes back, what goes wrong."""

from __future__ import annotations

import traceback
from contextlib import closing
from dataclasses import replace

import pytest

from clew.errors import (
    ContextTooLong,
    ModelBusy,
    ModelError,
    ModelFailed,
    ModelRefused,
    ModelTimeout,
)
from clew.message import Json, Message, Role, Text, Thinking, ToolCall, Trust, Usage, text_message
from clew.providers.clients import open_model
from clew.providers.model import Ask, Reply, Stop
from clew.providers.remote import PATIENCE
from clew.testing import HangUp, HttpStatus, ScriptedServer, extractive
from tests.providers_clients.lines import KEY, Asking, Line, ask_sync, both_ways, each_line

HELLO = Ask(
    system="Be brief.",
    messages=(text_message(Role.USER, "hello"), text_message(Role.ASSISTANT, "hi")),
    instruction="go",
)

pytestmark = each_line


@both_ways
def test_an_answer_comes_back_with_its_words_and_its_cost(line: Line, asking: Asking):
    usage = Usage(input_tokens=900, output_tokens=7, cache_read_tokens=800)
    answer = Reply(text_message(Role.ASSISTANT, "done"), Stop.END, usage)
    with ScriptedServer(answer) as server:
        assert asking(line, server, HELLO) == answer


def test_the_question_stands_last_and_the_history_before_it(line: Line):
    with ScriptedServer(extractive) as server:
        ask_sync(line, server, HELLO)
    listed = server.requests[0].body[server.requests[0].server_side.wire.list_key]
    assert [item["content"] for item in listed][-3:] == ["hello", "hi", "go"]


def test_a_thought_and_a_tool_call_are_told_from_words(line: Line):
    parts = (
        Thinking("hm", "c2ln", trust=Trust.ASSISTANT),
        Text("Look.", trust=Trust.ASSISTANT),
        ToolCall("call_1", "bash", {"command": "ls"}, trust=Trust.ASSISTANT),
    )
    with ScriptedServer(Reply(Message(Role.ASSISTANT, parts), Stop.TOOL_CALL)) as server:
        reply = ask_sync(line, server, HELLO)
    assert (reply.text, reply.thought, reply.called, reply.stop) == ("Look.", True, True, Stop.TOOL_CALL)
    assert [call.input for call in reply.message.calls] == [{"command": "ls"}]


@pytest.mark.parametrize("stop", [Stop.END, Stop.MAX_TOKENS, Stop.REFUSED])
def test_every_provider_says_in_the_same_words_why_it_stopped(line: Line, stop: Stop):
    with ScriptedServer(Reply(text_message(Role.ASSISTANT, "so far"), stop)) as server:
        assert ask_sync(line, server, HELLO).stop is stop


def test_an_answer_without_words_is_an_answer(line: Line):
    with ScriptedServer(Reply(Message(Role.ASSISTANT, ()))) as server:
        reply = ask_sync(line, server, HELLO)
    assert (reply.text, reply.thought, reply.called) == ("", False, False)


# What is sent ----------------------------------------------------------------------------------------


def test_a_schema_is_asked_for_in_the_providers_way_and_spared_where_it_is_refused(line: Line):
    field = {"anthropic": "output_config", "openai-chat": "response_format", "openai": "text"}[line.api]
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    with ScriptedServer(HttpStatus(400, f"'{field}' is not supported with this model"), "ok") as server:
        assert ask_sync(line, server, replace(HELLO, schema=schema)).text == "ok"
    assert [field in request.body for request in server.requests] == [True, False]
    assert schema in _values(server.requests[0].body[field])


def _values(value: object) -> list[object]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(found for one in inner for found in _values(one))]


@both_ways
def test_half_of_a_surrogate_pair_is_sent_as_the_replacement_character(line: Line, asking: Asking):
    with ScriptedServer("ok") as server:
        asking(line, server, Ask(instruction="half \ud83e of a pair, \ud83e\udd16 a whole one"))
    (item,) = server.requests[0].body[server.requests[0].server_side.wire.list_key]
    assert item["content"] == "half \ufffd of a pair, 🤖 a whole one"


# What goes wrong -------------------------------------------------------------------------------------

STATUSES = {
    400: ModelRefused,
    401: ModelRefused,
    403: ModelRefused,
    404: ModelRefused,
    408: ModelTimeout,
    409: ModelRefused,
    413: ContextTooLong,
    422: ModelRefused,
    429: ModelBusy,
    500: ModelFailed,
    502: ModelFailed,
    503: ModelBusy,
    504: ModelFailed,
    529: ModelBusy,
}


@pytest.mark.parametrize("status", STATUSES)
def test_each_status_is_one_of_our_errors_and_keeps_its_cause(line: Line, status: int):
    with ScriptedServer(HttpStatus(status, "so it is")) as server, pytest.raises(ModelError) as raised:
        ask_sync(line, server, HELLO)
    assert type(raised.value) is STATUSES[status]
    assert raised.value.detail.startswith(str(status))
    assert raised.value.detail.endswith("so it is")
    assert raised.value.__cause__ is not None


@both_ways
def test_a_model_that_never_answers_is_a_timeout_and_is_asked_once(line: Line, asking: Asking):
    hurried = replace(PATIENCE, timeout_seconds=0.05)
    slept: list[float] = []
    with ScriptedServer.always(ModelTimeout()) as server, pytest.raises(ModelTimeout):
        asking(line, server, HELLO, hurried, slept)
    assert slept == []
    assert len(server.requests) <= 1  # a slow server may not have read it by now


@both_ways
@pytest.mark.parametrize(
    "broken", [HangUp(), HttpStatus(200, text="<html>Please log in</html>"), HttpStatus(200, text="[]")]
)
def test_what_is_no_answer_is_a_failure(line: Line, asking: Asking, broken: HangUp | HttpStatus):
    with ScriptedServer(broken) as server, pytest.raises(ModelFailed):
        asking(line, server, HELLO)


@both_ways
def test_nobody_there_is_a_failure(line: Line, asking: Asking):
    with ScriptedServer() as server:
        pass
    with pytest.raises(ModelFailed):
        asking(line, server, HELLO)


def test_an_answer_that_is_nested_without_end_is_a_failure(line: Line):
    with ScriptedServer(HttpStatus(200, text='{"a":' * 60_000)) as server, pytest.raises(ModelFailed):
        ask_sync(line, server, HELLO)


def test_what_an_sdk_trips_over_is_a_failure_and_never_its_own_error(line: Line):
    """A model mends such a body before it gets there; the border is asked without that."""
    body = {"messages": "half \ud83e of a pair"}
    with ScriptedServer() as server, closing(open_model(line.name(server), key=KEY)) as model:
        for send in (model.post, lambda body: list(model.events(body))):
            with pytest.raises(ModelFailed, match="the SDK failed with UnicodeEncodeError"):
                send(body)


def test_a_request_that_is_nested_without_end_is_refused_before_it_is_sent(line: Line):
    deep: Json = "x"
    for _ in range(5_000):
        deep = [deep]
    with ScriptedServer() as server, closing(open_model(line.name(server), key=KEY)) as model:
        with pytest.raises(ModelRefused, match="nested too deeply"):
            next(model.stream({"messages": deep}))
        assert server.requests == []


def test_an_answer_that_tells_of_an_error_is_that_error(line: Line):
    told = HttpStatus(200, text='{"error": {"code": "rate_limit_exceeded", "message": "slow down"}}')
    with ScriptedServer(told) as server, pytest.raises(ModelBusy, match="slow down"):
        ask_sync(line, server, HELLO)


def test_a_request_that_is_too_long_says_by_how_much(line: Line):
    with (
        ScriptedServer(ContextTooLong("", 208_310, 200_000)) as server,
        pytest.raises(ContextTooLong) as raised,
    ):
        ask_sync(line, server, HELLO)
    assert (raised.value.tokens, raised.value.limit) == (208_310, 200_000)


def test_a_key_that_the_server_repeats_is_neither_in_the_error_nor_in_its_traceback(line: Line):
    with ScriptedServer(HttpStatus(401, f"bad key {KEY}")) as server, pytest.raises(ModelRefused) as raised:
        ask_sync(line, server, HELLO)
    assert raised.value.detail.endswith("bad key [key]")
    assert KEY not in "".join(traceback.format_exception(raised.value))


# Patience --------------------------------------------------------------------------------------------


@both_ways
def test_a_busy_model_is_asked_again_when_it_says(line: Line, asking: Asking):
    slept: list[float] = []
    with ScriptedServer(ModelBusy(retry_after=2.5), HttpStatus(529), "ok") as server:
        assert asking(line, server, HELLO, PATIENCE, slept).text == "ok"
    assert slept == [2.5, 2.0]
    assert len({request.raw for request in server.requests}) == 1


@both_ways
def test_patience_ends_after_three_tries(line: Line, asking: Asking):
    slept: list[float] = []
    lines = (HttpStatus(500), HttpStatus(502), HttpStatus(500, "the last"))
    with ScriptedServer(*lines) as server, pytest.raises(ModelFailed, match="the last"):
        asking(line, server, HELLO, PATIENCE, slept)
    assert slept == [1.0, 2.0]


def test_a_provider_that_wants_an_hour_is_not_waited_for(line: Line):
    slept: list[float] = []
    with ScriptedServer(ModelBusy(retry_after=3600)) as server, pytest.raises(ModelBusy) as raised:
        ask_sync(line, server, HELLO, PATIENCE, slept)
    assert (slept, raised.value.retry_after) == ([], 3600)


def test_a_refused_request_is_not_sent_again(line: Line):
    with ScriptedServer(HttpStatus(400, "no such thing")) as server, pytest.raises(ModelRefused):
        ask_sync(line, server, HELLO, PATIENCE)
    assert len(server.requests) == 1
