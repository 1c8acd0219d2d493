"""Open a chat: choose the model and put session, tools and memory together."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from clew.chat.approvals import InstructionTracker
from clew.chat.loop import Chat
from clew.chat.offline import OFFLINE, OfflineModel
from clew.chat.tool_runner import COMPACT, Toolset, always_consent
from clew.chat.workspace import workspace_tools
from clew.errors import InputError
from clew.memory import Memory
from clew.memory.index import Index
from clew.memory.tools import CONTEXT_BUDGET
from clew.memory.tools.tool import Tool, ToolAnswer, ToolContext, object_schema
from clew.providers.clients import open_model
from clew.providers.model import StreamingModel
from clew.request.diagnostics import RequestState, diagnostic_tools
from clew.session import Session

OLLAMA = "http://127.0.0.1:11434"
"""The default address of Ollama; ``OLLAMA_HOST`` can name another local port."""
OLLAMA_SECONDS = 0.3
DEFAULTS = {"ANTHROPIC_API_KEY": "anthropic/claude-sonnet-4-5", "OPENAI_API_KEY": "openai/gpt-5"}
"""The default model for each API key."""
NO_MODEL = (OFFLINE, "offline")
"""Names of the offline model."""
_APIS = ("anthropic/", "openai/", "openai-chat/")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model settings of a person."""

    model: str = ""
    base_url: str = ""
    offline: bool = False

    def name(self, env: Mapping[str, str] = os.environ) -> str:
        """Return the full name of the model; without a name or an API key, the offline model."""
        if self.offline or self.model in NO_MODEL:
            return OFFLINE
        if self.base_url:
            if not self.model:
                raise InputError("--base-url needs --model", "name a model of that server")
            named = self.model if self.model.startswith(_APIS) else f"openai-chat/{self.model}"
            return f"{named}@{self.base_url}"
        if self.model:
            return self.model if self.model.startswith(_APIS) else _with_api(self.model)
        return next((name for key, name in DEFAULTS.items() if env.get(key)), OFFLINE)


def _with_api(model: str) -> str:
    """Add the API prefix to a bare model name."""
    return f"anthropic/{model}" if model.startswith("claude") else f"openai/{model}"


def named_model(name: str, session: Session) -> StreamingModel:
    """Open a model by its full name. Nothing is sent until it is called."""
    if name in NO_MODEL:
        return OfflineModel(session)
    full = name if name.startswith(_APIS) else _with_api(name)
    return cast(StreamingModel, open_model(full))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, so that the probe stays on this computer."""

    def redirect_request(self, *_given: object) -> None:
        return None


_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
"""Ignores the proxies of the environment."""


def local_models(env: Mapping[str, str] = os.environ, seconds: float = OLLAMA_SECONDS) -> list[str]:
    """Return the models of a local Ollama; none if it does not answer at once.

    Only a loopback address is contacted, and never through a proxy.
    """
    host = env.get("OLLAMA_HOST", "")
    port = host.rpartition(":")[2] if ":" in host else ""
    address = f"http://127.0.0.1:{port}" if port.isdecimal() else OLLAMA
    try:
        with _DIRECT.open(f"{address}/api/tags", timeout=seconds) as answer:
            listed = json.loads(answer.read(1_000_000))
        return [f"openai-chat/{item['name']}@{address}/v1" for item in listed["models"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []  # nothing listens there, or it is not Ollama


TOOLS_SHARE = 0.25
"""Share of the usable window for tool definitions, so that a small window keeps room. Chosen by hand."""
FIRST = ("recall_search", "read_file", "list_files", "search_files", "write_file", "recall_open", "remember")
"""The tools that are offered first if not all fit."""


def open_chat(
    session: Session,
    model: StreamingModel | None = None,
    *,
    root: Path | None = None,
    index: Index | None = None,
    auto: bool = False,
    trusted: bool = False,
) -> Chat:
    """Return a chat on a session; without a model, with the offline model.

    ``root`` is the folder whose files the model may read, and write after approval; without it the model has
    no file tools. ``trusted`` applies the root's instruction files (AGENTS.md, …). Without an index, dropped
    messages cannot be searched. ``auto`` allows automatic compaction. Recall searches this session and its
    project, unless the chat's ``memory.where`` is changed.
    """
    recorded = session.about.get("project")
    memory = Memory(
        session.store,
        session.ctx,
        index=index,
        counter=session.counter,
        numbered=session,
        embedder=session.embedder or "default",
        project=recorded if isinstance(recorded, str) else session.project,
    )

    def look() -> RequestState:
        return chat.request_state()  # called later: the chat does not exist yet

    own_tools = [tool for tool in memory.toolbox(session, always_consent).tools if tool is not CONTEXT_BUDGET]
    ask = compact_tool(lambda: chat.auto and not session.is_off)
    tools = [*own_tools, *diagnostic_tools(look), ask, *(workspace_tools(root) if root else ())]
    toolset = Toolset(ToolContext(session, memory, always_consent), select_tools(tools, session))
    instructions = InstructionTracker(session, root, trusted=trusted)
    chat = Chat(session, model or OfflineModel(session), toolset, memory, instructions)
    chat.auto = auto
    return chat


def compact_tool(is_allowed: Callable[[], bool]) -> Tool:
    """Return the tool by which the model asks for a compaction; the user decides whether that is allowed."""

    def ask(_context: ToolContext, _given: dict[str, Any]) -> ToolAnswer:
        if is_allowed():
            return ToolAnswer("The conversation is compacted before your next step, if that gains enough.")
        return ToolAnswer("The user has not allowed this; they can enter /compact.", is_error=True)

    return Tool(
        COMPACT,
        "Ask for the conversation so far to be compacted, when a step is finished and its details are no "
        "longer needed. Rules, goal and open work are kept, and everything stays searchable.",
        object_schema(),
        ask,
    )


def select_tools(tools: Sequence[Tool], session: Session) -> list[Tool]:
    """Return the tools whose definitions fit, in the given order; ``FIRST`` has priority."""
    room = int(session.gauge.window.usable_tokens * TOOLS_SHARE)
    names = [tool.name for tool in tools]
    chosen: set[str] = set()
    for tool in sorted(tools, key=lambda tool: (*FIRST, *names).index(tool.name)):
        size = session.counter.count_text(str(tool.definition("anthropic")))
        if size <= room:
            chosen.add(tool.name)
            room -= size
    return [tool for tool in tools if tool.name in chosen]
