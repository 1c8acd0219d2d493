"""Types for streamed answers: the pieces, models that stream, and assemblers of stream events. No I/O."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import NamedTuple, Protocol, TypeAlias

from clew.message import JsonObject
from clew.providers.model import Reply


class Piece(NamedTuple):
    """A piece of a streamed answer."""

    text: str
    thinking: bool = False
    """Whether the text is reasoning, not answer."""


Streamed: TypeAlias = Generator[Piece, None, Reply]
"""A generator that yields the pieces of an answer and returns the whole reply."""


class StreamingModel(Protocol):
    """A language model that streams its answers. Failures are raised as ``ModelError``."""

    @property
    def name(self) -> str:
        """Return the name to record as the author."""

    @property
    def window_tokens(self) -> int:
        """Return how much fits: the question and the answer together."""

    @property
    def wire(self) -> str:
        """Return the name of the wire format of its requests."""

    def fields(self, max_output_tokens: int) -> JsonObject:
        """Return the request fields other than its contents: the model's name and the output token limit."""

    def stream(self, body: JsonObject) -> Streamed:
        """Send a whole request in that format; yield the pieces as they arrive, return the reply."""


class Gathering(Protocol):
    """Assembles the events of a stream into the body of the equivalent non-streamed response."""

    def take(self, event: JsonObject) -> Iterator[Piece]:
        """Add an event; yield the pieces of the answer in it."""

    def whole(self) -> JsonObject:
        """Return the whole body; raise ``ModelFailed`` if the stream has not ended."""
