"""From a session to a chat: its notes, its index, its tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clew.chat.instructed import Instructed
from clew.chat.kit import Kit, as_asked
from clew.chat.loop import Chat
from clew.chat.offline import OfflineModel
from clew.chat.workspace import workspace_tools
from clew.memory import Memory
from clew.memory.index.protocol import Index
from clew.memory.tools import Tool
from clew.memory.tools.budget import CONTEXT_BUDGET
from clew.memory.tools.desk import Desk
from clew.providers.clients import StreamingModel
from clew.request.diagnostics import Scene, diagnostic_tools
from clew.session import Session

TOOLS_SHARE = 0.25
"""Of the usable window, for the definitions of tools; in a small one the model has fewer."""
FIRST = ("recall_search", "read_file", "list_files", "search_files", "write_file", "recall_open", "remember")
"""The tools that come first where not all fit."""


def open_chat(  # the front door: all but the session are keywords with defaults
    session: Session,
    model: StreamingModel | None = None,
    *,
    root: Path | None = None,
    index: Index | None = None,
    auto: bool = False,
    trusted: bool = False,
) -> Chat:
    """Return a chat on a session; without a model, the offline one answers.

    ``root`` is the folder whose files the model may read, and write where a person agrees; without one it
    has no such tools. ``trusted`` says that its instruction files (AGENTS.md, …) count. Without an index
    there is no search of what left the view. Nothing is compacted unasked unless ``auto`` says so. What is
    recalled is of this session and its project, unless ``memory.where`` of the chat says otherwise.
    """
    recorded = session.about.get("project")
    memory = Memory(
        session.store,
        session.ctx,
        index,
        counter=session.counter,
        numbered=session,
        project=recorded if isinstance(recorded, str) else session.project,
    )

    def look() -> Scene:
        return chat.scene()  # the diagnostics are tools of the chat that they look at

    own = [tool for tool in memory.toolbox(session, as_asked).tools if tool is not CONTEXT_BUDGET]
    tools = [*own, *diagnostic_tools(look), *(workspace_tools(root) if root else ())]
    kit = Kit(Desk(session, memory, as_asked), offered(tools, session))
    instructed = Instructed(session, root, trusted=trusted)
    chat = Chat(session, model or OfflineModel(session), kit, memory, instructed)
    chat.auto = auto
    return chat


def offered(tools: Sequence[Tool], session: Session) -> list[Tool]:
    """Return the tools whose definitions fit, in the order given; the most useful ones are tried first."""
    room = int(session.gauge.window.usable_tokens * TOOLS_SHARE)
    names = [tool.name for tool in tools]
    chosen: set[str] = set()
    for tool in sorted(tools, key=lambda tool: (*FIRST, *names).index(tool.name)):
        size = session.counter.count_text(str(tool.definition("anthropic")))
        if size <= room:
            chosen.add(tool.name)
            room -= size
    return [tool for tool in tools if tool.name in chosen]
