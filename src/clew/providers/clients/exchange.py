"""One request to a provider with its retries, as a generator without I/O."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple

from clew.errors import ModelBusy, ModelFailed, ModelRefused
from clew.message import JsonObject
from clew.providers.clients.api import Api, answer_object
from clew.providers.model import Reply


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
            mended = api.mended(send.body, refused)
            if mended is None:
                raise
            send = Send(mended)
        except (ModelBusy, ModelFailed) as error:
            failed += 1
            pause = patience.pause(error, failed)
            if pause is None:
                raise
            send = Send(send.body, pause)
