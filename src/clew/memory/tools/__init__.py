"""Tools for an agent to use its own memory. See README.md.

``Toolbox(session, memory).definitions("anthropic")`` goes into the request;
``.run("recall_search", {"query": …})`` answers a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clew.errors import ClewError
from clew.memory.memory import Memory
from clew.memory.tools.notes import FORGET, NOTES_SEARCH, PIN, REMEMBER
from clew.memory.tools.recall import ARTIFACT_OPEN, RECALL_OPEN, RECALL_SEARCH
from clew.memory.tools.tool import (
    Approve,
    Consent,
    Tool,
    ToolAnswer,
    ToolContext,
    ToolSession,
    WriteRequest,
    ask_later,
    object_schema,
    read_arguments,
)
from clew.message import JsonObject, Origin

__all__ = ["TOOLS", "Consent", "Tool", "ToolAnswer", "Toolbox", "WriteRequest", "ask_later"]


def _budget(context: ToolContext, _: dict[str, Any]) -> ToolAnswer:
    """Answer how full the window is, and when compaction starts."""
    gauge, used = context.session.gauge, context.session.tokens
    usable = gauge.window.usable_tokens
    compact_at = gauge.policy.compact_at.of(usable)
    view = context.session.view()
    digests = [item.id for item in view if item.message.origin is Origin.SUMMARY]
    shown = f"{len(view):,} messages are in view"
    return ToolAnswer(
        "\n".join(
            [
                f"{used:,} of {usable:,} usable tokens are in use; "
                f"{gauge.window.reply_tokens:,} more are reserved for the reply.",
                f"Compaction starts at {compact_at:,}: {max(0, compact_at - used):,} tokens from now.",
                f"{shown}, earlier ones as {', '.join(digests)}." if digests else f"{shown}.",
            ]
        )
    )


CONTEXT_BUDGET = Tool(
    "context_budget",
    "Report how many tokens of the context window are in use, and how many are left before compaction.",
    object_schema(),
    _budget,
)


TOOLS = (RECALL_SEARCH, RECALL_OPEN, ARTIFACT_OPEN, NOTES_SEARCH, CONTEXT_BUDGET, REMEMBER, FORGET, PIN)
"""Keep this order: a changed list of tools invalidates the prompt cache."""


class Toolbox:
    """The tools that an agent has for its own memory."""

    def __init__(self, session: ToolSession, memory: Memory, approve: Approve = ask_later) -> None:
        """Take a session and its memory; ``approve`` is called before anything is written.

        Without an index there is no ``recall_search``. Quarantined notes are never offered for approval here:
        a person releases them with ``Notebook.approve``.
        """
        self._context = ToolContext(session, memory, approve)
        self.tools = tuple(tool for tool in TOOLS if memory.index is not None or tool is not RECALL_SEARCH)

    def definitions(self, wire: str = "anthropic") -> list[JsonObject]:
        """Return the list of tools in the format of a provider's API, or MCP's."""
        return [tool.definition(wire) for tool in self.tools]

    def run(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        """Run a call. An invalid call returns an error answer for the model to read."""
        tool: Tool | None = next((tool for tool in self.tools if tool.name == name), None)
        if tool is None:
            known_names = ", ".join(tool.name for tool in self.tools)
            return ToolAnswer(f"unknown tool {name!r}; available: {known_names}", is_error=True)
        try:
            return tool.does(self._context, read_arguments(tool.parameters, arguments))
        except ClewError as error:
            return ToolAnswer(str(error), is_error=True)
