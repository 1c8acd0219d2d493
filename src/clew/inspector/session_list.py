"""The list of sessions as JSON: size, number of compactions, and health."""

from __future__ import annotations

from typing import Any

from clew.errors import ClewError
from clew.inspector.message_json import excerpt
from clew.inspector.session_pool import BAD_LOG_ERRORS, OpenSession, SessionPool
from clew.inspector.transcript import message_of
from clew.log import COMPACTION, MESSAGE, REFUSAL, TOKEN_BUDGET, UNDO
from clew.log.protocol import Ctx, SessionInfo
from clew.log.transfer import OWN
from clew.message import Json, JsonObject, Origin, Role
from clew.providers.shapes import as_object

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
        return _whole_row(pool, info)
    except (ClewError, *BAD_LOG_ERRORS) as cause:
        health: JsonObject = {"is": "damaged", "why": f"its events cannot be read: {excerpt(str(cause))}"}
        return {**_plain_row(info), "compactions": 0, "undone": 0, "health": health}


def _plain_row(info: SessionInfo) -> JsonObject:
    return {
        "name": info.session,
        "events": info.head.seq,
        "first": info.first_time,
        "last": info.last_time,
    }


def _whole_row(pool: SessionPool, info: SessionInfo) -> JsonObject:
    ctx = Ctx(workspace=pool.workspace, session=info.session)
    done = undone = 0
    in_effect: list[int] = []
    for stored in pool.store.read(ctx, kinds=[COMPACTION.name, UNDO.name]):
        if stored.event.kind == COMPACTION.name:
            done += 1
            in_effect.append(stored.seq)
        else:  # one undo may revert several
            since = stored.event.body.get("compaction")
            left = [seq for seq in in_effect if isinstance(since, int) and seq < since]
            undone += len(in_effect) - len(left)
            in_effect = left
    return {
        **_plain_row(info),
        "compactions": done,
        "undone": undone,
        "health": health(pool, ctx, info.head.seq),
    }


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
