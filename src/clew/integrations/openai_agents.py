"""OpenAI Agents SDK: a session that keeps every item, and an input filter that makes each request fit.

::

    session = ClewSession("s1", "history.db")
    config = RunConfig(call_model_input_filter=session.filter)
    await Runner.run(agent, text, session=session, run_config=config)

The compaction state is stored beside the items. With a session of another kind use ``clew_filter()``.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from agents import FunctionTool, SQLiteSession
from agents.memory import Session
from agents.run import CallModelData, ModelInputData
from agents.tool_context import ToolContext

from clew.integrations.fitting import Fitting, FittingOptions, state_of
from clew.integrations.recall import Recall, descriptions
from clew.message import JsonObject

Filter = Callable[[CallModelData[Any]], Awaitable[ModelInputData]]


def clew_filter(**options: Unpack[FittingOptions]) -> Filter:
    """Return a ``call_model_input_filter``; ``window``, ``policy`` and ``session`` are optional."""
    fitting = Fitting(**options)

    async def fitted(data: CallModelData[Any]) -> ModelInputData:
        return (await _fit(fitting, data, None))[1]

    fitted.fitting = fitting  # type: ignore[attr-defined]  # for its state and counts
    return fitted


async def _fit(fitting: Fitting, data: CallModelData[Any], key: str | None) -> tuple[Any, ModelInputData]:
    request, fields = data.model_data, ("description", "params_json_schema")
    tools = (getattr(tool, name, "") for tool in data.agent.tools for name in fields)
    fixed = (request.instructions or "", *tools)
    result = await fitting.fit_async(request.input, key, fixed=fixed, wire="responses", model=_model(data))
    return result, replace(request, input=result.messages) if result else request


def _model(data: CallModelData[Any]) -> str | None:
    model = data.agent.model
    return model if isinstance(model, str) else getattr(model, "model", None)


def recall_tools(source: Filter | ClewSession) -> list[FunctionTool]:
    """Return the tools ``recall`` and ``expand`` for an agent whose runs use this filter or session."""
    recall, key = Recall(source.fitting), getattr(source, "session_id", None)  # type: ignore[union-attr]

    async def call(name: str, context: ToolContext[Any], text: str) -> str:
        return await asyncio.to_thread(recall.run, name, json.loads(text or "{}"), key, context.turn_input)

    return [FunctionTool(name, about, schema, partial(call, name)) for name, about, schema in descriptions()]


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
        """Store items in a SQLite file, or in ``inner``; the compaction state goes into the file."""
        self.session_id, self.inner = session_id, inner or SQLiteSession(session_id, database)
        self.session_settings = getattr(self.inner, "session_settings", None)
        self.fitting, self._model = Fitting(**options), ""
        self._states = _StateFile(database, self.fitting.report)

    async def filter(self, data: CallModelData[Any]) -> ModelInputData:
        """Fit each request of a run: the ``call_model_input_filter`` that continues this session."""
        result, request = await _fit(self.fitting, data, self.session_id)
        self._model = _model(data) or ""
        if result is not None and result.changed:
            state = {**state_of(result), "model": self._model}
            await asyncio.to_thread(self._states.save, self.session_id, state)
        return request

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the compacted history; with a limit, the last items unchanged."""
        items: list[Any] = await self.inner.get_items(limit)
        if limit is not None or not items:
            return items
        if self.fitting.compactor.last(self.session_id) is None:
            state = await asyncio.to_thread(self._states.load, self.session_id) or {}
            self._model = state.get("model") or ""
            self.fitting.restore(state, self.session_id)
        result = await self.fitting.fit_async(
            items, self.session_id, model=self._model or None, wire="responses"
        )
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
        await asyncio.to_thread(self._states.save, self.session_id, None)
        await self.inner.clear_session()


_TABLE = "CREATE TABLE IF NOT EXISTS clew_state (session_id TEXT PRIMARY KEY, state TEXT NOT NULL)"


class _StateFile:
    """The compaction state of each session, in a SQLite file that other tables may share.

    ``:memory:`` stores nothing. An error is reported, and nothing is stored or restored.
    """

    def __init__(self, path: str | Path, report: Callable[[Exception], None]) -> None:
        self._path = None if str(path) == ":memory:" else path
        self._report = report

    def save(self, session_id: str, state: JsonObject | None) -> None:
        """Store a state; None removes it."""
        self._execute("INSERT OR REPLACE INTO clew_state VALUES (?, ?)", session_id, json.dumps(state))

    def load(self, session_id: str) -> dict[str, Any] | None:
        """Return the state that this or another process stored."""
        row = self._execute("SELECT state FROM clew_state WHERE session_id = ?", session_id)
        state: dict[str, Any] | None = json.loads(row[0]) if row else None
        return state

    def _execute(self, statement: str, *values: str) -> Any:  # noqa: ANN401  # a row, or None
        if self._path is None:
            return None
        try:
            with closing(sqlite3.connect(self._path)) as connection, connection:
                connection.execute(_TABLE)
                return connection.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            self._report(error)
            return None
