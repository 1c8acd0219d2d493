"""SWE-agent: a ``.traj`` document; and mini-swe-agent: a ``.traj.json`` document (``MINI``).

SWE-agent's is ``{"history": [{"role": "assistant", "content": "…"}, …]}``, that of mini-swe-agent
``{"info": {"mini_version": …}, "messages": [{"role": "assistant", "content": "…"}, …]}``. If the model has no
native tools, it writes a command as text, in a block of ``bash``, and the next message in the user's role is
the output: such a pair is read as a call of ``bash`` and its result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from clew.message import (
    Json,
    JsonObject,
    Message,
    Origin,
    Part,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Trust,
    Usage,
)
from clew.providers.openai_chat import parse_item
from clew.providers.openai_chat import parse_item as parse_chat
from clew.providers.openai_responses import parse_item as parse_response_item
from clew.transcripts.fields import count, mapping, name_of, objects, string, time_of
from clew.transcripts.formats import ReaderPair
from clew.transcripts.json_document import Element, Field, outline, walk
from clew.transcripts.messages import relabel
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
    waiting: str | None = None  # the call that the next message answers
    asked = False  # whether the task has come; later messages in the user's role are the harness's
    for piece in walk(source):
        if isinstance(piece, Problem):
            yield piece
        elif isinstance(piece, Element) and piece.key == "history":
            item = piece.value if isinstance(piece.value, dict) else {}
            message = _message(item, waiting, piece.index)
            if message.role is Role.USER and message.origin is Origin.SPOKEN:
                message = _label_harness(message) if asked else message
                asked = True
            calls = list(message.calls)
            waiting = calls[0].call_id if calls and not item.get("tool_calls") else None
            yield Entry(message, f"#{piece.index}", piece.index)


def _message(item: JsonObject, waiting: str | None, index: int) -> Message:
    role = item.get("role")
    if item.get("is_demo") is True or item.get("message_type") == "demonstration":
        return relabel(parse_item(_wire(item)), Origin.INJECTED)
    action = string(item, "action")
    if role == "assistant" and action and not item.get("tool_calls"):
        thought = string(item, "thought")
        parts: tuple[Part, ...] = (Text(thought, trust=Trust.ASSISTANT),) if thought else ()
        call = ToolCall(f"action-{index}", "bash", {"command": action}, trust=Trust.ASSISTANT)
        return Message(Role.ASSISTANT, (*parts, call))
    message = parse_item(_wire(item))
    if role == "user" and waiting:
        return result_of(message, waiting)
    return message


def _label_harness(message: Message) -> Message:
    """Label a message in the user's role that is not the task: tool output, or harness text."""
    created = relabel(message, Origin.INJECTED)
    return replace(created, parts=tuple(replace(part, trust=Trust.UNTRUSTED) for part in created.parts))


def _wire(item: JsonObject) -> JsonObject:
    """Return the message as it was sent to the model, without SWE-agent's own fields."""
    keys = ("role", "content", "tool_calls", "tool_call_id")
    wire: JsonObject = {key: item[key] for key in keys if item.get(key) is not None}
    ids: Json = item.get("tool_call_ids")
    if isinstance(ids, list) and ids:
        return {**wire, "role": "tool", "tool_call_id": ids[0]}
    return wire


# Commands written as text --------------------------------------------------------------------------


_OPENING = re.compile(r"```(?:bash|mswea_bash_command)[^\S\n]*\n\s*")
_CLOSING = "\n```"


def with_action(message: Message, call_id: str) -> Message:
    """Read the command of a reply as a call of ``bash``.

    A reply with no command or with several has no call: the agent refused it. The call comes last, because
    Anthropic accepts no text after one.
    """
    text = message.text
    blocks = list(islice(_blocks(text), 2))
    if len(blocks) != 1:
        return message
    (block,) = blocks
    before, after = text[: block.start].strip(), text[block.end :].strip()
    texts = tuple(Text(words, trust=Trust.ASSISTANT) for words in (before, after) if words)
    call = ToolCall(call_id, "bash", {"command": block.command}, trust=Trust.ASSISTANT)
    thinking = (part for part in message.parts if not isinstance(part, Text))
    return Message(Role.ASSISTANT, (*thinking, *texts, call))


class _CommandBlock(NamedTuple):
    start: int
    command: str
    end: int


def _blocks(text: str) -> Iterator[_CommandBlock]:
    """Yield the command blocks of a text: a command between a line "```bash" and a line "```"."""
    at = 0
    while opening := _OPENING.search(text, at):
        end = text.find(_CLOSING, max(at, opening.end() - 1))
        if end < 0:
            return
        at = end + len(_CLOSING)
        yield _CommandBlock(opening.start(), text[opening.end() : end].strip(), at)


def result_of(message: Message, call_id: str) -> Message:
    """Read an observation in the user's role as the result of a call."""
    parts: tuple[Part, ...] = tuple(replace(part, trust=Trust.UNTRUSTED) for part in message.parts)
    return Message(Role.TOOL, (ToolResult(call_id, parts, name="bash", trust=Trust.UNTRUSTED),))


# mini-swe-agent ------------------------------------------------------------------------------------------

_MINI = "mini-swe-agent"


def _sniff_mini(source: Source) -> bool:
    """Return True if the document says that mini-swe-agent wrote it."""
    if source.is_directory:
        return False
    seen = outline(source)
    text = string(seen.fields, "trajectory_format") or ""
    return "mini_version" in mapping(seen.fields, "info") or text.startswith(_MINI)


def _read_mini(source: Source) -> Iterator[Record]:
    """Read a run."""
    info: JsonObject = {}
    run = _Run()
    started = False
    for piece in walk(source):
        match piece:
            case Field("info", dict() as result):
                info = result
            case Element("messages", index, value):
                if not started:
                    model = string(mapping(info, "config", "model"), "model_name")
                    directory = string(mapping(info, "config", "environment"), "cwd")
                    yield Start(
                        name_of(source, ".traj.json", ".json"), _MINI, directory=directory, model=model
                    )
                    started = True
                yield from run.records(value if isinstance(value, dict) else {}, index)
            case Problem():
                yield piece
            case _:
                pass


@dataclass(slots=True)
class _Run:
    """Reads messages in order."""

    waiting: str | None = None
    """The call that the next message in the user's role answers."""
    tasks: int = 0

    def records(self, item: JsonObject, index: int) -> Iterator[Record]:
        """Read one message; a reply of OpenAI's Responses API holds several items."""
        extra, response = mapping(item, "extra"), mapping(item, "extra", "response")
        time = time_of(extra.get("timestamp") or response.get("created"))
        usage = _usage(mapping(response, "usage"))
        if item.get("object") == "response":
            for i, part in enumerate(objects(item.get("output"))):
                yield Entry(parse_response_item(part), f"#{index}.{i}", index, time, string(item, "model"))
            return
        message = self._message({key: value for key, value in item.items() if key != "extra"}, index)
        yield Entry(message, f"#{index}", index, time, string(response, "model"), usage)

    def _message(self, item: JsonObject, index: int) -> Message:
        """Return one message; a command in a reply becomes a call, the message after it the result."""
        waiting, self.waiting = self.waiting, None
        if "role" not in item:
            return parse_response_item(item)
        message = parse_chat(item)
        if message.role is Role.ASSISTANT and not any(message.calls):
            message = with_action(message, f"action-{index}")
            self.waiting = next((call.call_id for call in message.calls), None)
        elif message.role is Role.USER and waiting:
            return result_of(message, waiting)
        elif message.role is Role.USER:
            # The first is the task. The others are from the harness: a refused reply, the end.
            self.tasks += 1
            return message if self.tasks == 1 else relabel(message, Origin.INJECTED)
        return message


def _usage(usage: JsonObject) -> Usage | None:
    if not usage:
        return None
    cached = count(mapping(usage, "prompt_tokens_details"), "cached_tokens")
    return Usage(count(usage, "prompt_tokens"), count(usage, "completion_tokens"), cached)


MINI = ReaderPair(_sniff_mini, _read_mini)
