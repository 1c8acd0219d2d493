"""Tools for an agent to use its own memory. See README.md."""

from clew.memory.tools.tool import (
    Approve,
    Consent,
    OpenSession,
    Tool,
    ToolAnswer,
    ToolContext,
    WriteRequest,
    ask_later,
)
from clew.memory.tools.toolbox import TOOLS, Toolbox

__all__ = [
    "TOOLS",
    "Approve",
    "Consent",
    "OpenSession",
    "Tool",
    "ToolAnswer",
    "ToolContext",
    "Toolbox",
    "WriteRequest",
    "ask_later",
]
