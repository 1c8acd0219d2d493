"""What clew asks of a language model, and the values it asks with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from clew.message import JsonObject, Message, Native, Role, Thinking, said


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question to a model.

    For a cheap question about a running session, give what the session itself sends (``system``,
    ``messages``, ``rest``) and the ``instruction``: the request is then the session's own with one message
    appended, and its provider reads all but that from the cache.
    """

    messages: tuple[Message, ...] = ()
    instruction: str = ""
    """What is asked: goes last, as a message of the user's. Empty where the messages ask themselves."""
    system: str | tuple[Message, ...] = ()
    """The system prompt: words, or as ``Body.system`` has it, so that it goes out as it came."""
    rest: Native | None = None
    """The other fields of the session's requests (``Body.rest``: tools, thinking, …), with their wire.

    A model of that wire gets those that its cache depends on; any other model gets none.
    """
    max_output_tokens: int = 4_096
    """How long the answer may be. Room for thinking is added by whoever knows that the model thinks."""
    temperature: float | None = 0.0
    """Left out for models that take none; None leaves it to the provider."""
    schema: JsonObject | None = None
    """The JSON schema that the answer should follow, where the provider can enforce one."""
    purpose: str = "summarise"
    """What it is for, in a word, for traces."""

    @property
    def history(self) -> tuple[Message, ...]:
        """Return the messages with the system prompt in front."""
        if not isinstance(self.system, str):
            return (*self.system, *self.messages)
        return (said(Role.SYSTEM, self.system), *self.messages) if self.system else self.messages


class Stop(StrEnum):
    """Why a model stopped, whatever its provider calls that."""

    END = "end"
    """It was done."""
    MAX_TOKENS = "max_tokens"
    """The answer was cut: at its limit, or at the end of the window."""
    TOOL_CALL = "tool_call"
    """It waits for a tool."""
    REFUSED = "refused"
    """It, or a filter of its provider's, would not answer."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer cost, in tokens, as the provider counted."""

    input_tokens: int = 0
    """All that was read, from the cache or not."""
    output_tokens: int = 0
    """All that was written, thinking included."""
    cache_read_tokens: int = 0
    """The part of the input that came from the cache."""
    cache_write_tokens: int = 0
    """The part of the input that was put into the cache."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer."""

    message: Message
    """All of it: words, thinking, tool calls."""
    stop: Stop = Stop.END
    usage: Usage = Usage()

    @property
    def text(self) -> str:
        """Return the words of the answer."""
        return self.message.text

    @property
    def thought(self) -> bool:
        """Tell whether it holds thinking."""
        return any(isinstance(part, Thinking) for part in self.message.parts)

    @property
    def called(self) -> bool:
        """Tell whether it calls a tool."""
        return any(self.message.calls)


class Model(Protocol):
    """Somebody who answers in words.

    Whatever goes wrong on the way is raised as a ``ModelError``; what else a summariser raises counts as one
    that gave no answer. A poor answer is a ``Reply`` all the same.
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
    """The same, to be awaited."""

    @property
    def name(self) -> str:
        """Return the name to record as the author."""

    @property
    def window_tokens(self) -> int:
        """Return how much fits: the question and the answer together."""

    async def ask(self, ask: Ask) -> Reply:
        """Return the answer, or raise a ``ModelError``."""
