"""Growing conversations are logged in the background, once, and their compaction reads only what is new."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clew.log.store import SqliteStore
from clew.proxy import follow
from clew.proxy.reactor import RequestReactor
from clew.proxy.relay import HttpRequest
from clew.proxy.stats import Stats
from clew.session import Session
from clew.settings import store_path
from tests.proxy.test_answers import RULE, TASK, body, summary, work
from tests.proxy.test_pass_through import home  # noqa: F401  # a fixture

Messages = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "FIRST_BYTES", 20_000)
    monkeypatch.setattr(follow, "STEP_BYTES", 4_000)


@pytest.fixture
def react():
    made = RequestReactor(Stats())
    yield made
    made.close()


def send(react: RequestReactor, raw: bytes, session: str = "s1") -> str:
    """Send a request and wait for the background; return the session that answered it, or nothing."""
    label = react(HttpRequest("POST", "/v1/messages", [("x-claude-code-session-id", session)], raw)).label
    assert react.settle()
    return label.split()[1] if label.startswith("answered") else ""


def grow(react: RequestReactor, messages: Messages) -> None:
    for end in range(1, len(messages) + 1, 2):
        send(react, body(messages[:end]))


def logged(name: str) -> list[str]:
    with SqliteStore(store_path()) as store:
        session = Session.open(name, store)
        events = [one for one in session.events() if one.event.kind == "message"]
        return [json.dumps(one.event.body) for one in events]


def test_a_compaction_finds_the_conversation_in_the_log(react: RequestReactor) -> None:
    messages = [TASK, *work(0, 60)]
    grow(react, messages)
    followed = react.stats["followed"]
    assert followed > 100
    name = send(react, summary(messages))
    assert len(logged(name)) == len(messages) + 1  # one marker; nothing twice
    assert len(messages) - followed < 20
    assert react.stats["not_followed"] == 0


def test_the_digest_is_the_same_as_without_following(react: RequestReactor, tmp_path, monkeypatch) -> None:
    messages = [TASK, *work(0, 60)]
    grow(react, messages)
    exchange = HttpRequest("POST", "/v1/messages", [("x-claude-code-session-id", "s1")], summary(messages))
    followed = json.loads(react(exchange).body or b"")["content"]
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "other"))
    cold = RequestReactor(Stats())
    assert json.loads(cold(exchange).body or b"")["content"] == followed
    cold.close()


def test_a_new_process_continues_the_log(react: RequestReactor) -> None:
    messages = [TASK, *work(0, 60)]
    grow(react, messages[:81])
    react.close()
    again = RequestReactor(Stats())
    grow(again, messages)
    name = send(again, summary(messages))
    again.close()
    assert len(logged(name)) == len(messages) + 1


def test_text_that_clients_append_to_the_last_message_only_is_not_logged(react: RequestReactor) -> None:
    messages = [TASK, *work(0, 60)]
    for end in range(1, len(messages) + 1, 2):
        last = messages[end - 1]
        content = last["content"] if isinstance(last["content"], list) else []
        reminder = {"type": "text", "text": "<system-reminder>once</system-reminder>"}
        send(react, body([*messages[: end - 1], {**last, "content": [*content, reminder]}]))
    name = send(react, summary(messages))
    assert len(logged(name)) == len(messages) + 1
    assert not any("once" in one for one in logged(name))


def test_a_conversation_that_was_rewound_gets_a_session_of_its_own(react: RequestReactor) -> None:
    messages = [TASK, *work(0, 60)]
    grow(react, messages)
    first = send(react, summary(messages))
    other = [*messages[:41], {"role": "assistant", "content": "Going another way."}, *work(100, 140)]
    for start in range(0, len(other), 10):
        send(react, body(other[: start + 1]))
    second = send(react, summary(other))
    assert second != first
    assert len(logged(second)) == len(other) + 1
    assert any(RULE in one for one in logged(second))


def test_a_conversation_whose_digest_was_not_used_goes_on(react: RequestReactor) -> None:
    messages = [TASK, *work(0, 60)]
    name = send(react, summary(messages))
    more = [*messages, {"role": "assistant", "content": "Going on."}, *work(60, 90)]
    grow(react, more)
    assert send(react, summary(more)) == name
    assert len(logged(name)) == len(more) + 2


def test_short_conversations_are_not_logged(react: RequestReactor) -> None:
    grow(react, [TASK, *work(0, 5)])
    assert not store_path().exists()


def test_an_error_in_the_background_changes_no_request(react: RequestReactor) -> None:
    store_path().parent.mkdir(parents=True)
    store_path().mkdir()  # no log can be opened here
    grow(react, [TASK, *work(0, 40)])
    assert react.stats["not_followed"] > 0


def test_lists_of_one_client_that_alternate_keep_their_sessions(react: RequestReactor) -> None:
    lists = [[TASK, {"role": "assistant", "content": f"Way {way}."}, *work(0, 40)] for way in "ab"]
    names: list[list[str]] = [[], []]
    for turn in range(3):
        for way, messages in enumerate(lists):
            messages += [{"role": "assistant", "content": "Going on."}, *work(40 + turn, 44 + turn)]
            names[way].append(send(react, summary(messages)))
    assert [len(set(of_one)) for of_one in names] == [1, 1]
    assert names[0] != names[1]
