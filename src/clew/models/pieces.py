"""An answer on its way: the pieces to show, and the whole that they add up to. Nothing here does I/O."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import NamedTuple, Protocol, TypeAlias

from clew.message import JsonObject
from clew.ports import Reply


class Piece(NamedTuple):
    """A few words of an answer, as they arrive."""

    text: str
    thinking: bool = False
    """They are the model's reasoning, not its answer."""


Streamed: TypeAlias = Generator[Piece, None, Reply]
"""An answer that comes in pieces; what it returns is the whole of it."""


class StreamingModel(Protocol):
    """Somebody who answers while one listens. Whatever goes wrong on the way is a ``ModelError``."""

    @property
    def name(self) -> str:
        """Return the name to record as the author."""

    @property
    def window_tokens(self) -> int:
        """Return how much fits: the question and the answer together."""

    @property
    def wire(self) -> str:
        """Return the wire format of its requests."""

    def fields(self, max_output_tokens: int) -> JsonObject:
        """Return what a request holds besides its contents: the model's name, how long the answer may be."""

    def stream(self, body: JsonObject) -> Streamed:
        """Send a whole request of that format; yield the words as they come, return the answer."""


class Gathering(Protocol):
    """Puts the events of a stream together to the body that the API would have sent whole."""

    def take(self, event: JsonObject) -> Iterator[Piece]:
        """Take in an event; yield what of it can be shown."""

    def whole(self) -> JsonObject:
        """Return the body; one whose end never came is a ``ModelFailed``."""
