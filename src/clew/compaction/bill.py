"""Count the model calls and tokens of a compaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from clew.errors import ModelError
from clew.message import Usage
from clew.providers.model import Ask, Steps

Result = TypeVar("Result")


@dataclass(slots=True)
class ModelBill:
    """Model calls and tokens so far."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)

    def add(self, more: Usage) -> None:
        """Add the usage of one reply."""
        now = self.usage
        self.usage = Usage(
            now.input_tokens + more.input_tokens,
            now.output_tokens + more.output_tokens,
            now.cache_read_tokens + more.cache_read_tokens,
            now.cache_write_tokens + more.cache_write_tokens,
        )


def count_calls(steps: Steps[Result], bill: ModelBill) -> Steps[Result]:
    """Pass questions and replies through and count them; a failed call counts as a call."""
    try:
        ask: Ask = next(steps)
        while True:
            bill.calls += 1
            try:
                reply = yield ask
            except ModelError as failure:
                ask = steps.throw(failure)
            else:
                bill.add(reply.usage)
                ask = steps.send(reply)
    except StopIteration as end:
        result: Result = end.value
        return result
    finally:
        steps.close()
