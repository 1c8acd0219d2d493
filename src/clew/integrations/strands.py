"""Strands Agents: ``Agent(conversation_manager=ClewConversationManager())``.

Strands sends ``agent.messages`` unchanged, so the manager compacts that list before each model call. The
removed messages are in ``fitting.originals()``, or in clew's log with ``session=``; Strands' own session
managers store the digest in the list and the manager's state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from strands.agent.conversation_manager import ConversationManager
from strands.hooks.events import BeforeModelCallEvent
from strands.hooks.registry import HookRegistry

from clew.integrations.fitting import Fitting, FittingOptions

if TYPE_CHECKING:
    from strands import Agent


class ClewConversationManager(ConversationManager):
    """Makes the messages of every call fit; ``window``, ``policy`` and ``session`` are optional."""

    def __init__(self, **options: Unpack[FittingOptions]) -> None:
        super().__init__()
        self.fitting = Fitting(**options)

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:  # noqa: ANN401  # of later versions
        """Compact before each model call, also within a turn."""
        super().register_hooks(registry)
        registry.add_callback(BeforeModelCallEvent, self._before_model_call)

    async def _before_model_call(self, event: BeforeModelCallEvent) -> None:
        agent, messages = event.agent, event.agent.messages
        model = agent.model.get_config().get("model_id") if hasattr(agent.model, "get_config") else None
        fixed = (agent.system_prompt or "", *agent.tool_registry.get_all_tool_specs())
        result = await self.fitting.fit_async(messages, _key(agent), model=model, fixed=fixed)
        if result is not None and result.changed:
            self._replace(agent, result.messages, len(messages))

    def apply_management(self, agent: Agent, **_: Any) -> None:  # noqa: ANN401  # of later versions
        """Do nothing: Strands calls it in the event loop after a turn; the next model call compacts."""

    def reduce_context(self, agent: Agent, e: Exception | None = None, **_: Any) -> None:  # noqa: ANN401
        """Compact to half after the provider rejected a request as too long."""
        key = _key(agent)
        last = self.fitting.compactor.last(key)
        before = len(agent.messages)
        try:
            target = (last.tokens_after if last else 20_000) // 2
            result = self.fitting.compactor.fit(key, agent.messages, target_tokens=target)
        except Exception as error:
            self.fitting.report(error)
            raise (e or error) from error
        self._replace(agent, result.messages, before)

    def _replace(self, agent: Agent, messages: list[Any], before: int) -> None:
        agent.messages[:] = messages
        self.removed_message_count += max(0, before - len(messages))

    def get_state(self) -> dict[str, Any]:
        """Return the state as JSON, for a session manager of Strands."""
        return {**super().get_state(), "clew": self.fitting.state()}

    def restore_from_session(self, state: dict[str, Any]) -> None:
        """Restore the state of another process; the digest is in the agent's messages."""
        super().restore_from_session(state)
        self.fitting.restore(state.get("clew"))


def _key(agent: Agent) -> str:
    return f"{getattr(agent, 'agent_id', '')}/{id(agent)}"
