"""With ``--summary upstream`` the client's model writes the summary, and clew adds what it left out."""

from __future__ import annotations

import json
import re

import pytest

from clew.log.store import SqliteStore
from clew.providers.server_side import SERVER_SIDES
from clew.proxy import answers
from clew.proxy.answers import reply_text
from clew.proxy.conversations import WORKSPACE
from clew.proxy.reactor import RequestReactor
from clew.proxy.stats import Stats
from clew.session import Session
from clew.settings import store_path
from clew.testing import HttpStatus, ScriptedServer
from clew.testing.server import HangUp
from tests.proxy.test_answers import RULE, TASK, summary, text_of, work
from tests.proxy.test_pass_through import ask, home, proxy_to  # noqa: F401  # a fixture

PROSE = "The billing code was read, file by file, and its tables were compared. " * 5
MESSAGES = [TASK, *work(0, 30)]


def asked(line, raw=None, **more):
    stats = Stats()
    react = RequestReactor(stats, upstream_summary=True)
    with ScriptedServer.always(line, strict=False) as server, proxy_to(server.url, react).running() as proxy:
        proxy.stats = stats
        got = ask(proxy, body=raw or summary(MESSAGES), x_claude_code_session_id="s1", **more)
        return got, got.read(), server.requests, stats


SOFT = "Two pages would be best for every report."
SAID = [{"role": "user", "content": f"{TASK['content']} {SOFT}"}, *work(0, 30)]


def words_of(request) -> str:
    """Return the text of the last message of a request."""
    content = request.body["messages"][-1]["content"]
    return content if isinstance(content, str) else "\n".join(one.get("text", "") for one in content)


def judging(label: str) -> tuple[str, list, Stats]:
    """Return the answer if the model gives one sentence this label, what it was sent, and the figures."""
    _, _, requests, _ = asked("No.", summary(SAID))
    lines = re.findall(r"^(\d+): (.*)$", words_of(requests[0]), re.MULTILINE)
    labels: dict[str, list[int]] = {"standing": [], "decision": [], "request": [], "none": []}
    for number, words in lines:
        known = {"now or later": "standing", RULE: "standing", SOFT: label, "the typo": "request"}
        labels[next((one for part, one in known.items() if part in words), "none")].append(int(number))
    stats = Stats()
    react = RequestReactor(stats, upstream_summary=True)
    script = (json.dumps({**labels, "ended": []}), f"<summary>{PROSE}</summary>")
    with ScriptedServer(*script, strict=False) as server, proxy_to(server.url, react).running() as proxy:
        got = ask(proxy, body=summary(SAID), x_claude_code_session_id="s2", x_api_key="k")
        return text_of(got), server.requests, stats


def test_the_model_is_asked_about_rules_before_it_summarises():
    text, (question, request), stats = judging("standing")
    assert question.body["model"] == request.body["model"]
    assert question.headers["x-api-key"] == "k"
    assert "tools" not in question.body
    assert len(question.raw) < 12_000  # the sentences of the user, not the conversation
    assert f'"{SOFT}"' in words_of(request)  # the summary is to quote it
    assert f'"{SOFT}"' in text.partition("<clew-reminder>")[2]
    assert stats["judged"] == 1
    with SqliteStore(store_path()) as store:
        session = Session.open(text.rsplit("(clew session ", 1)[1].split(",")[0], store, workspace=WORKSPACE)
        assert {pin.quote: pin.judged_by for pin in session.pins} == dict.fromkeys(
            (RULE, SOFT), "claude-sonnet-5"
        )


def test_a_sentence_that_the_model_does_not_call_a_rule_is_none():
    text, (_, request), _ = judging("request")
    assert f'"{SOFT}"' not in words_of(request)
    assert RULE in text


def test_rules_are_not_judged_if_that_is_switched_off(monkeypatch):
    monkeypatch.setenv("CLEW_JUDGE_RULES", "false")
    _, _, requests, stats = asked(PROSE)
    assert len(requests) == 1
    assert stats["judged"] == stats["judge_failed"] == 0


def test_the_model_is_instructed_and_its_summary_complemented():
    got, data, requests, stats = asked(f"<analysis>hm</analysis><summary>{PROSE}</summary>")
    text = json.loads(data)["content"][0]["text"]
    _, sent = requests  # the first asks about rules
    assert "Copy the user's rules word for word" in sent.raw.decode()
    assert f'"{RULE}"' in sent.body["messages"][-1]["content"][-1]["text"]
    assert sent.body["messages"][:-1] == MESSAGES[:-1]  # the prompt cache holds them
    assert PROSE.strip() in text
    assert "hm" not in text
    assert f'"{RULE}"' in text.partition("<clew-reminder>")[2]
    assert "(clew session proxy-" in text
    assert got.headers["x-clew"] == "summary; upstream, complemented"
    assert stats["complemented"] == 1
    assert (stats["judged"], stats["judge_failed"]) == (0, 1)  # prose is no answer to the first question


def test_a_complete_summary_stays_as_it_is():
    _, data, _, _ = asked(f"<summary>{PROSE}\n{RULE}\nGoal: Tidy up the billing code.</summary>")
    assert "<clew-reminder>" not in json.loads(data)["content"][0]["text"]


@pytest.mark.parametrize(
    "line", [HttpStatus(500), HttpStatus(429), HangUp(), "No.", HttpStatus(200, text="<html>")]
)
def test_without_a_summary_clews_digest_is_the_answer(line):
    got, data, requests, stats = asked(line)
    assert len(requests) == 2
    text = json.loads(data)["content"][0]["text"]
    assert "Every earlier turn is in clew's log" in text
    assert RULE in text
    assert got.headers["x-clew"].startswith("answered; ")
    assert stats["summary_failed"] == 1


def test_an_error_of_clew_sends_the_clients_own_request(monkeypatch, caplog):
    def broken(*_: object) -> str:
        raise RuntimeError("a bug")

    monkeypatch.setattr(answers, "reply_text", broken)
    _, data, requests, stats = asked(PROSE)
    assert PROSE.strip() in json.loads(data)["content"][0]["text"].strip() + " "
    assert requests[-1].raw == summary(MESSAGES)
    assert stats["failed_open"] == 1


def test_it_is_streamed_if_asked_to():
    raw = json.dumps({**json.loads(summary(MESSAGES)), "stream": True}).encode()
    got, data, requests, _ = asked(PROSE, raw)
    assert got.headers["content-type"] == "text/event-stream"
    assert b"message_stop" in data
    assert requests[-1].body["stream"] is False


def test_the_next_compaction_continues_the_session():
    react = RequestReactor(Stats(), upstream_summary=True)
    with ScriptedServer.always(PROSE, strict=False) as server, proxy_to(server.url, react).running() as proxy:
        first = text_of(ask(proxy, body=summary(MESSAGES), x_claude_code_session_id="s1"))
        again = [{"role": "user", "content": f"Continued.\n{first}"}, *work(40, 60)]
        second = text_of(ask(proxy, body=summary(again), x_claude_code_session_id="s1"))
    sessions = [text.rsplit("(clew session ", 1)[1] for text in (first, second)]
    assert sessions[0].split(",")[0] == sessions[1].split(",")[0]
    assert "digest d2" in sessions[1]
    assert RULE in second


@pytest.mark.parametrize("path", SERVER_SIDES)
def test_the_text_of_every_api_is_read(path):
    from clew.message import Role, text_message
    from clew.providers.model import Reply

    value = SERVER_SIDES[path].response(Reply(text_message(Role.ASSISTANT, PROSE)), {"model": "m"}, 1)
    assert reply_text(json.dumps(value).encode()) == PROSE


@pytest.mark.parametrize("data", [b"", b"[]", b'{"choices": [{"message": 5}], "content": [1, {"text": 3}]}'])
def test_an_odd_response_has_no_text(data):
    assert reply_text(data) == ""


def test_codex_and_its_endpoint_are_answered_by_clew():
    raw = json.dumps({"model": "gpt-5", "input": [{"role": "user", "content": RULE}]}).encode()
    got, _, requests, _ = asked(PROSE, raw, path="/v1/responses/compact")
    assert got.headers["x-clew"].startswith("answered; ")
    assert not requests


@pytest.mark.parametrize("before", ["", "<analysis>A <summary> comes next.</analysis>\n"])
def test_a_summary_that_mentions_its_own_tags_is_whole(before):
    prose = "The parser reads <summary> and </summary> now."
    value = {"content": [{"type": "text", "text": f"{before}<summary>{prose}</summary>"}]}
    assert reply_text(json.dumps(value).encode()) == prose
