"""Strands Agents: ``Agent(conversation_manager=ClewConversationManager())``.

Strands sends ``agent.messages`` unchanged, so the manager compacts that list before each model call. The
removed messages are in ``fitting.originals()``, in Strands' session manager, which stores each message when
it is added, or in clew's log with ``session=``. A session manager also stores the compaction state: an agent
that it restores gets all messages and compacts them to the same list again.
"""

from __future__ import annotations

import asyncio
from operator import is_not
from typing import TYPE_CHECKING, Any, Unpack

from strands import ToolContext, tool
from strands.agent.conversation_manager import ConversationManager
from strands.hooks.events import AgentInitializedEvent, BeforeModelCallEvent
from strands.hooks.registry import HookRegistry

from clew.integrations.fitting import Fitting, FittingOptions, state_of
from clew.integrations.recall import Recall, descriptions
from clew.message import JsonObject

if TYPE_CHECKING:
    from strands import Agent


class ClewConversationManager(ConversationManager):
    """Makes the messages of every call fit; ``window``, ``policy`` and ``session`` are optional."""

    def __init__(self, *, recall: bool = False, **options: Unpack[FittingOptions]) -> None:
        """Set up; ``recall=True`` adds the tools ``recall`` and ``expand`` to the agent."""
        super().__init__()
        self.fitting = Fitting(**options)
        self._recall = Recall(self.fitting) if recall else None
        self._state: JsonObject | None = None
        """The state of the last compaction, of this process or of the one before."""

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:  # noqa: ANN401  # of later versions
        """Compact before each model call, also within a turn."""
        super().register_hooks(registry)
        registry.add_callback(BeforeModelCallEvent, self._before_model_call)
        if self._recall:
            registry.add_callback(AgentInitializedEvent, self._add_tools)

    def _add_tools(self, event: AgentInitializedEvent) -> None:
        event.agent.tool_registry.process_tools(_tools(self._recall or Recall(self.fitting)))

    async def _before_model_call(self, event: BeforeModelCallEvent) -> None:
        agent, messages, key = event.agent, event.agent.messages, _key(event.agent)
        model = agent.model.get_config().get("model_id") if hasattr(agent.model, "get_config") else None
        fixed = (agent.system_prompt or "", *agent.tool_registry.get_all_tool_specs())
        self.fitting.restore(self._state, key)
        result = await self.fitting.fit_async(messages, key, model=model, fixed=fixed)
        if result is None:
            return
        if result.changed:
            self._state = state_of(result)
        if len(result.messages) != len(messages) or any(map(is_not, result.messages, messages)):
            agent.messages[:] = result.messages

    def apply_management(self, agent: Agent, **_: Any) -> None:  # noqa: ANN401  # of later versions
        """Do nothing: Strands calls it in the event loop after a turn; the next model call compacts."""

    def reduce_context(self, agent: Agent, e: Exception | None = None, **_: Any) -> None:  # noqa: ANN401
        """Compact to half after the provider rejected a request as too long."""
        key = _key(agent)
        last = self.fitting.compactor.last(key)
        try:
            target = (last.tokens_after if last else 20_000) // 2
            result = self.fitting.compactor.fit(key, agent.messages, target_tokens=target)
        except Exception as error:
            self.fitting.report(error)
            raise (e or error) from error
        self._state = state_of(result)
        agent.messages[:] = result.messages

    def get_state(self) -> dict[str, Any]:
        """Return the state as JSON, for a session manager of Strands.

        ``removed_message_count`` stays 0: a session manager restores all messages.
        """
        return {**super().get_state(), "clew": self._state}

    def restore_from_session(self, state: dict[str, Any]) -> None:
        """Restore the state of another process; used at the next model call."""
        super().restore_from_session(state)
        self._state = state.get("clew")


def _key(agent: Agent) -> str:
    return f"{getattr(agent, 'agent_id', '')}/{id(agent)}"


def _tools(recall: Recall) -> list[Any]:
    """Return the tools for reading earlier turns of the agent that calls them."""

    async def search(query: str, tool_context: ToolContext, limit: int = 5) -> str:
        arguments = {"query": query, "limit": limit}
        return await asyncio.to_thread(recall.run, "recall", arguments, _key(tool_context.agent))

    async def expand(ref: str, tool_context: ToolContext, start: int = 0) -> str:
        arguments = {"ref": ref, "start": start}
        return await asyncio.to_thread(recall.run, "expand", arguments, _key(tool_context.agent))

    described = zip((search, expand), descriptions(), strict=True)
    return [tool(name=name, description=about, context=True)(does) for does, (name, about, _) in described]
