"""First pass over a Claude Code file: find which records belong to the current conversation.

Records form a tree by ``uuid`` and ``parentUuid``. The conversation is the path from the last message up to
the root. Other branches were abandoned (the user went back), except results of parallel calls and pieces of
a split reply, which are siblings only because of how they are written::

    a  user: "Hello"
    └─ b  assistant: "Hi"
       ├─ c  user: "Fix it"                  abandoned: the user went back and wrote e instead
       │  └─ d  assistant: "Which one?"      abandoned
       └─ e  user: "Fix the test"
          └─ f  assistant, reply 3: call x
             ├─ g  result of x               not on the path from j to a, but kept: it answers f
             └─ h  assistant, reply 3: call y
                └─ i  result of y
                   └─ j  assistant: "Done"   the last message

The index holds a few numbers for each record and no text.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from dataclasses import dataclass, field
from enum import IntEnum

from clew.message import JsonObject
from clew.transcripts.fields import NameLimit, mapping, name_of, string
from clew.transcripts.jsonl import object_lines
from clew.transcripts.records import Problem, Start
from clew.transcripts.source import Source

FORMAT = "claude-code"
# The title fields, best first: by the user, by the model, for the list of sessions.
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}


@dataclass(slots=True)
class SessionFacts:
    """What is known about a session so far."""

    first: int
    fields: dict[str, str] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    has_spoken: bool = False

    def learn(self, record: JsonObject) -> None:
        """Take what a record says about its session."""
        session_id = string(record, "sessionId") or string(record, "session_id")
        if session_id:
            self.fields["session_id"] = session_id
        for name, value in (
            ("directory", string(record, "cwd")),
            ("time", string(record, "timestamp")),
            ("parent_id", string(mapping(record, "forkedFrom"), "sessionId")),
        ):
            if value:
                self.fields.setdefault(name, value)
        model = string(mapping(record, "message"), "model")
        if model and model != "<synthetic>":
            self.fields.setdefault("model", model)

    def entitle(self, record: JsonObject) -> None:
        """Take the title from a record that has one; the last of each kind counts."""
        key = _TITLES.get(string(record, "type") or "")
        title = string(record, key) if key else None
        if key and title:
            self.titles[key] = title

    def start(self, fallback_id: str, agent_id: str | None) -> Start:
        """Return the ``Start`` of the session; a sub-agent's has the id of its agent."""
        known = dict(self.fields)
        session_id = known.pop("session_id", fallback_id)
        if agent_id:
            known["parent_id"], session_id = session_id, agent_id
        title = next(
            (self.titles[k] for k in ("customTitle", "aiTitle", "summary") if k in self.titles), None
        )
        return Start(session_id, FORMAT, title, **known)


_ROOT = -1


class RecordKind(IntEnum):
    """The role of a record in the tree."""

    OTHER = 0
    """Bookkeeping: not in the tree."""
    LINK = 1
    """In the tree, but not a message: progress, hooks."""
    ATTACHMENT = 2
    USER = 3
    RESULT = 4
    ASSISTANT = 5
    BOUNDARY = 6
    SUMMARY = 7


class RecordFate(IntEnum):
    """What happens to a record."""

    IGNORED = 0
    KEPT = 1
    ABANDONED = 2


_SAID = (RecordKind.USER, RecordKind.RESULT, RecordKind.ASSISTANT, RecordKind.SUMMARY)


def record_kind(record: JsonObject) -> RecordKind:
    """Return the role of a record in the tree."""
    match record.get("type"):
        case "assistant":
            return RecordKind.ASSISTANT
        case "user" if record.get("isCompactSummary") is True:
            return RecordKind.SUMMARY
        case "user":
            return RecordKind.RESULT if _has_result(record) else RecordKind.USER
        case "system" if record.get("subtype") == "compact_boundary":
            return RecordKind.BOUNDARY
        case "attachment":
            return RecordKind.ATTACHMENT
        case "progress" | "system":
            return RecordKind.LINK
        case _:
            return RecordKind.OTHER


def is_sidechain(record: JsonObject) -> bool:
    """Return True if this record belongs to a sub-agent's conversation."""
    return record.get("isSidechain") is True or isinstance(record.get("parent_tool_use_id"), str)


def _has_result(record: JsonObject) -> bool:
    content = mapping(record, "message").get("content")
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )


@dataclass(slots=True)
class RecordIndex:
    """The fate and parent of each record, by its index in the stream of lines."""

    fates: bytearray
    parents: array[int]
    starts: dict[int, Start]
    """The sessions, by the record that each begins with."""
    keeps: dict[int, tuple[int, ...]]
    """The records that a compaction kept, by its boundary."""
    problems: dict[int, str]
    is_side_file: bool
    """The file holds only a sub-agent's messages, so they are its main conversation."""


def index_records(source: Source) -> RecordIndex:
    """Index a whole source in one pass."""
    tree = _RecordTree()
    for line in object_lines(source):
        tree.add({} if isinstance(line, Problem) else line.value)
    return tree.finished(name_of(source, ".jsonl"))


class _RecordTree:
    """Collects records one at a time; at the end it knows the fate of each."""

    def __init__(self) -> None:
        # One number per record, by its index in the file.
        self.kinds = bytearray()
        self.sides = bytearray()
        """1 for a record of a sub-agent."""
        self.parents = array("i")
        self.replies = array("i")
        """For each assistant record, the number of the reply that it is a piece of."""
        self.by_uuid: dict[str, int] = {}
        self.missing: defaultdict[str, list[int]] = defaultdict(list)
        """By uuid, the records whose parent has not come yet."""
        self.kept_from: dict[int, JsonObject] = {}
        """For each compaction, what its record says about the messages it kept."""
        self.problems: dict[int, str] = {}
        self.sessions = [SessionFacts(0)]
        self.agent_id: str | None = None
        self.last = _ROOT
        """The last record in the tree."""
        self.reply_id: str | None = None
        self.reply = 0
        """The number of the last reply, from 1."""
        self.allowance = NameLimit()

    def add(self, record: JsonObject) -> None:
        """Note the kind, parent and reply of the next record of the file."""
        i = len(self.kinds)
        kind = record_kind(record)
        uuid = string(record, "uuid")
        if uuid is not None and uuid in self.by_uuid:
            self.problems[i] = f"record {uuid} again; the first one counts"
            kind = RecordKind.OTHER
        elif uuid is not None and kind is not RecordKind.OTHER:
            self.by_uuid[uuid] = i
        side = is_sidechain(record)
        self.kinds.append(kind)
        self.sides.append(side)
        self.parents.append(_ROOT if kind is RecordKind.OTHER else self._parent(i, kind, record))
        self.replies.append(self._reply(record) if kind is RecordKind.ASSISTANT else 0)
        if kind is RecordKind.OTHER:
            self.sessions[-1].entitle(record)
            return
        self._begin_session(i, kind, record)
        self.sessions[-1].learn(record)
        self.last = i
        if side and self.agent_id is None:
            self.agent_id = string(record, "agentId")
        if kind is RecordKind.BOUNDARY:
            self.kept_from[i] = mapping(record, "compactMetadata")

    def _parent(self, i: int, kind: RecordKind, record: JsonObject) -> int:
        """Return the index of a record's parent; a compaction without one follows the record before it."""
        if "parentUuid" not in record and "logicalParentUuid" not in record:
            return self.last  # output streamed by the tool, not its file: each record follows the one before
        uuid = string(record, "parentUuid")
        if uuid is None and kind in (RecordKind.BOUNDARY, RecordKind.SUMMARY):
            # A compaction follows the record before it, whether or not it names it.
            return self.by_uuid.get(string(record, "logicalParentUuid") or "", self.last)
        if uuid is None:
            return _ROOT
        parent = self.by_uuid.get(uuid)
        if parent is None:
            self.missing[uuid].append(i)
            return _ROOT
        return parent if parent != i else _ROOT

    def _reply(self, record: JsonObject) -> int:
        """Return the number of the reply: consecutive records with one message id are pieces of one reply."""
        reply_id = string(mapping(record, "message"), "id")
        if reply_id is None or reply_id != self.reply_id:
            self.reply += 1
        self.reply_id = reply_id
        return self.reply

    def _begin_session(self, i: int, kind: RecordKind, record: JsonObject) -> None:
        """Start another session at a new root with a new session id: concatenated files."""
        session = self.sessions[-1]
        session_id = string(record, "sessionId")
        known = session.fields.get("session_id")
        is_root = self.parents[i] == _ROOT and "parentUuid" in record and record["parentUuid"] is None
        is_new_id = session_id not in (None, known)
        if session.has_spoken and is_root and is_new_id and kind is not RecordKind.BOUNDARY:
            session = SessionFacts(i)
            self.sessions.append(session)
        session.has_spoken = session.has_spoken or kind in _SAID

    # After the last record -----------------------------------------------------------------------------

    def finished(self, fallback_id: str) -> RecordIndex:
        """Return the index of all records: which of them are the current conversation."""
        is_side_file = not any(
            kind in _SAID and not side for kind, side in zip(self.kinds, self.sides, strict=True)
        )
        if is_side_file:
            self.sides = bytearray(len(self.sides))
        self._find_parents()
        on_path = self._way_to_root()
        self._add_siblings(on_path)
        fates = self._fates(on_path)
        agent_id = self.agent_id if is_side_file else None
        return RecordIndex(
            fates,
            self.parents,
            {session.first: session.start(fallback_id, agent_id) for session in self.sessions},
            {
                i: self._kept_records(i, meta, fates)
                for i, meta in self.kept_from.items()
                if fates[i] == RecordFate.KEPT
            },
            self.problems,
            is_side_file,
        )

    def _find_parents(self) -> None:
        """Link records whose parent came later; if it never came, link to the record before."""
        firsts = {session.first for session in self.sessions}
        for uuid, waiting in self.missing.items():
            parent = self.by_uuid.get(uuid)
            for i in waiting:
                self.parents[i] = parent if parent is not None else self._message_before(i, firsts)
                if parent is None and self.kinds[i] in _SAID:
                    self.problems.setdefault(i, "the record it answers is not in this file")

    def _message_before(self, i: int, firsts: set[int]) -> int:
        while i > 0 and i not in firsts:
            i -= 1
            if self.kinds[i] != RecordKind.OTHER and not self.sides[i]:
                return i
        return _ROOT

    def _way_to_root(self) -> bytearray:
        """Mark the records on the path from the last message of each session up to its root."""
        on_path = bytearray(len(self.kinds))
        stop = len(self.kinds)
        for session in reversed(self.sessions):
            content = (
                i
                for i in range(stop - 1, session.first - 1, -1)
                if self.kinds[i] in _SAID and not self.sides[i]
            )
            i = next(content, _ROOT)
            while i != _ROOT:
                if on_path[i]:
                    self.problems[i] = "its parents form a cycle"
                    break
                on_path[i] = 1
                i = self.parents[i]
            stop = session.first
        return on_path

    def _add_siblings(self, on_path: bytearray) -> None:
        """Mark what hangs off the path but belongs to it: results, pieces of a reply, compactions."""
        replies = bytearray(self.reply + 1)  # 1 for each reply that has a piece on the path
        for i, reply in enumerate(self.replies):
            if on_path[i]:
                replies[reply] = 1
        replies[0] = 0  # the number of records that are no reply
        said_above = self._said_above()
        for i, kind in enumerate(self.kinds):
            above = said_above[self.parents[i]] if 0 <= self.parents[i] < i else _ROOT
            if on_path[i] or self.sides[i]:
                continue
            if kind == RecordKind.ASSISTANT:
                on_path[i] = replies[self.replies[i]]
            elif kind == RecordKind.RESULT:
                on_path[i] = (
                    above != _ROOT
                    and on_path[above]
                    and self.kinds[above] in (RecordKind.ASSISTANT, RecordKind.RESULT)
                )
            elif kind in (RecordKind.BOUNDARY, RecordKind.SUMMARY, RecordKind.ATTACHMENT):
                on_path[i] = above != _ROOT and on_path[above]

    def _said_above(self) -> array[int]:
        """Return for each record the nearest one, from itself upwards, that is more than a link."""
        above = array("i")
        for i, kind in enumerate(self.kinds):
            if kind > RecordKind.ATTACHMENT:
                above.append(i)
            else:
                parent = self.parents[i]
                above.append(above[parent] if 0 <= parent < i else _ROOT)
        return above

    def _fates(self, on_path: bytearray) -> bytearray:
        """Return for each record whether it is part of the conversation, abandoned, or ignored."""
        fates = bytearray(len(on_path))
        for i, kind in enumerate(self.kinds):
            if kind >= RecordKind.ATTACHMENT:
                fates[i] = RecordFate.KEPT if on_path[i] or self.sides[i] else RecordFate.ABANDONED
        return fates

    def _kept_records(self, boundary: int, meta: JsonObject, fates: bytearray) -> tuple[int, ...]:
        """Return the records that a compaction kept: those it lists, or all from a head on."""
        listed = mapping(meta, "preservedMessages").get("uuids")
        if isinstance(listed, list):
            indices = {self.by_uuid.get(uuid) for uuid in listed if isinstance(uuid, str)}
            return tuple(sorted(i for i in indices if i is not None))
        head = self.by_uuid.get(string(mapping(meta, "preservedSegment"), "headUuid") or "")
        if head is None:
            return ()
        # What is kept is the end of the history, so it reaches from its head up to the boundary.
        if not self.allowance.covers(boundary - head):
            self.problems.setdefault(boundary, "it keeps more than can be followed")
            return ()
        return tuple(
            i
            for i in range(head, boundary)
            if fates[i] == RecordFate.KEPT and self.kinds[i] in _SAID and not self.sides[i]
        )
