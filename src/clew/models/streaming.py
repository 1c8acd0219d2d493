"""Ask for an answer in pieces, and ask again where that may help and nothing was shown yet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing

from clew.errors import ModelError
from clew.message import JsonObject
from clew.models.api import Api
from clew.models.exchange import Patience, Send, exchange
from clew.models.pieces import Streamed
from clew.ports import Reply

Events = Callable[[Send], Iterator[JsonObject]]
"""Sends a body and yields the events of the response; whatever goes wrong is a ``ModelError``."""


def streamed(api: Api, body: JsonObject, patience: Patience, events: Events) -> Streamed:
    """Yield the words of an answer as they come; return all of it.

    A question that failed is asked again as ``exchange`` would, but never once words were shown.
    """
    with closing(exchange(api, api.streaming(body), patience)) as steps:
        send = next(steps)
        while True:
            gathering, shown = api.gathering(), False
            try:
                for event in events(send):
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
                send = steps.send(json.dumps(value))
            except StopIteration as end:
                reply: Reply = end.value
                return reply
