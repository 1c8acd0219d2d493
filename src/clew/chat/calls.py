"""Requests on record: what each cost, and what its provider's cache read, wrote and missed."""

from __future__ import annotations

import time

from clew.log import CALL
from clew.message import JsonObject
from clew.providers.clients import StreamingModel
from clew.providers.model import Reply
from clew.request.prompt_cache import Call, Layout, Life, layout_of
from clew.session import Session


class Calls:
    """The requests of one chat, one after the other."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sent: Layout | None = None
        self._ended_at: float | None = None
        self.last: Call | None = None
        self.made = 0

    @property
    def age_seconds(self) -> float | None:
        """Return how long ago the last reply came; None before the first."""
        return None if self._ended_at is None else time.monotonic() - self._ended_at

    def begin(self, body: JsonObject, wire: str, end_blocks: int) -> None:
        """Take note of a request that is about to be sent."""
        self.made += 1
        self._sent = layout_of(body, wire, end_blocks)

    def end(self, reply: Reply, model: StreamingModel) -> None:
        """Put on record what came of it."""
        if self._sent is None:
            return
        least = self._session.gauge.model.cache_minimum_tokens
        life = Life(seconds_since=self.age_seconds or 0.0, minimum_tokens=least)
        self.last = Call.after(self.last, self._sent, reply.usage, life)
        self._ended_at = time.monotonic()
        self._session.record(CALL.name, {**self.last.to_json(), "by": model.name})
