"""Protocols and values for language models (``Ask`` in, ``Reply`` out), and drivers for logic that asks one.

Logic that asks a model is written once, as a generator that yields each ``Ask`` and receives its ``Reply``; a
driver runs it with a blocking or an async model::

    def summarise(old: str) -> Steps[str]:
        try:
            reply = yield Ask(instruction=f"Summarise: {old}")
        except ModelError:
            return old[:1000]
        return reply.text

    run(summarise(old), model)
    await run_async(summarise(old), model)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from clew.errors import ModelError
from clew.message import JsonObject, Message, Native, Role, Thinking, Usage, text_message


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request to a model.

    To use a running session's prompt cache, give what the session itself sends (``system``, ``messages``,
    ``rest``) and the ``instruction``: the request is then the session's own with one message appended, and
    the provider reads everything before that message from the cache.
    """

    messages: tuple[Message, ...] = ()
    instruction: str = ""
    """Appended as the last user message. Empty if the messages already end with the question."""
    system: str | tuple[Message, ...] = ()
    """The system prompt: text, or the messages of ``Body.system``, which are sent unchanged."""
    rest: Native | None = None
    """The other fields of the session's requests (``Body.rest``: tools, thinking, …), with their wire format.

    If the model uses the same format, the fields that its cache depends on are sent; otherwise none are.
    """
    max_output_tokens: int = 4_096
    """The longest answer, without thinking: the provider's client adds tokens for models that think."""
    temperature: float | None = 0.0
    """Not sent to models that do not accept it; None uses the provider's default."""
    schema: JsonObject | None = None
    """The JSON schema of the answer, for providers that can enforce one."""
    purpose: str = "summarise"
    """What the request is for, in one word, for traces."""

    @property
    def history(self) -> tuple[Message, ...]:
        """Return the messages with the system prompt in front."""
        if not isinstance(self.system, str):
            return (*self.system, *self.messages)
        return (text_message(Role.SYSTEM, self.system), *self.messages) if self.system else self.messages


class Stop(StrEnum):
    """Why a model stopped, independent of the provider's term for it."""

    END = "end"
    """The answer is complete."""
    MAX_TOKENS = "max_tokens"
    """The answer was cut off at its token limit or at the end of the context window."""
    TOOL_CALL = "tool_call"
    """The model called a tool and expects its result."""
    REFUSED = "refused"
    """The model or a content filter refused to answer."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer."""

    message: Message
    """The whole answer: text, thinking, tool calls."""
    stop: Stop = Stop.END
    usage: Usage = field(default_factory=Usage)

    @property
    def text(self) -> str:
        """Return the text of the answer."""
        return self.message.text

    @property
    def thought(self) -> bool:
        """Whether the answer contains thinking."""
        return any(isinstance(part, Thinking) for part in self.message.parts)

    @property
    def called(self) -> bool:
        """Whether the answer contains a tool call."""
        return any(self.message.calls)


class Model(Protocol):
    """A language model that blocks until it has answered.

    Every failure to get an answer is raised as a ``ModelError``; any other exception of a summariser is
    treated as a failure to answer. A poor answer is still a ``Reply``.
    """

    @property
    def name(self) -> str:
        """Return the name to record as the author: ``anthropic/claude-sonnet-4-5``. Holds no secrets."""

    @property
    def window_tokens(self) -> int:
        """Return how much fits: the question and the answer together."""

    def ask(self, ask: Ask) -> Reply:
        """Return the answer, or raise a ``ModelError``."""


class AsyncModel(Protocol):
    """A language model whose answer is awaited."""

    @property
    def name(self) -> str:
        """Return the name to record as the author."""

    @property
    def window_tokens(self) -> int:
        """Return how much fits: the question and the answer together."""

    async def ask(self, ask: Ask) -> Reply:
        """Return the answer, or raise a ``ModelError``."""


Question = TypeVar("Question")
Answer = TypeVar("Answer")
Result = TypeVar("Result")

Steps: TypeAlias = Generator[Ask, Reply, Result]
"""A generator that yields requests to a model, receives the replies and returns a result."""


def run(steps: Steps[Result], model: Model) -> Result:
    """Run the generator with a blocking model and return its result."""
    return drive(steps, model.ask)


async def run_async(steps: Steps[Result], model: AsyncModel) -> Result:
    """Run the generator with an async model and return its result."""
    return await drive_async(steps, model.ask)


def drive(steps: Generator[Question, Answer, Result], answer: Callable[[Question], Answer]) -> Result:
    """Send the generator the answer to each question; a ``ModelError`` is raised at its ``yield``."""
    go_on: Callable[[], Question] = partial(next, steps)
    with closing(steps):
        while True:
            try:
                question = go_on()
            except StopIteration as end:
                result: Result = end.value
                return result
            try:
                go_on = partial(steps.send, answer(question))
            except ModelError as error:
                go_on = partial(steps.throw, error)


async def drive_async(
    steps: Generator[Question, Answer, Result], answer: Callable[[Question], Awaitable[Answer]]
) -> Result:
    """Like ``drive``, with answers that are awaited."""
    go_on: Callable[[], Question] = partial(next, steps)
    with closing(steps):
        while True:
            try:
                question = go_on()
            except StopIteration as end:
                result: Result = end.value
                return result
            try:
                go_on = partial(steps.send, await answer(question))
            except ModelError as error:
                go_on = partial(steps.throw, error)


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


class StreamAssembler(Protocol):
    """Assembles the events of a stream into the body of the equivalent non-streamed response."""

    def add(self, event: JsonObject) -> Iterator[Piece]:
        """Add an event; yield the pieces of the answer in it."""

    def body(self) -> JsonObject:
        """Return the whole body; raise ``ModelFailed`` if the stream has not ended."""
