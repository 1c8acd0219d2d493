"""Cline's SDK: ``<id>.messages.json``, and next to it the compaction that its model sees instead.

The first file is ``{"version": 1, "sessionId": "…", "messages": [{"role", "content", "id", "ts", …}, …]}``
with Anthropic's content blocks; ``<id>.compaction.json`` has the messages of the model's view and how many of
the first file it replaces (``source_message_count``).

Roo Code and Cline's extension (``ROO_CLINE``) keep a list of such messages with a few fields of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from clew.message import (
    JsonObject,
    Media,
    Message,
    Native,
    Origin,
    Part,
    Role,
    Text,
    Thinking,
    ToolResult,
    Trust,
    Unknown,
    Usage,
)
from clew.providers.anthropic import parse_item
from clew.transcripts.fields import Ids, NameLimit, count, mapping, name_of, objects, string, time_of
from clew.transcripts.formats import ReaderPair
from clew.transcripts.json_document import Element, Field, load, outline, walk
from clew.transcripts.messages import fingerprint, label_machine_text, media_kind, relabel
from clew.transcripts.records import Boundary, Entry, Problem, Record, Start
from clew.transcripts.source import Source, open_source

NAME = "cline"
_MESSAGES, _COMPACTION = ".messages.json", ".compaction.json"
_SUMMARIES = ("compaction", "compaction_summary")


def sniff(source: Source) -> bool:
    """Return True for a session's messages, or the folder around them."""
    if source.is_directory:
        return _messages_in(source.path) is not None
    seen = outline(source)
    first = seen.first("messages")
    return {"version", "messages"} <= set(seen.keys) and {"role", "content", "id"} <= first.keys()


def read(source: Source) -> Iterator[Record]:
    """Read a session, and its compaction if there is one."""
    path = _messages_in(source.path) if source.is_directory else None
    inner = open_source(path) if path else source
    session_id = name_of(inner, _MESSAGES, ".json")
    compaction, problems = _find_compaction(inner)
    yield from problems
    session = _ClineSession(compaction)
    started = False
    for piece in walk(inner):
        match piece:
            case Field("sessionId", str() as value):
                session_id = value
            case Element("messages", index, dict() as item):
                if not started:
                    yield Start(session_id, NAME, time=time_of(item.get("ts")))
                    started = True
                yield from session.records(item, index)
            case Problem():
                yield piece
            case _:
                pass
    if not started:
        yield Start(session_id, NAME)
    yield from session.rest()


def _messages_in(folder: Path | None) -> Path | None:
    return next(iter(sorted(folder.glob(f"*{_MESSAGES}"))), None) if folder else None


def _find_compaction(source: Source) -> tuple[JsonObject, list[Problem]]:
    if source.path is None or not source.path.name.endswith(_MESSAGES):
        return {}, []
    path = source.path.with_name(source.path.name.removesuffix(_MESSAGES) + _COMPACTION)
    if not path.is_file():
        return {}, []
    value, problems = load(path)
    return (value if isinstance(value, dict) else {}), problems


@dataclass(slots=True)
class _ClineSession:
    """Reads messages; after the last one that the compaction covers, yields the compaction."""

    compaction: JsonObject
    ids: Ids = field(default_factory=Ids)
    known: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """For each message id, its entry and fingerprint."""
    read: int = 0

    def records(self, item: JsonObject, index: int) -> Iterator[Record]:
        """Read one message, and before it the compaction if it is due."""
        if self.read == count(self.compaction, "source_message_count"):
            yield from self.rest()
        self.read += 1
        if mapping(item, "metadata").get("kind") in _SUMMARIES:
            before = count(mapping(item, "metadata"), "tokensBefore") or None
            yield Boundary(self.ids.unique(None, f"#{index}:boundary"), index, tokens_before=before)
        entry = self._entry(item, index)
        yield entry
        yield from self.ids.repeated(string(item, "id"), index)
        self.known[string(item, "id") or entry.id] = entry.id, fingerprint(entry.message)

    def rest(self) -> Iterator[Record]:
        """Yield, once, what the model sees instead of everything read so far."""
        compaction, self.compaction = self.compaction, {}
        messages = list(objects(compaction.get("messages")))
        if not messages:
            return
        kept = [self._kept_entry(item) for item in messages]
        time = string(compaction, "updated_at")
        yield Boundary(self.ids.unique(None, "compaction"), self.read, time, keeps=tuple(filter(None, kept)))
        yield from (self._entry(item, None) for item, known in zip(messages, kept, strict=True) if not known)

    def _kept_entry(self, item: JsonObject) -> str | None:
        """Return the entry that a compaction left unchanged."""
        entry_id, known = self.known.get(string(item, "id") or "", (None, b""))
        return entry_id if known == fingerprint(_message(item)) else None

    def _entry(self, item: JsonObject, index: int | None) -> Entry:
        metrics = mapping(item, "metrics")
        return Entry(
            _message(item),
            self.ids.unique(string(item, "id"), f"#{index}" if index is not None else "compacted"),
            index,
            time_of(item.get("ts")),
            string(mapping(item, "modelInfo"), "id"),
            _usage(metrics) if metrics else None,
        )


def _message(item: JsonObject) -> Message:
    message = parse_item({key: item[key] for key in ("role", "content") if key in item})
    message = replace(message, parts=tuple(_own_block(part) for part in message.parts))
    metadata = mapping(item, "metadata")
    if metadata.get("kind") in _SUMMARIES:
        return relabel(message, Origin.SUMMARY)
    if message.role is Role.USER and metadata.get("displayRole") == "system":
        return relabel(message, Origin.INJECTED)
    return message


def _own_block(part: Part) -> Part:
    """Read the two blocks that Cline writes in its own way."""
    match part:
        case ToolResult():
            return replace(part, parts=tuple(_own_block(inner) for inner in part.parts))
        case Unknown(kind="image", native=Native(value=dict() as block)) if data := string(block, "data"):
            media_type = string(block, "mediaType")
            return Media(media_kind(media_type), media_type, data, trust=part.trust)
        case Unknown(kind="file", native=Native(value=dict() as block)) if content := string(
            block, "content"
        ):
            return Text(f"{string(block, 'path')}:\n{content}", trust=min(part.trust, Trust.SEMI_TRUSTED))
        case _:
            return part


def _usage(metrics: JsonObject) -> Usage:
    read, written = count(metrics, "cacheReadTokens"), count(metrics, "cacheWriteTokens")
    return Usage(
        count(metrics, "inputTokens") + read + written, count(metrics, "outputTokens"), read, written
    )


# Roo Code and Cline's extension ------------------------------------------------------------------------
#
# Condensing and truncating delete nothing: messages that the model no longer sees name the summary or marker
# that replaced them.

_ROO = "roo-cline"
_FILES = ("api_conversation_history.json", "claude_messages.json")
_OWN_FIELDS = {"ts", "condenseId", "condenseParent", "truncationId", "truncationParent", "isSummary"}
# Before tools were native, a result was sent as text in the user's role.
_TEXT_RESULT = re.compile(r"\[[\w-]+( for [^\n]*)?\] Result:|\[ERROR\]")


def _sniff_task(source: Source) -> bool:
    """Return True for such a history, or the task folder around one."""
    if source.is_directory:
        return _history(source.path) is not None
    first = outline(source).first()
    is_message = "role" in first and "content" in first
    return is_message and (name_of(source) in _FILES or bool(_OWN_FIELDS & first.keys()))


def _read_task(source: Source) -> Iterator[Record]:
    """Read a task's conversation."""
    history = _history(source.path) if source.is_directory else None
    inner = open_source(history) if history else source
    task = inner.path.parent.name if inner.path and inner.path.name in _FILES else name_of(inner, ".json")
    yield Start(task, _ROO)
    session = _Task()
    for piece in walk(inner):
        if isinstance(piece, Problem):
            yield piece
        elif isinstance(piece, Element) and isinstance(piece.value, dict):
            yield from session.records(piece.value, piece.index)
        elif isinstance(piece, Element):
            yield Problem("a message that is not an object", piece.index)


def _history(folder: Path | None) -> Path | None:
    paths = (folder / name for name in _FILES) if folder else ()
    return next((path for path in paths if path.is_file()), None)


@dataclass(slots=True)
class _Task:
    """State while reading: which entries the model still sees, and what would hide them."""

    ids: Ids = field(default_factory=Ids)
    visible: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    """Each entry that the model sees, with the summaries and markers that would hide it."""
    allowance: NameLimit = field(default_factory=NameLimit)

    def records(self, item: JsonObject, index: int) -> Iterator[Record]:
        """Read one message; a summary or marker hides the messages that name it."""
        time = time_of(item.get("ts"))
        hides = string(item, "condenseId") if item.get("isSummary") is True else None
        if item.get("isTruncationMarker") is True:
            hides = string(item, "truncationId")
        if hides or item.get("isSummary") is True:
            yield self._boundary(hides, item, index, time)
        parents = (string(item, "condenseParent"), string(item, "truncationParent"))
        entry_id = self.ids.unique(string(item, "id"), f"#{index}")
        self.visible.append((entry_id, frozenset(filter(None, parents))))
        yield Entry(_task_message(item), entry_id, index, time)
        yield from self.ids.repeated(string(item, "id"), index)

    def _boundary(self, hides: str | None, item: JsonObject, index: int, time: str | None) -> Boundary:
        if hides and self.allowance.covers(len(self.visible)):
            self.visible = [(entry_id, parents) for entry_id, parents in self.visible if hides not in parents]
        else:  # older versions did not record what a summary replaced: it replaced everything
            self.visible = []
        trigger = "truncation" if item.get("isTruncationMarker") is True else "condense"
        keeps = tuple(entry_id for entry_id, _ in self.visible)
        return Boundary(self.ids.unique(hides, f"#{index}:boundary"), index, time, trigger, keeps=keeps)


def _task_message(item: JsonObject) -> Message:
    if item.get("type") == "reasoning":
        return _reasoning(item)
    message = parse_item({key: item[key] for key in ("role", "content") if key in item})
    if item.get("isSummary") is True:
        return relabel(message, Origin.SUMMARY)
    if item.get("isTruncationMarker") is True:
        return relabel(message, Origin.INJECTED)
    if message.role is not Role.USER:
        return message
    labelled = replace(message, parts=tuple(_label_results(message.parts)))
    return label_machine_text(labelled, ("<environment_details>",), Trust.SEMI_TRUSTED)


def _label_results(parts: Iterable[Part]) -> Iterator[Part]:
    """Lower the trust of tool output, which these tools send as the user's text.

    A result's heading and its content are separate blocks, so everything after a heading in the message is
    untrusted too.
    """
    is_output = False
    for part in parts:
        is_output = is_output or (isinstance(part, Text) and bool(_TEXT_RESULT.match(part.text)))
        yield replace(part, trust=Trust.UNTRUSTED) if is_output and isinstance(part, Text) else part


def _reasoning(item: JsonObject) -> Message:
    """Read an OpenAI Responses item that is stored between the messages."""
    summary = "\n".join(string(part, "text") or "" for part in objects(item.get("summary")))
    text = string(item, "text") or summary
    sealed = string(item, "encrypted_content")
    thinking = Thinking(text, sealed, item_id=string(item, "id"), trust=Trust.ASSISTANT)
    return Message(Role.ASSISTANT, (thinking,))


ROO_CLINE = ReaderPair(_sniff_task, _read_task)
