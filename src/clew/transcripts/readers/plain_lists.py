"""Message lists and request bodies of the providers' APIs: one JSON document, or JSON lines.

A session is a list of messages, a body with such a list, or a file with one message per line.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from clew.compaction.plan.render import TAG, mark_if_digest
from clew.errors import UnknownWire
from clew.message import Json, JsonObject, Message, Origin, Role, Trust
from clew.providers import WIRES, Body, Wire, detect
from clew.transcripts.fields import name_of, string
from clew.transcripts.formats import ReaderPair
from clew.transcripts.json_document import Element, Field, is_lines, outline, read_fields, walk
from clew.transcripts.jsonl import head_values, json_lines
from clew.transcripts.messages import label_machine_text, label_speakers
from clew.transcripts.records import Entry, Problem, Record, Start
from clew.transcripts.source import Source

_SURE, _POSSIBLE = 0.9, 0.5
_SPOKEN = {"content", "parts", "tool_calls", "function_call"}


# Which format it is ----------------------------------------------------------------------------------


def _sniff(source: Source, wire: Wire) -> float:
    """Return how sure it is that these are messages of this wire format; the tools' own formats go first."""
    if source.is_directory:
        return 0
    sample = _sample(source)
    if not _is_session(sample):
        return 0
    try:
        guess = detect(sample)
    except UnknownWire:
        return 0
    if guess.wire != wire.name:
        return 0
    return _POSSIBLE if guess.note else _SURE


def _sample(source: Source) -> Json:
    """Return a message list or a body, as far as the start of the source shows it."""
    if is_lines(source):
        values = head_values(source)
        return values if values and _is_message(values[0]) else next(iter(values), None)
    seen = outline(source)
    values = seen.lists.get("", [])
    if values:
        return values if _is_message(values[0]) else values[0]
    return {**seen.fields, **seen.lists}


def _is_session(value: Json) -> bool:
    """Return True for a list of messages or a body that holds one."""
    if isinstance(value, list):
        return bool(value) and _is_message(value[0])
    return isinstance(value, dict) and any(_holds(value, wire) for wire in WIRES.values())


def _holds(body: JsonObject, wire: Wire) -> bool:
    listed = body.get(wire.list_key)
    if isinstance(listed, str):
        return wire.takes_plain_text and "model" in body
    return isinstance(listed, list) and _is_session(listed) and "role" not in body


def _is_message(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    kind = string(value, "type") or ""
    is_item = kind == "reasoning" or kind.endswith(("_call", "_call_output"))
    return is_item or ("role" in value and not _SPOKEN.isdisjoint(value))


# Reading ---------------------------------------------------------------------------------------------


def _read(source: Source, wire: Wire) -> Iterator[Record]:
    """Read every session."""
    name = name_of(source, ".jsonl", ".json")
    if is_lines(source):
        return _read_lines(source, wire, name)
    seen = outline(source)
    if wire.list_key in seen.keys:
        return _read_body(source.keep(), wire, name)
    return _read_list(source, wire, name)


def _read_lines(source: Source, wire: Wire, name: str) -> Iterator[Record]:
    started = False
    for number, _, value, problem in json_lines(source):
        if problem:
            yield Problem(problem, number)
        if _is_session(value):
            yield from _session(value, wire, f"{name}#L{number}")
        elif value is not None:
            if not started:
                yield Start(name, wire.name)
                started = True
            yield Entry(_labelled(wire.parse_item(value)), f"L{number}", number)


def _read_list(source: Source, wire: Wire, name: str) -> Iterator[Record]:
    """Read a list of messages as one session, or a list of lists and bodies as several."""
    started = False
    for piece in walk(source):
        if isinstance(piece, Problem):
            yield piece
        elif isinstance(piece, Element) and piece.key == "":
            if _is_session(piece.value):
                yield from _session(piece.value, wire, f"{name}#{piece.index}")
                continue
            if not started:
                yield Start(name, wire.name)
                started = True
            yield Entry(_labelled(wire.parse_item(piece.value)), f"#{piece.index}", piece.index)


def _read_body(source: Source, wire: Wire, name: str) -> Iterator[Record]:
    """Read a body message by message, since it may be torn. The system prompt may follow the messages."""
    system_keys = [key for key in (*wire.system_aliases, wire.system_key) if key]
    fields, _ = read_fields(source, *system_keys, "model")
    yield Start(name, wire.name, model=string(fields, "model"))
    for key in system_keys:
        if key in fields:
            yield Entry(wire.parse_system(fields[key]), key)
    for piece in walk(source):
        if isinstance(piece, Problem):
            yield piece
        elif isinstance(piece, Element) and piece.key == wire.list_key:
            yield Entry(_labelled(wire.parse_item(piece.value)), f"#{piece.index}", piece.index)
        elif isinstance(piece, Field) and piece.key == wire.list_key and isinstance(piece.value, str):
            yield Entry(_labelled(wire.parse_item(piece.value)), "#0", 0)


def _session(value: Json, wire: Wire, name: str) -> Iterator[Record]:
    """Read a session that is fully decoded."""
    body = Body.parse(value, wire)
    yield Start(name, wire.name, model=string(body.rest, "model"))
    for message in body.system:
        yield Entry(message, wire.system_key or "system")
    for i, message in enumerate(body.messages):
        yield Entry(_labelled(message), f"#{i}", i)


def _labelled(message: Message) -> Message:
    """Label what a harness or one of our compactions put into a message as machine text, not the user's."""
    message = label_speakers(message)
    if message.role is not Role.USER or message.origin is not Origin.SPOKEN:
        return message
    labelled = mark_if_digest(message)
    return (
        labelled if labelled is not message else label_machine_text(message, (f"<{TAG} ",), Trust.UNTRUSTED)
    )


ANTHROPIC, OPENAI, RESPONSES, GEMINI = (
    ReaderPair(partial(_sniff, wire=WIRES[name]), partial(_read, wire=WIRES[name]))
    for name in ("anthropic", "openai", "responses", "gemini")
)
