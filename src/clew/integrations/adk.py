"""Google ADK: ``App(name=…, root_agent=agent, plugins=[ClewPlugin()])``.

The events of the session stay whole; only the contents of each request are compacted. The compaction state
is kept in the session's state, so that another process continues from it. ``ClewSummarizer`` is for apps that
use ``EventsCompactionConfig``: it writes the summary without a model.
"""

from __future__ import annotations

import asyncio
from typing import Any, Unpack

from google.adk.agents.callback_context import CallbackContext
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai.types import Content, Part

from clew.integrations.fitting import Fitting, FittingOptions, state_of
from clew.integrations.provider_compaction import digest_text
from clew.integrations.recall import Recall, descriptions


class ClewPlugin(BasePlugin):
    """Makes the contents of every request fit; ``window``, ``policy`` and ``session`` are optional."""

    def __init__(
        self, name: str = "clew", *, recall: bool = False, **options: Unpack[FittingOptions]
    ) -> None:
        """Set up; ``recall=True`` adds the tools ``recall`` and ``expand`` to every request."""
        super().__init__(name=name)
        self.fitting = Fitting(**options)
        self._tools = _tools(Recall(self.fitting)) if recall else []

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Fit the contents of a request; the session's events are unchanged."""
        context, key = callback_context, _key(callback_context)
        llm_request.append_tools(self._tools)
        fixed = (llm_request.config.system_instruction or "", *(llm_request.config.tools or ()))
        messages, model = llm_request.contents, llm_request.model
        name = f"clew/{context.agent_name}"
        self.fitting.restore(context.state.get(name), key)
        result = await self.fitting.fit_async(messages, key, model=model, fixed=fixed, wire="gemini")
        if result is not None:
            if result.changed:
                context.state[name] = state_of(result)
            llm_request.contents = [_content(entry) for entry in result.messages]


def _key(context: CallbackContext | ToolContext) -> str:
    return f"{context.session.id}/{context.agent_name}"


def _tools(recall: Recall) -> list[FunctionTool]:
    """Return the tools for reading earlier turns of the agent's own session."""

    async def search(query: str, tool_context: ToolContext, limit: int = 5) -> str:
        arguments = {"query": query, "limit": limit}
        return await asyncio.to_thread(recall.run, "recall", arguments, _key(tool_context))

    async def expand(ref: str, tool_context: ToolContext, start: int = 0) -> str:
        arguments = {"ref": ref, "start": start}
        return await asyncio.to_thread(recall.run, "expand", arguments, _key(tool_context))

    for does, (name, about, _) in zip((search, expand), descriptions(), strict=True):
        does.__name__, does.__doc__ = name, about
    return [FunctionTool(search), FunctionTool(expand)]


def _content(entry: Any) -> Content:  # noqa: ANN401  # the caller's object, or what clew wrote
    return entry if isinstance(entry, Content) else Content.model_validate(entry)


class ClewSummarizer(BaseEventsSummarizer):
    """Summarises events without a model, quoting rules word for word."""

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """Return an event that replaces others; None if it would save nothing."""
        contents = [event.content for event in events if event.content and event.content.parts]
        if len(contents) < 2:
            return None
        text = await asyncio.to_thread(digest_text, contents, "gemini")
        if not text:
            return None
        compaction = EventCompaction(
            start_timestamp=events[0].timestamp,
            end_timestamp=events[-1].timestamp,
            compacted_content=Content(role="user", parts=[Part(text=text)]),
        )
        return Event(author="user", actions=EventActions(compaction=compaction), invocation_id=Event.new_id())
