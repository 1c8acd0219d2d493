"""Asking a summariser: whatever goes wrong with one counts as no answer, and code goes on without it."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from clew.errors import ClewError, ModelError, ModelFailed
from clew.ports import Ask, AsyncModel, Model, Reply, Steps, drive, drive_async

Result = TypeVar("Result")
_NOT_ITS_FAULT = (ClewError, AssertionError)
"""What a model says itself that went wrong, and a script that a test wrote too short."""


def answered(steps: Steps[Result], model: Model | None) -> Result:
    """Answer the questions of steps with a model, or with nobody."""
    return drive(steps, partial(_ask, model) if model else nobody)


async def answered_async(steps: Steps[Result], model: AsyncModel | None) -> Result:
    """Do the same with a model that is awaited."""
    return await drive_async(steps, partial(_ask_async, model)) if model else drive(steps, nobody)


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
