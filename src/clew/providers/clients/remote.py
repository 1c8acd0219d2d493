"""Models behind a provider API: a blocking and an async one that run an exchange."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from clew.message import JsonObject
from clew.providers.clients.api import Api, sendable
from clew.providers.clients.exchange import PATIENCE, Patience, Send, exchange
from clew.providers.clients.pieces import Streamed
from clew.providers.clients.streaming import streamed
from clew.providers.model import Ask, Reply
from clew.providers.steps import drive, drive_async


async def _sleep_async(seconds: float) -> None:
    import asyncio

    await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model behind a provider API, called over the network."""

    name: str
    window_tokens: int
    api: Api = field(repr=False)
    post: Callable[[JsonObject], str] = field(repr=False)
    """Sends a body and returns the text of the response; raises ``ModelError`` for every failure."""
    events: Callable[[JsonObject], Iterator[JsonObject]] = field(repr=False)
    """Sends a streaming body and yields its events; raises ``ModelError`` for every failure."""
    close: Callable[[], None] = field(repr=False)
    """Closes its connections, including those of the client it was made with."""
    patience: Patience = PATIENCE
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def ask(self, ask: Ask) -> Reply:
        """Return the answer, or raise a ``ModelError``."""
        return drive(exchange(self.api, self.api.body(ask), self.patience), self._send)

    def _send(self, send: Send) -> str:
        if send.after_seconds:
            self.sleep(send.after_seconds)
        return self.post(sendable(send.body))

    @property
    def wire(self) -> str:
        """Return the name of the wire format of its requests."""
        return self.api.wire.name

    def fields(self, max_output_tokens: int) -> JsonObject:
        """Return the request fields other than its contents: the model's name and the output token limit."""
        return self.api.fields(max_output_tokens)

    def stream(self, body: JsonObject) -> Streamed:
        """Send a whole request; yield the pieces of the answer as they arrive, return the reply."""
        return streamed(self.api, body, self.patience, self._listen)

    def _listen(self, send: Send) -> Iterator[JsonObject]:
        if send.after_seconds:
            self.sleep(send.after_seconds)
        return self.events(sendable(send.body))


@dataclass(frozen=True, slots=True)
class AsyncRemoteModel:
    """A model behind a provider API, called over the network and awaited."""

    name: str
    window_tokens: int
    api: Api = field(repr=False)
    post: Callable[[JsonObject], Awaitable[str]] = field(repr=False)
    close: Callable[[], Awaitable[None]] = field(repr=False)
    patience: Patience = PATIENCE
    sleep: Callable[[float], Awaitable[None]] = field(default=_sleep_async, repr=False)

    async def ask(self, ask: Ask) -> Reply:
        """Return the answer, or raise a ``ModelError``."""
        return await drive_async(exchange(self.api, self.api.body(ask), self.patience), self._send)

    async def _send(self, send: Send) -> str:
        if send.after_seconds:
            await self.sleep(send.after_seconds)
        return await self.post(sendable(send.body))
