"""clew itself: ``compact``, without a model. Runs in the interpreter at hand."""

from __future__ import annotations

import gc
from functools import partial

from peerkit import Job, serve
from peerkit.chat import Chat

from clew.session import CompactResult, compact

squeezed = partial(compact, model="gpt-4o", wire="openai")


def compacted(job: Job) -> Chat:
    """Compact to the target; rules are found by clew, so pins that a person placed are not needed."""
    with job.timing():
        result = squeezed(job.messages, target_tokens=job.target_tokens)
    return result.messages


def running(job: Job) -> Chat:
    """Compact a session in progress: all but its last message were parsed and read when they came in."""
    before = squeezed(job.messages[:-1], 1 << 40)
    gc.collect()
    with job.timing():
        result = squeezed(job.messages, target_tokens=job.target_tokens, previous=before)
    return result.messages


class Following:
    """Hands each call the last result, as is meant for a list that is compacted again and again.

    A list that does not begin with what was returned last is a new conversation; clew sees that itself.
    """

    def __init__(self) -> None:
        self._last: CompactResult | None = None

    def __call__(self, job: Job) -> Chat:
        """Compact to the target."""
        with job.timing():
            self._last = squeezed(job.messages, target_tokens=job.target_tokens, previous=self._last)
        return self._last.messages


serve({"compact": compacted, "after": Following(), "running": running}, ["clew"])
