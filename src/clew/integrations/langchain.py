"""LangChain: ``create_agent(model, tools, middleware=[ClewMiddleware()])``.

The messages in the agent's state are unchanged; each model call sends a list that fits. The compaction state
is stored in the agent's state under ``clew``, so that a checkpointer passes it to other processes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NotRequired, Unpack

from langchain.agents.middleware import AgentMiddleware, AgentState, ExtendedModelResponse
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain.tools import BaseTool, ToolRuntime, tool
from langgraph.config import get_config
from langgraph.types import Command

from clew.integrations.fitting import Fitting, FittingOptions, state_of
from clew.integrations.recall import Recall, descriptions
from clew.session import CompactResult


class ClewState(AgentState[Any]):
    """The agent's state, extended with clew's."""

    clew: NotRequired[dict[str, Any]]  # type: ignore[valid-type]


class ClewMiddleware(AgentMiddleware):
    """Makes the messages of every model call fit; ``window``, ``policy`` and ``session`` are optional."""

    state_schema = ClewState

    def __init__(self, *, recall: bool = False, **options: Unpack[FittingOptions]) -> None:
        """Set up; ``recall=True`` adds the tools ``recall`` and ``expand``."""
        super().__init__()
        self.fitting = Fitting(**options)
        self.tools = _tools(Recall(self.fitting)) if recall else []

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> Any:  # noqa: ANN401
        """Fit the messages, then call the model."""
        key = self._key(request)
        result = self.fitting.fit(request.messages, key, model=_model(request), fixed=_fixed_parts(request))
        return self._with_state(handler(_with_messages(request, result)), result)

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> Any:  # noqa: ANN401
        """Do the same in a thread."""
        key = self._key(request)
        fit = self.fitting.fit_async
        result = await fit(request.messages, key, model=_model(request), fixed=_fixed_parts(request))
        return self._with_state(await handler(_with_messages(request, result)), result)

    def _key(self, request: ModelRequest) -> str | None:
        """Return the thread of the graph, after restoring clew's state of it."""
        try:
            key = _thread(get_config())
        except RuntimeError:
            key = None
        self.fitting.restore(request.state.get("clew"), key or "")
        return key

    def _with_state(self, response: ModelResponse, result: CompactResult | None) -> Any:  # noqa: ANN401
        if result is None or not result.changed:
            return response
        return ExtendedModelResponse(response, Command(update={"clew": state_of(result)}))


def _thread(config: Any) -> str | None:  # noqa: ANN401  # a RunnableConfig
    thread = config.get("configurable", {}).get("thread_id")
    return None if thread is None else str(thread)


def _tools(recall: Recall) -> list[BaseTool]:
    """Return the tools for reading earlier turns of the agent's own thread."""

    def search(query: str, runtime: ToolRuntime, limit: int = 5) -> str:
        key, arguments = _thread(runtime.config), {"query": query, "limit": limit}
        return recall.run("recall", arguments, key, runtime.state["messages"])

    def expand(ref: str, runtime: ToolRuntime, start: int = 0) -> str:
        key, arguments = _thread(runtime.config), {"ref": ref, "start": start}
        return recall.run("expand", arguments, key, runtime.state["messages"])

    described = zip((search, expand), descriptions(), strict=True)
    return [tool(name, description=about)(does) for does, (name, about, _) in described]


def _with_messages(request: ModelRequest, result: CompactResult | None) -> ModelRequest:
    return request.override(messages=result.messages) if result else request


def _model(request: ModelRequest) -> str | None:
    name = getattr(request.model, "model_name", None) or getattr(request.model, "model", None)
    return name if isinstance(name, str) else None


def _fixed_parts(request: ModelRequest) -> list[object]:
    """Return what is sent in addition to the messages: the system prompt and the tool definitions."""
    system = [request.system_message.text] if request.system_message else []
    return [
        *system,
        *((getattr(tool, "description", ""), getattr(tool, "args", tool)) for tool in request.tools),
    ]
