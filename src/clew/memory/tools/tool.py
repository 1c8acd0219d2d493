"""``Tool``: name, parameters, function, and its definition for each provider."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clew.errors import UnknownWire
from clew.memory.tools.desk import Desk
from clew.message import JsonObject, Trust


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool answers."""

    text: str
    trust: Trust = Trust.SEMI_TRUSTED
    """The lowest trust of what it quotes; SEMI_TRUSTED for the harness's own text."""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that an agent can call."""

    name: str
    description: str
    parameters: JsonObject
    does: Callable[[Desk, dict[str, Any]], ToolAnswer]
    read_only: bool = True
    """It changes nothing, so it needs no approval."""

    def definition(self, wire: str) -> JsonObject:
        """Return its entry in a provider's list of tools, or in MCP's."""
        named: JsonObject = {"name": self.name, "description": self.description}
        match wire:
            case "anthropic":
                return {**named, "input_schema": self.parameters}
            case "openai":
                return {
                    "type": "function",
                    "function": {**named, "parameters": self.parameters, "strict": True},
                }
            case "responses":
                return {"type": "function", **named, "parameters": self.parameters, "strict": True}
            case "gemini":
                return {**named, "parametersJsonSchema": self.parameters}
            case "mcp":
                return {**named, "inputSchema": self.parameters, "annotations": self._annotations}
        raise UnknownWire(f"no tool format for {wire!r}")

    @property
    def _annotations(self) -> JsonObject:
        """Return MCP's hints. Nothing is ever destroyed: forgotten notes stay in the log."""
        return {
            "readOnlyHint": self.read_only,
            "destructiveHint": False,
            "idempotentHint": self.read_only,
            "openWorldHint": False,
        }
