"""Tools for an agent to use its own memory. See README.md.

``Toolbox(session, memory).definitions("anthropic")`` goes into the request;
``.run("recall_search", {"query": …})`` answers a call.
"""

from clew.memory.tools.tool import Consent, Tool, ToolAnswer, WriteRequest, ask_later
from clew.memory.tools.toolbox import TOOLS, Toolbox

__all__ = ["TOOLS", "Consent", "Tool", "ToolAnswer", "Toolbox", "WriteRequest", "ask_later"]
