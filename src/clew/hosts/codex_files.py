"""Add clew to the two files of Codex that hold its hooks and MCP servers, and remove it from them.

Codex has one file for the hooks of all programs (``hooks.json``) and one for its settings (``config.toml``),
so clew's part is put next to what is there::

    # clew: begin (`clew uninstall codex` removes this)
    [mcp_servers.clew]
    command = "/usr/bin/clew"
    args = ["mcp"]
    # clew: end
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from typing import Any

from clew.errors import InputError

EVENTS = ("PreCompact", "SessionStart")
"""The events clew answers; SessionStart follows a compaction, and otherwise records the open session."""
_OURS = re.compile(r"\bhook codex$")
"""The command of clew's own hook."""
_BEGIN, _END = "# clew: begin (`clew uninstall codex` removes this)", "# clew: end"
_BLOCK = re.compile(rf"\n?{re.escape(_BEGIN)}\n.*?\n{re.escape(_END)}\n", re.DOTALL)
"""clew's part of ``config.toml``, with the lines that mark it."""


def add_hooks(base: bytes | None, hook: str) -> bytes:
    """Return a ``hooks.json`` with our hooks after the existing ones, so that their positions stay."""
    whole = _hooks(base)
    events = whole.setdefault("hooks", {})
    for event in EVENTS:
        ours = {"hooks": [{"type": "command", "command": hook, "timeout": 20}]}
        events.setdefault(event, []).append(ours)
    return f"{json.dumps(whole, indent=2, ensure_ascii=False)}\n".encode()


def remove_hooks(current: bytes) -> bytes | None:
    """Return a ``hooks.json`` without our hooks; the same bytes if there are none."""
    whole = _hooks(current)
    events = whole.get("hooks")
    if not isinstance(events, dict):
        return current
    left = {event: [group for group in groups if not _is_ours(group)] for event, groups in events.items()}
    if left == events:
        return current
    whole["hooks"] = {event: groups for event, groups in left.items() if groups or not events[event]}
    if whole == {"hooks": {}}:
        return None
    return f"{json.dumps(whole, indent=2, ensure_ascii=False)}\n".encode()


def _is_ours(group: Any) -> bool:  # noqa: ANN401 - JSON of another program
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return isinstance(hooks, list) and any(
        isinstance(hook, dict) and _OURS.search(str(hook.get("command", ""))) for hook in hooks
    )


def _hooks(data: bytes | None) -> dict[str, Any]:
    try:
        whole = json.loads(data) if data and data.strip() else {}
    except ValueError as cause:
        raise InputError(f"hooks.json is not JSON ({cause})", "repair or move it, and try again") from cause
    if not isinstance(whole, dict) or not isinstance(whole.get("hooks", {}), dict):
        raise InputError("hooks.json does not hold an object of hooks", "repair or move it, and try again")
    return whole


def add_server(base: bytes | None, server: Sequence[str]) -> bytes:
    """Return a ``config.toml`` with clew among the MCP servers."""
    try:
        text = (base or b"").decode("utf-8")
        there = tomllib.loads(text).get("mcp_servers", {})
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as cause:
        raise InputError(f"config.toml is not TOML ({cause})", "repair or move it, and try again") from cause
    if "clew" in there:
        raise InputError(
            "config.toml already has an MCP server named clew", "remove [mcp_servers.clew] and try again"
        )
    args = ", ".join(map(_toml, server[1:]))
    block = [_BEGIN, "[mcp_servers.clew]", f"command = {_toml(server[0])}", f"args = [{args}]", _END]
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return (text + gap + "\n".join(block) + "\n").encode()


def _toml(text: str) -> str:
    """Return a text as a basic string of TOML: as in JSON, with DEL escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def remove_server(current: bytes) -> bytes | None:
    """Return a ``config.toml`` without our server."""
    text = current.decode("utf-8", "surrogateescape")
    left = _BLOCK.sub("", text)
    return left.encode("utf-8", "surrogateescape") if left.strip() or not text.strip() else None
