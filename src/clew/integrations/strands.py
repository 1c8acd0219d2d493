"""Strands Agents: ``Agent(conversation_manager=ClewConversationManager())``.

Strands sends ``agent.messages`` unchanged, so the manager compacts that list before each model call. The
removed messages are in ``manager.originals(agent)``, in Strands' session manager, which stores each message
when it is added, or in clew's log with ``session=``. The compaction state is in ``agent.state``, which a
session manager stores: an agent that it restores gets all messages and compacts them to the same list again.
One manager may serve many agents.
"""

from __future__ import annotations

import asyncio
from operator import is_not
from typing import TYPE_CHECKING, Any, Unpack
from uuid import uuid4
from weakref import WeakKeyDictionary

from strands import ToolContext, tool
from strands.agent.conversation_manager import ConversationManager
from strands.hooks.events import AgentInitializedEvent, BeforeModelCallEvent
from strands.hooks.registry import HookRegistry

from clew.integrations.fitting import Fitting, FittingOptions, state_of
from clew.integrations.recall import Recall, descriptions
from clew.message import Message

if TYPE_CHECKING:
    from strands import Agent

STATE = "clew"
"""Its key in the agent's state."""


class ClewConversationManager(ConversationManager):
    """Makes the messages of every call fit; ``window``, ``policy`` and ``session`` are optional."""

    def __init__(self, *, recall: bool = False, **options: Unpack[FittingOptions]) -> None:
        """Set up; ``recall=True`` adds the tools ``recall`` and ``expand`` to the agent."""
        super().__init__()
        self.fitting = Fitting(**options)
        self._recall = Recall(self.fitting) if recall else None

    def originals(self, agent: Agent) -> tuple[Message, ...]:
        """Return every message of an agent that this process has seen, unshortened."""
        return self.fitting.originals(_key(agent))

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:  # noqa: ANN401  # of later versions
        """Compact before each model call, also within a turn."""
        super().register_hooks(registry)
        registry.add_callback(BeforeModelCallEvent, self._before_model_call)
        if self._recall:
            tools = _tools(self._recall)
            registry.add_callback(
                AgentInitializedEvent, lambda event: event.agent.tool_registry.process_tools(tools)
            )

    async def _before_model_call(self, event: BeforeModelCallEvent) -> None:
        agent, messages, key = event.agent, event.agent.messages, _key(event.agent)
        model = agent.model.get_config().get("model_id") if hasattr(agent.model, "get_config") else None
        fixed = (agent.system_prompt or "", *agent.tool_registry.get_all_tool_specs())
        if self.fitting.compactor.last(key) is None:
            self.fitting.restore(agent.state.get(STATE), key)
        result = await self.fitting.fit_async(messages, key, model=model, fixed=fixed)
        if result is None:
            return
        if result.changed:
            agent.state.set(STATE, state_of(result))
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
        agent.state.set(STATE, state_of(result))
        agent.messages[:] = result.messages


_KEYS: WeakKeyDictionary[Agent, str] = WeakKeyDictionary()
"""Random, because the ``id`` of an agent that is gone may be that of the next one."""


def _key(agent: Agent) -> str:
    if agent not in _KEYS:
        _KEYS[agent] = f"{getattr(agent, 'agent_id', '')}/{uuid4().hex}"
    return _KEYS[agent]


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
