"""deepagents: its ``SummarizationMiddleware``, which also writes what leaves to a file."""

from __future__ import annotations

import tempfile
from typing import Any

from deepagents.backends import FilesystemBackend
from deepagents.middleware.summarization import SummarizationMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage
from langchain_core.messages.utils import count_tokens_approximately
from peerkit import Job, serve
from peerkit.chat import Chat
from peerkit.langchain_kit import ScriptedChat, chat, native


def summarised(job: Job) -> Chat:
    """Run the middleware around a model call, with its factory's settings but for the sizes."""
    messages = native(job)
    budget = job.budget(count_tokens_approximately(messages))
    keep = ("tokens", budget.tail) if job.keep_last is None else ("messages", job.keep_last)
    seen: list[Any] = []

    def answer(changed: ModelRequest) -> ModelResponse:
        seen.extend(changed.messages)
        return ModelResponse(result=[AIMessage("")])

    with tempfile.TemporaryDirectory() as folder:
        middleware = SummarizationMiddleware(
            ScriptedChat(job=job),
            backend=FilesystemBackend(root_dir=folder, virtual_mode=True),
            trigger=("tokens", max(1, budget.target)),
            keep=keep,
            trim_tokens_to_summarize=None,
            truncate_args_settings={"trigger": ("messages", 20), "keep": ("messages", 20)},
        )
        request = ModelRequest(model=ScriptedChat(job=job), messages=messages, state={"messages": messages})
        with job.timing():
            middleware.wrap_model_call(request, answer)
    return chat(seen)


serve({"summary": summarised}, ["deepagents", "langchain", "langchain-core"])
