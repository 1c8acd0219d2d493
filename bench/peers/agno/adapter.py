"""Agno: ``Compaction``. It estimates tokens from characters: its tokenizer is fetched from a network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from agno.compaction import Compaction
from agno.models.base import Model
from agno.models.message import Message
from agno.models.response import ModelResponse
from agno.utils.tokens import count_tokens
from peerkit import Job, joined, serve
from peerkit.chat import Chat


@dataclass
class Scripted(Model):
    """Answers with the scripted summary of what it is sent."""

    id: str = "scripted"
    job: Any = None

    def response(self, messages: list[Message], **_: Any) -> ModelResponse:
        """Return the summary."""
        return ModelResponse(content=self.job.summarise("\n".join(str(one.content) for one in messages)))

    def invoke(self, *_: Any, **__: Any) -> ModelResponse:
        """Refuse: ``response`` answers."""
        raise NotImplementedError

    async def ainvoke(self, *_: Any, **__: Any) -> ModelResponse:
        """Refuse: ``response`` answers."""
        raise NotImplementedError

    def invoke_stream(self, *_: Any, **__: Any) -> Iterator[ModelResponse]:
        """Refuse: ``response`` answers."""
        raise NotImplementedError

    def ainvoke_stream(self, *_: Any, **__: Any) -> AsyncIterator[ModelResponse]:
        """Refuse: ``response`` answers."""
        raise NotImplementedError

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        raise NotImplementedError

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        raise NotImplementedError


def native(job: Job) -> list[Message]:
    """Return the job's messages as Agno's; its format is OpenAI's."""
    return [
        Message(
            role=one["role"],
            content=joined(one.get("content")) or None,
            tool_calls=one.get("tool_calls"),
            tool_call_id=one.get("tool_call_id"),
        )
        for one in job.messages
    ]


def chat(messages: list[Message]) -> Chat:
    """Return Agno's messages in OpenAI's format."""
    found: Chat = []
    for one in messages:
        more = {"tool_calls": one.tool_calls, "tool_call_id": one.tool_call_id}
        fields = {key: value for key, value in more.items() if value}
        found.append({"role": one.role, "content": one.content, **fields})
    return found


def summarised(job: Job) -> Chat:
    """Fold the head into a summary."""
    messages = native(job)
    budget = job.budget(count_tokens(messages))
    compaction = Compaction(
        model=Scripted(job=job), compact_at_tokens=None, uncompacted_tokens=max(1, budget.tail)
    )
    with job.timing():
        record = compaction.compact(messages, session_id="bench")
        after = compaction.apply_record(messages, record) if record else messages
    return chat(after)


serve({"summary": summarised}, ["agno"])
