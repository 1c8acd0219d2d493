"""Models that answer from a script: the twins to test with, no network and no surprises."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import TypeAlias

from clew.errors import ModelError
from clew.message import JsonObject, Role, said
from clew.models.api import whole
from clew.models.pieces import Piece, Streamed
from clew.ports import Ask, Reply
from clew.wire import ANTHROPIC, Body

Line: TypeAlias = str | Reply | ModelError | Callable[[Ask], Reply]
"""What a script says at one point: words, a whole reply, a failure, or what it makes of the question."""


class ScriptExhausted(AssertionError):
    """A model was asked more often than its script foresees.

    Not a ``ModelError``: logic that survives a failing model must not survive a wrong test.
    """


class ScriptedModel:
    """A model that says its lines in order and remembers every question.

    ``ScriptedModel("an answer", ModelTimeout(), extractive)`` answers three, and has them in ``asked``.
    """

    wire = ANTHROPIC.name
    """The format of the requests that ``stream`` takes."""

    def __init__(self, *lines: Line, name: str = "scripted", window_tokens: int = 200_000) -> None:
        """Take the lines, each for one question."""
        self.name = name
        self.window_tokens = window_tokens
        self.asked: list[Ask] = []
        self.sent: list[JsonObject] = []
        """The bodies that ``stream`` was given."""
        self._lines = iter(lines)

    @classmethod
    def always(cls, line: Line, name: str = "scripted", window_tokens: int = 200_000) -> ScriptedModel:
        """Return a model that answers every question the same way."""
        model = cls(name=name, window_tokens=window_tokens)
        model._lines = itertools.repeat(line)
        return model

    def ask(self, ask: Ask) -> Reply:
        """Say the next line."""
        self.asked.append(ask)
        for line in self._lines:
            return spoken(line, ask)
        raise ScriptExhausted(
            f"question {len(self.asked)} has no line in the script ({ask.purpose}): {ask.instruction[:200]!r}"
        )

    def fields(self, max_output_tokens: int) -> JsonObject:
        """Return the fields of a request to it."""
        return {"model": self.name, "max_tokens": max_output_tokens}

    def stream(self, body: JsonObject) -> Streamed:
        """Say the next line, word by word."""
        self.sent.append(body)
        return in_pieces(self.ask(asked_by(Body.parse(body, ANTHROPIC))))


def in_pieces(reply: Reply) -> Streamed:
    """Yield the words of an answer one by one, with the blanks before them; return the answer."""
    for found in re.finditer(r"\s*\S+|\s+$", reply.text):
        yield Piece(found[0])
    return reply


class AsyncScriptedModel:
    """The same, to be awaited."""

    def __init__(self, model: ScriptedModel) -> None:
        """Speak the lines of a model that blocks; it remembers the questions."""
        self.model = model
        self.name = model.name
        self.window_tokens = model.window_tokens

    async def ask(self, ask: Ask) -> Reply:
        """Say the next line."""
        return self.model.ask(ask)


_LIMIT_FIELDS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def asked_by(body: Body) -> Ask:
    """Return what a request asks: the last message, where the user speaks, is the instruction."""
    messages, instruction = body.messages, ""
    if messages and messages[-1].role is Role.USER:
        messages, instruction = messages[:-1], messages[-1].text
    limit = next(filter(None, (whole(body.rest.get(name)) for name in _LIMIT_FIELDS)), 4_096)
    return Ask(messages=messages, instruction=instruction, system=body.system, max_output_tokens=limit)


def spoken(line: Line, ask: Ask) -> Reply:
    """Return the reply of a line, or raise its failure."""
    match line:
        case str():
            return Reply(said(Role.ASSISTANT, line))
        case Reply():
            return line
        case ModelError():
            raise line.with_traceback(None)  # it may be raised again and again
        case _:
            return line(ask)
