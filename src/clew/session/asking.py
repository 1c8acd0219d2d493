"""Asking a summariser: whatever goes wrong with one counts as no answer, and code goes on without it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import TypeVar, cast

from clew.errors import ClewError, ModelError, ModelFailed
from clew.providers.model import Ask, AsyncModel, Model, Reply
from clew.providers.steps import Steps, drive

Result = TypeVar("Result")
_NOT_ITS_FAULT = (ClewError, AssertionError)
"""What a model says itself that went wrong, and a script that a test wrote too short."""


def answered(steps: Steps[Result], model: Model | None) -> Result:
    """Answer the questions of steps with a model, or with nobody."""
    return drive(steps, partial(_ask, model) if model else nobody)


async def answered_async(steps: Steps[Result], model: AsyncModel | None) -> Result:
    """Do the same with a model that is awaited; the work between questions is done in a thread.

    A compaction takes up to seconds of computing, during which the event loop must go on.
    """
    import asyncio  # only if it is awaited: importing it loads the network modules

    go_on: Callable[[], Ask] = partial(next, steps)
    with closing(steps):
        while True:
            ask, result = await asyncio.to_thread(_step, go_on)
            if ask is None:
                return cast(Result, result)
            try:
                reply = await _ask_async(model, ask) if model else nobody(ask)
                go_on = partial(steps.send, reply)
            except ModelError as error:
                go_on = partial(steps.throw, error)


def _step(go_on: Callable[[], Ask]) -> tuple[Ask | None, object]:
    """Return the next question, or None and the result: ``StopIteration`` cannot leave a thread."""
    try:
        return go_on(), None
    except StopIteration as end:
        return None, end.value


def nobody(_ask: Ask) -> Reply:
    """Answer for a session that has no model."""
    raise ModelFailed("no model was given")


def _ask(model: Model, ask: Ask) -> Reply:
    try:
        return model.ask(ask)
    except _NOT_ITS_FAULT:
        raise
    except Exception as failure:  # models of users' own raise what their network and their SDK raise
        raise _no_answer(failure) from failure


async def _ask_async(model: AsyncModel, ask: Ask) -> Reply:
    try:
        return await model.ask(ask)
    except _NOT_ITS_FAULT:
        raise
    except Exception as failure:
        raise _no_answer(failure) from failure


def _no_answer(failure: Exception) -> ModelError:
    return ModelFailed(f"{type(failure).__name__}: {failure}")
