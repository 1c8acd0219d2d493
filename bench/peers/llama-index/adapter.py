"""LlamaIndex: ``Memory``, which lets go of the oldest messages. Its blocks, not used here, need a model."""

from __future__ import annotations

import asyncio

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory
from peerkit import Job, joined, serve, text_of
from peerkit.chat import Chat


def native(job: Job) -> list[ChatMessage]:
    """Return the job's messages as LlamaIndex's; what only OpenAI knows travels beside the words."""
    return [
        ChatMessage(
            role=one["role"],
            content=joined(one.get("content")) or None,
            additional_kwargs={key: one[key] for key in ("tool_calls", "tool_call_id") if key in one},
        )
        for one in job.messages
    ]


def chat(messages: list[ChatMessage]) -> Chat:
    """Return LlamaIndex's messages in OpenAI's format."""
    return [{"role": one.role.value, "content": one.content, **one.additional_kwargs} for one in messages]


def windowed(job: Job) -> Chat:
    """Put the conversation into a memory and take out what it then holds."""
    messages = native(job)
    budget = job.budget(sum(len(text_of(one)) // 4 for one in job.messages))
    memory = Memory.from_defaults(
        token_limit=max(1, budget.target),
        chat_history_token_ratio=0.999,
        token_flush_size=max(1, budget.target // 10),  # the share that it is by default
        tokenizer_fn=lambda text: range(len(text) // 4),
    )

    async def act() -> list[ChatMessage]:
        with job.timing():
            await memory.aput_messages(messages)
            return await memory.aget()

    return chat(asyncio.run(act()))


serve({"memory": windowed}, ["llama-index-core"])
