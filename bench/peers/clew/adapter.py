"""clew itself: ``compact``, without a model. Runs in the interpreter at hand."""

from __future__ import annotations

from peerkit import Job, serve
from peerkit.chat import Chat

from clew.session import compact


def compacted(job: Job) -> Chat:
    """Compact to the target; rules are found by clew, so pins that a person placed are not needed."""
    with job.timing():
        result = compact(job.messages, target_tokens=job.target_tokens, model="gpt-4o", wire="openai")
    return result.messages


serve({"compact": compacted}, ["clew"])
