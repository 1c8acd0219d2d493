"""Microsoft agent-framework: its compaction strategies, applied as an agent applies them before a request."""

from __future__ import annotations

import asyncio
from typing import Any

from agent_framework import (
    CharacterEstimatorTokenizer,
    ChatResponse,
    Content,
    Message,
    SlidingWindowStrategy,
    SummarizationStrategy,
    TokenBudgetComposedStrategy,
    ToolResultCompactionStrategy,
    TruncationStrategy,
    annotate_message_groups,
    apply_compaction,
    included_token_count,
)
from peerkit import Job, joined, serve
from peerkit.chat import Chat, answered, asked, calls_of, said

TOKENIZER = CharacterEstimatorTokenizer()


class Scripted:
    """A chat client that answers with the scripted summary of what it is sent."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.additional_properties: dict[str, Any] = {}

    async def get_response(self, messages: list[Message], **_: Any) -> ChatResponse:
        """Return the summary."""
        text = self.job.summarise("\n".join(message.text for message in messages))
        return ChatResponse(messages=[Message("assistant", [text])])


def native(job: Job) -> list[Message]:
    """Return the job's messages as agent-framework's."""
    return [Message(one["role"], contents_of(one)) for one in job.messages]


def contents_of(message: dict[str, Any]) -> list[Content]:
    """Return what a message consists of."""
    words = joined(message.get("content"))
    if message["role"] == "tool":
        return [Content.from_function_result(message["tool_call_id"], result=words)]
    calls = [
        Content.from_function_call(call_id, name, arguments=arguments)
        for call_id, name, arguments in calls_of(message)
    ]
    return [*([Content.from_text(words)] if words else []), *calls]


def chat(messages: list[Message]) -> Chat:
    """Return agent-framework's messages in OpenAI's format."""
    found: Chat = []
    for message in messages:
        results = [one for one in message.contents if one.type == "function_result"]
        calls = [(c.call_id, c.name, c.arguments) for c in message.contents if c.type == "function_call"]
        if results:
            found += (answered(one.call_id, str(one.result)) for one in results)
        elif message.role == "assistant":
            found.append(asked(message.text, calls))
        else:
            found.append(said(str(message.role), message.text))
    return found


def tokens_of(messages: list[Message]) -> int:
    """Return the tokens as agent-framework counts them."""
    annotate_message_groups(messages, tokenizer=TOKENIZER)
    return included_token_count(messages)


def compacted(job: Job, strategy: Any, *, counts: bool) -> Chat:
    """Apply a strategy to messages that no pass has seen yet."""
    messages = native(job)

    async def act() -> list[Message]:
        with job.timing():
            return await apply_compaction(
                messages, strategy=strategy, tokenizer=TOKENIZER if counts else None
            )

    return chat(asyncio.run(act()))


def summary_of(job: Job) -> SummarizationStrategy:
    """Return the summarising strategy, its model shown all that leaves."""
    kept = job.newest(native(job), lambda message: tokens_of([message]))
    return SummarizationStrategy(
        client=Scripted(job), target_count=kept, threshold=0, max_summary_input_tokens=None
    )


def summarised(job: Job) -> Chat:
    """Summarise what leaves."""
    return compacted(job, summary_of(job), counts=False)


def composed(job: Job) -> Chat:
    """Fold old tool calls, then summarise, then slide, until the budget is kept."""
    target = max(1, job.budget(tokens_of(native(job))).target)
    strategies = [
        ToolResultCompactionStrategy(keep_last_tool_call_groups=1),
        summary_of(job),
        SlidingWindowStrategy(keep_last_groups=20),
    ]
    strategy = TokenBudgetComposedStrategy(token_budget=target, tokenizer=TOKENIZER, strategies=strategies)
    return compacted(job, strategy, counts=True)


def truncated(job: Job) -> Chat:
    """Drop the oldest groups until the tokens fit."""
    target = max(1, job.budget(tokens_of(native(job))).target)
    return compacted(
        job, TruncationStrategy(max_n=target, compact_to=target, tokenizer=TOKENIZER), counts=True
    )


serve({"summary": summarised, "composed": composed, "truncate": truncated}, ["agent-framework-core"])
