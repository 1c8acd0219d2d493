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
from typing import Any

from clew.message import Message
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

    def next_call(self) -> int | None:
        """Return the number of the next read; None if the model answers instead."""
        self.calls += 1
        return None if self.calls % (self.reads + 1) == 0 else self.calls

    @property
    def clew(self) -> dict[str, Any]:
        return {"window": self.window, **self.options}


# Plain SDKs ------------------------------------------------------------------------------------------


class Anthropic:
    name, setups, wire = "anthropic SDK", ("none", "clew"), "anthropic"

    def _reply(self, run: Run, body: dict[str, Any]) -> dict[str, Any]:
        run.sent.append(neutral(body["messages"], self.wire))
        n = run.next_call()
        call = {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"path": f"src/part_{n}.py"}}
        content = [{"type": "text", "text": "Done."} if n is None else call]
        usage = {"input_tokens": 1, "output_tokens": 1}
        stop = "end_turn" if n is None else "tool_use"
        head = {"id": "msg", "type": "message", "role": "assistant", "model": MODEL}
        return {**head, "content": content, "stop_reason": stop, "usage": usage}

    def client(self, run: Run, setup: str, is_async: bool) -> Any:
        import anthropic
        import httpx2 as httpx

        import clew

        transport = httpx.MockTransport(
            lambda one: httpx.Response(200, json=self._reply(run, json.loads(one.content)))
        )
        if is_async:
            plain: Any = anthropic.AsyncAnthropic(
                api_key="k", http_client=httpx.AsyncClient(transport=transport)
            )
        else:
            plain = anthropic.Anthropic(api_key="k", http_client=httpx.Client(transport=transport))
        return clew.wrap(plain, **run.clew) if setup == "clew" else plain

    def run(self, run: Run, setup: str) -> list[Any]:
        client, messages = self.client(run, setup, False), []
        for ask in run.asks:
            messages.append({"role": "user", "content": ask})
            while True:
                reply = client.messages.create(model=MODEL, max_tokens=99, messages=marked(messages))
                if not self._went_on(messages, reply):
                    break
        return messages

    async def arun(self, run: Run, setup: str) -> list[Any]:
        client, messages = self.client(run, setup, True), []
        for ask in run.asks:
            messages.append({"role": "user", "content": ask})
            while True:
                reply = await client.messages.create(model=MODEL, max_tokens=99, messages=marked(messages))
                if not self._went_on(messages, reply):
                    break
        return messages

    def _went_on(self, messages: list[Any], reply: Any) -> bool:
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


class OpenAI:
    name, setups, wire = "openai SDK", ("none", "clew"), "openai"

    def _reply(self, run: Run, body: dict[str, Any]) -> dict[str, Any]:
        run.sent.append(neutral(body["messages"], self.wire))
        n = run.next_call()
        function = {"name": "read", "arguments": json.dumps({"path": f"src/part_{n}.py"})}
        called = {"content": None, "tool_calls": [{"id": f"t{n}", "type": "function", "function": function}]}
        message = {"role": "assistant", **({"content": "Done."} if n is None else called)}
        choice = {"index": 0, "message": message, "finish_reason": "stop" if n is None else "tool_calls"}
        return {"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-5", "choices": [choice]}

    def client(self, run: Run, setup: str, is_async: bool) -> Any:
        import httpx2 as httpx
        import openai

        import clew

        transport = httpx.MockTransport(
            lambda one: httpx.Response(200, json=self._reply(run, json.loads(one.content)))
        )
        if is_async:
            plain: Any = openai.AsyncOpenAI(api_key="k", http_client=httpx.AsyncClient(transport=transport))
        else:
            plain = openai.OpenAI(api_key="k", http_client=httpx.Client(transport=transport))
        return clew.wrap(plain, **run.clew) if setup == "clew" else plain

    def run(self, run: Run, setup: str) -> list[Any]:
        client, messages = self.client(run, setup, False), []
        for ask in run.asks:
            messages.append({"role": "user", "content": ask})
            while self._went_on(messages, client.chat.completions.create(model="gpt-5", messages=messages)):
                pass
        return messages

    async def arun(self, run: Run, setup: str) -> list[Any]:
        client, messages = self.client(run, setup, True), []
        for ask in run.asks:
            messages.append({"role": "user", "content": ask})
            while self._went_on(
                messages, await client.chat.completions.create(model="gpt-5", messages=messages)
            ):
                pass
        return messages

    def _went_on(self, messages: list[Any], reply: Any) -> bool:
        message = reply.choices[0].message
        messages.append(
            message.model_dump(exclude_none=True, exclude_unset=True) | {"content": message.content}
        )
        for call in message.tool_calls or ():
            messages.append({"role": "tool", "tool_call_id": call.id, "content": output(int(call.id[1:]))})
        return bool(message.tool_calls)


# Frameworks ------------------------------------------------------------------------------------------


class LangChain:
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

    def _middleware(self, run: Run, setup: str, model: Any) -> list[Any]:
        from langchain.agents.middleware import (
            ClearToolUsesEdit,
            ContextEditingMiddleware,
            SummarizationMiddleware,
        )

        if setup == "clew":
            from clew.integrations.langchain import ClewMiddleware

            return [ClewMiddleware(**run.clew)]
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


class PydanticAI:
    name, setups, wire = "pydantic-ai", ("none", "clew", "clew as ProcessHistory"), None

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
        if setup != "none":
            from clew.integrations.pydantic_ai import Clew, clew_processor

            processor = ProcessHistory(clew_processor(**run.clew)) if "Process" in setup else Clew(**run.clew)
            capabilities.append(processor)
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
        return asyncio.run(self.arun(run, setup))


class OpenAIAgents:
    name, setups, wire = "OpenAI Agents", ("none", "clew", "ToolOutputTrimmer"), "responses"

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
            from clew.integrations.openai_agents import clew_filter

            return RunConfig(call_model_input_filter=clew_filter(**run.clew), tracing_disabled=True)
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
        return asyncio.run(self.arun(run, setup))


class ADK:
    name, setups, wire = "google-adk", ("none", "clew", "EventsCompaction(keep 6)"), "gemini"

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
            from clew.integrations.adk import ClewPlugin

            fields["plugins"] = [ClewPlugin(**run.clew)]
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
        return asyncio.run(self.arun(run, setup))


class Strands:
    name, setups, wire = "Strands", ("none", "clew", "SlidingWindow"), None

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
            from clew.integrations.strands import ClewConversationManager

            manager = ClewConversationManager(**run.clew)
        elif setup == "SlidingWindow":
            manager = SlidingWindowConversationManager()
        quiet = {"callback_handler": None, "conversation_manager": manager}
        return Agent(model=Scripted(), tools=[read], **quiet, **fields)

    async def arun(self, run: Run, setup: str) -> list[Any]:
        agent = self.agent(run, setup)
        for ask in run.asks:
            await agent.invoke_async(ask)
        return list(agent.messages)

    def run(self, run: Run, setup: str) -> list[Any]:
        return asyncio.run(self.arun(run, setup))


DRIVERS: dict[str, Callable[[], Any]] = {
    "anthropic": Anthropic,
    "openai": OpenAI,
    "langchain": LangChain,
    "pydantic_ai": PydanticAI,
    "openai_agents": OpenAIAgents,
    "adk": ADK,
    "strands": Strands,
}
