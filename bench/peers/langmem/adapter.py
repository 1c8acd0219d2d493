"""langmem: ``summarize_messages``."""

from __future__ import annotations

from langchain_core.messages.utils import count_tokens_approximately
from langmem.short_term import summarize_messages
from peerkit import Job, serve
from peerkit.chat import Chat
from peerkit.langchain_kit import ScriptedChat, chat, native


def summarised(job: Job) -> Chat:
    """Summarise what does not fit; ``max_tokens`` also limits what the model is shown."""
    messages = native(job)
    budget = job.budget(count_tokens_approximately(messages))
    with job.timing():
        result = summarize_messages(
            messages,
            running_summary=None,
            model=ScriptedChat(job=job),
            max_tokens=max(2, budget.target),
            max_summary_tokens=budget.summary,
        )
    return chat(result.messages)


serve({"summary": summarised}, ["langmem", "langchain-core", "langgraph"])
