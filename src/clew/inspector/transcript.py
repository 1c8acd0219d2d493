"""The transcript as JSON, one page at a time; the cost of a page does not depend on the session's length."""

from __future__ import annotations

import re
import time
from typing import Any

from clew.inspector.history import compactions_of
from clew.inspector.message_json import LEADING_TAGS, excerpt, message_view, said_at, speaker
from clew.inspector.session_pool import OpenSession
from clew.log import COMPACTION, MESSAGE, PIN, REFUSAL, SWITCH, TOOL_COMPACTION, UNDO, Ref, VisibleMessage
from clew.log.protocol import StoredEvent
from clew.message import Json, JsonObject, Message, words
from clew.transcripts.messages import typed_text

MOST_MESSAGES = 100
"""Most messages of one answer; the page asks for forty at a time."""
SEARCH_SECONDS = 0.4
"""How long a search may take before it returns how far it got. Chosen by hand."""
LEAST_SEARCHED = 200
"""Least messages that a search covers, even on a slow computer."""
MOST_FOUND = 50
"""Hits of a search after which it stops; chosen by hand."""
MOST_READ = 20_000
"""Most messages of a session whose turns are listed."""
OUTLINED = (MESSAGE.name, COMPACTION.name, TOOL_COMPACTION.name)
BESIDE = 60
"""Characters shown on both sides of a hit; chosen by hand."""


def page(handle: OpenSession, first: int, count: int, *, whole: bool = False) -> JsonObject:
    """Return messages by their numbers, with the events between them."""
    index = handle.message_index
    first = max(1, min(first, index.messages))
    last = min(first + min(count, MOST_MESSAGES) - 1, index.messages)
    rows: list[Json] = []
    begin = index.seq(first - 1) if first > 1 else 0
    for stored in handle.store.read(handle.ctx, begin, index.seq(last + 1) - 1):
        if stored.event.kind == MESSAGE.name:
            rows.append(_row(handle, stored, whole=whole))
        elif index.is_message(stored.seq):
            index.read_all()
            return page(handle, first, count, whole=whole)
        else:
            rows += _marker(stored)
    return {"first": first, "messages": index.messages, "seq": index.upto, "rows": rows}


def message(handle: OpenSession, number: int) -> JsonObject | None:
    """Return one message, not cut; None if it does not exist."""
    stored = stored_message(handle, number)
    return _row(handle, stored, whole=True) if stored else None


def stored_message(handle: OpenSession, number: int) -> StoredEvent | None:
    """Return the event of the message with a number; None if it does not exist."""
    if not 0 < number <= handle.message_index.messages:
        return None
    seq = handle.message_index.seq(number)
    return next(handle.store.read(handle.ctx, seq - 1, seq))


def message_of(stored: StoredEvent) -> Message:
    """Return the message of an event."""
    (message,) = MESSAGE.messages(MESSAGE.current(stored).event.body)
    return message


def _row(handle: OpenSession, stored: StoredEvent, *, whole: bool = False) -> JsonObject:
    message = message_of(stored)
    visible = VisibleMessage(Ref(stored.seq), stored.event.id, None, message)
    return {
        "number": handle.message_index.number(stored.seq),
        "seq": stored.seq,
        "time": said_at(stored),
        "tokens": handle.tokens(visible),
        **message_view(message, whole=whole),
    }


# Events between messages -----------------------------------------------------------------------------


def _marker(stored: StoredEvent) -> list[Json]:
    """Return the line for an event between messages; empty for events that are not shown."""
    body: dict[str, Any] = stored.event.body
    match stored.event.kind:
        case COMPACTION.name:
            plan = body.get("plan") or {}
            text = f"{plan.get('tokens_before', 0):,} → {plan.get('tokens_after', 0):,} tokens"
            names = [str(name) for name in body.get("names", ()) if str(name).startswith("d")]
            value: Json = {"names": list[Json](names), "why": str(plan.get("reason", ""))}
        case TOOL_COMPACTION.name:
            sizes = [f"{size:,}" for size in (body.get("before"), body.get("after")) if isinstance(size, int)]
            text = f"by its own tool{', ' if sizes else ''}{' → '.join(sizes)}{' tokens' if sizes else ''}"
            value = {"names": [str(body.get("name"))], "why": str(body.get("trigger") or "")}
        case UNDO.name:
            text, value = "a compaction was undone", None
        case SWITCH.name:
            text, value = f"compaction was switched {'off' if body.get('off') else 'on'}", None
        case PIN.name:
            what = excerpt(str(body.get("quote", body.get("pin"))))
            text, value = f"by hand: {body.get('does')} {what}", None
        case REFUSAL.name:
            text, value = f"a compaction was refused: {excerpt(str(body.get('reason', '')))}", None
        case _:
            return []
    place: JsonObject = {"event": stored.event.kind, "seq": stored.seq, "time": stored.event.time}
    return [{**place, "text": text, "about": value}]


# Visibility ------------------------------------------------------------------------------------------


def visibility(handle: OpenSession, first: int, last: int) -> JsonObject:
    """Return for each message whether the model sees it whole, shortened, or not at all."""
    index = handle.message_index
    numbers = range(max(1, first), min(last, index.messages, first + MOST_MESSAGES) + 1)
    if not index.is_shaped and index.tool_compaction_before(index.upto) is None:
        return {f"m{number}": "shown" for number in numbers}
    shown_refs = set(index.seen(index.upto))
    smaller = set()
    for stored in index.of_kinds(COMPACTION.name):
        names = stored.event.body.get("names")
        for nth, name in enumerate(names if isinstance(names, list) else ()):
            if Ref(stored.seq, nth) in shown_refs:
                smaller.add(str(name))
    data: JsonObject = {}
    for number in numbers:
        as_said = Ref(index.seq(number)) in shown_refs
        data[f"m{number}"] = "shown" if as_said else "smaller" if f"m{number}" in smaller else "left"
    return data


# Search ----------------------------------------------------------------------------------------------


def search(handle: OpenSession, wanted: str, after: int, *, part_words: bool = False) -> JsonObject:
    """Search messages after a number for a limited time; return the matches and how far it got.

    Whole words are found, in any case; with ``part_words`` also parts of words.
    """
    spaced = r"\s+".join(map(re.escape, wanted.split()))
    needle = re.compile(spaced if part_words else rf"(?<!\w){spaced}(?!\w)", re.IGNORECASE)
    index = handle.message_index
    values: list[Json] = []
    number = after = max(0, after)
    deadline = time.monotonic() + SEARCH_SECONDS
    begin = index.seq(number) if number else 0
    for stored in handle.store.read(handle.ctx, begin, index.upto, [MESSAGE.name]) if wanted.strip() else ():
        number = index.number(stored.seq)
        values += _hits(number, message_of(stored), needle)
        is_late = number - after >= LEAST_SEARCHED and time.monotonic() > deadline
        if is_late or len(values) >= MOST_FOUND:
            break
    return {"found": values, "upto": number, "messages": index.messages}


def _hits(number: int, message: Message, needle: re.Pattern[str]) -> list[Json]:
    """Return the first match in a message, with the text around it, and the number of matches."""
    texts = [words(part) for part in message.parts]
    for text in texts:
        if match := needle.search(text):
            around = text[max(0, match.start() - BESIDE) : match.end() + BESIDE]
            count = sum(1 for one in texts for _ in needle.finditer(one))
            role = speaker(message)
            return [{"number": number, "role": role, "around": " ".join(around.split()), "count": count}]
    return []


# Outline ---------------------------------------------------------------------------------------------


def outline(handle: OpenSession) -> JsonObject:
    """Return the user's turns and the compactions, in order; None if the session is too long to read."""
    if handle.message_index.messages > MOST_READ:
        return {"rows": None}
    known = handle.outline
    done = known[-1]["seq"] if known else 0
    names = {compaction.compaction.seq: compaction.name for compaction in compactions_of(handle)}
    for stored in handle.store.read(handle.ctx, done, handle.message_index.upto, OUTLINED):
        number, body = handle.message_index.number(stored.seq), stored.event.body
        if stored.event.kind == MESSAGE.name:
            message = message_of(stored)
            if typed := typed_text(message):
                text = excerpt(LEADING_TAGS.sub("", typed), 120)
                known.append({"seq": stored.seq, "number": number, "text": text})
        else:
            name = names.get(stored.seq) or str(body.get("name") or "")
            known.append({"seq": stored.seq, "number": number, "cut": name})
    return {"rows": list[Json](known)}
