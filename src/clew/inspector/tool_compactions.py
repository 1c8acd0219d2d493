"""Compactions that a session's own tool made, as JSON: the list, the summary, the losses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clew.errors import NotFound
from clew.inspector.context import view_tokens
from clew.inspector.ledger_view import recall
from clew.inspector.session_pool import OpenSession, SessionPool
from clew.log import TOOL_COMPACTION
from clew.log.protocol import StoredEvent
from clew.message import Json, JsonObject, Message, message_number
from clew.providers.api import int_or_zero
from clew.providers.shapes import as_text

MOST_SOURCES = 4
"""Likely sources shown for a line of a summary."""
LONGEST_HEADING = 80
"""Longer lines that end with a colon are text."""
_LINE = re.compile(r"\S[^\n]*")
_TAG = re.compile(r"<(/?)([a-z][\w -]{0,40})>")
"""A line that is only a tag: some tools write their sections so."""


def tool_sizes(handle: OpenSession, stored: StoredEvent) -> tuple[int, int]:
    """Return the tokens before and after a compaction: as recorded, else counted."""
    before, after = (int_or_zero(stored.event.body.get(field)) for field in ("before", "after"))
    return before or view_tokens(handle, stored.seq - 1), after or view_tokens(handle, stored.seq)


def by_tool(handle: OpenSession) -> list[Json]:
    """Return the tool's compactions, oldest first."""
    return [_short(handle, stored) for stored in handle.message_index.of_kinds(TOOL_COMPACTION.name)]


def _short(handle: OpenSession, stored: StoredEvent) -> JsonObject:
    """Return a tool's own compaction as one row of the list."""
    body = stored.event.body
    before, after = tool_sizes(handle, stored)
    keeps = body.get("keeps")
    return {
        "name": as_text(body.get("name")),
        "seq": stored.seq,
        "at": handle.message_index.number(stored.seq),
        "time": as_text(body.get("time")) or stored.event.time,
        "trigger": as_text(body.get("trigger")),
        "before": before,
        "after": after,
        "recorded": int_or_zero(body.get("before")) > 0 and body.get("estimated") is not True,
        "kept": len(keeps) if isinstance(keeps, list) else 0,
        "sealed": body.get("sealed") is True,
    }


def find(handle: OpenSession, name: str) -> StoredEvent:
    """Return a compaction of the tool by its name, or raise ``NotFound``."""
    for stored in handle.message_index.of_kinds(TOOL_COMPACTION.name):
        if stored.event.body.get("name") == name:
            return stored
    raise NotFound(f"there is no compaction {name!r} by the tool", "the page Compactions lists them")


def tool_compaction(handle: OpenSession, name: str) -> JsonObject:
    """Return a compaction of the tool with the lines of its summary."""
    stored = find(handle, name)
    return {
        **_short(handle, stored),
        "lines": list[Json](_lines(TOOL_COMPACTION.messages(stored.event.body))),
    }


def _lines(summary: Sequence[Message]) -> Iterator[JsonObject]:
    """Yield the lines of a summary: headings, and text that can be traced to its source."""
    for message in summary:
        for match in _LINE.finditer(message.text):
            line = match[0].strip()
            if tag := _TAG.fullmatch(line):
                if not tag[1]:
                    yield {"text": tag[2].replace("_", " ").capitalize(), "heading": True}
                continue
            bare = line.strip("#*: ")
            is_short = len(line) <= LONGEST_HEADING
            is_heading = line.startswith("#") or (is_short and line.endswith((":", ":**")))
            if bare:
                yield {"text": bare if is_heading else line, "heading": is_heading}


def likely_sources(pool: SessionPool, handle: OpenSession, name: str, text: str) -> JsonObject:
    """Return the messages before a compaction that a line of its summary most likely comes from."""
    at = handle.message_index.number(find(handle, name).seq)
    hits = recall(pool, handle, text)["hits"]
    assert isinstance(hits, list)
    earlier = [hit for hit in hits if isinstance(hit, dict) and 0 < message_number(str(hit.get("ref"))) <= at]
    return {"hits": list[Json](earlier[:MOST_SOURCES])}


def lost(pool: SessionPool, handle: OpenSession, name: str) -> JsonObject:
    """Return what the session needed after a compaction, and whether its tool and clew kept it."""
    find(handle, name)
    if pool.others is None:
        return {"unjudged": "its file is not on this computer"}
    return pool.others.lost(handle.ctx.session, name)
