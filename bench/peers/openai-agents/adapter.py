"""OpenAI Agents SDK: ``ToolOutputTrimmer``, and a session read with a limit, both through a real run.

Its compaction session only calls OpenAI's own service and is left out: there is no pass on this side.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, SessionSettings, SQLiteSession, Usage
from agents.extensions import ToolOutputTrimmer
from openai.types.responses import ResponseOutputMessage, ResponseOutputText
from peerkit import Job, joined, serve
from peerkit.chat import Chat, answered, as_json, asked, calls_of, said

QUESTION = "Go on."
"""A run needs new input; it is taken out again of what the model was sent."""


class Listening(Model):
    """Notes what it is sent and says nothing much."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def get_response(
        self,
        system_instructions: str | None,
        input: Any,  # noqa: A002  # the name that the SDK calls it by
        *_: Any,
        **__: Any,
    ) -> ModelResponse:
        """Answer with one word."""
        self.sent = list(input)
        text = ResponseOutputText(text="Done.", type="output_text", annotations=[])
        message = ResponseOutputMessage(
            id="out", content=[text], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """Refuse: nobody streams here."""
        raise NotImplementedError


def native(job: Job) -> list[Any]:
    """Return the job's messages as items of the Responses API."""
    found: list[Any] = []
    for message in job.messages:
        words = joined(message.get("content"))
        if message["role"] == "tool":
            call_id = message["tool_call_id"]
            found.append({"type": "function_call_output", "call_id": call_id, "output": words})
            continue
        if words:
            found.append(said(message["role"], words))
        for call_id, name, arguments in calls_of(message):
            call = {"call_id": call_id, "name": name, "arguments": as_json(arguments)}
            found.append({"type": "function_call", **call})
    return found


def chat(items: list[Any]) -> Chat:
    """Return items in OpenAI's chat format; calls that stand together are one message's."""
    found: Chat = []
    for item in items:
        if item.get("type") == "function_call_output":
            found.append(answered(item["call_id"], joined(item["output"])))
        elif item.get("type") == "function_call":
            call = asked("", [(item["call_id"], item["name"], item["arguments"])])
            if found and found[-1]["role"] == "assistant":
                found[-1].setdefault("tool_calls", []).extend(call["tool_calls"])
            else:
                found.append(call)
        else:
            found.append(said(item["role"], joined(item["content"])))
    return found


def sent(job: Job, items: list[Any], config: RunConfig) -> Chat:
    """Run an agent on a session that holds these items; return what its model was sent."""
    model = Listening()
    agent = Agent(name="agent", model=model)

    async def act() -> None:
        session = SQLiteSession("bench")
        await session.add_items(items)
        with job.timing():
            await Runner.run(agent, QUESTION, session=session, run_config=config)
        session.close()

    asyncio.run(act())
    return chat([item for item in model.sent if item.get("content") != QUESTION])


def trimmed(job: Job) -> Chat:
    """Cut large outputs of all turns but the last two to a preview."""
    trimmer = ToolOutputTrimmer(recent_turns=2)
    return sent(job, native(job), RunConfig(tracing_disabled=True, call_model_input_filter=trimmer))


def limited(job: Job) -> Chat:
    """Read no more items of the session than fit."""
    items = native(job)
    room = job.budget(sum(map(size, items))).target
    limit = SessionSettings(limit=job.newest(items, size, room))
    return sent(job, items, RunConfig(tracing_disabled=True, session_settings=limit))


def size(item: dict[str, Any]) -> int:
    """Return an item's tokens: the SDK counts none, so a quarter of its characters."""
    words = (item.get(key) for key in ("content", "output", "name", "arguments"))
    return sum(len(one) for one in words if isinstance(one, str)) // 4


serve({"trim": trimmed, "limit": limited}, ["openai-agents", "openai"])
