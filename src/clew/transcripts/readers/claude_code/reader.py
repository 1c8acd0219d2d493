"""Claude Code: ``~/.claude/projects/<project>/<session>.jsonl`` and the folder of the same name.

Each line of the file is a record with a ``parentUuid``: the records form a tree, and a rewind or an edited
prompt starts a new branch. The file is therefore read twice. The first pass (``index``) notes the kind and
parent of every record and finds the branch that is the current conversation. The second pass yields the
records of that branch, with those of sub-agents in the session's folder. Memory stays small: the first pass
keeps one small node per record, the second one reply of the model with its tool results.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

from clew.message import JsonObject, Message, Origin, Role
from clew.transcripts.fields import count, mapping, objects, string
from clew.transcripts.jsonl import ObjectLine, head_objects, object_lines
from clew.transcripts.readers.claude_code.index import RecordFate, RecordIndex, index_records, is_sidechain
from clew.transcripts.readers.claude_code.thread import SideFolder, Thread
from clew.transcripts.readers.claude_code.user_messages import (
    Queue,
    attachment_message,
    label_model_text,
    user_message,
)
from clew.transcripts.records import Boundary, Cleared, Dropped, Entry, Problem, Record
from clew.transcripts.source import Source, open_source

_MAX_HELD = 10_000
"""Most records that wait in memory for a parent that comes later in the file (chosen by hand)."""
_BOOKKEEPING = {
    *("agent-color", "agent-name", "agent-setting", "ai-title", "artifact-autoreact-ledger"),
    *("artifact-comment-monitor", "atis-latch", "attribution-snapshot", "bridge-session", "cost-state"),
    *("custom-title", "ended", "file-history-delta", "file-history-snapshot", "isolation-latch"),
    *("last-prompt", "mode", "permission-mode", "pr-link", "rate_limit_event", "relocated", "result"),
    *("stream_event", "summary", "tag", "tool_progress", "worktree-state"),
}
_CLAUDE_ONLY = {"file-history-snapshot", "queue-operation", "custom-title", "ai-title", "last-prompt"}


def sniff(source: Source) -> float:
    """Recognise a Claude Code session by its first records."""
    return any(map(_looks_right, head_objects(source)))


def _looks_right(record: JsonObject) -> bool:
    has_session = "sessionId" in record or "session_id" in record
    match record.get("type"):
        case "user" | "assistant":
            return has_session and "content" in mapping(record, "message")
        case "summary":
            return "leafUuid" in record
        case "file-history-snapshot":
            return "messageId" in record
        case "progress" | "system" | "attachment":
            return has_session and ("parentUuid" in record or record.get("subtype") == "init")
        case str() as kind:
            return has_session and kind in _CLAUDE_ONLY
        case _:
            return False


def read(source: Source) -> Iterator[Record]:
    """Read a session: its conversation, its sub-agents and its abandoned branches."""
    source.keep()
    index = index_records(source)
    folder = SideFolder(source)
    yield from _RecordReader(index, folder).records(source)
    for agent_id, path in folder.agents():
        file = open_source(path)
        for record in _RecordReader(index_records(file), folder, agent_id).records(file):
            if isinstance(record, Entry | Dropped):
                yield record
            elif isinstance(record, Problem):
                yield replace(record, what=f"{path.name}: {record.what}")


class _RecordReader:
    """The second pass: turns each record into entries."""

    def __init__(self, index: RecordIndex, folder: SideFolder, agent_id: str | None = None) -> None:
        self._index = index
        self._folder = folder
        self._agent_id = agent_id
        self._main = Thread(agent_id, folder.original)
        self._branch = Thread(agent_id, folder.original)
        self._abandoned: list[str] = []
        self._sides: dict[str, Thread] = {}
        self._side_names: dict[str, str] = {}
        self._queue = Queue()
        self._watched = {i for kept in index.keeps.values() for i in kept}
        self._entry_ids: dict[int, str] = {}
        self._unknown: set[str] = set()

    def records(self, source: Source) -> Iterator[Record]:
        for i, line in _in_tree_order(object_lines(source), self._index):
            if i in self._index.starts:
                yield from self._end()
                yield self._index.starts[i]
            if isinstance(line, Problem):
                yield line
                continue
            if i in self._index.problems:
                yield Problem(self._index.problems[i], line.number)
            yield from self._record(i, line)
        yield from self._end()

    def _record(self, i: int, line: ObjectLine) -> Iterator[Record]:
        """Yield what a record of the file means, by its type."""
        record, number = line.value, line.number
        match record.get("type"):
            case "user" | "assistant":
                if self._index.fates[i] != RecordFate.IGNORED:
                    yield from self._message_records(i, line)
            case "attachment":
                self._aside(
                    line, attachment_message(mapping(record, "attachment"), record.get("rendered")), i
                )
            case "queue-operation":
                self._aside(line, self._queue.change(record))
            case "system":
                yield from self._system(i, line)
            case "progress":
                yield from self._progress(record, number)
            case "content-replacement":
                ids = (string(swap, "toolUseId") for swap in objects(record.get("replacements")))
                yield from _cleared_results(ids, line)
            case str() as kind if kind in _BOOKKEEPING:
                pass
            case kind if str(kind) not in self._unknown:
                self._unknown.add(str(kind))
                yield Problem(f"a record of the unknown type {kind!r}", number)

    # Messages ------------------------------------------------------------------------------------------

    def _message_records(self, i: int, line: ObjectLine) -> Iterator[Record]:
        record, number = line.value, line.number
        if not isinstance(record.get("message"), dict):
            yield Problem(f"a record of type {record['type']!r} without a message", number)
            return
        entry_id = string(record, "uuid") or f"L{number}"
        if self._index.fates[i] == RecordFate.ABANDONED:
            yield from self._abandon(self._add(self._branch, record, entry_id, number))
            return
        thread = self._side(self._side_name(record)) if self._is_side(record) else self._main
        yield from self._emit(self._add(thread, record, entry_id, number))
        if i in self._watched:
            self._entry_ids[i] = thread.reply_entry_id if record["type"] == "assistant" else entry_id

    def _add(self, thread: Thread, record: JsonObject, entry_id: str, number: int) -> Iterator[Entry]:
        if record.get("type") == "assistant":
            return thread.reply(record, entry_id, number)
        message = user_message(record, mapping(record, "message"))
        is_agents = thread.sidechain is not None or self._index.is_side_file
        if is_agents and message.role is Role.USER and message.origin is Origin.SPOKEN:
            message = label_model_text(message)
        entry = Entry(message, entry_id, number, string(record, "timestamp"), sidechain=thread.sidechain)
        return thread.results(entry) if any(message.results) else thread.say(entry)

    def _is_side(self, record: JsonObject) -> bool:
        return is_sidechain(record) and not self._index.is_side_file

    def _side_name(self, record: JsonObject) -> str:
        """Return the name of a sub-agent: its id, or the record that its conversation begins with."""
        name = string(record, "agentId") or string(record, "parent_tool_use_id")
        if name:
            return name
        uuid, parent = string(record, "uuid") or "", string(record, "parentUuid") or ""
        return self._side_names.setdefault(uuid, self._side_names.get(parent, uuid))

    def _side(self, name: str) -> Thread:
        return self._sides.setdefault(name, Thread(name, self._folder.original))

    # Output --------------------------------------------------------------------------------------------

    def _emit(self, entries: Iterable[Entry]) -> Iterator[Record]:
        """Yield entries of the conversation or of a sub-agent, after a ``Dropped`` for what was abandoned."""
        for entry in entries:
            if entry.sidechain == self._agent_id:
                yield from self._drop()
            yield entry

    def _abandon(self, entries: Iterable[Entry]) -> Iterator[Record]:
        for entry in entries:
            self._abandoned.append(entry.id)
            yield entry

    def _drop(self) -> Iterator[Record]:
        yield from self._abandon(self._branch.end())
        if self._abandoned:
            yield Dropped(tuple(self._abandoned), reason="abandoned")
            self._abandoned.clear()

    def _end(self) -> Iterator[Record]:
        yield from self._emit(self._main.end())
        yield from self._drop()
        for thread in self._sides.values():
            yield from thread.end()

    # Other records -------------------------------------------------------------------------------------

    def _aside(self, line: ObjectLine, message: Message | None, i: int | None = None) -> None:
        """Add a message that arrived during a reply; an attachment's fate decides which branch gets it."""
        fate = RecordFate.KEPT if i is None else self._index.fates[i]
        if message is None or fate == RecordFate.IGNORED or self._is_side(line.value):
            return
        entry_id = string(line.value, "uuid") or f"L{line.number}"
        time = string(line.value, "timestamp")
        entry = Entry(message, entry_id, line.number, time, sidechain=self._agent_id)
        (self._main if fate == RecordFate.KEPT else self._branch).aside(entry, recorded=i is not None)

    def _system(self, i: int, line: ObjectLine) -> Iterator[Record]:
        record = line.value
        if self._is_side(record) or self._agent_id is not None:
            return
        subtype = record.get("subtype")
        if subtype == "compact_boundary" and self._index.fates[i] == RecordFate.KEPT:
            yield from self._emit(self._main.end())
            yield self._boundary(i, line)
        elif subtype == "microcompact_boundary":
            meta = mapping(record, "microcompactMetadata")
            ids = meta.get("compactedToolIds")
            yield from _cleared_results(
                (x for x in ids if isinstance(x, str)) if isinstance(ids, list) else (), line
            )

    def _boundary(self, i: int, line: ObjectLine) -> Boundary:
        record = line.value
        meta = mapping(record, "compactMetadata") or mapping(record, "compact_metadata")
        kept = (self._entry_ids[j] for j in self._index.keeps.get(i, ()) if j in self._entry_ids)
        return Boundary(
            string(record, "uuid") or f"L{line.number}",
            line.number,
            string(record, "timestamp"),
            string(meta, "trigger"),
            count(meta, "preTokens") or count(meta, "pre_tokens") or None,
            count(meta, "postTokens") or count(meta, "post_tokens") or None,
            tuple(dict.fromkeys(kept)),
        )

    def _progress(self, record: JsonObject, number: int) -> Iterator[Record]:
        """Yield what a sub-agent said, if it was recorded only as progress of its call."""
        data = mapping(record, "data")
        agent_id = string(data, "agentId")
        content = mapping(data, "message")
        if data.get("type") != "agent_progress" or agent_id is None or self._folder.has_agent(agent_id):
            return
        if content.get("type") in ("user", "assistant") and isinstance(content.get("message"), dict):
            entry_id = string(content, "uuid") or f"L{number}"
            yield from self._emit(self._add(self._side(agent_id), content, entry_id, number))


def _cleared_results(call_ids: Iterable[str | None], line: ObjectLine) -> Iterator[Cleared]:
    known = tuple(call_id for call_id in call_ids if call_id)
    if known:
        yield Cleared(known, line.number, string(line.value, "timestamp"))


def _in_tree_order(
    lines: Iterable[ObjectLine | Problem], index: RecordIndex
) -> Iterator[tuple[int, ObjectLine | Problem]]:
    """Yield lines in file order, except that a line whose parent comes later waits for it.

    If too many wait at once, or parents form a cycle, they come in file order. Lines that a running session
    has added since the first pass are not read.
    """
    stored: dict[int, list[tuple[int, ObjectLine | Problem]]] = {}
    waiting: set[int] = set()
    for (i, parent), line in zip(enumerate(index.parents), lines, strict=False):
        if (parent > i or parent in waiting) and len(waiting) < _MAX_HELD:
            stored.setdefault(parent, []).append((i, line))
            waiting.add(i)
            continue
        ready = deque([(i, line)])
        while ready:
            place, line_ready = ready.popleft()
            yield place, line_ready
            waiting.discard(place)
            ready.extend(stored.pop(place, ()))
    for left in stored.values():
        yield from left
