"""The timeline of a session as JSON: tokens by region after each message, compactions, model calls.

After message 1 the model saw 500 tokens of history, after message 2 also 900 of tool output::

    {"x": [1, 2], "regions": [{"region": "history", "tokens": [500, 500]},
                              {"region": "tool outputs", "tokens": [0, 900]}], "events": […], "calls": […]}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clew.budget import Region
from clew.inspector.context import DIGEST, UNLISTED, limits, region, regions_beyond_messages
from clew.inspector.history import compactions_of
from clew.inspector.message_index import reported_tokens
from clew.inspector.message_json import said_at
from clew.inspector.session_pool import OpenSession
from clew.inspector.tool_compactions import tool_sizes
from clew.inspector.transcript import message_of
from clew.log import (
    CALL,
    COMPACTION,
    MESSAGE,
    RESHAPING,
    SWITCH,
    TOKEN_BUDGET,
    TOOL_COMPACTION,
    UNDO,
    Ref,
    VisibleMessage,
)
from clew.log.protocol import StoredEvent
from clew.message import Json, JsonObject, Origin
from clew.providers.api import int_or_zero
from clew.providers.shapes import as_object, as_text, objects
from clew.session.history import PastCompaction
from clew.tokens import ModelInfo, model_named

MOST_POINTS = 1_200
"""Most points that are drawn."""
MOST_MESSAGES = 50_000
"""Most messages that are counted one by one; for longer sessions the recorded budgets are used."""
REGIONS = (UNLISTED, Region.SYSTEM.value, DIGEST, Region.HISTORY.value, Region.TOOL_OUTPUTS.value)

Event = dict[str, Any]
Point = tuple[int, dict[str, int]]
"""The number of messages so far, and the tokens of each region."""


def timeline(handle: OpenSession) -> JsonObject:
    """Return the points, regions, thresholds, events and calls to draw."""
    counted = handle.message_index.messages <= MOST_MESSAGES
    summaries: list[Event] = []
    points = _thin_out(list(_token_points(handle, summaries) if counted else _on_record(handle)))
    by_tool = (_by_tool(handle, stored) for stored in handle.message_index.of_kinds(TOOL_COMPACTION.name))
    events = sorted((*_view_changes(handle), *by_tool, *summaries), key=lambda event: int(event["seq"]))
    names = dict.fromkeys((*REGIONS, *(name for _, sizes in points for name in sizes)))
    drawn = [name for name in names if any(sizes.get(name) for _, sizes in points)]
    model = handle.gauge.model
    return {
        "x": [number for number, _ in points],
        "regions": [
            {"region": name, "tokens": [sizes.get(name, 0) for _, sizes in points]} for name in drawn
        ],
        **limits(handle),
        "model": model.id if model.known else None,
        "price": model.input_price,
        "events": list[Json](events),
        "calls": list(_calls(handle)),
        "counted": counted,
        "messages": handle.message_index.messages,
    }


# Message by message ----------------------------------------------------------------------------------


def _token_points(handle: OpenSession, summaries: list[Event]) -> Iterator[Point]:
    """Yield the tokens that the model saw after each message and compaction; collect messages that sum up."""
    sizes: dict[str, int] = {}  # of the messages
    besides: dict[str, int] = {}  # of what is sent with them, by the last recorded budget
    unlogged = handle.unlogged_tokens(0)
    for stored in handle.store.read(handle.ctx, 0, handle.message_index.upto):
        kind = stored.event.kind
        if kind == MESSAGE.name:
            message = message_of(stored)
            name = region("m", message)
            tokens = handle.tokens(VisibleMessage(Ref(stored.seq), stored.event.id, None, message))
            sizes = {**sizes, name: sizes.get(name, 0) + tokens}
            if message.origin is Origin.SUMMARY:
                summaries.append(_summary(handle, stored))
        elif kind in (*RESHAPING, TOOL_COMPACTION.name):
            sizes = _sizes(handle, stored.seq)
            unlogged = handle.unlogged_tokens(stored.seq)
        elif kind == CALL.name and (reported := reported_tokens(stored)):
            unlogged = max(0, reported - sum(sizes.values()))
        elif kind == TOKEN_BUDGET.name:
            besides = dict(regions_beyond_messages(stored.event.body))
        else:
            continue
        yield handle.message_index.number(stored.seq), _sum_regions(sizes, besides, unlogged)


def _sum_regions(sizes: Mapping[str, int], besides: Mapping[str, int], unlogged: int) -> dict[str, int]:
    """Return the tokens of messages and of what is sent besides; the unexplained rest is ``UNLISTED``."""
    totals = {name: sizes.get(name, 0) + besides.get(name, 0) for name in (*sizes, *besides)}
    rest = unlogged - sum(besides.values())
    return {**totals, UNLISTED: rest} if rest > 0 else totals


def _sizes(handle: OpenSession, seq: int) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for item, _, tokens in handle.shown(handle.message_index.seen(seq)):
        name = region(item.id, item.message)
        sizes[name] = sizes.get(name, 0) + tokens
    return sizes


def _on_record(handle: OpenSession) -> Iterator[Point]:
    """Yield the points of the recorded budgets."""
    for stored in handle.store.read(handle.ctx, kinds=[TOKEN_BUDGET.name]):
        sent: Mapping[str, Any] = stored.event.body
        number = handle.message_index.number(stored.seq)
        for body in filter(None, (as_object(sent.get("before")), sent)):
            slices = [data for _, data in objects(body.get("slices"))]
            sizes = {as_text(slice_.get("region")): int_or_zero(slice_.get("asked")) for slice_ in slices}
            kept = {name: tokens for name, tokens in sizes.items() if name in REGIONS}
            yield number, {**kept, **dict(regions_beyond_messages(body))}


def _thin_out(points: list[Point]) -> list[Point]:
    """Reduce the points for drawing: of each stretch keep the largest and the last, so peaks survive."""
    if len(points) <= MOST_POINTS:
        return points
    step = 2 * len(points) / MOST_POINTS
    kept: list[Point] = []
    for i in range(MOST_POINTS // 2):
        stretch = points[int(i * step) : int((i + 1) * step)]
        fullest = max(range(len(stretch)), key=lambda place: sum(stretch[place][1].values()))
        kept += [stretch[fullest], stretch[-1]] if fullest < len(stretch) - 1 else [stretch[-1]]
    return kept


# Events ----------------------------------------------------------------------------------------------


def _view_changes(handle: OpenSession) -> Iterator[Event]:
    """Yield the events that changed the view, with their reasons."""
    past = {compaction.compaction.seq: compaction for compaction in compactions_of(handle)}
    for stored in handle.message_index.of_kinds(COMPACTION.name, UNDO.name, SWITCH.name):
        known_compaction = past.get(stored.seq)
        plan = known_compaction.compaction.plan if known_compaction else None
        yield {
            "kind": stored.event.kind,
            "name": known_compaction.name if known_compaction else "",
            "x": handle.message_index.number(stored.seq),
            "seq": stored.seq,
            "time": stored.event.time,
            "trigger": plan.trigger if plan else None,
            "reason": plan.reason if plan else _describe(stored, past),
            "before": plan.tokens_before if plan else None,
            "after": plan.tokens_after if plan else None,
        }


def _describe(stored: StoredEvent, past: Mapping[int, PastCompaction]) -> str:
    """Describe an undo or a switch, which have no reason of their own."""
    if stored.event.kind == SWITCH.name:
        off = "compaction was switched off: the whole history is shown"
        return off if stored.event.body.get("off") else "compaction was switched on again"
    names = [compaction.name for compaction in past.values() if compaction.undone == stored.event.time]
    return f"undone: {', '.join(names) or 'a compaction'}"


def _summary(handle: OpenSession, stored: StoredEvent) -> Event:
    """Return a message that sums up messages which are not in the log."""
    reason = "compacted here by the tool that wrote this session"
    empty = dict.fromkeys(("trigger", "before", "after"))
    place = {"x": handle.message_index.number(stored.seq), "seq": stored.seq, "time": said_at(stored)}
    return {"kind": "summary", "name": "", "reason": reason, **place, **empty}


def _by_tool(handle: OpenSession, stored: StoredEvent) -> Event:
    """Return a compaction made by the tool that wrote this session, before it was imported."""
    body = stored.event.body
    before, after = tool_sizes(handle, stored)
    return {
        "kind": "tool_compaction",
        "name": as_text(body.get("name")),
        "x": handle.message_index.number(stored.seq),
        "seq": stored.seq,
        "time": as_text(body.get("time")) or stored.event.time,
        "trigger": as_text(body.get("trigger")) or None,
        "reason": "compacted by the tool that wrote this session",
        "before": before,
        "after": after,
    }


def _calls(handle: OpenSession) -> Iterator[Json]:
    """Yield the recorded model calls: tokens, cache reads and writes, and the cause of a cache miss."""
    for stored in handle.store.read(handle.ctx, kinds=[CALL.name]):
        body: Mapping[str, Any] = stored.event.body
        usage, cache = as_object(body.get("usage")), as_object(body.get("cache"))
        used = {name: int_or_zero(usage.get(name)) for name in ("input_tokens", "output_tokens")}
        cached = {name: int_or_zero(cache.get(name)) for name in ("read", "written", "missed")}
        yield {
            "x": handle.message_index.number(stored.seq),
            "seq": stored.seq,
            "time": stored.event.time,
            **used,
            **cached,
            "cause": as_text(cache.get("cause")),
            "why": as_text(cache.get("why")),
            "dollars": _dollars(model_named(str(body.get("model", ""))), used, cached),
        }


def _dollars(model: ModelInfo, used: Mapping[str, int], cache: Mapping[str, int]) -> float | None:
    """Return the cost of a call; None if the price of its model is not known."""
    if model.input_price is None or model.output_price is None:
        return None
    plain = max(0, used["input_tokens"] - cache["read"] - cache["written"])
    weighed = plain + cache["read"] * model.cache_read + cache["written"] * model.cache_write
    return (weighed * model.input_price + used["output_tokens"] * model.output_price) / 1e6
