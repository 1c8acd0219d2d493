"""Semantic Kernel: ``ChatHistorySummarizationReducer`` and ``ChatHistoryTruncationReducer``."""

from __future__ import annotations

import asyncio
from typing import Any

from peerkit import Job, joined, serve, text_of
from peerkit.chat import Chat, answered, as_json, asked, called, calls_of, said
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.contents import (
    ChatHistory,
    ChatHistorySummarizationReducer,
    ChatHistoryTruncationReducer,
    ChatMessageContent,
    FunctionCallContent,
    FunctionResultContent,
    TextContent,
)


class Scripted(ChatCompletionClientBase):
    """Answers with the scripted summary of what it is sent."""

    job: Any

    async def get_chat_message_content(self, chat_history: ChatHistory, **_: Any) -> ChatMessageContent:
        """Return the summary."""
        prompt = "\n".join(text_of(one) for one in chat(chat_history.messages))
        return ChatMessageContent(role="assistant", content=self.job.summarise(prompt))


def native(job: Job) -> list[ChatMessageContent]:
    """Return the job's messages as Semantic Kernel's."""
    names = called(job.messages)
    return [ChatMessageContent(role=one["role"], items=items_of(one, names)) for one in job.messages]


def items_of(message: dict[str, Any], names: dict[str, str]) -> list[Any]:
    """Return what a message consists of."""
    words = joined(message.get("content"))
    if message["role"] == "tool":
        call_id = message["tool_call_id"]
        return [FunctionResultContent(id=call_id, name=names.get(call_id, "tool"), result=words)]
    calls = [
        FunctionCallContent(id=call_id, name=name, arguments=as_json(arguments))
        for call_id, name, arguments in calls_of(message)
    ]
    return [*([TextContent(text=words)] if words else []), *calls]


def chat(messages: list[ChatMessageContent]) -> Chat:
    """Return Semantic Kernel's messages in OpenAI's format."""
    found: Chat = []
    for message in messages:
        calls = [(c.id, c.name, c.arguments) for c in message.items if isinstance(c, FunctionCallContent)]
        results = [one for one in message.items if isinstance(one, FunctionResultContent)]
        if results:
            found += (answered(one.id, str(one.result)) for one in results)
        elif message.role.value == "assistant":
            found.append(asked(message.content, calls))
        else:
            found.append(said(message.role.value, message.content))
    return found


def size(message: dict[str, Any]) -> int:
    """Return a message's tokens: the reducers count messages only, so a quarter of its characters."""
    return len(text_of(message)) // 4


def reduced(job: Job, reducer: Any) -> Chat:
    """Let a reducer that holds the conversation reduce it."""

    async def act() -> None:
        with job.timing():
            await reducer.reduce()

    asyncio.run(act())
    return chat(reducer.messages)


def summarised(job: Job) -> Chat:
    """Summarise what leaves, tool calls included."""
    reducer = ChatHistorySummarizationReducer(
        service=Scripted(ai_model_id="scripted", job=job),
        target_count=job.newest(job.messages, size),
        threshold_count=0,
        include_function_content_in_summary=True,
        messages=native(job),
    )
    return reduced(job, reducer)


def truncated(job: Job) -> Chat:
    """Drop what leaves."""
    room = job.budget(sum(map(size, job.messages))).target
    kept = job.newest(job.messages, size, room)
    return reduced(
        job, ChatHistoryTruncationReducer(target_count=kept, threshold_count=0, messages=native(job))
    )


serve({"summary": summarised, "truncate": truncated}, ["semantic-kernel"])
