"""Models that answer from a script: the twins to test with, no network and no surprises."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TypeAlias

from clew.errors import ModelError
from clew.message import Role, said
from clew.ports import Ask, Reply

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

    def __init__(self, *lines: Line, name: str = "scripted", window_tokens: int = 200_000) -> None:
        """Take the lines, each for one question."""
        self.name = name
        self.window_tokens = window_tokens
        self.asked: list[Ask] = []
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
