"""Stream an answer, retrying failed requests only until the first piece has been yielded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing

from clew.errors import ModelError, ModelFailed
from clew.message import Json, JsonObject
from clew.providers.clients.api import Api, whole
from clew.providers.clients.exchange import Patience, Send, exchange
from clew.providers.clients.pieces import Streamed
from clew.providers.model import Reply
from clew.providers.shapes import objects

Events = Callable[[Send], Iterator[JsonObject]]
"""Sends a body and yields the events of the response; failures are raised as ``ModelError``."""


CHARACTERS_A_TOKEN = 64
"""More than a token's average length in any tokenizer, escapes and signatures included (chosen by hand)."""
GRACE = 200_000
"""Characters allowed on top: some servers do not count reasoning against the limit (chosen by hand)."""
EVENT = 8
"""Characters that each event counts for, so that a stream of empty events ends as well."""
MOST_TOKENS = 128_000
"""The limit of an answer whose request names none: the largest output of current models."""
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def streamed(api: Api, body: JsonObject, patience: Patience, events: Events) -> Streamed:
    """Yield the pieces of an answer as they arrive; return the whole reply.

    A failed request is retried as in ``exchange``, unless a piece has already been yielded.
    """
    with closing(exchange(api, api.streaming(body), patience)) as steps:
        send = next(steps)
        while True:
            gathering, shown = api.gathering(), False
            try:
                for event in _bounded(events(send), send.body):
                    for piece in gathering.take(event):
                        shown = True
                        yield piece
                value = gathering.whole()
            except ModelError as error:
                if shown:
                    raise
                send = steps.throw(error)
                continue
            if shown:
                return api.reply(value)
            try:
                send = steps.send(_written(value))
            except StopIteration as end:
                reply: Reply = end.value
                return reply


def _written(value: JsonObject) -> str:
    try:
        return json.dumps(value)
    except RecursionError as cause:
        raise ModelFailed("the answer is nested too deeply to be read") from cause


def _bounded(events: Iterator[JsonObject], body: JsonObject) -> Iterator[JsonObject]:
    """Pass events on; raise ``ModelFailed`` for a stream far longer than its token limit allows."""
    tokens = next(filter(None, (whole(body.get(name)) for name in _LIMITS)), MOST_TOKENS)
    most = CHARACTERS_A_TOKEN * tokens + GRACE
    taken = 0
    for event in events:
        taken += EVENT + _length(event.get("delta"))
        taken += sum(_length(choice.get("delta")) for _, choice in objects(event.get("choices")))
        if taken > most:
            raise ModelFailed(f"the answer goes on far beyond its limit ({taken:,} characters)")
        yield event


def _length(delta: Json, depth: int = 5) -> int:
    """Return the number of characters in a delta of any provider's layout."""
    if isinstance(delta, str):
        return len(delta)
    inner = delta.values() if isinstance(delta, dict) else delta if isinstance(delta, list) else ()
    return sum(_length(one, depth - 1) for one in inner) if depth else 0
