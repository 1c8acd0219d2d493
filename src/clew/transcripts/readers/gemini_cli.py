"""Gemini CLI: appended lines that may replace earlier ones, or the older single JSON object.

A line is ``{"id": "u1", "type": "user", "content": [{"text": "Fix it"}]}``, ``{"$rewindTo": "u1"}`` or
``{"$set": {"messages": […]}}``. A message written again replaces its earlier form. Compression and masking
are stored as a checkpoint (``$set.messages``): the lines before it still hold the originals.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from clew.message import (
    Json,
    JsonObject,
    Message,
    Origin,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trust,
    Usage,
)
from clew.providers.gemini import parse_item
from clew.transcripts.fields import Ids, count, mapping, name_of, objects, string, time_of
from clew.transcripts.json_document import Element, Field, is_lines, outline, walk
from clew.transcripts.jsonl import ObjectLine, head_objects, object_lines
from clew.transcripts.messages import fingerprint, relabel
from clew.transcripts.records import Boundary, Cleared, Dropped, Entry, Problem, Record, Start
from clew.transcripts.source import Source

NAME = "gemini-cli"
_Key: TypeAlias = tuple[int, str]


def sniff(source: Source) -> bool:
    """Return True if the first object has a session id and a project hash, as only this tool writes."""
    if source.is_directory:
        return False
    heads = head_objects(source, 1) if is_lines(source) else [outline(source).fields]
    return bool(heads) and {"sessionId", "projectHash"} <= heads[0].keys()


def read(source: Source) -> Iterator[Record]:
    """Read a session."""
    if is_lines(source):
        return _read_lines(source)
    return _read_document(source)


def _start(header: JsonObject, source: Source) -> Start:
    folder = source.path.parent.name if source.path else "chats"
    is_subagent = header.get("kind") == "subagent" and folder != "chats"
    return Start(
        string(header, "sessionId") or name_of(source, ".jsonl", ".json"),
        NAME,
        title=string(header, "summary"),
        time=time_of(header.get("startTime")),
        parent_id=folder if is_subagent else None,
    )


def _read_document(source: Source) -> Iterator[Record]:
    """Read the older form: one object with the list ``messages``."""
    chat = _GeminiChat()
    header: JsonObject = {}
    started = False
    for piece in walk(source):
        match piece:
            case Field(key, value):
                header[key] = value
            case Element("messages", index, message):
                if not started:
                    yield _start(header, source)
                    started = True
                yield from chat.message(message if isinstance(message, dict) else {}, index)
            case Problem():
                yield piece
            case _:
                pass
    if header and not started:
        yield _start(header, source)


def _read_lines(source: Source) -> Iterator[Record]:
    """Read the newer form: a header line, then updates."""
    chat = _GeminiChat()
    started = False
    for line in _final_lines(source.keep()):
        if isinstance(line, Problem):
            yield line
            continue
        is_header = "sessionId" in line.value and "id" not in line.value
        if not started:
            yield _start(line.value if is_header else {}, source)
            started = True
        yield from chat.line(line.value, line.number, is_header)


def _final_lines(source: Source) -> Iterator[ObjectLine | Problem]:
    """Yield every line, but a rewritten message only once: at its first position, in its last form.

    Of the lines ``a, b, c, b'`` (``b'`` has the id of ``b``) it yields ``a, b', c``. Lines between the two
    are held back; the tool rewrites only the newest message, so they are few.
    """
    last: dict[_Key, int] = {}
    for key, line in _with_keys(source):
        if key and isinstance(line, ObjectLine):
            last[key] = line.number
    waiting: deque[list[ObjectLine | Problem]] = deque()  # each holds one line, or is still empty
    places: dict[_Key, list[ObjectLine | Problem]] = {}  # the empty ones, by the message that will fill them
    for key, line in _with_keys(source):
        if key and isinstance(line, ObjectLine) and last[key] != line.number:
            if key not in places:
                places[key] = []
                waiting.append(places[key])
        elif key in places:
            places.pop(key).append(line)
        else:
            waiting.append([line])
        while waiting and waiting[0]:
            yield waiting.popleft()[0]


def _with_keys(source: Source) -> Iterator[tuple[_Key | None, ObjectLine | Problem]]:
    """Yield each line with its message key: the id, and the number of checkpoints and rewinds before."""
    resets = 0
    for line in object_lines(source):
        key = None
        if isinstance(line, ObjectLine):
            message_id = string(line.value, "id")
            key = (resets, message_id) if message_id else None
            resets += "$rewindTo" in line.value or "messages" in mapping(line.value, "$set")
        yield key, line


# The conversation ------------------------------------------------------------------------------------

_SUMMARY_TAG = "<state_snapshot>"
_MACHINE_STARTS = ("<session_context>", "<hook_context>", "System: Please continue.")
_ATTACHED = "--- Content from referenced files ---"
_SCREEN_ONLY = ("info", "error", "warning")


@dataclass(frozen=True, slots=True)
class _ParsedMessage:
    """One message as read, with what its tools returned."""

    id: str
    message: Message
    answer: Message | None
    usage: Usage | None = None
    model: str | None = None
    time: str | None = None


@dataclass(frozen=True, slots=True)
class _KnownMessage:
    """What is kept of a message: its entries, and fingerprints by which a change is noticed."""

    entry_ids: tuple[str, ...]
    fingerprint: bytes
    results: dict[str, bytes]


@dataclass(slots=True)
class _GeminiChat:
    """Turns the tool's updates into records; keeps only ids and fingerprints."""

    _ids: Ids = field(default_factory=Ids)
    _live: dict[str, _KnownMessage] = field(default_factory=dict)
    """The current conversation, in order."""

    def line(self, record: JsonObject, line: int, is_header: bool) -> Iterator[Record]:
        """Read one line of the newer form."""
        checkpoint = mapping(record, "$set").get("messages")
        if "$rewindTo" in record:
            yield from self._rewind(string(record, "$rewindTo"), line)
        elif isinstance(checkpoint, list):
            yield from self._checkpoint(list(objects(checkpoint)), line)
        elif is_header:
            for message in objects(record.get("messages")):
                yield from self.message(message, line)
        elif "$set" not in record:
            yield from self.message(record, line)

    def message(self, record: JsonObject, line: int) -> Iterator[Record]:
        """Read one message; a known one is replaced."""
        kind = record.get("type")
        if kind in _SCREEN_ONLY:
            return
        if kind not in ("user", "gemini"):
            yield Problem(f"a record of the unknown type {kind!r}", line)
            return
        parsed = _read(record, f"L{line}")
        if parsed.id in self._live:
            yield Dropped(self._live[parsed.id].entry_ids, line, "replaced")
        yield from self._add(parsed, line)

    def _add(self, parsed: _ParsedMessage, line: int) -> Iterator[Record]:
        entry_ids = []
        if parsed.message.parts:
            entry_ids.append(self._ids.unique(parsed.id, parsed.id))
            yield Entry(parsed.message, entry_ids[-1], line, parsed.time, parsed.model, parsed.usage)
        if parsed.answer:
            entry_ids.append(self._ids.unique(f"{parsed.id}:results", parsed.id))
            yield Entry(parsed.answer, entry_ids[-1], line, parsed.time)
        self._live[parsed.id] = _KnownMessage(
            tuple(entry_ids), fingerprint(parsed.message), _result_marks(parsed)
        )

    def _rewind(self, to: str | None, line: int) -> Iterator[Record]:
        """Drop a message and all after it; if it is unknown, everything, as the tool itself does."""
        ids = list(self._live)
        removed_ids = ids[ids.index(to) :] if to in self._live else ids
        yield from self._drop(removed_ids, line)

    def _drop(self, message_ids: Iterable[str], line: int) -> Iterator[Record]:
        entry_ids = tuple(id_ for removed_id in message_ids for id_ in self._live.pop(removed_id).entry_ids)
        if entry_ids:
            yield Dropped(entry_ids, line)

    def _checkpoint(self, records: list[JsonObject], line: int) -> Iterator[Record]:
        """Compare the conversation with a checkpoint of it: compressed, masked, or cut short."""
        listed = [_read(record, f"L{line}") for record in records if record.get("type") in ("user", "gemini")]
        answered = {result.call_id for parsed in listed for result in _results(parsed)}
        listed = [parsed for parsed in listed if not _repeats_results(parsed.message, answered)]
        new = [parsed for parsed in listed if not self._knows(parsed)]
        kept = [parsed for parsed in listed if self._knows(parsed)]
        cleared = tuple(call_id for parsed in kept for call_id in self._changed_results(parsed))
        kept_ids = {parsed.id for parsed in kept}
        removed_ids = [known for known in self._live if known not in kept_ids]
        only_the_end_is_gone = not new and removed_ids == list(self._live)[len(kept) :]
        if only_the_end_is_gone:  # the user went back
            yield from self._drop(removed_ids, line)
        elif new or removed_ids:
            self._live = {parsed.id: self._live[parsed.id] for parsed in kept}
            keeps = tuple(entry_id for known in self._live.values() for entry_id in known.entry_ids)
            yield Boundary(self._ids.unique(f"L{line}", "checkpoint"), line, keeps=keeps)
            for parsed in new:
                yield from self._add(parsed, line)
        if cleared:
            yield Cleared(cleared, line)

    def _knows(self, parsed: _ParsedMessage) -> bool:
        known_message = self._live.get(parsed.id)
        return known_message is not None and known_message.fingerprint == fingerprint(parsed.message)

    def _changed_results(self, parsed: _ParsedMessage) -> Iterator[str]:
        known = self._live[parsed.id].results
        marks = _result_marks(parsed)
        yield from (call_id for call_id in known if marks.get(call_id, known[call_id]) != known[call_id])


def _results(parsed: _ParsedMessage) -> Iterator[ToolResult]:
    return parsed.answer.results if parsed.answer else iter(())


def _repeats_results(message: Message, answered: set[str]) -> bool:
    """Return True if a message only repeats results that are next to their calls."""
    parts = message.parts
    return bool(parts) and all(isinstance(part, ToolResult) and part.call_id in answered for part in parts)


def _result_marks(parsed: _ParsedMessage) -> dict[str, bytes]:
    return {result.call_id: fingerprint(result) for result in _results(parsed)}


# One message -----------------------------------------------------------------------------------------


def _read(record: JsonObject, fallback: str) -> _ParsedMessage:
    message_id, time = string(record, "id") or fallback, string(record, "timestamp")
    if record.get("type") == "user":
        return _ParsedMessage(message_id, _user(record.get("content")), None, time=time)
    message, answer = _model(record)
    tokens = mapping(record, "tokens")
    usage = Usage(
        count(tokens, "input") + count(tokens, "tool"),
        count(tokens, "output") + count(tokens, "thoughts"),
        count(tokens, "cached"),
    )
    return _ParsedMessage(
        message_id, message, answer, usage if tokens else None, string(record, "model"), time
    )


def _user(content: Json) -> Message:
    """Return a user's message; summaries, harness text and attached files are labelled."""
    message = _parse_parts("user", content)
    text = message.text
    if _SUMMARY_TAG in text:
        return relabel(message, Origin.SUMMARY)
    if text.startswith(_MACHINE_STARTS):
        return relabel(message, Origin.INJECTED)
    texts = [part.text.strip() if isinstance(part, Text) else "" for part in message.parts]
    if _ATTACHED not in texts:
        return message
    # What follows are files that the user referred to, not the user's words.
    start = texts.index(_ATTACHED)
    attached = (replace(part, trust=Trust.SEMI_TRUSTED) for part in message.parts[start:])
    return replace(message, parts=(*message.parts[:start], *attached))


def _model(record: JsonObject) -> tuple[Message, Message | None]:
    """Return the message of a reply, and the message with what its tools returned; None if nothing."""
    listed = enumerate(objects(record.get("toolCalls")))
    calls = [(call, string(call, "id") or f"{string(record, 'id')}:{i}") for i, call in listed]
    call_ids = {call_id for _, call_id in calls}
    thoughts = [_thinking(thought) for thought in objects(record.get("thoughts"))]
    parts = [
        part
        for part in _parse_parts("model", record.get("content")).parts
        if not (isinstance(part, ToolCall) and part.call_id in call_ids) and part != _NOTHING
    ]
    tool_calls = [
        ToolCall(call_id, string(call, "name") or "unknown", mapping(call, "args"), trust=Trust.ASSISTANT)
        for call, call_id in calls
    ]
    results = [part for call, call_id in calls for part in _answer(call, call_id)]
    message = Message(Role.ASSISTANT, (*thoughts, *parts, *tool_calls))
    return message, Message(Role.TOOL, tuple(results)) if results else None


_NOTHING = Text("", trust=Trust.ASSISTANT)


def _thinking(thought: JsonObject) -> Part:
    words = filter(None, (string(thought, "subject"), string(thought, "description")))
    return Thinking(": ".join(words), trust=Trust.ASSISTANT)


def _answer(call: JsonObject, call_id: str) -> Iterator[Part]:
    """Return what a call returned: its response, and media that came with it."""
    failed = call.get("status") == "error"
    for part in _parse_parts("user", call.get("result")).parts:
        if isinstance(part, ToolResult):
            yield replace(part, call_id=call_id, is_error=failed or part.is_error)
        else:
            yield replace(part, trust=Trust.UNTRUSTED)


def _parse_parts(role: str, content: Json) -> Message:
    """Parse a list of parts, one part, or text."""
    items = content if isinstance(content, list) else [content] if content else []
    parts: list[Json] = [{"text": item} if isinstance(item, str) else item for item in items]
    return parse_item({"role": role, "parts": parts})
