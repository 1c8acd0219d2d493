"""The official SDKs through the proxy: unchanged answers and streams, and compactions answered by clew."""

from __future__ import annotations

import anthropic
import openai
import pytest

from clew.testing import HangUp, ScriptedServer
from tests.proxy.test_pass_through import MESSAGES, home, proxy_to  # noqa: F401  # a fixture

OPEN: list[anthropic.Anthropic | openai.OpenAI] = []


def opened(client):
    """Return a client that is closed after the test, so that no socket is left to the garbage collector."""
    OPEN.append(client)
    return client


@pytest.fixture(autouse=True)
def closed_clients():
    yield
    while OPEN:
        OPEN.pop().close()


def test_the_sdks_work_as_without_it():
    with ScriptedServer.always("a long answer, " * 50) as server, proxy_to(server.url).running() as proxy:
        claude = opened(anthropic.Anthropic(base_url=proxy.url, api_key="secret", max_retries=0))
        whole = claude.messages.create(model="claude-sonnet-5", max_tokens=99, messages=MESSAGES)
        with claude.messages.stream(model="claude-sonnet-5", max_tokens=99, messages=MESSAGES) as stream:
            streamed = "".join(stream.text_stream)
        gpt = opened(openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="secret", max_retries=0))
        chat = gpt.chat.completions.create(model="gpt-5", messages=MESSAGES)
        reply = gpt.responses.create(model="gpt-5", input="hello")
        events = list(gpt.responses.create(model="gpt-5", input="hello", stream=True))
    assert whole.content[0].text == streamed == chat.choices[0].message.content == reply.output_text
    assert events[-1].response.output_text == reply.output_text
    assert {one.headers["authorization"] for one in server.requests} == {"Bearer secret"}
    assert proxy.stats["requests"] == 5
    assert proxy.stats["failed_open"] == 0


def test_an_upstream_that_hangs_up_is_a_502_that_sdks_retry():
    with ScriptedServer(HangUp(), "hello") as server, proxy_to(server.url).running() as proxy:
        claude = opened(anthropic.Anthropic(base_url=proxy.url, api_key="k", max_retries=1))
        made = claude.messages.create(model="claude-sonnet-5", max_tokens=99, messages=MESSAGES)
    assert made.content[0].text == "hello"
    assert proxy.stats["upstream_failed"] == 1


def history() -> list[dict[str, object]]:
    items: list[dict[str, object]] = [
        {"role": "user", "content": "Tidy up the billing code. Never modify files under legacy/."}
    ]
    for n in range(40):
        call = {
            "type": "function_call",
            "call_id": f"c{n}",
            "name": "read",
            "arguments": f'{{"path": "b/{n}.py"}}',
        }
        output = "\n".join(f"rate_{n}_{i} = table[{i}] * {n + i}" for i in range(60))
        items += [call, {"type": "function_call_output", "call_id": f"c{n}", "output": output}]
    return items


def test_responses_compact_and_the_requests_after_it():
    with ScriptedServer.always("done") as server, proxy_to(server.url).running() as proxy:
        gpt = opened(openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="k", max_retries=0))
        compacted = gpt.responses.compact(model="gpt-5", input=history())
        assert compacted.object == "response.compaction"
        assert [one.type for one in compacted.output] == ["message", "compaction"]
        assert "legacy" not in compacted.output[-1].encrypted_content
        later = [one.to_dict(warnings=False) for one in compacted.output] + [
            {"role": "user", "content": "go on"}
        ]
        reply = gpt.responses.create(model="gpt-5", input=later)
        assert reply.output_text == "done"
        stream = gpt.responses.create(
            model="gpt-5", input=[*history(), {"type": "compaction_trigger"}], stream=True
        )
        last = list(stream)[-1]
        assert [one.type for one in last.response.output] == ["compaction"]
    (seen,) = server.requests  # the compactions never reached the upstream
    assert not seen.check().refused
    assert b"Never modify files under legacy/." in seen.raw
    assert b"(clew session proxy-" in seen.raw
    assert b'"compaction"' not in seen.raw


def test_a_summary_is_streamed_to_anthropics_client():
    ask = "Your task is to create a detailed summary of the conversation so far, paying close attention."
    messages = [
        {"role": "user", "content": "The port is 8123. Never modify files under legacy/."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": [{"type": "text", "text": ask}]},
    ]
    with ScriptedServer() as server, proxy_to(server.url).running() as proxy:
        claude = opened(anthropic.Anthropic(base_url=proxy.url, api_key="k", max_retries=0))
        with claude.messages.stream(model="claude-sonnet-5", max_tokens=9_999, messages=messages) as stream:
            text = "".join(stream.text_stream)
            assert stream.get_final_message().stop_reason == "end_turn"
    assert text.startswith("<summary>")
    assert "Never modify files under legacy/." in text
    assert not server.requests
