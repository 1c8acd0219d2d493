"""pi: JSON lines that form a tree by ``id`` and ``parentId``; the last line ends the current branch.

``{"type": "message", "id": "b", "parentId": "a", "message": {"role": "user", "content": "Fix it"}}``. The
file is read twice: first the tree, then the messages. Entries that are not on the current branch are reported
as dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

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
    ToolCall,
    ToolResult,
    Trust,
    Unknown,
    Usage,
    text_message,
)
from clew.transcripts.fields import Ids, NameLimit, count, mapping, name_of, objects, string, value_of
from clew.transcripts.jsonl import ObjectLine, head_objects, object_lines, read_objects
from clew.transcripts.messages import MACHINE_TRUST, injected_message, media_kind
from clew.transcripts.records import Boundary, Dropped, Entry, Problem, Record, Start
from clew.transcripts.source import Source

NAME = "pi"


_BOOKKEEPING = (
    *("model_change", "thinking_level_change", "custom", "label", "session_info", "context_transform"),
    "ephemeral",
)


def sniff(source: Source) -> bool:
    """Return True if the first line is pi's session header."""
    if source.is_directory:
        return False
    head = next(iter(head_objects(source, 1)), {})
    return head.get("type") == "session" and "id" in head and "cwd" in head


def read(source: Source) -> Iterator[Record]:
    """Read a session with all its branches; entries that are not on the current branch are dropped."""
    tree = _PiTree()
    for line in object_lines(source.keep()):
        if isinstance(line, ObjectLine):
            tree.grow(line)
    session = _PiSession(tree, name_of(source, ".jsonl"))
    yield from read_objects(source, session.records)
    yield from tree.problems
    yield from session.dropped()


class _PiTree:
    """The parent of each line."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.ids: dict[int, str] = {}
        """The id of each line except the header. In older files lines have none and form one branch."""
        self.numbers: dict[str, int] = {}
        """The number of the line with each id."""
        self._parents: dict[str, str | None] = {}
        self._unique = Ids()
        self._last: str | None = None

    def grow(self, line: ObjectLine) -> None:
        """Add one line."""
        if line.value.get("type") == "session":
            return
        text, parent = string(line.value, "id"), line.value.get("parentId", self._last)
        own = self._unique.unique(text, f"L{line.number}")
        if text and own != text:
            self.problems.append(Problem(f"the id {text!r} is used again", line.number))
            parent = self._last
        if isinstance(parent, str) and parent != own and parent not in self._parents:
            self.problems.append(
                Problem(f"the parent {parent!r} does not come before its child", line.number)
            )
        self._parents[own] = parent if isinstance(parent, str) else None
        self.ids[line.number] = own
        self.numbers[own] = line.number
        self._last = own

    def branch(self) -> set[str]:
        """Return the ids of the current branch: the last line, its parent, and so on."""
        branch: set[str] = set()
        at = self._last
        while at is not None and at not in branch:
            branch.add(at)
            at = self._parents.get(at)
        if at is not None:
            self.problems.append(Problem(f"the parents of {at!r} form a cycle"))
        return branch


class _PiSession:
    """Turns lines into records."""

    def __init__(self, tree: _PiTree, name: str) -> None:
        self._tree = tree
        self._branch = tree.branch()
        self._name = name
        self._model: str | None = None
        self._started = False
        self._entries: list[tuple[str, str]] = []
        """For each entry, the id of its line and the entry's id."""
        self._allowance = NameLimit()

    def records(self, line: JsonObject, number: int) -> Iterator[Record]:
        """Read one line."""
        kind = line.get("type")
        if not self._started or kind == "session":
            yield self._start(line if kind == "session" else {})
        own = self._tree.ids.get(number)
        if own is None:
            return
        self._model = string(line, "modelId") or self._model
        if kind == "message":
            yield from self._message(mapping(line, "message"), own, line, number)
        elif kind == "custom_message":
            yield from self._message({**line, "role": "custom"}, own, line, number)
        elif kind == "compaction":
            yield from self._compaction(line, own, number)
        elif kind == "branch_summary":
            yield self._entry(own, line, number, summary=string(line, "summary") or "")
        elif kind not in _BOOKKEEPING:
            yield Problem(f"a line of the unknown type {kind!r}", number)

    def dropped(self) -> Iterator[Record]:
        """Yield a ``Dropped`` for the entries of other branches."""
        left = tuple(entry_id for own, entry_id in self._entries if own not in self._branch)
        if left:
            yield Dropped(left, reason="on a branch that was left")

    def _start(self, header: JsonObject) -> Start:
        self._started = True
        self._model = string(header, "modelId")
        parent = string(header, "parentSession") or string(header, "branchedFrom")
        return Start(
            string(header, "id") or self._name,
            NAME,
            directory=string(header, "cwd"),
            model=self._model,
            time=string(header, "timestamp"),
            parent_id=PurePath(parent).stem.rpartition("_")[2] if parent else None,
        )

    def _message(self, message: JsonObject, own: str, line: JsonObject, number: int) -> Iterator[Record]:
        parsed = message_of(message)
        if parsed is None:
            yield Problem(f"a message of the unknown role {message.get('role')!r}", number)
            return
        self._model = string(message, "model") or self._model
        self._entries.append((own, own))
        is_answer = parsed.role is Role.ASSISTANT
        usage = _usage(mapping(message, "usage")) if is_answer else None
        yield Entry(parsed, own, number, string(line, "timestamp"), self._model if is_answer else None, usage)

    def _compaction(self, line: JsonObject, own: str, number: int) -> Iterator[Record]:
        if own in self._branch:
            yield Boundary(
                own,
                number,
                string(line, "timestamp"),
                tokens_before=count(line, "tokensBefore") or None,
                keeps=self._kept_entries(line),
            )
        yield self._entry(f"{own}:summary", line, number, summary=string(line, "summary") or "")

    def _kept_entries(self, line: JsonObject) -> tuple[str, ...]:
        """Return the entries of this branch from the first kept one on."""
        first = string(line, "firstKeptEntryId")
        if first is None and "firstKeptEntryIndex" in line:  # older files count lines, from 0
            first = self._tree.ids.get(count(line, "firstKeptEntryIndex") + 1)
        numbers = self._tree.numbers
        if first not in numbers or not self._allowance.covers(len(self._entries)):
            return ()
        return tuple(
            entry_id
            for own, entry_id in self._entries
            if own in self._branch and numbers[own] >= numbers[first]
        )

    def _entry(self, entry_id: str, line: JsonObject, number: int, summary: str) -> Entry:
        self._entries.append((self._tree.ids[number], entry_id))
        message = text_message(Role.USER, summary, Origin.SUMMARY)
        return Entry(message, entry_id, number, string(line, "timestamp"))


def _usage(usage: JsonObject) -> Usage | None:
    read, written = count(usage, "cacheRead"), count(usage, "cacheWrite")
    given = count(usage, "input") + read + written
    output = count(usage, "output")
    return Usage(given, output, read, written) if given or output else None


# One message ---------------------------------------------------------------------------------------


def message_of(message: JsonObject) -> Message | None:
    """Parse one message; None if its role is unknown."""
    match message.get("role"):
        case "user":
            return Message(Role.USER, _parts(message, Trust.USER))
        case "assistant":
            return Message(Role.ASSISTANT, _parts(message, Trust.ASSISTANT))
        case "toolResult":
            return Message(Role.TOOL, (_result(message),))
        case "bashExecution":
            return injected_message(_command_text(message), Trust.UNTRUSTED)
        case "custom" | "hookMessage":
            return Message(Role.USER, _parts(message, MACHINE_TRUST), Origin.INJECTED)
        case "branchSummary" | "compactionSummary":
            return text_message(Role.USER, string(message, "summary") or "", Origin.SUMMARY)
        case _:
            return None


def _parts(message: JsonObject, trust: Trust) -> tuple[Part, ...]:
    content = message.get("content")
    if isinstance(content, str):
        return (Text(content, trust=trust),)
    return tuple(_part(block, trust) for block in objects(content))


def _part(block: JsonObject, trust: Trust) -> Part:
    match block.get("type"):
        case "text":
            return Text(string(block, "text") or "", trust=trust)
        case "thinking":
            return _thinking(block, trust)
        case "toolCall":
            call_id, name = string(block, "id") or "", string(block, "name") or "unknown"
            return ToolCall(call_id, name, mapping(block, "arguments"), trust=trust)
        case "image":
            media_type = string(block, "mimeType")
            return Media(media_kind(media_type), media_type, string(block, "data"), trust=trust)
        case kind:
            return Unknown(str(kind), trust=trust, native=Native(NAME, block))


def _thinking(block: JsonObject, trust: Trust) -> Thinking:
    text, signature = string(block, "thinking") or "", string(block, "thinkingSignature")
    if block.get("redacted") is True:
        return Thinking("", signature, redacted=True, trust=trust)
    item = _reasoning_item(signature)
    if item:
        sealed = string(item, "encrypted_content")
        return Thinking(text, sealed, item_id=string(item, "id"), trust=trust)
    return Thinking(text, signature, trust=trust)


def _reasoning_item(signature: str | None) -> JsonObject:
    """Return the OpenAI Responses item that pi stores instead of a signature; empty if it is a signature."""
    if not signature or not signature.startswith("{"):
        return {}
    item, _ = value_of(signature)
    return item if isinstance(item, dict) else {}


def _result(message: JsonObject) -> ToolResult:
    parts = _parts(message, Trust.UNTRUSTED)
    failed = message.get("isError") is True
    call_id, name = string(message, "toolCallId") or "", string(message, "toolName")
    return ToolResult(call_id, parts, failed, name, trust=Trust.UNTRUSTED)


def _command_text(message: JsonObject) -> str:
    """Return a command that the user ran outside the conversation, with its output."""
    text = f"$ {string(message, 'command') or ''}\n{string(message, 'output') or ''}"
    if message.get("exitCode"):
        text += f"\n(exit code {message['exitCode']})"
    return text
