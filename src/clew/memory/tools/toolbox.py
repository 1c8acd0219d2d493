"""All tools of an agent for one session: their definitions, and running them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clew.errors import ClewError
from clew.memory.memory import Memory
from clew.memory.tools.budget import CONTEXT_BUDGET
from clew.memory.tools.desk import Approve, Desk, OpenSession, ask_later
from clew.memory.tools.noting import FORGET, NOTES_SEARCH, PIN, REMEMBER
from clew.memory.tools.recall import ARTIFACT_OPEN, RECALL_OPEN, RECALL_SEARCH
from clew.memory.tools.schema import read_arguments
from clew.memory.tools.tool import Tool, ToolAnswer
from clew.message import JsonObject

TOOLS = (
    RECALL_SEARCH,
    RECALL_OPEN,
    ARTIFACT_OPEN,
    NOTES_SEARCH,
    CONTEXT_BUDGET,
    REMEMBER,
    FORGET,
    PIN,
)
"""Keep this order: a changed list of tools invalidates the prompt cache."""


class Toolbox:
    """The tools that an agent has for its own memory."""

    def __init__(self, session: OpenSession, memory: Memory, approve: Approve = ask_later) -> None:
        """Take a session and its memory; ``approve`` is called before anything is written.

        Without an index there is no ``recall_search``. Quarantined notes are never offered for approval here:
        a
        person releases them with ``Notebook.approve``.
        """
        self._desk = Desk(session, memory, approve)
        self.tools = tuple(tool for tool in TOOLS if memory.index is not None or tool is not RECALL_SEARCH)

    def definitions(self, wire: str = "anthropic") -> list[JsonObject]:
        """Return the list of tools in the format of a provider's API, or MCP's."""
        return [tool.definition(wire) for tool in self.tools]

    def run(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        """Run a call. An invalid call returns an error answer for the model to read."""
        tool: Tool | None = next((tool for tool in self.tools if tool.name == name), None)
        if tool is None:
            there = ", ".join(tool.name for tool in self.tools)
            return ToolAnswer(f"unknown tool {name!r}; available: {there}", is_error=True)
        try:
            return tool.does(self._desk, read_arguments(tool.parameters, arguments))
        except ClewError as error:
            return ToolAnswer(str(error), is_error=True)
