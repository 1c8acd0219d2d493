"""AutoGen: ``TokenLimitedChatCompletionContext``, which takes messages out of the middle."""

from __future__ import annotations

import asyncio
from typing import Any

from autogen_core import FunctionCall
from autogen_core.model_context import TokenLimitedChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from peerkit import Job, joined, serve, text_of
from peerkit.chat import Chat, answered, as_json, asked, called, calls_of, said, together


class Counting:
    """The part of a model client that the context uses: it counts, a token for four characters."""

    def count_tokens(self, messages: list[LLMMessage], **_: Any) -> int:
        """Return the tokens of messages."""
        return sum(len(text_of(one)) for message in messages for one in shown(message)) // 4


def native(job: Job) -> list[LLMMessage]:
    """Return the job's messages as AutoGen's."""
    names = called(job.messages)
    return [message_of(role, run, names) for role, run in together(job.messages)]


def message_of(role: str, run: Chat, names: dict[str, str]) -> LLMMessage:
    """Return one message, or a run of results, as AutoGen's."""
    words, calls = joined(run[0].get("content")), calls_of(run[0])
    if role == "tool":
        results = [
            FunctionExecutionResult(
                call_id=one["tool_call_id"],
                name=names.get(one["tool_call_id"], "tool"),
                content=joined(one["content"]),
            )
            for one in run
        ]
        return FunctionExecutionResultMessage(content=results)
    if role == "assistant" and calls:
        told = [FunctionCall(id=i, name=name, arguments=as_json(given)) for i, name, given in calls]
        return AssistantMessage(content=told, thought=words or None, source="assistant")
    if role == "assistant":
        return AssistantMessage(content=words, source="assistant")
    return UserMessage(content=words, source="user") if role == "user" else SystemMessage(content=words)


def shown(message: LLMMessage) -> Chat:
    """Return one of AutoGen's messages in OpenAI's format."""
    match message:
        case FunctionExecutionResultMessage():
            return [answered(one.call_id, one.content) for one in message.content]
        case AssistantMessage(content=str(words)):
            return [said("assistant", words)]
        case AssistantMessage():
            calls = [(call.id, call.name, call.arguments) for call in message.content]
            return [asked(message.thought or "", calls)]
        case UserMessage():
            return [said("user", joined(message.content))]
    return [said("system", message.content)]


def limited(job: Job) -> Chat:
    """Read the context with a limit."""
    messages, client = native(job), Counting()
    target = max(1, job.budget(client.count_tokens(messages)).target)
    context = TokenLimitedChatCompletionContext(client, token_limit=target, initial_messages=messages)

    async def act() -> list[LLMMessage]:
        with job.timing():
            return await context.get_messages()

    return [one for message in asyncio.run(act()) for one in shown(message)]


serve({"limit": limited}, ["autogen-core"])
