"""LiteLLM: ``compress``, which ranks messages by BM25 and leaves stubs for the rest."""

from __future__ import annotations

from litellm.compression import compress
from peerkit import Job, serve
from peerkit.chat import Chat


def compressed(job: Job) -> Chat:
    """Compress to the target; it counts with OpenAI's tokenizer."""
    messages = [{**one, "content": one.get("content") or ""} for one in job.messages]  # null makes it fail
    target = max(1, job.target_tokens)
    with job.timing():
        result = compress(messages, model="gpt-4o", compression_trigger=target, compression_target=target)
    return result["messages"]


serve({"compress": compressed}, ["litellm"])
