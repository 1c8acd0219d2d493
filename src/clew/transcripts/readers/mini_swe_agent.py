"""mini-swe-agent: a ``.traj.json`` document. Version 1 writes commands as text, version 2 calls tools.

``{"info": {"mini_version": …}, "messages": [{"role": "assistant", "content": "…"}, …]}``: a reply with a
command in a block of ``bash`` is read as a call, and the next message in the user's role as its result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clew.message import JsonObject, Message, Origin, Role, Usage
from clew.providers.openai_chat.codec import parse_item as parse_chat
from clew.providers.openai_responses.codec import parse_item as parse_response_item
from clew.transcripts.fields import count, mapping, name_of, objects, string, time_of
from clew.transcripts.json_document import Element, Field, outline, walk
from clew.transcripts.messages import relabel
from clew.transcripts.readers.swe_agent import result_of, with_action
from clew.transcripts.records import Entry, Problem, Record, Start
from clew.transcripts.source import Source

NAME = "mini-swe-agent"


def sniff(source: Source) -> bool:
    """Return True if the document says that mini-swe-agent wrote it."""
    if source.is_directory:
        return False
    seen = outline(source)
    text = string(seen.fields, "trajectory_format") or ""
    return "mini_version" in mapping(seen.fields, "info") or text.startswith(NAME)


def read(source: Source) -> Iterator[Record]:
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
                        name_of(source, ".traj.json", ".json"), NAME, directory=directory, model=model
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
