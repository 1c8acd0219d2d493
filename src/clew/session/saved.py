"""Save the state of a ``clew.compact`` conversation as JSON, and restore it in another process.

The state holds the entries that clew wrote (the digest, shortened outputs). Of the caller's own entries it
holds only their indices and a hash, by which the list is recognised.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from clew.budget import State
from clew.compaction.plan.codec import digest_from_json, digest_to_json
from clew.errors import ClewError
from clew.log.messages import message_from_json, message_to_json
from clew.message import Item, Json, JsonObject, Message, Part, ToolResult
from clew.providers.canonical import chained
from clew.providers.sdk import plain
from clew.session.conversation import Carry, Own, Record, View
from clew.tokens import TokenCounter

VERSION = 1


def saved_state(carry: Carry) -> JsonObject:
    """Return the state of a conversation as JSON."""
    record, count, view, slots, _ = carry
    held: dict[int, list[Item]] = {}
    for item, slot in zip(view.items, view.slot_of, strict=True):
        held.setdefault(slot, []).append(item)
    return {
        "version": VERSION,
        "format": record.codec.name,
        "count": count,
        "hash": _hash(record, count),
        "slots": [_slot_to_json(one, held.get(n, [])) for n, one in enumerate(view.slots[:slots])],
        "digest": digest_to_json(view.digest) if view.digest else None,
        "recovered": view.recovered,
        "budget": view.state.to_json(),
    }


def _hash(record: Record, count: int) -> str:
    """Return a hash of the content of the first entries, independent of object types and cache marks."""
    said = (item.message for items in record.items[:count] for item in items)
    return chained(message_to_json(without_natives(message)) for message in said)


def _slot_to_json(slot: int | Own, items: list[Item]) -> Json:
    if isinstance(slot, int):
        return slot
    messages: list[Json] = [{"id": one.id, **message_to_json(without_natives(one.message))} for one in items]
    entry = plain(slot.entry) if isinstance(slot.entry, dict) else None
    body: JsonObject = {"first": slot.first, "last": slot.last, "messages": messages, "entry": entry}
    return {**body, "continues": True} if slot.continues else body


def restored(saved: JsonObject, record: Record, counter: TokenCounter) -> Carry | None:
    """Return the restored conversation; None if the list is a different one."""
    body: dict[str, Any] = saved
    try:
        count = body["count"]
        if body["version"] != VERSION or body["format"] != record.codec.name or count > len(record.entries):
            return None
        if _hash(record, count) != body["hash"]:
            return None
        view = View([], [], [], [], [], {}, counter.family)
        for item in record.system:
            view.add(item, -1, counter)
        for slot in body["slots"]:
            _restore_slot(view, slot, record, counter)
        view.digest = digest_from_json(body["digest"]) if body["digest"] else None
        view.recovered, view.state = bool(body["recovered"]), State.from_json(body["budget"])
    except (ClewError, KeyError, IndexError, TypeError, ValueError):
        return None  # written by another version; the conversation continues from the list alone
    view.find_marks(record.entries[:count])
    view.extend(record.entries[count:], record.items[count:], count, counter)
    return Carry(record, len(record.entries), view, len(view.slots), len(view.items))


def _restore_slot(view: View, slot: Any, record: Record, counter: TokenCounter) -> None:  # noqa: ANN401  # JSON
    place = len(view.slots)
    if isinstance(slot, int):
        view.extend(record.entries[slot : slot + 1], record.items[slot : slot + 1], slot, counter)
        return
    items = [Item(one["id"], message_from_json(one)) for one in slot["messages"]]
    items = [Item(one.id, _grafted(one.message, record.originals.get(one.id))) for one in items]
    for item in items:
        view.add(item, place, counter)
    entry = slot["entry"]
    if entry is None:
        (entry,) = record.codec.write([item.message for item in items])
    view.slots.append(Own(entry, slot["first"], slot["last"], slot.get("continues", False)))
    view.shown.append(entry)


def without_natives(message: Message) -> Message:
    """Return a message without the objects that it was read from."""
    return replace(message, parts=tuple(map(_bare_part, message.parts)), native=None)


def _bare_part(part: Part) -> Part:
    if isinstance(part, ToolResult):
        part = replace(part, parts=tuple(map(_bare_part, part.parts)))
    return replace(part, native=None)


def _grafted(message: Message, original: Message | None) -> Message:
    """Return a shortened message with the native objects of its original."""
    if original is None:
        return message
    parts = list(message.parts)
    if len(parts) == len(original.parts):
        pairs = zip(parts, original.parts, strict=True)
        parts = [replace(new, native=old.native) if type(new) is type(old) else new for new, old in pairs]
    return replace(message, parts=tuple(parts), native=original.native)
