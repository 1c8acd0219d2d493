"""Haystack: its compactors, called as its ``CompactionHook`` calls them."""

from __future__ import annotations

from typing import Any

from haystack import component
from haystack.dataclasses import ChatMessage
from haystack.hooks.compaction import (
    SlidingWindowCompactor,
    SummarizationCompactor,
    ToolResultPruningCompactor,
)
from haystack.token_counters import ApproximateTokenCounter
from peerkit import Job, joined, serve
from peerkit.chat import Chat

COUNTER = ApproximateTokenCounter()


@component
class Scripted:
    """A chat generator that answers with the scripted summary of what it is sent."""

    def __init__(self, job: Job) -> None:
        self.job = job

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], **_: Any) -> dict[str, list[ChatMessage]]:
        """Return the summary."""
        text = self.job.summarise("\n".join(message.text or "" for message in messages))
        return {"replies": [ChatMessage.from_assistant(text)]}


def native(job: Job) -> list[ChatMessage]:
    """Return the job's messages as Haystack's."""
    return [
        ChatMessage.from_openai_dict_format({**one, "content": joined(one.get("content")) or empty(one)})
        for one in job.messages
    ]


def empty(message: dict[str, Any]) -> str:
    """Return what stands for no words: it refuses a tool's result without any."""
    return " " if message["role"] == "tool" else ""


def chat(messages: list[ChatMessage]) -> Chat:
    """Return Haystack's messages in OpenAI's format."""
    return [message.to_openai_dict_format() for message in messages]


def compacted(job: Job, compactor: Any) -> Chat:
    """Run a compactor down to the target."""
    messages = native(job)
    target = job.budget(COUNTER.count(messages)).target
    with job.timing():
        after = compactor.compact(messages, target_tokens=target, token_counter=COUNTER)
    return chat(messages if after is None else after)


def summarised(job: Job) -> Chat:
    """Summarise the oldest turns."""
    expected = max(1, job.budget(COUNTER.count(native(job))).summary)
    return compacted(job, SummarizationCompactor(Scripted(job), approximate_summary_tokens=expected))


def windowed(job: Job) -> Chat:
    """Drop the oldest turns."""
    return compacted(job, SlidingWindowCompactor())


def pruned(job: Job) -> Chat:
    """Blank old tool results, the short ones too."""
    return compacted(job, ToolResultPruningCompactor(min_tokens=0))


serve({"summary": summarised, "window": windowed, "prune": pruned}, ["haystack-ai"])
