"""All the tools of a chat, in one order that never changes: memory, diagnostics, workspace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clew.errors import ClewError
from clew.memory.tools import Consent, Tool, ToolAnswer, Wish
from clew.memory.tools.desk import Desk
from clew.memory.tools.schema import read_arguments


class Kit:
    """Tools, and the desk that they work at."""

    def __init__(self, desk: Desk, tools: Iterable[Tool]) -> None:
        self.tools = tuple(tools)
        """Always in this order: a list of tools that changes is not read from a provider's cache."""
        self._desk = desk
        self._named = {tool.name: tool for tool in self.tools}

    @property
    def names(self) -> tuple[str, ...]:
        """Return what they are called."""
        return tuple(self._named)

    def writes(self, name: str) -> bool:
        """Tell whether a tool changes something, so that a person is asked first."""
        return name in self._named and not self._named[name].read_only

    def run(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        """Do what a call asks for. What is wrong with it is an answer too, for the model to read."""
        tool = self._named.get(name)
        if tool is None:
            return ToolAnswer(f"there is no tool {name!r}: there are {', '.join(self.names)}", is_error=True)
        try:
            return tool.does(self._desk, read_arguments(tool.parameters, arguments))
        except ClewError as error:
            return ToolAnswer(str(error), is_error=True)
        except Exception as error:  # noqa: BLE001  # arguments are a model's: no call of its ends the chat
            return ToolAnswer(f"{name} failed: {type(error).__name__}: {error}", is_error=True)


def as_asked(_wish: Wish) -> Consent:
    """Consent to a wish: the turn has asked a person before it runs a tool that writes."""
    return Consent.GIVEN
