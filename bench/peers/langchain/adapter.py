"""LangChain: ``SummarizationMiddleware`` and ``ContextEditingMiddleware``."""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, SummarizationMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from peerkit import Job, serve
from peerkit.chat import Chat
from peerkit.langchain_kit import ScriptedChat, chat, native


def summarised(job: Job, **settings: Any) -> Chat:
    """Run the summarising middleware as an agent does before it calls its model."""
    messages = native(job)
    budget = job.budget(count_tokens_approximately(messages))
    keep = ("tokens", budget.tail) if job.keep_last is None else ("messages", job.keep_last)
    middleware = SummarizationMiddleware(
        ScriptedChat(job=job), trigger=("tokens", max(1, budget.target)), keep=keep, **settings
    )
    with job.timing():
        update = middleware.before_model({"messages": messages}, None)
    return chat(update["messages"][1:] if update else messages)  # the first one removes all that was there


def all_shown(job: Job) -> Chat:
    """Let the model see all that it is to summarise."""
    return summarised(job, trim_tokens_to_summarize=None)


def cleared(job: Job) -> Chat:
    """Clear as many tool results as it takes, or all but the newest."""
    messages = native(job)
    budget = job.budget(count_tokens_approximately(messages))
    keep = job.keep_last if job.keep_last is not None else kept_results(messages, budget.target)
    middleware = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=budget.target, keep=keep)])
    request = ModelRequest(model=ScriptedChat(job=job), messages=messages)
    seen: list[Any] = []

    def answer(changed: ModelRequest) -> ModelResponse:
        seen.extend(changed.messages)
        return ModelResponse(result=[AIMessage("")])

    with job.timing():
        middleware.wrap_model_call(request, answer)
    return chat(seen)


def kept_results(messages: list[Any], target: int) -> int:
    """Return how many of the newest results fit beside all that is never cleared."""
    sizes = [count_tokens_approximately([message]) for message in messages]
    results = [
        size for message, size in zip(messages, sizes, strict=True) if isinstance(message, ToolMessage)
    ]
    room, kept = target - (sum(sizes) - sum(results)), 0
    for size in reversed(results):
        room -= size
        if room < 0:
            break
        kept += 1
    return kept


serve(
    {"summary": all_shown, "default": summarised, "clear": cleared},
    ["langchain", "langchain-core", "langgraph"],
)
