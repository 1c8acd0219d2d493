"""The same tool loop through every framework, with the real packages and a scripted model.

Three user turns; in each the model calls ``read`` twenty times and then answers. The rule is said in the
second turn. What each request would send is recorded as neutral messages. A driver runs one conversation;
its set-up is ``none``, ``clew``, or the name of a compaction that the framework has itself.
"""

# ruff: noqa: D101, D102  # each class is one framework, with the same methods

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.message import Message, Origin, Role
from clew.providers import wire_named
from clew.session.parsed_input import ParsedInput

RULE = "Never modify files under legacy/."
WINDOW = 40_000
TRIGGER = 32_000
"""Tokens at which a framework's own compaction starts."""
ASKS = ("Read the billing code.", f"Go on with the reports. {RULE}", "And now the exports.")
READS = 20
MODEL = "claude-sonnet-4-5"


def output(n: int, lines: int = 150) -> str:
    return "\n".join(f"rate_{n}_{i} = table[{i}] * {n + i}" for i in range(lines))


def neutral(entries: Sequence[Any], wire: str | None = None) -> list[Message]:
    parsed = ParsedInput.of(entries, wire_named(wire) if wire else None)
    return [message for n, one in enumerate(parsed.entries) for message in parsed.codec.read(one, n)]


@dataclass
class Run:
    """One conversation: what was sent, and what the framework keeps of it."""

    name: str = "conversation"
    asks: Sequence[str] = ASKS
    reads: int = READS
    window: int = WINDOW
    options: dict[str, Any] = field(default_factory=dict)
    sent: list[list[Message]] = field(default_factory=list)
    calls: int = 0
    summaries: list[str] = field(default_factory=list)
    """What a summariser of the framework's own was sent."""
    cached_summaries: list[tuple[int, list[Message]]] = field(default_factory=list)
    """The same, if it is sent as one more request of the conversation, so that it reads the prompt cache;
    with the number of requests before it."""
    raw: list[Any] = field(default_factory=list)
    """Every message, if the framework's list is the compacted one."""

    def next_call(self) -> int | None:
        """Return the number of the next read; None if the model answers instead."""
        self.calls += 1
        return None if self.calls % (self.reads + 1) == 0 else self.calls

    @property
    def clew(self) -> dict[str, Any]:
        return {"window": self.window, **self.options}


class Driver:
    """One framework. ``share`` makes one integration object that all later runs use."""

    shared: Any = None
    broken = "clew.Compactor.fit"
    """What a test breaks, to show that an error in clew never reaches the framework."""
    own_list = True
    """Whether clew compacts the list of messages, not the framework."""

    def integration(self, options: dict[str, Any], is_async: bool) -> Any:
        """Return a new integration object."""
        raise NotImplementedError

    def share(self, *, is_async: bool, **options: Any) -> None:
        self.shared = self.integration(options, is_async)

    def clew(self, run: Run, is_async: bool = False) -> Any:
        return self.shared if self.shared is not None else self.integration(run.clew, is_async)


# Plain SDKs ------------------------------------------------------------------------------------------


class Sdk(Driver):
    """A client whose requests are answered here; a header names the conversation."""

    setups = ("none", "clew")

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}

    def integration(self, options: dict[str, Any], is_async: bool) -> Any:
        import clew

        return clew.wrap(self._plain(is_async), **options)

    def client(self, run: Run, setup: str, is_async: bool) -> Any:
        self.runs[run.name] = run
        return self.clew(run, is_async) if setup == "clew" else self._plain(is_async)

    def _http(self, is_async: bool) -> Any:
        import httpx2 as httpx

        def handle(request: Any) -> Any:
            run, body = self.runs[request.headers["x-run"]], json.loads(request.content)
            return httpx.Response(200, json=self.reply(run, body))

        transport = httpx.MockTransport(handle)
        return httpx.AsyncClient(transport=transport) if is_async else httpx.Client(transport=transport)

    def run(self, run: Run, setup: str) -> list[Any]:
        client, messages = self.client(run, setup, False), []
        for ask in run.asks:
            messages.append({"role": "user", "content": ask})
            while self.went_on(messages, self.create(client, run, messages)):
                pass
        return messages

    async def arun(self, run: Run, setup: str) -> list[Any]:
        client, messages = self.client(run, setup, True), []
        for ask in run.asks:
            messages.append({"role": "user", "content": ask})
            while self.went_on(messages, await self.create(client, run, messages)):
                pass
        return messages


class Anthropic(Sdk):
    name, wire = "anthropic SDK", "anthropic"

    def _plain(self, is_async: bool) -> Any:
        import anthropic

        kind = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
        return kind(api_key="k", http_client=self._http(is_async))

    def create(self, client: Any, run: Run, messages: list[Any]) -> Any:
        options = {"model": MODEL, "max_tokens": 99, "extra_headers": {"x-run": run.name}}
        return client.messages.create(messages=marked(messages), **options)

    def reply(self, run: Run, body: dict[str, Any]) -> dict[str, Any]:
        run.sent.append(neutral(body["messages"], self.wire))
        n = run.next_call()
        call = {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"path": f"src/part_{n}.py"}}
        content = [{"type": "text", "text": "Done."} if n is None else call]
        usage = {"input_tokens": 1, "output_tokens": 1}
        stop = "end_turn" if n is None else "tool_use"
        head = {"id": "msg", "type": "message", "role": "assistant", "model": MODEL}
        return {**head, "content": content, "stop_reason": stop, "usage": usage}

    def went_on(self, messages: list[Any], reply: Any) -> bool:
        messages.append(
            {"role": "assistant", "content": [one.model_dump(exclude_none=True) for one in reply.content]}
        )
        if reply.stop_reason != "tool_use":
            return False
        call = reply.content[0].id
        result = {"type": "tool_result", "tool_use_id": call, "content": output(int(call[1:]))}
        messages.append({"role": "user", "content": [result]})
        return True


def marked(messages: list[Any]) -> list[Any]:
    """Return a list with its last message marked for the cache, as agents do: the mark moves each time."""
    last = messages[-1]
    content = last["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = [*blocks[:-1], {**blocks[-1], "cache_control": {"type": "ephemeral"}}]
    return [*messages[:-1], {**last, "content": blocks}]


class OpenAI(Sdk):
    name, wire = "openai SDK", "openai"

    def _plain(self, is_async: bool) -> Any:
        import openai

        kind = openai.AsyncOpenAI if is_async else openai.OpenAI
        return kind(api_key="k", http_client=self._http(is_async))

    def create(self, client: Any, run: Run, messages: list[Any]) -> Any:
        headers = {"x-run": run.name}
        return client.chat.completions.create(model="gpt-5", messages=messages, extra_headers=headers)

    def reply(self, run: Run, body: dict[str, Any]) -> dict[str, Any]:
        run.sent.append(neutral(body["messages"], self.wire))
        n = run.next_call()
        function = {"name": "read", "arguments": json.dumps({"path": f"src/part_{n}.py"})}
        called = {"content": None, "tool_calls": [{"id": f"t{n}", "type": "function", "function": function}]}
        message = {"role": "assistant", **({"content": "Done."} if n is None else called)}
        choice = {"index": 0, "message": message, "finish_reason": "stop" if n is None else "tool_calls"}
        return {"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-5", "choices": [choice]}

    def went_on(self, messages: list[Any], reply: Any) -> bool:
        message = reply.choices[0].message
        messages.append(
            message.model_dump(exclude_none=True, exclude_unset=True) | {"content": message.content}
        )
        for call in message.tool_calls or ():
            messages.append({"role": "tool", "tool_call_id": call.id, "content": output(int(call.id[1:]))})
        return bool(message.tool_calls)


# Frameworks ------------------------------------------------------------------------------------------


class LangChain(Driver):
    name, wire = "LangChain", None
    setups = (
        "none",
        "clew",
        "SummarizationMiddleware(keep 20)",
        "SummarizationMiddleware(keep 6)",
        "ClearToolUses",
    )

    def agent(self, run: Run, setup: str, checkpointer: Any = None) -> Any:
        from langchain.agents import create_agent
        from langchain_core.language_models import BaseChatModel
        from langchain_core.messages import AIMessage
        from langchain_core.outputs import ChatGeneration, ChatResult
        from langchain_core.tools import tool

        class Scripted(BaseChatModel):
            model_name: str = MODEL

            def _generate(
                self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any
            ) -> ChatResult:
                if len(messages) == 1 and "summar" in str(messages[0].content)[:600].lower():
                    run.summaries.append(str(messages[0].content))
                    reply = AIMessage("Work is under way.")
                else:
                    run.sent.append(neutral(messages))
                    n = run.next_call()
                    call = {"name": "read", "args": {"path": f"src/part_{n}.py"}, "id": f"t{n}"}
                    reply = AIMessage("Done.") if n is None else AIMessage("", tool_calls=[call])
                return ChatResult(generations=[ChatGeneration(message=reply)])

            def bind_tools(self, tools: Any, **_: Any) -> Any:
                return self

            @property
            def _llm_type(self) -> str:
                return "scripted"

        @tool
        def read(path: str) -> str:
            """Read a file."""
            return output(int(path.removeprefix("src/part_").removesuffix(".py")))

        model = Scripted()
        return create_agent(
            model, [read], middleware=self._middleware(run, setup, model), checkpointer=checkpointer
        )

    def integration(self, options: dict[str, Any], is_async: bool) -> Any:
        from clew.integrations.langchain import ClewMiddleware

        return ClewMiddleware(**options)

    def _middleware(self, run: Run, setup: str, model: Any) -> list[Any]:
        from langchain.agents.middleware import (
            ClearToolUsesEdit,
            ContextEditingMiddleware,
            SummarizationMiddleware,
        )

        if setup == "clew":
            return [self.clew(run)]
        if setup.startswith("Summ"):
            keep = ("messages", 20 if "20" in setup else 6)
            return [SummarizationMiddleware(model, trigger=("tokens", TRIGGER), keep=keep)]
        if setup.startswith("Clear"):
            return [ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=TRIGGER)])]
        return []

    def run(self, run: Run, setup: str) -> list[Any]:
        from langgraph.checkpoint.memory import InMemorySaver

        agent = self.agent(run, setup, InMemorySaver())
        config = {"configurable": {"thread_id": run.name}, "recursion_limit": 500}
        for ask in run.asks:
            state = agent.invoke({"messages": [("user", ask)]}, config)
        return state["messages"]  # type: ignore[no-any-return]

    async def arun(self, run: Run, setup: str) -> list[Any]:
        from langgraph.checkpoint.memory import InMemorySaver

        agent = self.agent(run, setup, InMemorySaver())
        config = {"configurable": {"thread_id": run.name}, "recursion_limit": 500}
        for ask in run.asks:
            state = await agent.ainvoke({"messages": [("user", ask)]}, config)
        return state["messages"]  # type: ignore[no-any-return]


class PydanticAI(Driver):
    name, setups, wire = "pydantic-ai", ("none", "clew", "clew as ProcessHistory"), None

    def integration(self, options: dict[str, Any], is_async: bool) -> Any:
        from clew.integrations.pydantic_ai import Clew

        return Clew(**options)

    def agent(self, run: Run, setup: str) -> Any:
        from pydantic_ai import Agent
        from pydantic_ai.capabilities import ProcessHistory
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import FunctionModel

        def reply(messages: Any, _info: Any) -> ModelResponse:
            run.sent.append(neutral(messages))
            n = run.next_call()
            call = ToolCallPart("read", {"path": f"src/part_{n}.py"}, f"t{n}")
            return ModelResponse(parts=[TextPart("Done.") if n is None else call])

        capabilities: list[Any] = []
        if setup == "clew":
            capabilities.append(self.clew(run))
        elif setup != "none":
            from clew.integrations.pydantic_ai import clew_processor

            capabilities.append(ProcessHistory(clew_processor(**run.clew)))
        agent = Agent(FunctionModel(reply, model_name=MODEL), capabilities=capabilities)

        @agent.tool_plain
        def read(path: str) -> str:
            return output(int(path.removeprefix("src/part_").removesuffix(".py")))

        return agent

    async def arun(self, run: Run, setup: str) -> list[Any]:
        from pydantic_ai import UsageLimits

        agent, history = self.agent(run, setup), None
        for ask in run.asks:
            limits = UsageLimits(request_limit=500)
            result = await agent.run(ask, message_history=history, usage_limits=limits)
            history = result.all_messages()
        return history or []

    def run(self, run: Run, setup: str) -> list[Any]:
        from pydantic_ai import UsageLimits

        agent, history = self.agent(run, setup), None
        for ask in run.asks:
            limits = UsageLimits(request_limit=500)
            history = agent.run_sync(ask, message_history=history, usage_limits=limits).all_messages()
        return history or []


class OpenAIAgents(Driver):
    name, setups, wire = "OpenAI Agents", ("none", "clew", "ToolOutputTrimmer"), "responses"

    def integration(self, options: dict[str, Any], is_async: bool) -> Any:
        from clew.integrations.openai_agents import clew_filter

        return clew_filter(**options)

    def agent(self, run: Run) -> Any:
        from agents import Agent, Model, ModelResponse, Usage, function_tool
        from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

        class Scripted(Model):
            model = "gpt-5"

            async def get_response(self, *_: Any, input: Any, **__: Any) -> ModelResponse:  # noqa: A002
                run.sent.append(neutral(input, "responses"))
                n = run.next_call()
                if n is None:
                    text = ResponseOutputText(annotations=[], text="Done.", type="output_text")
                    kind: Any = {"role": "assistant", "status": "completed", "type": "message"}
                    done: Any = ResponseOutputMessage(id=f"m{run.calls}", content=[text], **kind)
                    return ModelResponse(output=[done], usage=Usage(), response_id=None)
                given = json.dumps({"path": f"src/part_{n}.py"})
                call = ResponseFunctionToolCall(
                    arguments=given, call_id=f"t{n}", name="read", type="function_call"
                )
                return ModelResponse(output=[call], usage=Usage(), response_id=None)

            def stream_response(self, *_: Any, **__: Any) -> Any:
                raise NotImplementedError

        @function_tool
        def read(path: str) -> str:
            return output(int(path.removeprefix("src/part_").removesuffix(".py")))

        return Agent(name="reader", tools=[read], model=Scripted())

    def config(self, run: Run, setup: str) -> Any:
        from agents import RunConfig

        if setup == "clew":
            return RunConfig(call_model_input_filter=self.clew(run), tracing_disabled=True)
        if setup == "ToolOutputTrimmer":
            from agents.extensions import ToolOutputTrimmer

            return RunConfig(call_model_input_filter=ToolOutputTrimmer(), tracing_disabled=True)
        return RunConfig(tracing_disabled=True)

    async def arun(self, run: Run, setup: str) -> list[Any]:
        from agents import Runner

        agent, config, items = self.agent(run), self.config(run, setup), []
        for ask in run.asks:
            given: Any = [*items, {"role": "user", "content": ask}]
            result = await Runner.run(agent, given, run_config=config, max_turns=500)
            items = result.to_input_list()
        return items

    def run(self, run: Run, setup: str) -> list[Any]:
        from agents import Runner

        agent, config, items = self.agent(run), self.config(run, setup), []
        for ask in run.asks:
            given: Any = [*items, {"role": "user", "content": ask}]
            items = Runner.run_sync(agent, given, run_config=config, max_turns=500).to_input_list()
        return items


class ADK(Driver):
    name, setups, wire = "google-adk", ("none", "clew", "EventsCompaction(keep 6)"), "gemini"

    def integration(self, options: dict[str, Any], is_async: bool) -> Any:
        from clew.integrations.adk import ClewPlugin

        return ClewPlugin(**options)

    def app(self, run: Run, setup: str) -> Any:
        from google.adk.agents import LlmAgent
        from google.adk.apps import App
        from google.adk.apps._configs import EventsCompactionConfig
        from google.adk.models import BaseLlm, LlmResponse
        from google.genai.types import Content, FunctionCall, GenerateContentResponseUsageMetadata, Part

        class Scripted(BaseLlm):
            async def generate_content_async(self, request: Any, stream: bool = False) -> Any:
                text = str(request.contents[-1].parts[0].text)
                if len(request.contents) == 1 and "summar" in text[:900].lower():
                    run.summaries.append(text)
                    yield LlmResponse(content=Content(role="model", parts=[Part(text="Work is under way.")]))
                    return
                run.sent.append(neutral(request.contents, "gemini"))
                n = run.next_call()
                call = FunctionCall(name="read", args={"path": f"src/part_{n}.py"}, id=f"t{n}")
                part = Part(text="Done.") if n is None else Part(function_call=call)
                tokens = sum(len(str(one)) for one in run.sent[-1]) // 6
                used = GenerateContentResponseUsageMetadata(prompt_token_count=tokens)
                yield LlmResponse(content=Content(role="model", parts=[part]), usage_metadata=used)

        def read(path: str) -> str:
            """Read a file."""
            return output(int(path.removeprefix("src/part_").removesuffix(".py")))

        agent = LlmAgent(name="reader", model=Scripted(model="gemini-3.5-flash"), tools=[read])
        fields: dict[str, Any] = {}
        if setup == "clew":
            fields["plugins"] = [self.clew(run)]
        elif setup.startswith("Events"):
            fields["events_compaction_config"] = EventsCompactionConfig(
                token_threshold=TRIGGER, event_retention_size=6, compaction_interval=99, overlap_size=0
            )
        return App(name="loop", root_agent=agent, **fields)

    async def arun(self, run: Run, setup: str) -> list[Any]:
        from google.adk.runners import InMemoryRunner
        from google.genai.types import Content, Part

        runner = InMemoryRunner(app=self.app(run, setup))
        session = await runner.session_service.create_session(
            app_name="loop", user_id="u", session_id=run.name
        )
        for ask in run.asks:
            message = Content(role="user", parts=[Part(text=ask)])
            async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
                pass
        kept = await runner.session_service.get_session(app_name="loop", user_id="u", session_id=session.id)
        return list(kept.events) if kept else []

    def run(self, run: Run, setup: str) -> list[Any]:
        from google.adk.runners import InMemoryRunner
        from google.genai.types import Content, Part

        runner = InMemoryRunner(app=self.app(run, setup))
        named = {"app_name": "loop", "user_id": "u", "session_id": run.name}
        asyncio.run(runner.session_service.create_session(**named))
        for ask in run.asks:
            message = Content(role="user", parts=[Part(text=ask)])
            list(runner.run(user_id="u", session_id=run.name, new_message=message))
        kept = asyncio.run(runner.session_service.get_session(**named))
        return list(kept.events) if kept else []


class Strands(Driver):
    name, setups, wire = "Strands", ("none", "clew", "SlidingWindow"), None

    def integration(self, options: dict[str, Any], is_async: bool) -> Any:
        from clew.integrations.strands import ClewConversationManager

        return ClewConversationManager(**options)

    def agent(self, run: Run, setup: str, **fields: Any) -> Any:
        from strands import Agent, tool
        from strands.agent.conversation_manager import (
            NullConversationManager,
            SlidingWindowConversationManager,
        )
        from strands.models import Model

        class Scripted(Model):
            def update_config(self, **_: Any) -> None: ...

            def get_config(self) -> Any:
                return {"model_id": MODEL}

            def structured_output(self, *_: Any, **__: Any) -> Any:
                raise NotImplementedError

            async def stream(self, messages: Any, *_: Any, **__: Any) -> Any:
                run.sent.append(neutral(messages))
                n = run.next_call()
                yield {"messageStart": {"role": "assistant"}}
                start: Any = {} if n is None else {"toolUse": {"name": "read", "toolUseId": f"t{n}"}}
                delta = (
                    {"text": "Done."}
                    if n is None
                    else {"toolUse": {"input": f'{{"path": "src/part_{n}.py"}}'}}
                )
                yield {"contentBlockStart": {"start": start}}
                yield {"contentBlockDelta": {"delta": delta}}
                yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "end_turn" if n is None else "tool_use"}}

        @tool
        def read(path: str) -> str:
            """Read a file."""
            return output(int(path.removeprefix("src/part_").removesuffix(".py")))

        manager: Any = NullConversationManager()
        if setup == "clew":
            manager = self.clew(run)
        elif setup == "SlidingWindow":
            manager = SlidingWindowConversationManager()
        quiet = {"callback_handler": None, "conversation_manager": manager}
        return Agent(model=Scripted(), tools=[read], **quiet, **fields)

    async def arun(self, run: Run, setup: str) -> list[Any]:
        agent = self.agent(run, setup)
        for ask in run.asks:
            await agent.invoke_async(ask)
        return self._kept(run, agent)

    def run(self, run: Run, setup: str) -> list[Any]:
        agent = self.agent(run, setup)
        for ask in run.asks:
            agent(ask)
        return self._kept(run, agent)

    def _kept(self, run: Run, agent: Any) -> list[Any]:
        if hasattr(agent.conversation_manager, "fitting"):
            run.raw = list(agent.conversation_manager.originals(agent))
        return list(agent.messages)


class Hermes(Driver):
    """Hermes with a folder and a configuration of its own; its model is a server on this computer."""

    name, wire = "Hermes", "openai"
    setups = ("none", "clew", "ContextCompressor")
    window = 200_000

    def __init__(self, home: str | None = None) -> None:
        import os
        import tempfile

        self.home = home or tempfile.mkdtemp(prefix="hermes-")
        os.environ["HERMES_HOME"] = self.home

    def configure(self, engine: str, options: dict[str, Any], enabled: bool = True) -> None:
        length = 64_000 if engine == "compressor" else self.window
        config = {
            "model": {"provider": "custom", "default": "m", "context_length": length},
            "context": {"engine": engine, "clew": options},
            "compression": {"enabled": enabled, "in_place": True},
            "plugins": {"enabled": ["clew"]},
        }
        Path(self.home, "config.yaml").write_text(json.dumps(config), encoding="utf-8")

    def integration(self, options: dict[str, Any], is_async: bool) -> Any:
        """Let Hermes load the plugin; it copies the engine for each agent."""
        from hermes_cli.plugins import discover_plugins, get_plugin_context_engine

        self.configure("clew", options)
        discover_plugins(force=True)
        return get_plugin_context_engine()

    def agent(self, run: Run, setup: str, url: str) -> Any:
        from hermes_state import SessionDB
        from run_agent import AIAgent
        from tools.registry import registry

        def read(args: dict[str, Any], **_: Any) -> str:
            return output(int(args["path"].removeprefix("src/part_").removesuffix(".py")))

        fields = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
        schema = {"name": "read_part", "description": "Read a file.", "parameters": fields}
        registry.register(name="read_part", toolset="loop", schema=schema, handler=read)
        if setup == "clew":
            self.clew(run)
        else:
            self.configure("compressor", {}, enabled=setup != "none")
        where = {"base_url": f"{url}/v1", "api_key": "none", "provider": "custom", "model": "m"}
        quiet = {"quiet_mode": True, "tool_delay": 0, "skip_context_files": True, "skip_memory": True}
        tools = {"enabled_toolsets": ["loop", "context_engine"], "max_iterations": 500}
        return AIAgent(**where, **quiet, **tools, session_db=SessionDB(), session_id=run.name)

    def server(self, run: Run) -> Any:
        from clew.message import ToolCall, Usage, text_message
        from clew.providers.model import Reply
        from clew.testing import ScriptedServer
        from clew.tokens import counter_for

        def reply(_ask: Any) -> Reply:
            body = server.requests[-1].body
            shown = [one for one in body["messages"] if one["role"] != "system"]
            # Hermes' database does not keep the name in a tool's message, so a resumed session lacks it
            sent = neutral([{key: one[key] for key in one if key != "name"} for one in shown], "openai")
            if not body.get("tools"):  # Hermes asks for a summary
                run.summaries.append(str(body["messages"]))
                return Reply(text_message(Role.ASSISTANT, "Work is under way."))
            run.sent.append(sent)
            n = run.next_call()
            usage = Usage(input_tokens=sum(map(counter_for(MODEL).count, sent)), output_tokens=9)
            call = ToolCall(f"t{n}", "read_part", {"path": f"src/part_{n}.py"})
            done = text_message(Role.ASSISTANT, "Done.")
            return Reply(done if n is None else Message(Role.ASSISTANT, (call,)), usage=usage)

        server = ScriptedServer.always(reply)
        return server

    def run(self, run: Run, setup: str) -> list[Any]:
        with self.server(run) as server:
            agent, history = self.agent(run, setup, server.url), []
            for ask in run.asks:
                history = agent.run_conversation(ask, conversation_history=history)["messages"]
            every = {"include_ancestors": True, "include_inactive": True}
            run.raw = agent._session_db.get_messages_as_conversation(agent.session_id, **every)
        return list(history)

    async def arun(self, run: Run, setup: str) -> list[Any]:
        """Run in a thread, as Hermes' gateway does."""
        return await asyncio.to_thread(self.run, run, setup)


class ClaudeAgentSDK(Driver):
    """The SDK's own Claude Code with a home of its own; its model is a server on this computer."""

    name, wire = "Claude Agent SDK", "anthropic"
    setups = ("none", "clew", "auto-compaction")
    broken = "clew.integrations.claude_agent_sdk.answer"
    own_list = False

    def __init__(self, home: str | None = None) -> None:
        import os
        import tempfile

        self.home = home or tempfile.mkdtemp(prefix="claude-")
        os.environ["CLEW_HOME"] = str(Path(self.home, "clew"))

    def integration(self, options: dict[str, Any], is_async: bool) -> Any:
        from clew.integrations.claude_agent_sdk import with_clew

        return with_clew(**options)

    def options(self, run: Run, setup: str, server: Any) -> Any:
        from dataclasses import replace

        from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool

        @tool("read", "Read a file.", {"path": str})
        async def read(args: dict[str, Any]) -> dict[str, Any]:
            text = output(int(args["path"].removeprefix("src/part_").removesuffix(".py")))
            return {"content": [{"type": "text", "text": text}]}

        project = Path(self.home, run.name)
        project.mkdir(exist_ok=True)
        options = self.clew(run) if setup == "clew" else ClaudeAgentOptions()
        env = {"HOME": self.home, "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "none"}
        env |= dict.fromkeys(("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY"), "1")
        own = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}  # the least; 20,000 of it are for the summary
        own["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"] = str(100 * TRIGGER // 80_000)
        env |= {"none": {"DISABLE_AUTO_COMPACT": "1"}, "clew": options.env}.get(setup, own)
        servers = {**options.mcp_servers, "loop": create_sdk_mcp_server("loop", tools=[read])}
        plain = {"system_prompt": "You read files.", "tools": [], "setting_sources": [], "model": MODEL}
        allowed = {"mcp_servers": servers, "allowed_tools": ["mcp__loop", "mcp__clew"]}
        return replace(options, env=env, cwd=project, **plain, **allowed)

    def server(self, run: Run, limit: int) -> Any:
        from clew.errors import ContextTooLong
        from clew.message import ToolCall, Usage, text_message
        from clew.providers.model import Reply
        from clew.testing import ScriptedServer
        from clew.tokens import counter_for

        def reply(_ask: Any) -> Reply:
            body = server.requests[-1].body
            sent = neutral(body["messages"], "anthropic")
            tokens = sum(map(counter_for(MODEL).count, sent))
            if "summary of the conversation" in str(body["messages"][-1]):
                run.cached_summaries.append((len(run.sent), sent))
                return Reply(text_message(Role.ASSISTANT, "<summary>Work is under way.</summary>"))
            if tokens > limit:
                raise ContextTooLong(tokens=tokens, limit=limit)
            run.sent.append(sent)
            n = run.next_call()
            call = ToolCall(f"t{n}", "mcp__loop__read", {"path": f"src/part_{n}.py"})
            done = text_message(Role.ASSISTANT, "Done.")
            usage = Usage(input_tokens=tokens, output_tokens=9)
            return Reply(done if n is None else Message(Role.ASSISTANT, (call,)), usage=usage)

        server = ScriptedServer.always(reply)
        return server

    async def arun(self, run: Run, setup: str) -> list[Any]:
        """Hold one conversation with one process of the CLI."""
        from claude_agent_sdk import ClaudeSDKClient

        with self.server(run, self.limit(run, setup)) as server:
            async with ClaudeSDKClient(self.options(run, setup, server)) as client:
                for ask in run.asks:
                    await client.query(ask)
                    async for message in client.receive_response():
                        session = getattr(message, "session_id", None)
        return self._kept(run, session)

    def run(self, run: Run, setup: str) -> list[Any]:
        return self._kept(run, self.turns(run, setup, run.asks))

    def turns(self, run: Run, setup: str, asks: Sequence[str], session: str | None = None) -> str | None:
        """Start the CLI for each turn, which resumes the session from its file; return the session's id."""
        from dataclasses import replace

        from claude_agent_sdk import ResultMessage, query

        async def turn(ask: str, options: Any) -> Any:
            found = [one async for one in query(prompt=ask, options=options)]
            return next(one.session_id for one in found if isinstance(one, ResultMessage))

        with self.server(run, self.limit(run, setup)) as server:
            options = self.options(run, setup, server)
            for ask in asks:
                session = asyncio.run(turn(ask, replace(options, resume=session)))
        return session

    def limit(self, run: Run, setup: str) -> int:
        return 10**9 if setup == "none" else run.window

    def _kept(self, run: Run, session: str | None) -> list[Any]:
        """Return the session's messages, which the CLI keeps in a file."""
        from clew.hosts.session_state import read_session

        (path,) = Path(self.home).glob(f".claude/projects/*/{session}.jsonl")
        run.raw = [entry.message for entry in read_session(path, "claude-code").entries]
        return [one for one in run.raw if one.origin is Origin.SPOKEN and one.role is not Role.SYSTEM]


DRIVERS: dict[str, Callable[[], Any]] = {
    "anthropic": Anthropic,
    "openai": OpenAI,
    "langchain": LangChain,
    "pydantic_ai": PydanticAI,
    "openai_agents": OpenAIAgents,
    "adk": ADK,
    "strands": Strands,
    "hermes": Hermes,
    "claude_agent_sdk": ClaudeAgentSDK,
}
