"""OpenAI Agents SDK: an input filter, and a session whose history fits the window.

::

    config = RunConfig(call_model_input_filter=clew_filter())
    await Runner.run(agent, text, session=ClewSession("s1"), run_config=config)

The run's items and the session are unchanged; only what is sent is compacted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from agents import SQLiteSession
from agents.memory import Session
from agents.run import CallModelData, ModelInputData

from clew.integrations.fitting import Fitting, FittingOptions

Filter = Callable[[CallModelData[Any]], Awaitable[ModelInputData]]


def clew_filter(**options: Unpack[FittingOptions]) -> Filter:
    """Return a ``call_model_input_filter``; ``window``, ``policy`` and ``session`` are optional."""
    fitting = Fitting(**options)

    async def fitted(data: CallModelData[Any]) -> ModelInputData:
        messages = data.model_data
        fixed = (messages.instructions or "", *(_description(tool) for tool in data.agent.tools))
        result = await fitting.fit_async(messages.input, fixed=fixed, wire="responses", model=_model(data))
        return replace(messages, input=result.messages) if result else messages

    fitted.fitting = fitting  # type: ignore[attr-defined]  # for its state and counts
    return fitted


def _description(tool: object) -> tuple[object, ...]:
    return getattr(tool, "description", ""), getattr(tool, "params_json_schema", "")


def _model(data: CallModelData[Any]) -> str | None:
    model = data.agent.model
    return model if isinstance(model, str) else getattr(model, "model", None)


class ClewSession:
    """A session whose history fits the window; every item stays in the underlying session."""

    def __init__(
        self,
        session_id: str,
        database: str | Path = ":memory:",
        *,
        inner: Session | None = None,
        **options: Unpack[FittingOptions],
    ) -> None:
        self.session_id = session_id
        self.inner = inner or SQLiteSession(session_id, database)
        self.session_settings = getattr(self.inner, "session_settings", None)
        self.fitting = Fitting(**options)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the compacted history; with a limit, the last items unchanged."""
        items: list[Any] = await self.inner.get_items(limit)
        if limit is not None:
            return items
        result = await self.fitting.fit_async(items, self.session_id, wire="responses")
        return result.messages if result else items

    async def add_items(self, items: list[Any]) -> None:
        """Add items to the session."""
        await self.inner.add_items(items)

    async def pop_item(self) -> Any:  # noqa: ANN401  # an item, or None
        """Remove and return the last item."""
        return await self.inner.pop_item()

    async def clear_session(self) -> None:
        """Remove all items."""
        self.fitting.compactor.forget(self.session_id)
        await self.inner.clear_session()
