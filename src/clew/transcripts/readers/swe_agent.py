"""SWE-agent: a ``.traj`` document whose ``history`` is the conversation.

If the model has no native tools, it writes a command as text and the next user message is the output: such a
pair is read as a call of ``bash`` and its result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from clew.message import Json, JsonObject, Message, Origin, Part, Role, Text, ToolCall, Trust
from clew.providers.openai.codec import parse_item
from clew.transcripts.fields import name_of, string
from clew.transcripts.json_document import Element, outline, walk
from clew.transcripts.labels import relabelled
from clew.transcripts.readers.text_actions import result_of
from clew.transcripts.records import Entry, Problem, Record, Start
from clew.transcripts.source import Source

NAME = "swe-agent"
_STEP = {"action", "observation", "response"}


def sniff(source: Source) -> bool:
    """Return True if this has SWE-agent's steps or its history."""
    if source.is_directory:
        return False
    seen = outline(source)
    is_step = seen.first("trajectory").keys() >= _STEP
    is_history = {"role", "agent"} <= seen.first("history").keys()
    return is_step or is_history


def read(source: Source) -> Iterator[Record]:
    """Read a run."""
    yield Start(name_of(source, ".traj"), NAME)
    waiting: str | None = None
    asked = False
    for piece in walk(source):
        if isinstance(piece, Problem):
            yield piece
        elif isinstance(piece, Element) and piece.key == "history":
            item = piece.value if isinstance(piece.value, dict) else {}
            message = _message(item, waiting, piece.index)
            if message.role is Role.USER and message.origin is Origin.SPOKEN:
                message = _unasked(message) if asked else message
                asked = True
            calls = list(message.calls)
            waiting = calls[0].call_id if calls and not item.get("tool_calls") else None
            yield Entry(message, f"#{piece.index}", piece.index)


def _message(item: JsonObject, waiting: str | None, index: int) -> Message:
    role = item.get("role")
    if item.get("is_demo") is True or item.get("message_type") == "demonstration":
        return relabelled(parse_item(_wire(item)), Origin.INJECTED)
    action = string(item, "action")
    if role == "assistant" and action and not item.get("tool_calls"):
        thought = string(item, "thought")
        said: tuple[Part, ...] = (Text(thought, trust=Trust.ASSISTANT),) if thought else ()
        call = ToolCall(f"action-{index}", "bash", {"command": action}, trust=Trust.ASSISTANT)
        return Message(Role.ASSISTANT, (*said, call))
    message = parse_item(_wire(item))
    if role == "user" and waiting:
        return result_of(message, waiting)
    return message


def _unasked(message: Message) -> Message:
    """Label a message in the user's role that is not the task: tool output, or harness text."""
    made = relabelled(message, Origin.INJECTED)
    return replace(made, parts=tuple(replace(part, trust=Trust.UNTRUSTED) for part in made.parts))


def _wire(item: JsonObject) -> JsonObject:
    """Return the message as it was sent to the model, without SWE-agent's own fields."""
    keys = ("role", "content", "tool_calls", "tool_call_id")
    wire: JsonObject = {key: item[key] for key in keys if item.get(key) is not None}
    ids: Json = item.get("tool_call_ids")
    if isinstance(ids, list) and ids:
        return {**wire, "role": "tool", "tool_call_id": ids[0]}
    return wire
