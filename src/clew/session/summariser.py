"""Accept a summariser in any form, and run compaction steps with it.

A summariser is a ``Model``, a function ``str -> str``, or the name of a model. The logic of a compaction is a
generator that yields its questions to a model (``Steps``), so that synchronous and asynchronous callers share
it; ``run_steps`` and ``run_steps_async`` answer the questions. Any failure of a summariser becomes a
``ModelError``, and the compaction continues without it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutinefunction
from typing import TypeAlias, TypeVar, cast

from clew.errors import ClewError, InputError, ModelError, ModelFailed
from clew.message import Role, text_message
from clew.providers.model import Ask, AsyncModel, Model, Reply, Steps, drive

Summariser: TypeAlias = Model | Callable[[str], str] | str
"""What ``summariser=`` accepts: a model, a function from prompt to answer, or ``anthropic/NAME``."""
AsyncSummariser: TypeAlias = AsyncModel | Callable[[str], Awaitable[str]] | Summariser
"""What ``compact_async`` accepts in addition: an asynchronous model or function."""

FUNCTION_WINDOW = 128_000
"""The context window assumed for a function, which cannot say its own: that of most current models."""
ADVICE = "pass a clew.Model, a function str -> str, or a name such as anthropic/claude-sonnet-4-5"

Result = TypeVar("Result")
_NOT_ITS_FAULT = (ClewError, AssertionError)
"""Passed on unchanged: clew's own errors, and the assertions of scripted models in tests."""


@dataclass(frozen=True, slots=True)
class FunctionModel:
    """A function ``str -> str`` as a model."""

    function: Callable[[str], str]
    window_tokens: int = FUNCTION_WINDOW

    @property
    def name(self) -> str:
        """Return the name to record as the author."""
        return _function_name(self.function)

    def ask(self, ask: Ask) -> Reply:
        """Call the function with the whole request as one text."""
        return _reply(self.name, self.function(_prompt(ask)))


@dataclass(frozen=True, slots=True)
class _AsyncAdapter:
    """A synchronous model, or an asynchronous function, for callers that await it."""

    inner: Model | Callable[[str], Awaitable[str]]

    @property
    def name(self) -> str:
        return _function_name(self.inner) if callable(self.inner) else self.inner.name

    @property
    def window_tokens(self) -> int:
        return FUNCTION_WINDOW if callable(self.inner) else self.inner.window_tokens

    async def ask(self, ask: Ask) -> Reply:
        import asyncio  # imported here because it loads the network modules

        if not callable(self.inner):
            return await asyncio.to_thread(self.inner.ask, ask)
        return _reply(self.name, await self.inner(_prompt(ask)))


def _function_name(function: object) -> str:
    return f"function/{getattr(function, '__name__', type(function).__name__)}"


def _prompt(ask: Ask) -> str:
    texts = (message.text for message in ask.history)
    return "\n\n".join(filter(None, (*texts, ask.instruction)))


def _reply(name: str, answer: object) -> Reply:
    if not isinstance(answer, str):
        raise ModelFailed(f"{name} returned {type(answer).__name__}, not a string")
    return Reply(text_message(Role.ASSISTANT, answer))


def as_model(summariser: Summariser | None) -> Model | None:
    """Return a summariser as a model; None for None."""
    if summariser is None or isinstance(summariser, str):
        return _open_named(summariser) if summariser else None
    if _is_async(summariser):
        raise InputError("this summariser is asynchronous", "use compact_async, or pass a synchronous one")
    if hasattr(summariser, "ask"):
        return cast(Model, _complete(summariser))
    if callable(summariser):
        return FunctionModel(summariser)
    raise InputError(f"summariser is {_type(summariser)}", ADVICE)


def as_async_model(summariser: AsyncSummariser | None) -> AsyncModel | None:
    """Return a summariser as a model that is awaited; None for None."""
    if summariser is None:
        return None
    if isinstance(summariser, str) or not _is_async(summariser):
        model = as_model(cast(Summariser, summariser))
        return _AsyncAdapter(model) if model else None
    if hasattr(summariser, "ask"):
        return cast(AsyncModel, _complete(summariser))
    return _AsyncAdapter(cast(Callable[[str], Awaitable[str]], summariser))


def session_model(summariser: AsyncSummariser | None) -> Model | AsyncModel | None:
    """Return a summariser as a model: asynchronous if it is, synchronous otherwise."""
    if summariser is None or isinstance(summariser, str) or not _is_async(summariser):
        return as_model(cast(Summariser | None, summariser))
    return as_async_model(summariser)


def _open_named(name: str) -> Model:
    from clew.providers.clients import open_model  # imported only if a model is named

    return open_model(name)


def _is_async(messages: object) -> bool:
    asked = getattr(messages, "ask", messages)
    return iscoroutinefunction(asked) or iscoroutinefunction(vars(type(asked)).get("__call__"))


def _complete(model: object) -> object:
    missing = [name for name in ("name", "window_tokens") if not hasattr(model, name)]
    if missing:
        raise InputError(f"summariser {_type(model)} has no {' and no '.join(missing)}", "see clew.Model")
    return model


def _type(messages: object) -> str:
    return f"an object of type {type(messages).__name__}"


def run_steps(steps: Steps[Result], model: Model | None) -> Result:
    """Run steps to their result, answering their questions with a model; without one, each fails."""
    return drive(steps, partial(_ask, model) if model else no_model)


async def run_steps_async(steps: Steps[Result], model: AsyncModel | None) -> Result:
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
                reply = await _ask_async(model, ask) if model else no_model(ask)
                go_on = partial(steps.send, reply)
            except ModelError as error:
                go_on = partial(steps.throw, error)


def _step(go_on: Callable[[], Ask]) -> tuple[Ask | None, object]:
    """Return the next question, or None and the result: ``StopIteration`` cannot leave a thread."""
    try:
        return go_on(), None
    except StopIteration as end:
        return None, end.value


def no_model(_ask: Ask) -> Reply:
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
