"""Real SDKs at the end of a loopback line: every request of a chat is one that the API takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Thread

import anthropic
import openai
import pytest

from clew.chat import OFFLINE, Chat, TurnFailed, TurnStopped, ViewCompacted, open_chat
from clew.chat.commands import run_command
from clew.chat.loop import INTERRUPTED
from clew.chat.opening import ModelChoice, local_models, named_model
from clew.errors import InputError
from clew.log.store import MemoryStore
from clew.message import JsonObject, Message, Role, Text, Thinking, ToolCall, Trust, Usage
from clew.providers.clients import open_model
from clew.providers.model import Ask, Reply, Stop
from clew.providers.remote import RemoteModel
from clew.session import Session
from clew.testing import BrokenStream, ScriptedServer, ServerLine, extractive
from tests.chat.talk import kinds, tell
from tests.providers_clients.lines import ANTHROPIC, CHAT, KEY, ONCE, RESPONSES, Line, each_line

FACT = "The width of part {0} is {0}7 mm, as Anna told Bert at the meeting about parts and their widths."


@contextmanager
def chat_with(
    line: Line, *lines: ServerLine, window: int = 32_000, auto: bool = False, root: Path | None = None
):
    """Open a chat with a real SDK, whose server says these lines; every request must be one the API takes."""
    with ScriptedServer(*lines) as server, talking(line, server, window, auto, root) as chat:
        yield chat, server
    assert [request.check().violations for request in server.requests if request.check().refused] == []


@contextmanager
def talking(line: Line, server: ScriptedServer, window: int, auto: bool, root: Path | None) -> Iterator[Chat]:
    model = open_model(line.name(server), key=KEY, patience=ONCE)
    assert isinstance(model, RemoteModel)
    session = Session.open("talk", MemoryStore(), window=window, model=line.model)
    with closing(open_chat(session, root=root, auto=auto)) as chat:
        chat.set_model(model)
        yield chat


def _thinks_and_calls(number: int) -> Reply:
    parts = (
        Thinking("Where is it?", "c2ln", trust=Trust.ASSISTANT),
        Text("Let me look.", trust=Trust.ASSISTANT),
        ToolCall(f"call_{number}", "read_file", {"path": "a.txt"}, trust=Trust.ASSISTANT),
    )
    return Reply(Message(Role.ASSISTANT, parts), Stop.TOOL_CALL, Usage(100, 20, 60))


@each_line
def test_a_turn_with_tools_and_thinking_goes_through(line: Line, tmp_path: Path):
    (tmp_path / "a.txt").write_text("port = 8123")
    with chat_with(line, _thinks_and_calls(1), "It is 8123.", "Bye.", root=tmp_path) as (chat, server):
        happened = tell(chat, "what is the port?")
        assert kinds(happened) == [
            "UserStored",
            "Delta",
            "ReplyStored",
            "ToolStarted",
            "ToolFinished",
            "Delta",
            "ReplyStored",
        ]
        tell(chat, "thanks")
        assert len(server.requests) == 3
        assert all(request.body["stream"] for request in server.requests)


def _reader(counted: Iterator[int]) -> Callable[[Ask], Reply]:
    """Return a line for a server: reads a file at every third question, and writes digests when asked."""

    def answers(ask: Ask) -> Reply:
        if "claims" in ask.instruction:  # the chat's model writes the digests too
            return extractive(ask)
        number = next(counted)
        if ask.instruction and number % 3 == 0:
            return _thinks_and_calls(number)
        return Reply(Message(Role.ASSISTANT, (Text(f"Part {number} it is.", trust=Trust.ASSISTANT),)))

    return answers


@each_line
def test_sixty_turns_with_tools_compactions_undo_and_the_switch_are_all_taken(line: Line, tmp_path: Path):
    (tmp_path / "a.txt").write_text("port = 8123\n" * 20)
    with (
        ScriptedServer.always(_reader(iter(range(10_000)))) as server,
        talking(line, server, 7_000, True, tmp_path) as chat,
    ):
        happened = tell(chat, "Never modify files under legacy/. The deploy token is kestrel-42.")
        for number in range(60):
            happened += tell(chat, FACT.format(number) * 3)
            if number == 40:
                list(run_command(chat, "/undo"))
                list(run_command(chat, "/off"))
            if number == 42:
                list(run_command(chat, "/on"))
    assert sum(isinstance(one, ViewCompacted) for one in happened) >= 3
    assert not any(isinstance(one, TurnFailed) for one in happened)
    assert [request.check().violations for request in server.requests if request.check().refused] == []
    assert "Never modify files under legacy/." in str(server.requests[-1].body)


@each_line
def test_between_compactions_a_request_begins_with_the_one_before(line: Line):
    with chat_with(line, "one", "two", "three") as (chat, server):
        for text in ("first " * 5_000, "second", "third"):  # large enough for the provider to cache it
            tell(chat, text)
    listed = [request.body[request.server_side.wire.list_key] for request in server.requests]
    marks = {"cache_control"}

    def bare(value: object) -> object:
        if isinstance(value, dict):
            return {key: bare(inner) for key, inner in value.items() if key not in marks}
        return [bare(one) for one in value] if isinstance(value, list) else value

    for before, after in pairwise(listed):
        assert bare(after)[: len(before)] == bare(before)
    heads = [
        {key: one.body.get(key) for key in ("system", "instructions", "tools")} for one in server.requests
    ]
    assert heads[0] == heads[1] == heads[2]


@each_line
def test_a_line_that_falls_silent_is_interrupted_and_the_part_is_kept(line: Line):
    long = "one two three four five six seven eight nine ten eleven twelve"
    with chat_with(line, BrokenStream(long, events=6, silent=True), "again") as (chat, _):
        turn = chat.turn("count")
        next(turn)
        first = next(turn)
        assert isinstance(turn.throw(KeyboardInterrupt()), TurnStopped)
        assert list(turn) == []
        kept = chat.session.view()[-1].message.text
        assert (kept.startswith(first.text.strip()), kept.endswith(INTERRUPTED)) == (True, True)
        assert kinds(tell(chat, "go on")) == ["UserStored", "Delta", "ReplyStored"]


# The no-change baseline ------------------------------------------------------------------------------


def _plain_anthropic(server: ScriptedServer, fields: JsonObject, messages: list[JsonObject]) -> None:
    client = anthropic.Anthropic(base_url=server.url, api_key=KEY, max_retries=0)
    with client, client.messages.stream(messages=messages, **fields) as stream:
        stream.until_done()


def _plain_chat(server: ScriptedServer, fields: JsonObject, messages: list[JsonObject]) -> None:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY, max_retries=0) as client:
        options = {"stream": True, "stream_options": {"include_usage": True}}
        list(client.chat.completions.create(messages=messages, **fields, **options))


def _plain_responses(server: ScriptedServer, fields: JsonObject, messages: list[JsonObject]) -> None:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY, max_retries=0) as client:
        list(client.responses.create(input=messages, stream=True, **fields))


PLAIN = {ANTHROPIC: _plain_anthropic, CHAT: _plain_chat, RESPONSES: _plain_responses}


@each_line
def test_switched_off_the_request_is_a_plain_clients_byte_for_byte(line: Line):
    with chat_with(line, "hello", "fine", "plain") as (chat, server):
        chat.session.switch_off()
        tell(chat, "hi")
        tell(chat, "and you?")
        fields = chat.model.fields(chat.session.gauge.window.reply_tokens)
        items = server.requests[1].body[server.requests[1].server_side.wire.list_key]
        PLAIN[line](server, fields, items)
    ours, theirs = server.requests[1], server.requests[2]
    assert [item["content"] for item in items if item["role"] == "user"] == ["hi", "and you?"]
    assert ours.raw == theirs.raw


@each_line
def test_switched_off_the_bytes_are_those_of_the_same_sdk_given_the_same_fields(line: Line):
    with chat_with(line, "hello", "hello") as (chat, server):
        chat.session.switch_off()
        tell(chat, "hi")
        wire = server.requests[0].server_side.wire
        fields = {**chat.model.fields(chat.session.gauge.window.reply_tokens), wire.list_key: [_item("hi")]}
        list(chat.model.stream(fields))
    assert server.requests[0].raw == server.requests[1].raw


def _item(text: str) -> JsonObject:
    return {"role": "user", "content": text}


# Which model -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "env", "name"),
    [
        (ModelChoice(), {}, OFFLINE),
        (ModelChoice(offline=True), {"ANTHROPIC_API_KEY": "k"}, OFFLINE),
        (ModelChoice("offline"), {"ANTHROPIC_API_KEY": "k"}, OFFLINE),
        (ModelChoice(), {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "anthropic/claude-sonnet-4-5"),
        (ModelChoice(), {"OPENAI_API_KEY": "k"}, "openai/gpt-5"),
        (ModelChoice("claude-opus-4-5"), {}, "anthropic/claude-opus-4-5"),
        (ModelChoice("gpt-4o"), {}, "openai/gpt-4o"),
        (ModelChoice("llama3", "http://127.0.0.1:1/v1"), {}, "openai-chat/llama3@http://127.0.0.1:1/v1"),
        (ModelChoice("anthropic/m", "http://127.0.0.1:1"), {}, "anthropic/m@http://127.0.0.1:1"),
    ],
)
def test_the_model_is_the_one_named_or_the_one_there_is_a_key_for(wanted: ModelChoice, env: dict, name: str):
    assert wanted.name(env) == name


def test_a_base_url_needs_a_model():
    with pytest.raises(InputError, match="--model"):
        ModelChoice(base_url="http://127.0.0.1:1/v1").name({})


def test_the_offline_model_is_had_by_its_name():
    session = Session.open("x", MemoryStore())
    assert [named_model(name, session).name for name in ("offline", OFFLINE)] == [OFFLINE, OFFLINE]


class _Ollama(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"models": [{"name": "llama3.2:1b"}]}).encode()
        self.send_response(200 if self.path == "/api/tags" else 404)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_an_ollama_on_this_computer_is_found_and_nobody_elsewhere_is_asked():
    with HTTPServer(("127.0.0.1", 0), _Ollama) as server:
        port = server.server_address[1]
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        found = local_models({"OLLAMA_HOST": f"example.invalid:{port}"}, seconds=60)
        server.shutdown()
        thread.join()
    assert found == [f"openai-chat/llama3.2:1b@http://127.0.0.1:{port}/v1"]


def test_the_look_for_an_ollama_goes_to_no_proxy(monkeypatch: pytest.MonkeyPatch):
    seen: list[str] = []

    class Proxy(_Ollama):
        def do_GET(self) -> None:
            seen.append(self.path)
            super().do_GET()

    with HTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        address = f"http://127.0.0.1:{proxy.server_address[1]}"
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, address)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        thread = Thread(target=proxy.serve_forever, args=(0.01,))
        thread.start()
        assert local_models({"OLLAMA_HOST": "127.0.0.1:9"}, seconds=5) == []
        proxy.shutdown()
        thread.join()
    assert seen == []


def test_where_nobody_listens_there_are_no_local_models():
    assert local_models({"OLLAMA_HOST": "127.0.0.1:9"}) == []
