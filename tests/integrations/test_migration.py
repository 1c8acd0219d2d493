"""The code of every migration page, before and after, with the real packages."""

import json
import re
from pathlib import Path

import pytest

import clew

PAGES = Path(__file__).parents[2] / "docs/migration"
pytestmark = pytest.mark.filterwarnings("ignore")
MESSAGE = {"id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
ITEM = {"type": "compaction", "id": "c", "encrypted_content": "x"}
REPLIES = {
    "/v1/messages": {**MESSAGE, "content": [], "stop_reason": "end_turn", "usage": USAGE},
    "/v1/responses": {"id": "r", "object": "response", "created_at": 1, "output": [], "usage": USAGE},
    "/v1/responses/compact": {
        "id": "r", "object": "response.compaction", "created_at": 1, "output": [ITEM], "usage": USAGE,
    },
}  # fmt: skip


def client(package):
    """Return a real client whose requests are answered here, and the list of those requests."""
    sdk = pytest.importorskip(package.lower())
    httpx = pytest.importorskip("httpx2")
    seen = []

    def answer(request):
        seen.append((request.url.path, json.loads(request.content)))
        return httpx.Response(200, json=REPLIES[request.url.path])

    http = httpx.Client(transport=httpx.MockTransport(answer))
    return getattr(sdk, package)(api_key="k", http_client=http), seen


def run(page, side, names):
    """Run the lines of a page's diff that are removed (``-``) or added (``+``), with what is common."""
    (diff,) = re.findall(r"```diff\n(.*?)```", (PAGES / f"{page}.md").read_text(encoding="utf-8"), re.S)
    lines = [line[1:] for line in diff.splitlines() if line[:1] in (side, " ")]
    exec(compile("\n".join(lines), page, "exec"), names)
    return names


def test_every_page_is_run():
    source = Path(__file__).read_text(encoding="utf-8")
    assert not [path.stem for path in PAGES.glob("*.md") if f'"{path.stem}"' not in source]


@pytest.mark.parametrize("side", ["-", "+"])
def test_from_summarization_middleware(side):
    agents = pytest.importorskip("langchain.agents")
    from langchain_core.language_models.fake_chat_models import FakeListChatModel

    names = {"create_agent": agents.create_agent, "model": FakeListChatModel(responses=["hi"]), "tools": []}
    agent = run("summarization-middleware", side, names)["agent"]
    summary = "Here is a summary of the conversation to date: work is under way."
    done = agent.invoke({"messages": [("user", summary), ("user", "Go on.")]})  # a thread with a summary
    assert [one.text for one in done["messages"]] == [summary, "Go on.", "hi"]


@pytest.mark.parametrize("side", ["-", "+"])
def test_from_history_processors(side):
    agent_of = pytest.importorskip("pydantic_ai").Agent
    from pydantic_ai.capabilities import ProcessHistory

    from clew.integrations.pydantic_ai import Clew

    names = {"Agent": agent_of, "ProcessHistory": ProcessHistory, "Clew": Clew, "model": "test"}
    names["keep_recent_messages"] = lambda messages: messages[-1:]
    agent = run("history-processors", side, names)["agent"]
    history = agent.run_sync("Hello.").all_messages()
    kept = agent.run_sync("Go on.", message_history=history).all_messages()
    assert len(kept) == (4 if side == "+" else 2)


@pytest.mark.parametrize("side", ["-", "+"])
def test_from_clear_tool_uses(side):
    anthropic, seen = client("Anthropic")
    request = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Hi."}],
    }
    run("clear-tool-uses", side, {"clew": clew, "client": anthropic, "request": request})
    ((_, body),) = seen
    assert ("context_management" in body) is (side == "-")
    assert body["messages"] == request["messages"]


@pytest.mark.parametrize("side", ["-", "+"])
def test_from_responses_compact(side):
    openai, seen = client("OpenAI")
    items, new = [{"role": "user", "content": "Hi."}], [{"role": "user", "content": "Go on."}]
    run("responses-compact", side, {"clew": clew, "client": openai, "items": items, "new": new})
    paths = {"-": ["/v1/responses/compact", "/v1/responses"], "+": ["/v1/responses"]}
    assert [path for path, _ in seen] == paths[side]
    if side == "+":
        assert seen[0][1]["input"] == [*items, *new]
