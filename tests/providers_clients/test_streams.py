"""Answers in pieces, through the official SDKs: they add up to what the API would have said whole."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

from clew.errors import ModelBusy, ModelError, ModelFailed, ModelTimeout
from clew.message import JsonObject, Message, Role, Text, Thinking, ToolCall, Trust, Usage
from clew.providers.clients import open_model
from clew.providers.model import Ask, Piece, Reply, Stop
from clew.providers.remote import PATIENCE, Patience, RemoteModel
from clew.testing import BrokenStream, HttpStatus, ScriptedServer, ServerLine
from tests.providers_clients.lines import KEY, ONCE, RESPONSES, Line, each_line

WORDS = "A long enough answer that is streamed in several pieces, with é and 漢字."
PARTS = (
    Thinking("Let me see, this may take a while.", "c2ln", trust=Trust.ASSISTANT),
    Text(WORDS, trust=Trust.ASSISTANT),
    ToolCall("call_1", "bash", {"command": "ls -la /tmp/a/very/long/path", "n": 1}, trust=Trust.ASSISTANT),
    ToolCall("call_2", "bash", {}, trust=Trust.ASSISTANT),
)
FULL = Reply(Message(Role.ASSISTANT, PARTS), Stop.TOOL_CALL, Usage(100, 20, 60))
SHORT = Reply(Message(Role.ASSISTANT, (Text("ok", trust=Trust.ASSISTANT),)))
HELLO = Ask(instruction="hello", temperature=None)

pytestmark = each_line


def streamed(
    line: Line, *lines: ServerLine, patience: Patience = ONCE, pieces: list[Piece] | None = None
) -> tuple[Reply, list[JsonObject]]:
    """Ask for a stream; return the answer and the bodies that were sent."""
    with (
        ScriptedServer(*lines) as server,
        closing(open_model(line.name(server), key=KEY, patience=patience)) as opened,
    ):
        assert isinstance(opened, RemoteModel)
        model = replace(opened, sleep=lambda _: None)
        steps = model.stream(model.api.body(HELLO))
        shown = pieces if pieces is not None else []
        while True:
            try:
                shown.append(next(steps))
            except StopIteration as end:
                assert not any(request.check().refused for request in server.requests)
                return end.value, [request.body for request in server.requests]


def test_a_stream_adds_up_to_the_answer_that_comes_whole(line: Line):
    with ScriptedServer(FULL) as server, closing(open_model(line.name(server), key=KEY)) as model:
        whole = model.ask(HELLO)
    assert streamed(line, FULL)[0] == whole


def test_the_words_are_shown_as_they_come(line: Line):
    pieces: list[Piece] = []
    streamed(line, FULL, pieces=pieces)
    words = [piece.text for piece in pieces if not piece.thinking]
    assert ("".join(words), len(words) > 2) == (WORDS, True)


def test_a_request_says_that_it_wants_a_stream(line: Line):
    assert [body["stream"] for body in streamed(line, SHORT)[1]] == [True]


def test_a_busy_server_is_asked_again_while_nothing_was_shown(line: Line):
    reply, bodies = streamed(line, HttpStatus(529, code="overloaded_error"), SHORT, patience=PATIENCE)
    assert (reply.text, len(bodies)) == ("ok", 2)


def test_a_line_that_breaks_is_a_failure_and_is_not_asked_again_once_words_were_shown(line: Line):
    pieces: list[Piece] = []
    with pytest.raises(ModelFailed):
        streamed(line, BrokenStream(FULL, events=8), patience=PATIENCE, pieces=pieces)
    assert pieces


def test_a_line_that_breaks_before_the_first_word_is_asked_again(line: Line):
    assert streamed(line, BrokenStream(FULL, events=1), SHORT, patience=PATIENCE)[0].text == "ok"


def test_a_line_that_falls_silent_is_a_timeout(line: Line):
    with pytest.raises(ModelTimeout):
        streamed(line, BrokenStream(FULL, events=8, silent=True), patience=replace(ONCE, timeout_seconds=0.2))


@pytest.mark.parametrize("error", [ModelBusy("later", 90.0), ModelFailed("gone")])
def test_errors_of_a_stream_are_those_of_a_whole_answer(line: Line, error: ModelError):
    with pytest.raises(type(error)):
        streamed(line, error)


def test_half_of_a_surrogate_pair_is_streamed_as_the_replacement_character(line: Line):
    with ScriptedServer(SHORT) as server, closing(open_model(line.name(server), key=KEY)) as model:
        list(model.stream(model.api.body(Ask(instruction="half \ud83e of a pair", temperature=None))))
    assert "half \ufffd of a pair".encode() in server.requests[0].raw


def test_a_model_names_itself_and_its_format(line: Line):
    with ScriptedServer() as server, closing(open_model(line.name(server), key=KEY)) as model:
        assert isinstance(model, RemoteModel)
        fields = model.fields(100)
    assert (model.wire, fields["model"], 100 in fields.values()) == (line.wire, line.model, True)
    assert line is RESPONSES or "store" not in fields
