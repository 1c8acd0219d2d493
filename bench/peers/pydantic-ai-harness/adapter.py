"""pydantic-ai-harness: its compaction strategies, run with ``compact_now``."""

from __future__ import annotations

import asyncio
from typing import Any

from peerkit import Job, joined, serve
from peerkit.chat import Chat, answered, asked, called, calls_of, said, together
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_harness.compaction import (
    ClampOversizedMessages,
    ClearToolResults,
    DeduplicateFileReads,
    SlidingWindowCompaction,
    SummarizingCompaction,
    TieredCompaction,
    compact_now,
    estimate_token_count,
    pin,
)


def native(job: Job, pinned: tuple[int, ...] = ()) -> list[ModelMessage]:
    """Return the job's messages as pydantic-ai's; some of them pinned."""
    names, found, at = called(job.messages), list[ModelMessage](), 0
    for role, run in together(job.messages):
        words = joined(run[0].get("content"))
        if role == "assistant":
            calls = [ToolCallPart(name, arguments, call_id) for call_id, name, arguments in calls_of(run[0])]
            found.append(ModelResponse([*([TextPart(words)] if words else []), *calls]))
        elif role == "tool":
            ids = [one["tool_call_id"] for one in run]
            parts = [
                ToolReturnPart(names.get(call_id, "tool"), joined(one["content"]), call_id)
                for call_id, one in zip(ids, run, strict=True)
            ]
            found.append(ModelRequest(parts))
        elif role == "user":
            found.append(ModelRequest([pin(words) if at in pinned else UserPromptPart(words)]))
        else:
            found.append(ModelRequest([SystemPromptPart(words)]))
        at += len(run)
    return found


def chat(messages: list[ModelMessage]) -> Chat:
    """Return pydantic-ai's messages in OpenAI's format."""
    found: Chat = []
    for message in messages:
        if isinstance(message, ModelResponse):
            calls = [
                (p.tool_call_id, p.tool_name, p.args) for p in message.parts if isinstance(p, ToolCallPart)
            ]
            found.append(asked("\n".join(p.content for p in message.parts if isinstance(p, TextPart)), calls))
        else:
            found += (sent(part) for part in message.parts)
    return found


def sent(part: Any) -> dict[str, Any]:
    """Return one part of a request as the message that pydantic-ai sends for it."""
    match part:
        case ToolReturnPart():
            return answered(part.tool_call_id, part.model_response_str())
        case SystemPromptPart():
            return said("system", part.content)
        case CompactionPart():
            return said("user", f"<conversation_summary>\n{part.content}\n</conversation_summary>")
        case UserPromptPart(content=str(text)):
            return said("user", text)
    return said("user", "\n".join(getattr(one, "content", str(one)) for one in part.content))


def model_of(job: Job) -> FunctionModel:
    """Return a model that answers with the scripted summary of what it is sent."""

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        parts = (part for message in messages for part in message.parts)
        text = job.summarise("\n".join(str(getattr(part, "content", "")) for part in parts))
        return ModelResponse([TextPart(text)])

    return FunctionModel(answer)


def compacted(job: Job, strategy: Any, messages: list[ModelMessage]) -> Chat:
    """Run a strategy between two runs of an agent."""
    model = model_of(job)

    async def act() -> list[ModelMessage]:
        with job.timing():
            return await compact_now(strategy, messages, model=model)

    return chat(asyncio.run(act()))


def kept(job: Job, room: int) -> dict[str, int]:
    """Return how much of the end to keep: a number of messages where one is asked for, else tokens."""
    return {"keep_tokens": room} if job.keep_last is None else {"keep_messages": job.keep_last}


def summarised(job: Job) -> Chat:
    """Summarise what leaves."""
    messages = native(job)
    budget = job.budget(estimate_token_count(messages))
    return compacted(job, SummarizingCompaction(max_tokens=1, **kept(job, budget.tail)), messages)


def windowed(job: Job) -> Chat:
    """Drop what leaves."""
    messages = native(job)
    budget = job.budget(estimate_token_count(messages))
    return compacted(job, SlidingWindowCompaction(max_tokens=1, **kept(job, budget.target)), messages)


def tiered(job: Job, pinned: tuple[int, ...] = ()) -> Chat:
    """Run all tiers that need no judge, the cheap ones first, the summary last."""
    messages = native(job, pinned)
    budget = job.budget(estimate_token_count(messages))
    strategy = TieredCompaction(
        tiers=[
            ClampOversizedMessages(max_part_tokens=max(1_000, budget.tail)),
            DeduplicateFileReads(file_key=file_read),
            ClearToolResults(max_tokens=1),
            SummarizingCompaction(max_tokens=1, **kept(job, budget.tail)),
        ],
        target_tokens=budget.target,
    )
    return compacted(job, strategy, messages)


def tiered_pinned(job: Job) -> Chat:
    """Do the same after a person has pinned what the job says."""
    return tiered(job, tuple(job.pins))


def file_read(call: ToolCallPart) -> str | None:
    """Return the file that a call reads whole, by the names that common tools have."""
    if call.tool_name.lower() not in {"read", "read_file", "view", "cat"}:
        return None
    given = call.args_as_dict()
    whole = not {"offset", "limit", "start_line", "end_line", "view_range"} & given.keys()
    path = next((given[key] for key in ("path", "file_path", "filename") if key in given), None)
    return str(path) if path and whole else None


serve(
    {"summary": summarised, "window": windowed, "tiers": tiered, "tiers-pins": tiered_pinned},
    ["pydantic-ai-harness", "pydantic-ai-slim"],
)
