"""pydantic-ai: ``Agent(model, capabilities=[Clew()])``, or a history processor.

``Clew`` changes only what is sent: the messages of the run's history, ``all_messages()``, are unchanged. The
compaction state is in the ``metadata`` of the message that was compacted last: pydantic-ai serialises it with
the history and does not send it, so another process continues from it. ``clew_processor()`` is for agents
that use ``ProcessHistory``; pydantic-ai then keeps the compacted history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Unpack

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import FunctionToolset

from clew.integrations.fitting import Fitting, FittingOptions, state_of
from clew.integrations.recall import Recall, descriptions
from clew.message import JsonObject

STATE = "clew"
"""Its key in the metadata of a request."""


class Clew(AbstractCapability[Any]):
    """Makes the messages of every request fit; ``window``, ``policy`` and ``session`` are optional."""

    def __init__(self, *, recall: bool = False, **options: Unpack[FittingOptions]) -> None:
        """Set up; ``recall=True`` adds the tools ``recall`` and ``expand``."""
        self.fitting = Fitting(**options)
        self._toolset = _toolset(Recall(self.fitting)) if recall else None

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """Return the tools for reading earlier turns, if asked for."""
        return self._toolset

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Fit the messages of a request; the history in ``ctx`` is unchanged."""
        model, messages, key = request_context.model.model_name, request_context.messages, _key(ctx)
        if key is not None:
            self.fitting.restore(_saved_state(messages), key)
        result = await self.fitting.fit_async(messages, key, model=model)
        if result is not None:
            if result.changed:
                _save_state(messages, state_of(result))
            request_context.messages = result.messages
        return request_context

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return None: it cannot be serialised in an agent specification."""
        return None


Processor = Callable[[RunContext[Any], list[ModelMessage]], Awaitable[list[ModelMessage]]]


def clew_processor(**options: Unpack[FittingOptions]) -> Processor:
    """Return a history processor for ``ProcessHistory(clew_processor())``."""
    fitting = Fitting(**options)

    async def process(ctx: RunContext[Any], messages: list[ModelMessage]) -> list[ModelMessage]:
        result = await fitting.fit_async(messages, _key(ctx), model=ctx.model.model_name)
        return result.messages if result else messages

    process.fitting = fitting  # type: ignore[attr-defined]  # for its state and counts
    return process


def _toolset(recall: Recall) -> FunctionToolset[Any]:
    """Return the tools for reading earlier turns of the run's own conversation."""

    async def search(ctx: RunContext[Any], query: str, limit: int = 5) -> str:
        arguments = {"query": query, "limit": limit}
        return await asyncio.to_thread(recall.run, "recall", arguments, _key(ctx), ctx.messages)

    async def expand(ctx: RunContext[Any], ref: str, start: int = 0) -> str:
        arguments = {"ref": ref, "start": start}
        return await asyncio.to_thread(recall.run, "expand", arguments, _key(ctx), ctx.messages)

    described = zip((search, expand), descriptions(), strict=True)
    return FunctionToolset([Tool(does, name=name, description=about) for does, (name, about, _) in described])


def _saved_state(messages: list[ModelMessage]) -> dict[str, Any] | None:
    """Return the state of the newest compaction of a history."""
    found = ((message.metadata or {}).get(STATE) for message in reversed(messages))
    return next((state for state in found if isinstance(state, dict)), None)


def _save_state(messages: list[ModelMessage], state: JsonObject) -> None:
    """Put the state into the newest message, and remove the earlier one."""
    for message in messages:
        if message.metadata and STATE in message.metadata:
            message.metadata = {key: value for key, value in message.metadata.items() if key != STATE}
    messages[-1].metadata = {**(messages[-1].metadata or {}), STATE: state}


def _key(ctx: RunContext[Any]) -> str | None:
    """Return a conversation's key; None to distinguish it by the start of its messages."""
    return getattr(ctx, "conversation_id", None)
