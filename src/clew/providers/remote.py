"""Models behind a provider API: one exchange with its retries, whole or streamed, blocking or async.

``exchange`` and ``stream_reply`` decide what to send (again without a refused field, again after a pause) and
do no I/O; ``RemoteModel`` and ``AsyncRemoteModel`` send what they ask for.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

from clew.errors import ModelBusy, ModelError, ModelFailed, ModelRefused
from clew.message import JsonObject
from clew.message.parts import json_strings
from clew.providers.api import Api, answer_object, int_or_zero, sendable
from clew.providers.model import Ask, Reply, Streamed, drive, drive_async
from clew.providers.shapes import objects


@dataclass(frozen=True, slots=True)
class Patience:
    """Timeout and retry settings for requests to a model."""

    timeout_seconds: float = 180.0
    """For one answer. A request that timed out is not retried: it would take as long again."""
    tries: int = 3
    """The most attempts while the model is busy or its server fails."""
    first_pause_seconds: float = 1.0
    """The pause before the second attempt; it doubles before each further one."""
    longest_pause_seconds: float = 30.0
    """If the provider asks for a longer pause, the request fails instead."""

    def pause(self, error: ModelBusy | ModelFailed, failed: int) -> float | None:
        """Return the seconds to wait after this many failed attempts, or None to give up."""
        if failed >= self.tries:
            return None
        wanted = error.retry_after if isinstance(error, ModelBusy) else None
        if wanted is None:
            return min(self.first_pause_seconds * 2.0 ** (failed - 1), self.longest_pause_seconds)
        return wanted if wanted <= self.longest_pause_seconds else None


PATIENCE = Patience()


class Send(NamedTuple):
    """A body to send after a pause."""

    body: JsonObject
    after_seconds: float = 0.0


def exchange(api: Api, body: JsonObject, patience: Patience) -> Generator[Send, str, Reply]:
    """Yield each body to send, receive the text of its response, return the reply.

    If the provider refuses an optional field, the request is sent again without it at once. If the server is
    busy or fails, it is sent again after a pause. Every other error is raised.
    """
    send = Send(body)
    failed = 0
    while True:
        try:
            return api.reply(answer_object((yield send)))
        except ModelRefused as refused:
            repaired = api.repaired(send.body, refused)
            if repaired is None:
                raise
            send = Send(repaired)
        except (ModelBusy, ModelFailed) as error:
            failed += 1
            pause = patience.pause(error, failed)
            if pause is None:
                raise
            send = Send(send.body, pause)


Events = Callable[[Send], Iterator[JsonObject]]
"""Sends a body and yields the events of the response; failures are raised as ``ModelError``."""


CHARACTERS_PER_TOKEN = 64
"""More than a token's average length in any tokenizer, escapes and signatures included (chosen by hand)."""
EXTRA_CHARACTERS = 200_000
"""Characters allowed on top: some servers do not count reasoning against the limit (chosen by hand)."""
EVENT_CHARACTERS = 8
"""Characters that each event counts for, so that a stream of empty events ends as well."""
MOST_TOKENS = 128_000
"""The limit of an answer whose request names none: the largest output of current models."""
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def stream_reply(api: Api, body: JsonObject, patience: Patience, events: Events) -> Streamed:
    """Yield the pieces of an answer as they arrive; return the whole reply.

    A failed request is retried as in ``exchange``, unless a piece has already been yielded.
    """
    with closing(exchange(api, api.streaming(body), patience)) as steps:
        send = next(steps)
        while True:
            assembler, shown = api.assembler(), False
            try:
                for event in _limit_length(events(send), send.body):
                    for piece in assembler.add(event):
                        shown = True
                        yield piece
                value = assembler.body()
            except ModelError as error:
                if shown:
                    raise
                send = steps.throw(error)  # decides whether to send again; else it raises the error
                continue
            if shown:
                return api.reply(value)
            try:
                send = steps.send(_encode(value))  # nothing was shown yet: the answer may report an error
            except StopIteration as end:
                reply: Reply = end.value
                return reply


def _encode(value: JsonObject) -> str:
    try:
        return json.dumps(value)
    except RecursionError as cause:
        raise ModelFailed("the answer is nested too deeply to be read") from cause


def _limit_length(events: Iterator[JsonObject], body: JsonObject) -> Iterator[JsonObject]:
    """Pass events on; raise ``ModelFailed`` for a stream far longer than its token limit allows."""
    tokens = next(filter(None, (int_or_zero(body.get(name)) for name in _LIMITS)), MOST_TOKENS)
    most = CHARACTERS_PER_TOKEN * tokens + EXTRA_CHARACTERS
    received = 0
    for event in events:
        deltas = [event.get("delta"), *(choice.get("delta") for _, choice in objects(event.get("choices")))]
        received += EVENT_CHARACTERS + sum(map(len, json_strings(deltas)))
        if received > most:
            raise ModelFailed(f"the answer goes on far beyond its limit ({received:,} characters)")
        yield event


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
        return stream_reply(self.api, body, self.patience, self._listen)

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
