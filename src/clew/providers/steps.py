"""Run logic that asks a model, written once as a generator, with a blocking or an async model.

The generator yields each ``Ask`` and receives the ``Reply``; a driver makes the calls::

    def summarise(old: str) -> Steps[str]:
        try:
            reply = yield Ask(instruction=f"Summarise: {old}")
        except ModelError:
            return old[:1000]  # the next rung
        return reply.text

    run(summarise(old), model)
    await run_async(summarise(old), model)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import closing
from functools import partial
from typing import TypeAlias, TypeVar

from clew.errors import ModelError
from clew.providers.model import Ask, AsyncModel, Model, Reply

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
