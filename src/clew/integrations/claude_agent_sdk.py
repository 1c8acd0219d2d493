"""Claude Agent SDK: ``options = with_clew(ClaudeAgentOptions(…))``.

Claude Code compacts by itself. Before it does, its summariser is instructed what to keep; afterwards rules,
goal and open work are injected into the session word for word. Both are read from the session's own
transcript, so that a resumed session in another process continues in the same way. ``recall=True`` gives the
model the tools ``recall`` and ``expand`` (and four more) over that transcript.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from claude_agent_sdk import ClaudeAgentOptions, HookContext, HookMatcher

from clew.budget import DEFAULT, Policy
from clew.errors import InputError
from clew.hosts.hook import answer
from clew.hosts.session_state import read_session
from clew.integrations.fitting import Fitting, FittingOptions
from clew.session import Session

_EVENTS = ("PreCompact", "SessionStart")
"""Hook events before and after a compaction."""
_RECORDED = ("UserPromptSubmit", "PreCompact", "Stop")
"""Events at which new messages are recorded in clew's log, with ``session=``."""
LEAST_WINDOW, MOST_WINDOW = 100_000, 1_000_000
"""Limits of Claude Code's setting; a smaller window is a percentage of the least."""
SUMMARY_RESERVE = 20_000
"""What Claude Code subtracts from its window before it takes that percentage (2.1.325)."""
USUAL_WINDOW = 200_000
"""The window of most Claude models, assumed if none is given."""
LONGEST_WAIT = 20
"""Times 50 ms that the record of a turn waits for its last reply."""


def with_clew(
    options: ClaudeAgentOptions | None = None, *, recall: bool = False, **given: Unpack[FittingOptions]
) -> ClaudeAgentOptions:
    """Return options with clew's hooks, and ``window`` and ``policy`` as settings of Claude Code."""
    options = options or ClaudeAgentOptions()
    hooks = dict(options.hooks or {})
    for name, matchers in clew_hooks(given.get("session")).items():
        hooks[name] = [*hooks.get(name, ()), *matchers]
    env = compaction_env(given.get("window"), given.get("policy", DEFAULT)) | options.env
    servers = options.mcp_servers
    if recall and not isinstance(servers, dict):
        raise InputError("recall=True needs mcp_servers as a dict; add clew_servers() to your file instead")
    servers = {**servers, **clew_servers()} if recall else servers
    return replace(options, hooks=hooks, env=env, mcp_servers=servers)


def clew_hooks(session: Session | Callable[[str], Session] | None = None) -> dict[Any, list[HookMatcher]]:
    """Return the hooks that keep rules and open work through the CLI's compactions, and log to a session."""
    fitting = Fitting(session=session)

    async def hook(event: Any, _tool_use: str | None, _context: HookContext) -> Any:  # noqa: ANN401  # JSON
        output: dict[str, Any] = {}
        with fitting.reporting():
            text = await asyncio.to_thread(answer, "claude-code", dict(event))
            # JSON is the answer; plain text is instructions for the summariser.
            output = json.loads(text) if text.startswith("{") else {"systemMessage": text} if text else {}
        if fitting.session is not None and event.get("hook_event_name") in _RECORDED:
            with fitting.reporting():
                await asyncio.to_thread(_record, fitting, event)
        return output

    names = dict.fromkeys((*_EVENTS, *_RECORDED) if session is not None else _EVENTS)
    return {name: [HookMatcher(hooks=[hook])] for name in names}


def clew_servers() -> dict[str, Any]:
    """Return the MCP server with which the model reads earlier turns, after a compaction too."""
    return {"clew": {"type": "stdio", "command": sys.executable, "args": ["-m", "clew", "mcp"]}}


def compaction_env(window: int | None = None, policy: Policy = DEFAULT) -> dict[str, str]:
    """Return the environment variables that make Claude Code compact by a window and a policy."""
    if window is None and policy is DEFAULT:
        return {}
    window = window or USUAL_WINDOW
    limit = min(max(window, LEAST_WINDOW), MOST_WINDOW)
    start = policy.compact_at.of(window - policy.reply.of(window))
    percent = 100 * start // (limit - SUMMARY_RESERVE)
    return {
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(limit),
        "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": str(min(max(percent, 1), 100)),
    }


def _record(fitting: Fitting, event: dict[str, Any]) -> None:
    path = Path(str(event.get("transcript_path")))
    if not path.exists():
        return
    for _ in range(LONGEST_WAIT if event.get("hook_event_name") == "Stop" else 0):
        if _ends_with_a_reply(path):
            break
        time.sleep(0.05)  # the CLI writes its file a little later
    read = read_session(path, "claude-code", whole_bytes=sys.maxsize)
    fitting.record([entry.message for entry in read.entries], str(event.get("session_id")))


def _ends_with_a_reply(path: Path) -> bool:
    """Return whether the newest line of the user or the assistant is one of the assistant, without a call."""
    with path.open("rb") as file:
        file.seek(-min(path.stat().st_size, 1 << 20), 2)
        lines = file.read().splitlines()
    for line in reversed(lines):
        if b'"type":"assistant"' in line or b'"type":"user"' in line:
            return b'"type":"assistant"' in line and b'"tool_use"' not in line
    return False
