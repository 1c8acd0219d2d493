"""Ask for an answer in pieces, and ask again where that may help and nothing was shown yet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing

from clew.errors import ModelError, ModelFailed
from clew.message import Json, JsonObject
from clew.models.api import Api, whole
from clew.models.exchange import Patience, Send, exchange
from clew.models.pieces import Streamed
from clew.ports import Reply
from clew.wire.shapes import objects

Events = Callable[[Send], Iterator[JsonObject]]
"""Sends a body and yields the events of the response; whatever goes wrong is a ``ModelError``."""


CHARACTERS_A_TOKEN = 64
"""More than any tokenizer puts into a token on average, escapes and signatures included."""
GRACE = 200_000
"""Characters that are taken in any case: some servers do not count reasoning against the limit."""
EVENT = 8
"""Characters that an event counts for, also an empty one."""
MOST_TOKENS = 128_000
"""Of an answer whose request names no limit."""
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def streamed(api: Api, body: JsonObject, patience: Patience, events: Events) -> Streamed:
    """Yield the words of an answer as they come; return all of it.

    A question that failed is asked again as ``exchange`` would, but never once words were shown.
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
    """Pass events on; a stream that goes on far beyond what was asked for is a ``ModelFailed``."""
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
    """Return the characters of a delta, however its provider lays it out."""
    if isinstance(delta, str):
        return len(delta)
    inner = delta.values() if isinstance(delta, dict) else delta if isinstance(delta, list) else ()
    return sum(_length(one, depth - 1) for one in inner) if depth else 0
