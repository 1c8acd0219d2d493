"""The list of sessions as JSON, with size, compactions and health; the header of one session."""

from __future__ import annotations

from itertools import islice
from typing import Any

from clew.errors import ClewError
from clew.inspector.context import view_tokens
from clew.inspector.history import compactions_of
from clew.inspector.message_json import LEADING_TAGS, excerpt
from clew.inspector.session_pool import BAD_LOG_ERRORS, OpenSession, SessionPool
from clew.inspector.transcript import message_of
from clew.log import (
    ABOUT,
    COMPACTION,
    MESSAGE,
    REFUSAL,
    TOKEN_BUDGET,
    TOOL_COMPACTION,
    UNDO,
    Ref,
    VisibleMessage,
)
from clew.log.protocol import Ctx, SessionInfo
from clew.log.transfer import OWN
from clew.message import Json, JsonObject, Origin, Role
from clew.providers.shapes import as_object, as_text
from clew.transcripts import FORMATS
from clew.transcripts.messages import first_telling, typed_text

MOST_READ = 20_000
"""Most messages that are read to count turns; longer sessions have no count."""
RECENT = 64
"""Events at the end of a log that determine a session's health."""
LEVELS = {"warn": "warning", "compact": "warning", "stop": "trouble"}
"""The health of a session by the verdict of its last budget; any other verdict is good."""


def session_list(pool: SessionPool) -> JsonObject:
    """Return the sessions, the most recently used first."""
    infos = sorted(pool.store.sessions(pool.workspace), key=lambda info: info.last_time, reverse=True)
    rows: list[Json] = [_row(pool, info) for info in infos if not info.session.startswith(OWN)]
    return {"sessions": rows}


def _row(pool: SessionPool, info: SessionInfo) -> JsonObject:
    """Return the row of a session; an unreadable session is listed as damaged."""
    try:
        figures = _figures(pool, info)
    except (ClewError, *BAD_LOG_ERRORS) as cause:
        damage: JsonObject = {"is": "damaged", "why": f"its events cannot be read: {excerpt(str(cause))}"}
        figures = {"compactions": 0, "undone": 0, "health": damage}
    times: JsonObject = {"first": info.first_time, "last": info.last_time}
    return {"name": info.session, "events": info.head.seq, **times, **figures}


def _figures(pool: SessionPool, info: SessionInfo) -> JsonObject:
    """Return how often a session was compacted, how many compactions were undone, and its health."""
    ctx = Ctx(workspace=pool.workspace, session=info.session)
    done = undone = 0
    in_effect: list[int] = []
    for stored in pool.store.read(ctx, kinds=[COMPACTION.name, UNDO.name]):
        if stored.event.kind == COMPACTION.name:
            done += 1
            in_effect.append(stored.seq)
            continue
        first = stored.event.body.get("compaction")
        if isinstance(first, int) and first in in_effect:  # undone with all that came after it
            left = in_effect[: in_effect.index(first)]
            undone += len(in_effect) - len(left)
            in_effect = left
    return {"compactions": done, "undone": undone, "health": health(pool, ctx, info.head.seq)}


def health(pool: SessionPool, ctx: Ctx, head: int) -> JsonObject:
    """Return a session's health, by its last events."""
    data: JsonObject = {"is": "good", "why": "no problem is recorded"}
    kinds = [COMPACTION.name, REFUSAL.name, TOKEN_BUDGET.name]
    for stored in pool.store.read(ctx, max(0, head - RECENT), head, kinds):
        body: dict[str, Any] = stored.event.body
        if stored.event.kind == REFUSAL.name:
            data = {"is": "trouble", "why": f"a compaction was refused: {body.get('reason', '')}"}
        elif stored.event.kind == COMPACTION.name:
            data = {"is": "good", "why": "compacted, and the checks passed"}
        else:
            verdict = as_object(body.get("verdict"))
            level = LEVELS.get(str(verdict.get("is")), "good")
            data = {"is": level, "why": str(verdict.get("why", ""))}
    return data


def size(handle: OpenSession) -> JsonObject:
    """Return the number of messages, and of turns if that can be counted quickly."""
    messages = handle.message_index.messages
    turns: int | None = None
    if messages <= MOST_READ:
        said = map(message_of, handle.store.read(handle.ctx, kinds=[MESSAGE.name]))
        turns = sum(message.role is Role.USER and message.origin is Origin.SPOKEN for message in said)
    return {"messages": messages, "turns": turns}


# The header of every view ----------------------------------------------------------------------------

MOST_COUNTED = 20_000
"""Most messages that are counted for the header; longer sessions show only what the model sees now."""
MOST_SEARCHED = 60
"""Messages at the start of a session that are searched for the user's first words."""


def about_session(pool: SessionPool, handle: OpenSession) -> JsonObject:
    """Return what the header of every view shows."""
    index = handle.message_index
    tool, known, _ = handle.ctx.session.partition(":")
    facts = [stored.event.body for stored in index.of_kinds(ABOUT.name)]
    titles = [as_text(fact.get("title")) for fact in facts if fact.get("title")]
    models = [as_text(fact.get("model")) for fact in facts if fact.get("model")]
    return {
        "title": titles[-1] if titles else _first_words(handle) or handle.ctx.session,
        "tool": tool if known and tool in FORMATS else None,
        "model": models[-1] if models else None,
        "messages": index.messages,
        "whole": _whole_tokens(handle),
        "now": view_tokens(handle, index.upto) if len(index.seen(index.upto)) <= MOST_COUNTED else None,
        "unlisted": handle.unlogged_tokens(index.upto),
        "by_tool": sum(1 for _ in index.of_kinds(TOOL_COMPACTION.name)),
        "by_clew": sum(past.in_force for past in compactions_of(handle)),
        "copy": pool.is_copy,
    }


def _first_words(handle: OpenSession) -> str:
    """Return the user's first words that say what the session is about."""
    stored = islice(handle.store.read(handle.ctx, kinds=[MESSAGE.name]), MOST_SEARCHED)
    typed = map(typed_text, map(message_of, stored))
    return excerpt(first_telling(LEADING_TAGS.sub("", text) for text in typed if text), 120)


def _whole_tokens(handle: OpenSession) -> int | None:
    """Return the tokens of the whole conversation; None if it is too long to count."""
    if handle.message_index.messages > MOST_COUNTED:
        return None
    counted = sum(
        handle.tokens(VisibleMessage(Ref(stored.seq), stored.event.id, None, message_of(stored)))
        for stored in handle.store.read(handle.ctx, kinds=[MESSAGE.name])
    )
    return counted + handle.unlogged_tokens(handle.message_index.upto)
