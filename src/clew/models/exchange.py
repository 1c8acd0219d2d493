"""Ask, and ask again where that may help: all of the patience, none of the I/O."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple

from clew.errors import ModelBusy, ModelFailed, ModelRefused
from clew.message import JsonObject
from clew.models.api import Api, answer_object
from clew.ports import Reply


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a model, and how often to ask again."""

    timeout_seconds: float = 180.0
    """For one answer. A question that timed out is not asked again: it would take as long."""
    tries: int = 3
    """How often to ask while the model is busy or its server broken."""
    first_pause_seconds: float = 1.0
    """Before the second try; twice that before the third, and so on."""
    longest_pause_seconds: float = 30.0
    """A provider that wants a longer one is not waited for."""

    def pause(self, error: ModelBusy | ModelFailed, failed: int) -> float | None:
        """Return how many seconds to wait after so many failures; None to give up."""
        if failed >= self.tries:
            return None
        wanted = error.retry_after if isinstance(error, ModelBusy) else None
        if wanted is None:
            return min(self.first_pause_seconds * 2.0 ** (failed - 1), self.longest_pause_seconds)
        return wanted if wanted <= self.longest_pause_seconds else None


PATIENCE = Patience()


class Send(NamedTuple):
    """Send this body, after a pause."""

    body: JsonObject
    after_seconds: float = 0.0


def exchange(api: Api, body: JsonObject, patience: Patience) -> Generator[Send, str, Reply]:
    """Yield what to send, be sent the text of each response, return the reply.

    What the provider refuses for a field that can be spared is sent again without it, at once; busy and
    broken servers are asked again after a pause. Every other error ends it.
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
