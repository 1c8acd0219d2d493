"""Strands: ``SlidingWindowConversationManager`` and ``SummarizingConversationManager``."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from peerkit import Job, joined, serve
from peerkit.chat import Chat, answered, asked, calls_of, said, together
from strands import Agent
from strands.agent.conversation_manager import (
    ConversationManager,
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)
from strands.models import Model

ROUNDS = 8
"""A manager takes away at most four fifths of the messages; an agent calls it again while it overflows."""
MOST_AT_ONCE = 0.8


class Scripted(Model):
    """Answers with the scripted summary of what it is sent."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def update_config(self, **_: Any) -> None:
        """There is nothing to configure."""

    def get_config(self) -> dict[str, Any]:
        """Return no configuration."""
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        """Refuse: nobody asks for it here."""
        raise NotImplementedError

    async def stream(self, messages: list[Any], *_: Any, **__: Any) -> AsyncIterator[dict[str, Any]]:
        """Yield the summary as one piece."""
        prompt = "\n".join(words_of(block) for message in messages for block in message["content"])
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": self.job.summarise(prompt)}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def words_of(block: dict[str, Any]) -> str:
    """Return the text of a content block."""
    if "toolResult" in block:
        return joined(block["toolResult"]["content"])
    if "toolUse" in block:
        return f"{block['toolUse']['name']}({json.dumps(block['toolUse']['input'])})"
    return block.get("text") or ""


def native(job: Job) -> list[Any]:
    """Return the job's messages as Strands'."""
    found = []
    for role, run in together(job.messages):
        words = joined(run[0].get("content"))
        content: list[Any] = [{"text": words}] if words else []
        if role == "tool":
            content = [
                {
                    "toolResult": {
                        "toolUseId": one["tool_call_id"],
                        "status": "success",
                        "content": [{"text": joined(one["content"])}],
                    }
                }
                for one in run
            ]
        for call_id, name, arguments in calls_of(run[0]):
            content.append({"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}})
        found.append({"role": "assistant" if role == "assistant" else "user", "content": content})
    return found


def chat(messages: list[Any]) -> Chat:
    """Return Strands' messages in OpenAI's format."""
    found: Chat = []
    for message in messages:
        text = "\n".join(block["text"] for block in message["content"] if "text" in block)
        calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        results = [block["toolResult"] for block in message["content"] if "toolResult" in block]
        found += (answered(one["toolUseId"], joined(one["content"])) for one in results)
        if message["role"] == "assistant":
            found.append(asked(text, [(one["toolUseId"], one["name"], one["input"]) for one in calls]))
        elif text:
            found.append(said("user", text))
    return found


def size(message: dict[str, Any]) -> int:
    """Return a message's tokens, as Strands estimates them where a model does not count: a quarter."""
    return sum(len(words_of(block)) for block in message["content"]) // 4


def agent_of(job: Job, manager: ConversationManager) -> Agent:
    """Return an agent that has had the job's conversation."""
    return Agent(
        model=Scripted(job), messages=native(job), conversation_manager=manager, callback_handler=None
    )


def windowed(job: Job) -> Chat:
    """Keep as many messages as fit."""
    messages = native(job)
    room = job.budget(sum(map(size, messages))).target
    manager = SlidingWindowConversationManager(window_size=job.newest(messages, size, room))
    agent = agent_of(job, manager)
    with job.timing():
        manager.apply_management(agent)
    return chat(agent.messages)


def summarised(job: Job, pinned: int | None = None) -> Chat:
    """Summarise the oldest messages, again and again until it fits or goes no further."""
    messages = native(job)
    budget = job.budget(sum(map(size, messages)))
    manager = SummarizingConversationManager(
        summary_ratio=MOST_AT_ONCE, preserve_recent_messages=job.newest(messages, size), pin_first=pinned
    )
    agent = agent_of(job, manager)
    for _ in range(ROUNDS):
        before = len(agent.messages)
        with job.timing():
            manager.reduce_context(agent)
        if sum(map(size, agent.messages)) <= budget.target or len(agent.messages) >= before:
            break
    return chat(agent.messages)


def summarised_pinned(job: Job) -> Chat:
    """Do the same with all pinned up to the last message that a person has pinned."""
    return summarised(job, max(job.pins, default=-1) + 1)


serve({"window": windowed, "summary": summarised, "summary-pins": summarised_pinned}, ["strands-agents"])
