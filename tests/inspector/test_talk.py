"""Chat in the page is the terminal's loop: what happens is told in order, asked for, and can be stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection
from itertools import islice

import pytest

from clew.errors import InputError
from clew.inspector.app import TOKEN
from clew.inspector.chat_stream import ROOM_HERE, PageChats
from clew.inspector.server import Server
from clew.inspector.session_pool import PoolOptions
from clew.message import JsonObject, Message, Role, Text, ToolCall, text_message
from clew.providers.model import Piece, Reply, Stop, Streamed
from clew.session import Session
from tests.inspector.house import MODEL, TOUR, WINDOW, Asking, House
from tests.inspector.test_guard import ask, same_origin


def test_a_turn_is_told_from_the_words_to_the_reply_and_is_in_the_log(house: House):
    told = list(PageChats(house.pool).on(TOUR).say("What was the rule about legacy?", auto=False))
    kinds = [one["is"] for one in told]
    assert (kinds[0], kinds[-1]) == ("user", "reply")
    assert "delta" in kinds
    with house.pool.open(TOUR) as handle:
        assert handle.message_index.messages == 126 + sum(
            one in ("user", "reply") for one in kinds
        ) + kinds.count("done")


def test_two_turns_at_once_are_refused(house: House):
    talk = PageChats(house.pool).on(TOUR)
    talk.patience_seconds = 0
    first = talk.say("one", auto=False)
    next(first)
    with pytest.raises(InputError, match="a turn is running"):
        talk.say("two", auto=False)
    assert list(first)
    assert list(talk.say("three", auto=False))


def test_a_turn_that_is_stopped_says_so(house: House):
    talk = PageChats(house.pool).on(TOUR)
    turn = talk.say("Tell me about the invoices.", auto=False)
    kinds = [next(turn)["is"], next(turn)["is"]]
    talk.stop()
    kinds += [one["is"] for one in turn]
    assert "stopped" in kinds


class Silent:
    """A model that is stopped while it writes a call, of which nothing can be shown."""

    name, window_tokens, wire = "scripted/silent", 100_000, "anthropic"
    stop: Callable[[], None]

    def fields(self, max_output_tokens: int) -> JsonObject:
        return {"model": "silent", "max_tokens": max_output_tokens}

    def stream(self, _body: JsonObject) -> Streamed:
        yield Piece("Well. ")
        self.stop()
        call = ToolCall("c1", "recall_search", {"query": "a"})
        return Reply(Message(Role.ASSISTANT, (Text("Well."), call)), Stop.TOOL_CALL)


def test_a_stop_between_two_words_ends_the_turn_and_nothing_else(house: House):
    """A KeyboardInterrupt that left the turn would pass through the server's loop and end it."""
    model = Silent()
    talk = PageChats(house.pool, lambda _session: model).on(TOUR)
    model.stop = talk.stop
    assert [one["is"] for one in talk.say("ViewFunction it up.", auto=False)][-1] == "stopped"
    model.stop = lambda: None
    assert "done" in [one["is"] for one in islice(talk.say("Again.", auto=False), 5)]


def test_a_stop_before_the_first_word_ends_the_turn_and_nothing_else(house: House):
    talk = PageChats(house.pool).on(TOUR)
    turn = talk.say("ViewFunction it up.", auto=False)
    talk.stop()
    assert [one["is"] for one in turn] == ["user", "stopped"]


def test_the_server_outlives_a_turn_that_is_stopped_between_two_words(house: House):
    model = Silent()
    server = Server.bind(house.pool, model_factory=lambda _session: model)
    headers = {TOKEN: server.token, **same_origin(server)}

    def stop() -> None:
        ask(server, "/api/act", "POST", headers, json.dumps({"session": TOUR, "does": "stop"}))

    model.stop = stop
    with server.running():
        told = ask(
            server, "/api/say", "POST", headers, json.dumps({"session": TOUR, "text": "ViewFunction it up."})
        )
        assert json.loads(told.body.splitlines()[-1]) == {"is": "stopped", "kept": None}
        assert ask(server, headers=headers).status == 200


def test_a_warning_names_what_the_page_has_and_no_command_of_the_terminal(house: House):
    session = Session.open("full", house.store, model=MODEL, window=WINDOW)
    session.add(*(text_message(Role.USER, f"{n} {'word ' * 500}") for n in range(17)))
    told = list(PageChats(house.pool).on("full").say("And now?", auto=False))
    warned = [one["text"] for one in told if one["is"] == "warned"]
    assert any(one.endswith(ROOM_HERE) for one in warned)
    assert not any("/auto" in one for one in warned)


def test_the_commands_of_the_chat_work_in_the_page(house: House):
    talk = PageChats(house.pool).on(TOUR)

    def typed(line: str) -> JsonObject:
        (only,) = talk.say(line, auto=False)
        return only

    typed("/undo")
    assert "miss the provider's cache" in typed("/preview the rounding")["text"]
    assert typed("/compact the rounding")["is"] == "compacted"
    digest = Session.open(TOUR, house.store).trace()[-1].name
    assert f"undone: {digest}" in typed("/undo")["text"]
    rule = typed("/pin Answer in Latin.")["text"].split()[0]
    assert "Answer in Latin." in typed("/pins")["text"]
    assert typed(f"/unpin {rule}")["is"] == "output"
    for line in ("/recall rounding", "/context", "/trace", "/expand m1", "!contextBudget", "/off", "/on"):
        assert typed(line)["is"] == "output"
    assert "is forgotten" in typed(f"/forget {typed('/remember Use uv.')['text'].split()[0]}")["text"]
    assert typed("/expand")["is"] == "failed"


@pytest.mark.parametrize(
    "line", ["/export /tmp/x", "/exp /tmp/x", "/model m@http://x", "/trust A.md", "/quit"]
)
def test_commands_that_write_files_or_open_addresses_are_not_for_the_page(house: House, line: str):
    with pytest.raises(InputError, match=r"unknown|does not work in the page"):
        PageChats(house.pool).on(TOUR).say(line, auto=False)


def wanted(turn: Iterator[JsonObject]) -> JsonObject:
    return next(one for one in turn if one["is"] == "approval")


def test_what_a_tool_would_change_is_asked_for_and_each_answer_counts_once(house: House):
    talk = PageChats(house.pool, lambda _session: Asking()).on(TOUR)
    turn = talk.say("Set rules.", auto=False)
    first = wanted(turn)
    talk.answer(first["call_id"], "yes")
    with pytest.raises(InputError, match="no approval is pending"):
        talk.answer(first["call_id"], "yes")
    second = wanted(turn)
    with pytest.raises(InputError, match="no approval is pending"):
        talk.answer(first["call_id"], "yes")
    talk.answer(second["call_id"], "no")
    assert [one["is_error"] for one in turn if one["is"] == "done"] == [True]


def test_an_answer_for_a_page_that_went_away_does_not_answer_the_next_approval(house: House):
    talk = PageChats(house.pool, lambda _session: Asking()).on(TOUR)
    talk.answer_seconds = 0.01
    turn = talk.say("Set rules.", auto=False)
    first = wanted(turn)
    del turn
    with pytest.raises(InputError, match="no approval is pending"):
        talk.answer(first["call_id"], "yes")
    again = talk.say("Set rules.", auto=False)
    assert [one["is_error"] for one in again if one["is"] == "done"] == [True]


def test_an_answer_that_was_never_read_does_not_answer_the_next_approval(house: House):
    talk = PageChats(house.pool, lambda _session: Asking()).on(TOUR)
    talk.answer_seconds = 0.01
    turn = talk.say("Set rules.", auto=False)
    talk.answer(wanted(turn)["call_id"], "yes")
    del turn
    again = talk.say("Set rules.", auto=False)
    assert [one["is_error"] for one in again if one["is"] == "done"] == [True]


def test_stopping_while_leave_is_asked_for_means_no(house: House):
    talk = PageChats(house.pool, lambda _session: Asking()).on(TOUR)
    turn = talk.say("Set rules.", auto=False)
    wanted(turn)
    talk.stop()
    rest = [one["is"] for one in turn]
    assert "stopped" in rest
    quotes = [pin.quote for pin in Session.open(TOUR, house.store).pins]
    assert "Rule 1." not in quotes


@pytest.mark.parametrize("auto", [False, True])
def test_a_page_that_says_nothing_of_compacting_has_it_as_in_the_settings(house: House, auto: bool):
    session = Session.open("full", house.store, model=MODEL, window=WINDOW)
    session.add(*(text_message(Role.USER, f"{n} {'word ' * 500}") for n in range(20)))
    server = Server.bind(replace(house.pool, options=PoolOptions(MODEL, WINDOW, auto=auto)))
    headers = {TOKEN: server.token, **same_origin(server)}
    with server.running():
        body = json.dumps({"session": "full", "text": "And now?", "auto": None})
        told = ask(server, "/api/say", "POST", headers, body).body.splitlines()
    assert ("compacted" in [json.loads(one)["is"] for one in told]) is auto


def test_a_turn_that_waits_for_leave_ends_with_the_server_and_before_its_store_is_closed(house: House):
    chats = PageChats(house.pool, lambda _session: Asking())
    talk = chats.on(TOUR)
    talk.patience_seconds = 60
    turn = talk.say("Set rules.", auto=False)
    wanted(turn)
    with ThreadPoolExecutor(1) as pool:
        rest = pool.submit(lambda: [one["is"] for one in turn])
        chats.close()
        talk.patience_seconds = 0
        assert next(talk.say("Again.", auto=False))["is"] == "user"
    assert rest.result()[-1] == "stopped"


def asked_for_leave(server: Server, text: str) -> JsonObject:
    """Say something to the server, and go away as soon as leave is asked for; return who asked."""
    headers = {TOKEN: server.token, "host": server.host, **same_origin(server)}
    with closing(HTTPConnection(server.host, timeout=60)) as connection:
        connection.request("POST", "/api/say", json.dumps({"session": TOUR, "text": text}), headers)
        with connection.getresponse() as answer:
            return wanted(json.loads(line) for line in answer)


def test_a_page_that_goes_away_while_leave_is_asked_for_leaves_the_session_free(house: House):
    server = Server.bind(house.pool, model_factory=lambda _session: Asking())
    with server.running():
        asked = [asked_for_leave(server, text)["call_id"] for text in ("Set rules.", "Again.")]
    assert asked == ["c1", "c2"]


def test_words_that_nobody_listens_to_leave_the_session_free(house: House):
    talk = PageChats(house.pool).on(TOUR)
    talk.say("one", auto=False)
    assert list(talk.say("two", auto=False))[-1]["is"] == "reply"
