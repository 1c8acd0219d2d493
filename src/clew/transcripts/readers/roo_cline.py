"""Roo Code and Cline's extension: Anthropic messages with a few fields of the tool's own.

Condensing and truncating delete nothing: messages that the model no longer sees name the summary or marker
that replaced them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from clew.message import JsonObject, Message, Origin, Part, Role, Text, Thinking, Trust
from clew.providers.anthropic.codec import parse_item
from clew.transcripts.fields import Ids, NameLimit, name_of, objects, string, time_of
from clew.transcripts.json_document import Element, outline, walk
from clew.transcripts.messages import label_machine_text, relabel
from clew.transcripts.records import Boundary, Entry, Problem, Record, Start
from clew.transcripts.source import Source, open_source

NAME = "roo-cline"
_FILES = ("api_conversation_history.json", "claude_messages.json")
_OWN_FIELDS = {"ts", "condenseId", "condenseParent", "truncationId", "truncationParent", "isSummary"}
# Before tools were native, a result was sent as text in the user's role.
_TEXT_RESULT = re.compile(r"\[[\w-]+( for [^\n]*)?\] Result:|\[ERROR\]")


def sniff(source: Source) -> bool:
    """Return True for such a history, or the task folder around one."""
    if source.is_directory:
        return _history(source.path) is not None
    first = outline(source).first()
    is_message = "role" in first and "content" in first
    return is_message and (name_of(source) in _FILES or bool(_OWN_FIELDS & first.keys()))


def read(source: Source) -> Iterator[Record]:
    """Read a task's conversation."""
    history = _history(source.path) if source.is_directory else None
    inner = open_source(history) if history else source
    task = inner.path.parent.name if inner.path and inner.path.name in _FILES else name_of(inner, ".json")
    yield Start(task, NAME)
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
        yield Entry(_message(item), entry_id, index, time)
        yield from self.ids.repeated(string(item, "id"), index)

    def _boundary(self, hides: str | None, item: JsonObject, index: int, time: str | None) -> Boundary:
        if hides and self.allowance.covers(len(self.visible)):
            self.visible = [(entry_id, parents) for entry_id, parents in self.visible if hides not in parents]
        else:  # older versions did not record what a summary replaced: it replaced everything
            self.visible = []
        trigger = "truncation" if item.get("isTruncationMarker") is True else "condense"
        keeps = tuple(entry_id for entry_id, _ in self.visible)
        return Boundary(self.ids.unique(hides, f"#{index}:boundary"), index, time, trigger, keeps=keeps)


def _message(item: JsonObject) -> Message:
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
