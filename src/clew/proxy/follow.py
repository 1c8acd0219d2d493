"""Log growing conversations in the background, so that their compaction has little left to read.

One thread reads the newest request of each conversation that has grown enough since it was last read. The
request itself never waits for it, and an error only means that the compaction reads the conversation itself.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from clew.proxy.relay import HttpRequest
from clew.proxy.requests import conversation_in, conversation_key
from clew.proxy.stats import Stats

if TYPE_CHECKING:
    from clew.proxy.conversations import Conversations

FIRST_BYTES = 256 << 10
"""Conversations are logged from this size on: about 70,000 tokens, when a compaction becomes likely."""
STEP_BYTES, STEP_SHARE = 32 << 10, 1 / 16
"""A conversation is read again after it grew by this, so that the cost of all readings is linear."""
WAITING_BYTES = 8 << 20
"""Requests that wait to be read; more are dropped, and the next one of their conversation is read instead."""
CONVERSATIONS = 256
"""Conversations whose sizes are remembered, the newest; chosen by hand."""


class Follower:
    """Reads requests in a background thread; ``offer`` returns at once."""

    def __init__(self, stats: Stats) -> None:
        self.stats = stats
        self._changed = threading.Condition()
        self._sizes: OrderedDict[str, int] = OrderedDict()
        """The size at which each conversation is read next."""
        self._waiting: OrderedDict[str, tuple[HttpRequest, bytes, str]] = OrderedDict()
        self._conversations: Conversations | None = None
        self._busy = self._closed = False
        threading.Thread(target=self._run, daemon=True, name="clew-follow").start()

    def offer(self, http: HttpRequest, raw: bytes, wire: str) -> None:
        """Read a request later, if its conversation has grown enough."""
        if len(raw) < FIRST_BYTES:
            return
        key = conversation_key(http, raw)
        with self._changed:
            if len(raw) < self._sizes.get(key, FIRST_BYTES):
                return
            waiting = sum(len(body) for _, body, _ in self._waiting.values())
            if (waiting and waiting + len(raw) > WAITING_BYTES) or self._closed:
                return
            self._sizes.pop(key, None)
            self._sizes[key] = len(raw) + max(STEP_BYTES, int(len(raw) * STEP_SHARE))
            self._waiting[key] = http, raw, wire
            while len(self._sizes) > CONVERSATIONS:
                self._sizes.popitem(last=False)
            self._changed.notify_all()

    @property
    def conversations(self) -> Conversations:
        """Return the log; opened at its first use."""
        from clew.proxy.conversations import Conversations

        with self._changed:
            self._conversations = self._conversations or Conversations()
            return self._conversations

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until every offered request has been read; False after the time is over."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, seconds)

    def close(self) -> None:
        """Finish the request being read, and close the log."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()
        self.wait(5.0)
        if self._conversations is not None:
            self._conversations.close()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                _, (http, raw, wire) = self._waiting.popitem(last=False)
                self._busy = True
            try:
                self._log(http, raw, wire)
            except Exception:  # noqa: BLE001  # the compaction reads the conversation itself, and reports errors
                self.stats.count("not_followed")

    def _log(self, http: HttpRequest, raw: bytes, wire: str) -> None:
        from clew.proxy.conversations import ClientList

        request = conversation_in(http, json.loads(raw), wire)
        if request is None or len(request.entries) < 2:
            return
        client_list = ClientList.of(request)
        with self.conversations.locked(client_list) as conversation:
            # not the last entry: clients append reminders to it that later requests do not repeat
            logged = conversation.log(client_list, len(client_list.hashes) - 1)
        self.stats.count("followed", logged)
