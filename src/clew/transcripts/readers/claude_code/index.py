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

The index holds one small ``_Node`` for each record and no text.
"""

from __future__ import annotations

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
        title = next((self.titles[key] for key in _TITLES.values() if key in self.titles), None)
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
class _Node:
    """One record of the tree."""

    kind: RecordKind
    is_side: bool
    """It belongs to a sub-agent."""
    parent: int
    """The index of the record that it follows, or ``_ROOT``."""
    reply: int
    """Of an assistant's record, the number of the reply that it is a piece of, from 1; else 0."""
    on_path: bool = False
    """It belongs to the current conversation."""

    @property
    def is_main(self) -> bool:
        """Whether it holds something that was said in the main conversation."""
        return self.kind in _SAID and not self.is_side

    @property
    def fate(self) -> RecordFate:
        """Whether it is part of the conversation, abandoned, or ignored."""
        if self.kind < RecordKind.ATTACHMENT:
            return RecordFate.IGNORED
        return RecordFate.KEPT if self.on_path or self.is_side else RecordFate.ABANDONED


@dataclass(frozen=True, slots=True)
class RecordIndex:
    """The fate and parent of each record, by its index in the stream of lines."""

    fates: list[RecordFate]
    parents: list[int]
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
        self.nodes: list[_Node] = []
        self.by_uuid: dict[str, int] = {}
        self.missing: defaultdict[str, list[int]] = defaultdict(list)
        """By uuid, the records whose parent has not come yet."""
        self.kept_from: dict[int, JsonObject] = {}
        """For each compaction, what its record says about the messages it kept."""
        self.problems: dict[int, str] = {}
        self.sessions = [SessionFacts(0)]
        self.titles: list[JsonObject] = []
        """Records with titles since the last record in the tree: the next one may begin another session."""
        self.agent_id: str | None = None
        self.last = _ROOT
        """The last record in the tree."""
        self.reply_id: str | None = None
        self.reply = 0
        """The number of the last reply, from 1."""
        self.allowance = NameLimit()

    def add(self, record: JsonObject) -> None:
        """Note the kind, parent and reply of the next record of the file."""
        i = len(self.nodes)
        kind = record_kind(record)
        uuid = string(record, "uuid")
        if uuid is not None and uuid in self.by_uuid:
            self.problems[i] = f"record {uuid} again; the first one counts"
            kind = RecordKind.OTHER
        elif uuid is not None and kind is not RecordKind.OTHER:
            self.by_uuid[uuid] = i
        side = is_sidechain(record)
        parent = _ROOT if kind is RecordKind.OTHER else self._parent(i, kind, record)
        self.nodes.append(
            _Node(kind, side, parent, self._reply(record) if kind is RecordKind.ASSISTANT else 0)
        )
        if kind is RecordKind.OTHER:
            if string(record, "type") in _TITLES:
                self.titles.append(record)
            return
        self._begin_session(i, kind, record)
        self._assign_titles()
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
        is_root = self.nodes[i].parent == _ROOT and "parentUuid" in record and record["parentUuid"] is None
        is_new_id = session_id not in (None, known)
        if session.has_spoken and is_root and is_new_id and kind is not RecordKind.BOUNDARY:
            session = SessionFacts(i)
            self.sessions.append(session)
        session.has_spoken = session.has_spoken or kind in _SAID

    def _assign_titles(self) -> None:
        """Give titles to their session: the one before if they name it or a record of it, or the last."""
        for record in self.titles:
            before, last = self.sessions[-2:][0], self.sessions[-1]
            session_id = string(record, "sessionId")
            names_it = session_id is not None and session_id == before.fields.get("session_id")
            is_before = names_it or (string(record, "leafUuid") or "") in self.by_uuid
            is_between = last.fields.get("session_id") is None  # the last session begins right here
            (before if is_before and is_between else last).entitle(record)
        self.titles.clear()

    # After the last record -----------------------------------------------------------------------------

    def finished(self, fallback_id: str) -> RecordIndex:
        """Return the index of all records: which of them are the current conversation."""
        self._assign_titles()
        is_side_file = not any(node.is_main for node in self.nodes)
        if is_side_file:
            for node in self.nodes:
                node.is_side = False
        self._find_parents()
        self._mark_path_to_root()
        self._mark_siblings()
        fates = [node.fate for node in self.nodes]
        agent_id = self.agent_id if is_side_file else None
        return RecordIndex(
            fates,
            [node.parent for node in self.nodes],
            {session.first: session.start(fallback_id, agent_id) for session in self.sessions},
            {
                i: self._kept_records(i, meta, fates)
                for i, meta in self.kept_from.items()
                if fates[i] is RecordFate.KEPT
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
                self.nodes[i].parent = parent if parent is not None else self._message_before(i, firsts)
                if parent is None and self.nodes[i].kind in _SAID:
                    self.problems.setdefault(i, "the record it answers is not in this file")

    def _message_before(self, i: int, firsts: set[int]) -> int:
        while i > 0 and i not in firsts:
            i -= 1
            if self.nodes[i].kind is not RecordKind.OTHER and not self.nodes[i].is_side:
                return i
        return _ROOT

    def _mark_path_to_root(self) -> None:
        """Mark the records on the path from the last message of each session up to its root."""
        stop = len(self.nodes)
        for session in reversed(self.sessions):
            numbers = range(stop - 1, session.first - 1, -1)
            i = next((i for i in numbers if self.nodes[i].is_main), _ROOT)
            walked: set[int] = set()
            while i != _ROOT and not self.nodes[i].on_path:  # on it already: of a later session, or a cycle
                self.nodes[i].on_path = True
                walked.add(i)
                i = self.nodes[i].parent
            if i in walked:
                self.problems[i] = "its parents form a cycle"
            stop = session.first

    def _mark_siblings(self) -> None:
        """Mark what hangs off the path but belongs to it: results, pieces of a reply, compactions."""
        replies = {node.reply for node in self.nodes if node.on_path and node.reply}
        for node, above in zip(self.nodes, self._said_above(), strict=True):
            if node.on_path or node.is_side:
                continue
            on_path = above is not None and above.on_path
            match node.kind:
                case RecordKind.ASSISTANT:
                    node.on_path = node.reply in replies
                case RecordKind.RESULT:
                    answers = above is not None and above.kind in (RecordKind.ASSISTANT, RecordKind.RESULT)
                    node.on_path = on_path and answers
                case RecordKind.BOUNDARY | RecordKind.SUMMARY | RecordKind.ATTACHMENT:
                    node.on_path = on_path

    def _said_above(self) -> list[_Node | None]:
        """Return for each record the nearest one above it that is more than a link or an attachment."""
        nearest: list[_Node | None] = []  # from each record upwards, itself included
        above: list[_Node | None] = []
        for i, node in enumerate(self.nodes):
            above.append(nearest[node.parent] if 0 <= node.parent < i else None)
            nearest.append(node if node.kind > RecordKind.ATTACHMENT else above[i])
        return above

    def _kept_records(self, boundary: int, meta: JsonObject, fates: list[RecordFate]) -> tuple[int, ...]:
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
        numbers = range(head, boundary)
        return tuple(i for i in numbers if fates[i] is RecordFate.KEPT and self.nodes[i].is_main)
