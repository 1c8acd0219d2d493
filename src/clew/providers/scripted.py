"""Models that answer from a script, for tests and demos without a network.

``ScriptedModel("first answer", ModelTimeout(), "third answer")`` answers, fails, and answers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import TypeAlias

from clew.errors import ModelError
from clew.message import JsonObject, Role, text_message
from clew.providers import ANTHROPIC, Body
from clew.providers.api import int_or_zero
from clew.providers.model import Ask, Piece, Reply, Streamed

Line: TypeAlias = str | Reply | ModelError | Callable[[Ask], Reply]
"""One answer of a script: text, a whole reply, an error to raise, or a function of the request."""


class ScriptExhausted(AssertionError):
    """A model was asked more often than its script has lines.

    Not a ``ModelError``, because code that handles model failures must not hide a wrong test.
    """


class ScriptedModel:
    """A model that returns its lines in order and records every request in ``asked``.

    ``ScriptedModel("an answer", ModelTimeout(), extractive)`` answers three requests.
    """

    wire = ANTHROPIC.name
    """The wire format of the requests that ``stream`` accepts."""

    def __init__(self, *lines: Line, name: str = "scripted", window_tokens: int = 200_000) -> None:
        """Take the lines, one for each request."""
        self.name = name
        self.window_tokens = window_tokens
        self.asked: list[Ask] = []
        self.sent: list[JsonObject] = []
        """The bodies passed to ``stream``."""
        self._lines = iter(lines)

    @classmethod
    def always(cls, line: Line, name: str = "scripted", window_tokens: int = 200_000) -> ScriptedModel:
        """Return a model that answers every request with the same line."""
        model = cls(name=name, window_tokens=window_tokens)
        model._lines = itertools.repeat(line)
        return model

    def ask(self, ask: Ask) -> Reply:
        """Return the next line."""
        self.asked.append(ask)
        for line in self._lines:
            return play_line(line, ask)
        raise ScriptExhausted(
            f"question {len(self.asked)} has no line in the script ({ask.purpose}): {ask.instruction[:200]!r}"
        )

    def fields(self, max_output_tokens: int) -> JsonObject:
        """Return the request fields other than its contents."""
        return {"model": self.name, "max_tokens": max_output_tokens}

    def stream(self, body: JsonObject) -> Streamed:
        """Return the next line, word by word."""
        self.sent.append(body)
        return stream_words(self.ask(ask_of_body(Body.parse(body, ANTHROPIC))))


def stream_words(reply: Reply) -> Streamed:
    """Yield an answer word by word, each with the whitespace before it; return the answer."""
    for match in re.finditer(r"\s*\S+|\s+$", reply.text):
        yield Piece(match[0])
    return reply


class AsyncScriptedModel:
    """An async scripted model."""

    def __init__(self, model: ScriptedModel) -> None:
        """Answer with the lines of a blocking scripted model, which also records the requests."""
        self.model = model
        self.name = model.name
        self.window_tokens = model.window_tokens

    async def ask(self, ask: Ask) -> Reply:
        """Return the next line."""
        return self.model.ask(ask)


_LIMIT_FIELDS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def ask_of_body(body: Body) -> Ask:
    """Convert a request body to an ``Ask``; a last message by the user becomes the instruction."""
    messages, instruction = body.messages, ""
    if messages and messages[-1].role is Role.USER:
        messages, instruction = messages[:-1], messages[-1].text
    limit = next(filter(None, (int_or_zero(body.rest.get(name)) for name in _LIMIT_FIELDS)), 4_096)
    return Ask(messages=messages, instruction=instruction, system=body.system, max_output_tokens=limit)


def play_line(line: Line, ask: Ask) -> Reply:
    """Return the reply of a line, or raise its error."""
    match line:
        case str():
            return Reply(text_message(Role.ASSISTANT, line))
        case Reply():
            return line
        case ModelError():
            raise line.with_traceback(None)  # the same error may be raised many times
        case _:
            return line(ask)
