"""Inspect: its compaction strategies, with its own mock model."""

from __future__ import annotations

import asyncio
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    CompactionEdit,
    CompactionSummary,
    CompactionTrim,
    Model,
    ModelOutput,
    get_model,
)
from inspect_ai.tool import ToolCall
from peerkit import Job, joined, serve, text_of
from peerkit.chat import Chat, answered, asked, calls_of, said


def native(job: Job) -> list[ChatMessage]:
    """Return the job's messages as Inspect's."""
    return [message_of(one) for one in job.messages]


def message_of(message: dict[str, Any]) -> ChatMessage:
    """Return one message as Inspect's."""
    words = joined(message.get("content"))
    match message["role"]:
        case "tool":
            return ChatMessageTool(content=words, tool_call_id=message["tool_call_id"])
        case "assistant":
            calls = [ToolCall(id=i, function=name, arguments=given) for i, name, given in calls_of(message)]
            return ChatMessageAssistant(content=words, tool_calls=calls or None)
        case "user":
            return ChatMessageUser(content=words)
    return ChatMessageSystem(content=words)


def chat(messages: list[ChatMessage]) -> Chat:
    """Return Inspect's messages in OpenAI's format."""
    return [shown(message) for message in messages]


def shown(message: ChatMessage) -> dict[str, Any]:
    """Return one of Inspect's messages in OpenAI's format."""
    if isinstance(message, ChatMessageTool):
        return answered(message.tool_call_id or "", message.text)
    if isinstance(message, ChatMessageAssistant):
        return asked(message.text, [(c.id, c.function, c.arguments) for c in message.tool_calls or ()])
    return said(message.role, message.text)


def model_of(job: Job) -> Model:
    """Return Inspect's mock model, answering with the scripted summary of what it is sent."""

    def answer(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        text = job.summarise("\n".join(text_of(shown(message)) for message in messages))
        return ModelOutput.from_content("mockllm", text)

    async def count_text_tokens(text: str) -> int:
        return len(text) // 4

    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    # What providers override with a count of their own; the default fetches a tokenizer from a network.
    model.api.count_text_tokens = count_text_tokens
    return model


def compacted(job: Job, strategy: Any) -> Chat:
    """Run a strategy."""
    messages, model = native(job), model_of(job)

    async def act() -> list[ChatMessage]:
        with job.timing():
            after, _ = await strategy.compact(model, messages, [])
        return list(after)

    return chat(asyncio.run(act()))


def size(message: dict[str, Any]) -> int:
    """Return a message's tokens, as the model here counts them."""
    return len(text_of(message)) // 4


def summarised(job: Job) -> Chat:
    """Put one summary in the place of the whole conversation."""
    job.summary_share = 1.0
    return compacted(job, CompactionSummary(memory=False))


def trimmed(job: Job) -> Chat:
    """Keep a share of the messages."""
    target = job.budget(sum(map(size, job.messages))).target
    kept = job.newest(job.messages, size, target) / len(job.messages)
    return compacted(job, CompactionTrim(preserve=kept, memory=False))


def edited(job: Job) -> Chat:
    """Clear all tool results but the last three."""
    return compacted(job, CompactionEdit(memory=False))


serve({"summary": summarised, "trim": trimmed, "edit": edited}, ["inspect-ai"])
