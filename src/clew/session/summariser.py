"""Run compaction steps with a summariser; any failure of the summariser becomes a ``ModelError``.

The logic of a compaction is a generator that yields its questions to a model (``Steps``), so that
synchronous and asynchronous callers share it. These two functions answer the questions.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import TypeVar, cast

from clew.errors import ClewError, ModelError, ModelFailed
from clew.providers.model import Ask, AsyncModel, Model, Reply, Steps, drive

Result = TypeVar("Result")
_NOT_ITS_FAULT = (ClewError, AssertionError)
"""Passed on unchanged: clew's own errors, and the assertions of scripted models in tests."""


def answered(steps: Steps[Result], model: Model | None) -> Result:
    """Run steps to their result, answering their questions with a model; without one, each fails."""
    return drive(steps, partial(_ask, model) if model else nobody)


async def answered_async(steps: Steps[Result], model: AsyncModel | None) -> Result:
    """Do the same with an asynchronous model; the work between questions runs in a thread.

    A compaction can compute for seconds, which must not block the event loop.
    """
    import asyncio  # imported here because it loads the network modules

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
    """Refuse a question: the answer if there is no model."""
    raise ModelFailed("no model was given")


def _ask(model: Model, ask: Ask) -> Reply:
    try:
        return model.ask(ask)
    except _NOT_ITS_FAULT:
        raise
    except Exception as failure:  # a caller's own model raises whatever its SDK raises
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
