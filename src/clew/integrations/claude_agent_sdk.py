"""Claude Agent SDK: ``ClaudeAgentOptions(hooks=clew_hooks(), mcp_servers=clew_servers())``.

Before the CLI compacts, its summariser is instructed what to keep; afterwards rules, goal and open work are
injected into the session word for word. Both are read from the session's own transcript. The server is
optional: it gives the model the tools ``recall`` and ``expand`` (and four more) over that transcript.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from claude_agent_sdk import HookContext, HookMatcher

from clew.hosts.hook import answer
from clew.integrations.fitting import Fitting

_EVENTS = ("PreCompact", "SessionStart", "UserPromptSubmit")
_fitting = Fitting()


def clew_hooks() -> dict[Any, list[HookMatcher]]:
    """Return the hooks that keep rules and open work through the CLI's own compactions."""
    return {name: [HookMatcher(hooks=[_hook])] for name in _EVENTS}


def clew_servers() -> dict[str, Any]:
    """Return the MCP server with which the model reads earlier turns, after a compaction too."""
    return {"clew": {"type": "stdio", "command": sys.executable, "args": ["-m", "clew", "mcp"]}}


async def _hook(event: Any, _tool_use: str | None, _context: HookContext) -> Any:  # noqa: ANN401  # JSON of the CLI
    text = ""
    with _fitting.reporting():
        text = await asyncio.to_thread(answer, "claude-code", dict(event))
    return _output(str(event.get("hook_event_name")), text) if text else {}


def _output(name: str, text: str) -> dict[str, Any]:
    """Return an answer in the SDK's form: JSON as it is, plain text as context for the model."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    if name == "PreCompact":
        return {"systemMessage": text}
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
