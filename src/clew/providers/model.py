"""The protocols for language models, and the values they use: ``Ask`` in, ``Reply`` out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from clew.message import JsonObject, Message, Native, Role, Thinking, said


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
        return (said(Role.SYSTEM, self.system), *self.messages) if self.system else self.messages


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
class Usage:
    """The tokens of a request and its answer, as the provider counted them."""

    input_tokens: int = 0
    """All input, cached or not."""
    output_tokens: int = 0
    """All output, including thinking."""
    cache_read_tokens: int = 0
    """The part of the input that was read from the cache."""
    cache_write_tokens: int = 0
    """The part of the input that was written to the cache."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer."""

    message: Message
    """The whole answer: text, thinking, tool calls."""
    stop: Stop = Stop.END
    usage: Usage = Usage()

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
