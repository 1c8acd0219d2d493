"""Tools for an agent to use its own memory. See README.md."""

from clew.memory.tools.tool import Approve, Consent, Desk, OpenSession, Tool, ToolAnswer, Wish, ask_later
from clew.memory.tools.toolbox import TOOLS, Toolbox

__all__ = [
    "TOOLS",
    "Approve",
    "Consent",
    "Desk",
    "OpenSession",
    "Tool",
    "ToolAnswer",
    "Toolbox",
    "Wish",
    "ask_later",
]
