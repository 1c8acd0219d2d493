"""The context map (what the model sees, now or after any event) and the effect of one compaction.

A map has the tokens of each region, and a block for each message::

    {"seq": 120, "tokens": 31200, "window": 200000, "regions": [{"region": "history", "tokens": 24100}, …],
     "blocks": [{"id": "m12", "role": "user", "region": "history", "tokens": 90, "text": "fix it"}, …], …}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from clew.budget import FRESH, Fill, Region, region_of
from clew.budget.verdict import levels_for
from clew.compaction.plan import Condense, Drop, Operation, Shrink
from clew.errors import NotFound
from clew.inspector.message_json import first_words, said_at, speaker
from clew.inspector.session_pool import MeasuredMessage, OpenSession
from clew.log import ABOUT, CALL, COMPACTION, MESSAGE, RESUME, TOKEN_BUDGET, TOOL_COMPACTION, Ref
from clew.message import Item, Json, JsonObject, Message
from clew.providers.api import int_or_zero
from clew.providers.shapes import as_text, objects
from clew.session.history import read_compaction

MOST_BLOCKS = 4_000
"""Most messages of a view that are drawn; of a larger view the last ones."""
MOST_REMEMBERED = 50_000
"""Most blocks that are cached for a session."""
RECENT = 200
"""Events before a position that are searched for its budget event; every request records one."""
DIGEST = "digest"
"""The region of digests in the map, shown separately from the history."""
UNLISTED = "not in the log"
"""The region of what a tool sends but does not record: system prompt, tool definitions, attached files."""
_COVERS = re.compile(r'<clew-digest [^>]*covers="([^"]*)"')
_OF_MESSAGES = (Region.SYSTEM, Region.HISTORY, Region.TOOL_OUTPUTS)
_RESERVED = (Region.SUMMARY_CALL, Region.NEXT_RESULT, Region.REPLY)


def region(name: str, message: Message) -> str:
    """Return the region of a message in the map."""
    return DIGEST if not name.startswith("m") else region_of(message).value


def first_line(item: Item) -> str:
    """Return the start of a message as one line; for a digest, the messages it replaces."""
    covers = None if item.id.startswith("m") else _COVERS.search(item.message.text)
    return f"replaces {covers[1]}" if covers else first_words(item.message)


def context_map(handle: OpenSession, seq: int | None) -> JsonObject:
    """Return what the model saw after an event, and how full its window was."""
    index = handle.message_index
    at = index.upto if seq is None else max(0, min(seq, index.upto))
    entries = index.seen(at)
    blocks = _blocks(handle, entries[-MOST_BLOCKS:])
    model = handle.gauge.model
    sizes = _by_region(
        [*((block["region"], block["tokens"]) for block in blocks), *beyond_messages(handle, at)]
    )
    used = sum(sizes.values())
    return {
        "seq": at,
        "last": index.upto,
        "messages": index.number(at),
        "total_messages": index.messages,
        "time": _time(handle, at),
        "model": model.id if model.known else None,
        "price": model.input_price,
        **limits(handle, used, sizes.get(Region.SYSTEM.value, 0)),
        "tokens": used,
        "regions": [{"region": name, "tokens": tokens} for name, tokens in sizes.items()],
        "blocks": list[Json](blocks),
        "not_drawn": len(entries) - len(blocks),
    }


CLAUDE_CODE_WINDOW = 200_000
"""The window that Claude Code gives every model, unless its user chose a larger one (a request shows it)."""


def limits(handle: OpenSession, used: int = 0, system: int = 0) -> JsonObject:
    """Return the window and its thresholds: as the session's own tool showed them, else as clew sets them."""
    limit, why = _tool_limit(handle)
    if limit:
        marks: JsonObject = {"warn": 0, "compact": limit}
        return {"window": limit, "usable": limit, "limit": why, "marks": marks}
    gauge = handle.gauge
    window = gauge.window
    levels = levels_for(Fill(window, used, system), gauge.policy, FRESH.results)
    marks = {"warn": levels.warn_at, "compact": levels.compact_at}
    return {"window": window.tokens, "usable": window.usable_tokens, "limit": "", "marks": marks}


def _tool_limit(handle: OpenSession) -> tuple[int, str]:
    """Return the size up to which the session's own tool lets it grow, and how that is known; 0 if it is not.

    A model's own window says little: tools compact long before it, or use a part of it.
    """
    index = handle.message_index
    if handle.options.window:
        return 0, ""
    largest = max((tokens for _, tokens in index.reports), default=0)
    cuts = [stored.event.body for stored in index.of_kinds(TOOL_COMPACTION.name)]
    sizes = [int_or_zero(body.get("before")) for body in cuts if body.get("trigger") != "manual"]
    if any(sizes):
        return max(*sizes, largest), "at which its tool compacted"
    recorded = [int_or_zero(stored.event.body.get("window")) for stored in index.of_kinds(ABOUT.name)]
    if any(recorded):
        return recorded[-1], "of the window that its tool recorded"
    is_usual = largest <= CLAUDE_CODE_WINDOW < handle.gauge.window.tokens
    if is_usual and handle.ctx.session.startswith("claude-code:"):
        return CLAUDE_CODE_WINDOW, "of Claude Code's usual window"
    return 0, ""


IMPORTED = frozenset({ABOUT.name, CALL.name, MESSAGE.name, RESUME.name, TOOL_COMPACTION.name})
"""Kinds of events that an import appends: their own time is that of the import."""


def _time(handle: OpenSession, seq: int) -> str | None:
    """Return when an event happened; of an imported session, the time of its last message in the source."""
    stored = next(handle.store.read(handle.ctx, seq - 1, seq), None) if seq else None
    if stored is None or stored.event.kind not in IMPORTED:
        return stored.event.time if stored else None
    number = handle.message_index.number(seq)
    at = handle.message_index.seq(number) if number else seq
    return next((said_at(message) for message in handle.store.read(handle.ctx, at - 1, at)), None)


def _blocks(handle: OpenSession, refs: Sequence[Ref]) -> list[dict[str, Any]]:
    """Return the blocks of a view; known blocks are not read again."""
    drawn = handle.drawn
    if len(drawn) > MOST_REMEMBERED:
        drawn.clear()
    for item, ref, tokens in handle.shown(ref for ref in refs if ref not in drawn):
        drawn[ref] = {
            "id": item.id,
            "region": region(item.id, item.message),
            "role": speaker(item.message),
            "trust": item.message.trust.label,
            "tokens": tokens,
            "text": first_line(item),
            "smaller": item.id.startswith("m") and not handle.message_index.is_message(ref.seq),
        }
    return [drawn[ref] for ref in refs]


def _by_region(sizes: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the tokens of each region, in display order."""
    sums = dict.fromkeys((Region.SYSTEM.value, DIGEST, Region.HISTORY.value, Region.TOOL_OUTPUTS.value), 0)
    for name, tokens in sizes:
        sums[name] = sums.get(name, 0) + tokens
    return {name: tokens for name, tokens in sums.items() if tokens}


def view_tokens(handle: OpenSession, seq: int) -> int:
    """Return the tokens of the request that an event leads to: messages, and what is sent beyond them."""
    return handle.tokens_seen_at(seq) + sum(tokens for _, tokens in beyond_messages(handle, seq))


def beyond_messages(handle: OpenSession, seq: int) -> list[tuple[str, int]]:
    """Return what is sent beyond the messages: tools, instructions, notes, and what is not in the log."""
    sent: list[tuple[str, int]] = []
    for stored in handle.store.read(handle.ctx, max(0, seq - RECENT), seq, [TOKEN_BUDGET.name]):
        sent = list(regions_beyond_messages(stored.event.body))
    unlogged = handle.unlogged_tokens(seq) - sum(tokens for _, tokens in sent)
    return [*sent, (UNLISTED, unlogged)] if unlogged > 0 else sent


def regions_beyond_messages(body: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the regions of a TokenBudget event that are sent but are no messages of the log, with tokens."""
    for _, slice_ in objects(body.get("slices")):
        name, given = as_text(slice_.get("region")), int_or_zero(slice_.get("given"))
        if given > 0 and name not in (*_OF_MESSAGES, *_RESERVED):
            yield name, given


# Before and after ------------------------------------------------------------------------------------


def diff(handle: OpenSession, seq: int) -> JsonObject:
    """Return what a compaction changed, block by block; raise ``NotFound`` for another event."""
    stored = next(handle.store.read(handle.ctx, seq - 1, seq), None) if seq > 0 else None
    if stored is None or stored.event.kind != COMPACTION.name:
        raise NotFound(f"event {seq} is not a compaction", "the page Compactions lists them")
    plan = read_compaction(COMPACTION.current(stored)).plan
    before = handle.shown(handle.message_index.view(seq - 1).entries)
    after = {shown.item.id: shown for shown in handle.shown(handle.message_index.view(seq).entries)}
    rows = list(_rows(before, after, _changes(plan.operations)))
    unlogged = handle.unlogged_tokens(seq, known_then=True)
    return {
        "seq": seq,
        "price": handle.gauge.model.input_price,
        "before": _side(before, unlogged),
        "after": _side(list(after.values()), unlogged),
        "rows": list[Json](rows),
    }


def _side(shown: Sequence[MeasuredMessage], unlogged: int) -> JsonObject:
    sizes = _by_region(
        [*((region(item.id, item.message), size) for item, _, size in shown), (UNLISTED, unlogged)]
    )
    return {"tokens": sum(sizes.values()), "messages": len(shown), "regions": {**sizes}}


class _Change(NamedTuple):
    """What a compaction does to a message."""

    does: str
    """``kept``, ``smaller``, ``condensed`` or ``dropped``."""
    why: str = ""
    """The reason; of a condensed message, the id of its digest."""


def _changes(operations: Sequence[Operation]) -> dict[str, _Change]:
    """Return what a plan does to each message that it changes, by the message's id."""
    changes: dict[str, _Change] = {}
    for operation in operations:
        match operation:
            case Shrink(id=name, reason=reason):
                changes[name] = _Change("smaller", reason)
            case Condense(ids=ids, digest=digest):
                changes |= dict.fromkeys(ids, _Change("condensed", digest.id))
            case Drop(ids=ids, reason=reason):
                changes |= dict.fromkeys(ids, _Change("dropped", reason))
    return changes


def _rows(
    before: Sequence[MeasuredMessage], after: Mapping[str, MeasuredMessage], changes: Mapping[str, _Change]
) -> Iterator[JsonObject]:
    """Yield one row for each block of either side; a digest before what it replaces."""
    new_digests: set[str] = set()
    for item, _, tokens in before:
        does, why = changes.get(item.id, _Change("kept"))
        if does == "condensed" and why not in new_digests and why in after:
            new_digests.add(why)
            yield _row(after[why].item, "new", 0, after[why].tokens, "")
        left = after[item.id].tokens if does in ("kept", "smaller") and item.id in after else 0
        yield _row(item, does, tokens, left, why)


def _row(item: Item, does: str, before: int, after: int, why: str) -> JsonObject:
    return {
        "id": item.id,
        "role": speaker(item.message),
        "region": region(item.id, item.message),
        "does": does,
        "before": before,
        "after": after,
        "why": why,
        "text": first_line(item),
    }
