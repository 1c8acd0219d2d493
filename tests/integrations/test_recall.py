"""The tools ``recall`` and ``expand`` with the real frameworks: what the model calls, and what it reads."""

import asyncio
import json

import pytest

from clew.integrations.recall import Recall
from tests.integrations.test_conformance import ASKS, DRIVERS, RULE, small

pytestmark = pytest.mark.filterwarnings("ignore")


def compacted(name="anthropic"):
    """Return a run whose first turns are compacted, its client and its list."""
    pytest.importorskip(name)
    driver, run, messages = DRIVERS[name](), small(), []
    client = driver.client(run, "clew", False)
    for ask in ASKS:
        messages.append({"role": "user", "content": ask})
        while driver.went_on(messages, driver.create(client, run, messages)):
            pass
    return client, messages


def test_earlier_turns_are_found_and_quoted_and_others_conversations_are_not():
    client, messages = compacted()
    tools = Recall(client.fitting)
    found = tools.run("recall", {"query": "legacy files"}, messages=messages)
    ref = next(line.split()[0] for line in found.splitlines() if RULE in line)
    assert RULE in tools.run("expand", {"ref": ref, "start": None}, messages=messages)
    assert "rate_1_149" in tools.run("expand", {"ref": "m3"}, messages=messages)
    assert "no turn m999" in tools.run("expand", {"ref": "m999"}, messages=messages)
    assert "no earlier turns" in tools.run("recall", {"query": "legacy"}, messages=[{"role": "user"}])
    assert "no earlier turns" in tools.run("recall", {"query": "legacy"}, "another")
    assert "needs a text" in tools.run("expand", {}, messages=messages)
    assert [one["name"] for one in tools.definitions("anthropic")] == ["recall", "expand"]


def test_langchain_offers_and_runs_the_tools():
    pytest.importorskip("langchain.agents")
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    from clew.integrations.langchain import ClewMiddleware

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools, **_):
            assert {"recall", "expand"} <= {tool.name for tool in tools}
            return self

    call = {"name": "recall", "args": {"query": "legacy files"}, "id": "c1"}
    model = Model(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("Done.")]))
    agent = create_agent(model, [], middleware=[ClewMiddleware(window=16_000, recall=True)])
    state = agent.invoke({"messages": [("user", f"Tidy up. {RULE}")]})
    assert RULE in state["messages"][2].content


def test_pydantic_ai_offers_and_runs_the_tools():
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from clew.integrations.pydantic_ai import Clew

    def reply(messages, info):
        assert {"recall", "expand"} <= {tool.name for tool in info.function_tools}
        done = len(messages) > 1
        call = ToolCallPart("recall", {"query": "legacy files"})
        return ModelResponse(parts=[TextPart("Done.") if done else call])

    agent = Agent(FunctionModel(reply), capabilities=[Clew(window=16_000, recall=True)])
    assert RULE in str(agent.run_sync(f"Tidy up. {RULE}").all_messages()[2])


def test_openai_agents_offers_and_runs_the_tools(tmp_path):
    pytest.importorskip("agents")
    from agents.tool_context import ToolContext

    from clew.integrations.openai_agents import ClewSession, clew_filter, recall_tools

    items = [{"role": "user", "content": f"Tidy up. {RULE}"}]
    session, plain = ClewSession("s", tmp_path / "s.db", window=16_000), clew_filter(window=16_000)
    asyncio.run(session.add_items(items))
    asyncio.run(session.get_items())
    plain.fitting.fit(items, wire="responses")
    for source in (session, plain):
        recall = recall_tools(source)[0]
        context = ToolContext(None, tool_name="recall", tool_call_id="c", tool_arguments="", turn_input=items)
        work = recall.on_invoke_tool(context, json.dumps({"query": "legacy files", "limit": None}))
        assert RULE in asyncio.run(work)


def test_adk_offers_and_runs_the_tools():
    pytest.importorskip("google.adk")
    from google.adk.agents import LlmAgent
    from google.adk.apps import App
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.genai.types import Content, FunctionCall, Part

    from clew.integrations.adk import ClewPlugin

    class Model(BaseLlm):
        async def generate_content_async(self, request, stream=False):
            assert {"recall", "expand"} <= set(request.tools_dict)
            call = FunctionCall(name="recall", args={"query": "legacy files"}, id="c1")
            part = Part(text="Done.") if len(request.contents) > 1 else Part(function_call=call)
            yield LlmResponse(content=Content(role="model", parts=[part]))

    agent = LlmAgent(name="reader", model=Model(model="gemini-3.5-flash"))
    app = App(name="loop", root_agent=agent, plugins=[ClewPlugin(window=16_000, recall=True)])

    async def main():
        runner = InMemoryRunner(app=app)
        await runner.session_service.create_session(app_name="loop", user_id="u", session_id="s")
        message = Content(role="user", parts=[Part(text=f"Tidy up. {RULE}")])
        return [one async for one in runner.run_async(user_id="u", session_id="s", new_message=message)]

    assert RULE in str(asyncio.run(main())[1].content)


def test_strands_offers_and_runs_the_tools():
    pytest.importorskip("strands")
    driver, run = DRIVERS["strands"](), small()
    run.options = {"recall": True}
    agent = driver.agent(run, "clew")
    asyncio.run(agent.invoke_async(f"Tidy up. {RULE}"))
    assert {"recall", "expand"} <= set(agent.tool_names)
    assert RULE in str(agent.tool.recall(query="legacy files"))


def test_claude_agent_sdk_names_a_server_that_answers():
    pytest.importorskip("claude_agent_sdk")
    import subprocess

    from clew.integrations.claude_agent_sdk import clew_servers

    server = clew_servers()["clew"]
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}) + "\n"
    done = subprocess.run(
        [server["command"], *server["args"]], input=asked, capture_output=True, text=True, check=False
    )
    assert '"recall"' in done.stdout


def test_claude_agent_sdk_offers_and_runs_the_tools(tmp_path):
    pytest.importorskip("claude_agent_sdk")
    from claude_agent_sdk import query

    from clew.message import Message, Role, ToolCall, text_message
    from clew.providers.model import Reply
    from clew.testing import ScriptedServer

    call = ToolCall("c1", "mcp__clew__recall", {"query": "legacy files"})
    lines = [Reply(Message(Role.ASSISTANT, (call,))), Reply(text_message(Role.ASSISTANT, "Done."))]
    driver, run = DRIVERS["claude_agent_sdk"](str(tmp_path)), small()
    run.options = {"recall": True}

    async def ask(options):
        return [one async for one in query(prompt=f"Tidy up. {RULE}", options=options)]

    with ScriptedServer(*lines) as server:
        asyncio.run(ask(driver.options(run, "clew", server)))
    first, second = (request.body for request in server.requests)
    assert {"mcp__clew__recall", "mcp__clew__expand"} <= {tool["name"] for tool in first["tools"]}
    assert RULE in str(second["messages"][-1])
