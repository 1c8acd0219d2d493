"""One conversation of a Claude Code file, assembled record by record, and the folder next to the file.

A reply of the model is written as several records, one for each block, with the results of its first calls in
between. Here it becomes one message again, followed by its results and by what arrived meanwhile: the records
``reply 3: call x``, ``result of x``, ``user: "also y"``, ``reply 3: call y``, ``result of y`` give one reply
with both calls, two results, and the user's words.

The folder holds large outputs and the conversations of sub-agents. Names in a transcript are untrusted data:
only a plain file name is taken from one, and only a regular file inside the folder is opened.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import count as count_up
from itertools import islice
from operator import is_
from pathlib import Path
from typing import TypeAlias

from clew.message import JsonObject, Message, Origin, Part, Role, Text, ToolCall, ToolResult, Usage, trust_of
from clew.providers.anthropic import parse_content
from clew.transcripts.fields import count, mapping, string
from clew.transcripts.readers.claude_code.user_messages import label_rejection
from clew.transcripts.records import Entry
from clew.transcripts.source import Source

MAX_OUTPUT_BYTES = 64 << 20
_MOVED = "<persisted-output>"
_SAVED = re.compile(r"saved to:?\s+([^\n]+)$", re.MULTILINE)
_FILE_NAME = re.compile(r"[\w-][\w.-]*\.(?:txt|json|log)")
_MAX_TRIES = 100
_PACKED = (".gz", ".zst")


class SideFolder:
    """The folder of a session, if it has one."""

    def __init__(self, source: Source) -> None:
        """Look next to the source's file; piped input has no folder."""
        name = source.path.name if source.path else ""
        for ending in _PACKED:
            name = name.removesuffix(ending)
        stem = name.removesuffix(".jsonl")
        folder = source.path.parent / stem if source.path and stem and stem != name else None
        self._folder = folder if folder is not None and folder.is_dir() else None
        files = sorted((self._folder / "subagents").rglob("agent-*.jsonl")) if self._folder else []
        self._agents = {file.stem.removeprefix("agent-"): file for file in files if self._is_inside(file)}

    def original(self, result: ToolResult) -> ToolResult | None:
        """Return a result with the output that was moved out of it; None if it was not moved, or is lost."""
        text = result.text
        if self._folder is None or not text.startswith(_MOVED):
            return None
        name = _saved_as(text)
        try:
            file = self._folder / "tool-results" / (name or "")
            if not name or not self._is_inside(file) or file.stat().st_size > MAX_OUTPUT_BYTES:
                return None
            output = file.read_bytes()
        except OSError:  # the name is too long, or the file is unreadable
            return None
        whole_text = Text(output.decode(errors="replace"), trust=result.trust)
        return replace(result, parts=(whole_text,))

    def agents(self) -> Iterator[tuple[str, Path]]:
        """Yield the id and the file of each sub-agent, ordered by name."""
        yield from self._agents.items()

    def has_agent(self, agent_id: str) -> bool:
        """Return True if a sub-agent has its own file."""
        return agent_id in self._agents

    def _is_inside(self, path: Path) -> bool:
        """Return True if a path is a regular file inside the folder, after resolving links."""
        if self._folder is None or path.is_symlink() or not path.is_file():
            return False
        return path.resolve().is_relative_to(self._folder.resolve())


def _saved_as(text: str) -> str | None:
    """Return the plain name of the file that an output was saved to, from the first line with one."""
    for match in islice(_SAVED.finditer(text), _MAX_TRIES):
        name = re.split(r"[/\\]", match.group(1).rstrip())[-1]
        if _FILE_NAME.fullmatch(name):
            return name
    return None


Recover = Callable[[ToolResult], ToolResult | None]
_SYNTHETIC = "<synthetic>"
_NOT_TRUSTED = frozenset({"AskUserQuestion", "WebFetch", "WebSearch", "Task", "Agent", "Skill"})
"""Tools of Claude Code whose error text may quote pages, other models or the user's answers."""
_COPY_SECONDS = 5.0
"""Most seconds from leaving the queue to the record of a message; at most 0.7 in recorded sessions."""
_Key: TypeAlias = tuple[bool, str]
"""Whether an aside is a record, and its text."""


class _Asides:
    """What the user typed, or the harness added, during a reply: it waits until the reply is complete.

    The file may hold such an aside twice: as a removal from the queue, and as a record. They are one message
    if they have the same text, the record was not written later (``_COPY_SECONDS``), and no other reply began
    in between. Each is matched once. A record replaces a removal that waits; otherwise the one that came
    first stays.
    """

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self._unmatched: defaultdict[_Key, deque[int]] = defaultdict(deque)
        """The keys in ``_entries`` of those that were not matched."""
        self._yielded: defaultdict[_Key, deque[Entry]] = defaultdict(deque)
        """Asides of the user that were yielded since the last reply began and were not matched."""
        self._numbers = count_up()

    def add(self, entry: Entry, *, recorded: bool) -> None:
        """Add an aside unless it is a copy; ``recorded`` is False for a removal from the queue."""
        replaces = recorded and self.replace_removals(entry)
        is_repeated = not recorded and self._take_copies(entry, recorded=False)
        if is_repeated or (not replaces and self.was_yielded(entry, recorded=recorded)):
            return
        place = next(self._numbers)
        self._entries[place] = entry
        text = entry.message.text.strip()
        if text and not replaces:
            self._unmatched[recorded, text].append(place)

    def replace_removals(self, record: Entry) -> bool:
        """Drop waiting asides that turn out to have this record; False if there are none."""
        places = self._take_copies(record, recorded=True)
        for place in places:
            del self._entries[place]
        return bool(places)

    def was_yielded(self, entry: Entry, *, recorded: bool) -> bool:
        """Return True if an aside that was yielded is this message, and mark it as matched."""
        key = (not recorded, entry.message.text.strip())
        yielded = self._yielded[key] if key in self._yielded and _is_typed(entry.message) else deque[Entry]()
        while yielded:
            if _may_be_copy(entry, yielded.popleft(), recorded):
                return True
        return False

    def forget_yielded(self) -> None:
        """Note that the conversation has gone on: the same words are now said again."""
        self._yielded.clear()

    def end(self) -> Iterator[Entry]:
        """Yield all that waited."""
        yield from self._entries.values()
        for key, places in self._unmatched.items():
            entries = (self._entries[place] for place in places)
            self._yielded[key].extend(entry for entry in entries if _is_typed(entry.message))
        self._entries.clear()
        self._unmatched.clear()

    def _take_copies(self, entry: Entry, *, recorded: bool) -> list[int]:
        """Return the waiting asides that are this message, one for each of its texts, each once."""
        places: list[int] = []
        for text in dict.fromkeys(p.text.strip() for p in entry.message.parts if isinstance(p, Text)):
            waiting = self._unmatched.get((not recorded, text))
            while waiting:
                place = waiting.popleft()
                if _may_be_copy(entry, self._entries[place], recorded):
                    places.append(place)
                    break
        return places


class Thread:
    """A conversation being assembled: the main one, a sub-agent's, or an abandoned branch.

    ``reply``, ``results``, ``say`` and ``end`` are generators: each adds its entry, and yields the entries
    that are complete, only while it is iterated. A reply comes out whole, then its results, then the asides.
    """

    def __init__(self, sidechain: str | None, recover: Recover) -> None:
        """Assemble the conversation of a sub-agent, or the session's own if ``sidechain`` is None.

        ``recover`` finds outputs that are stored elsewhere.
        """
        self.sidechain = sidechain
        self._recover = recover
        self._reply: _ReplyBuilder | None = None
        self._results: list[Entry] = []
        self._asides = _Asides()

    def reply(self, record: JsonObject, entry_id: str, line: int) -> Iterator[Entry]:
        """Add a piece of a reply; if it starts a new reply, yield what came before."""
        message_id = string(mapping(record, "message"), "id")
        if self._reply is None or message_id is None or self._reply.message_id != message_id:
            self._asides.forget_yielded()
            yield from self.end()
            self._reply = _ReplyBuilder(message_id, entry_id, line)
        self._reply.add(record)

    @property
    def reply_entry_id(self) -> str:
        """Return the id that the running reply's entry will have."""
        return self._reply.entry_id if self._reply else ""

    def results(self, entry: Entry) -> Iterator[Entry]:
        """Add an entry with results; it waits until the reply that made the calls is complete."""
        self._asides.replace_removals(entry)
        entry = self._with_originals(entry)
        if self._reply is None:
            yield entry
        else:
            self._results.append(entry)

    def say(self, entry: Entry) -> Iterator[Entry]:
        """Add any other entry; it completes the reply before it."""
        replaces = self._asides.replace_removals(entry)
        yield from self.end()
        if not _is_typed(entry.message) or replaces:
            yield entry
        elif not self._asides.was_yielded(entry, recorded=True):
            self._asides.forget_yielded()
            yield entry

    def aside(self, entry: Entry, *, recorded: bool) -> None:
        """Add what arrived during a reply; ``recorded`` is False for a removal from the queue."""
        self._asides.add(entry, recorded=recorded)

    def end(self) -> Iterator[Entry]:
        """Yield everything that waited."""
        if self._reply is not None:
            yield self._reply.entry(self.sidechain)
            self._reply = None
        yield from self._results
        yield from self._asides.end()
        self._results.clear()

    def _with_originals(self, entry: Entry) -> Entry:
        """Restore outputs that were moved out of the file, and label the user's words in a rejection."""
        hidden: list[str] = []
        parts: list[Part] = []
        for part in entry.message.parts:
            original = self._recover(part) if isinstance(part, ToolResult) else None
            if original is not None:
                hidden.append(original.call_id)
            elif isinstance(part, ToolResult) and self._reply and self._reply.asks_built_in(part.call_id):
                original = label_rejection(part)
            parts.append(original or part)
        if all(map(is_, parts, entry.message.parts)):
            return entry
        message = replace(entry.message, parts=tuple(parts))
        if not hidden:
            return replace(entry, message=message)
        return replace(entry, message=message, hidden_results=tuple(hidden), shown=entry.message)


def _may_be_copy(entry: Entry, other: Entry, recorded: bool) -> bool:
    """Return True if their times allow that the one of them that is a record belongs to the removal."""
    record, removal = (entry, other) if recorded else (other, entry)
    try:
        written, removed = (datetime.fromisoformat(one.time or "") for one in (record, removal))
        return (written - removed).total_seconds() <= _COPY_SECONDS
    except (ValueError, TypeError):  # a time is missing, or one of them has no time zone
        return True


def _is_typed(message: Message) -> bool:
    return message.role is Role.USER and message.origin is Origin.SPOKEN


class _ReplyBuilder:
    """One reply of the model, piece by piece."""

    def __init__(self, message_id: str | None, entry_id: str, line: int) -> None:
        self.message_id = message_id
        self.entry_id = entry_id
        self._line = line
        self._parts: list[Part] = []
        self._calls: dict[str, str] = {}
        self._origin = Origin.SPOKEN
        self._time: str | None = None
        self._model: str | None = None
        self._usage: Usage | None = None

    def add(self, record: JsonObject) -> None:
        message = mapping(record, "message")
        model = string(message, "model")
        if model == _SYNTHETIC or record.get("isApiErrorMessage") is True:
            self._origin = Origin.INJECTED  # written by the harness in the model's role
        elif model:
            self._model = model
        self._time = self._time or string(record, "timestamp")
        self._usage = usage_of(mapping(message, "usage")) or self._usage
        for part in parse_content(message.get("content"), trust_of(Role.ASSISTANT, self._origin)):
            if isinstance(part, ToolCall):
                if part.call_id in self._calls and part in self._parts:
                    continue  # a duplicate; a different call with the same id is kept
                self._calls[part.call_id] = part.name
            self._parts.append(part)

    def asks_built_in(self, call_id: str) -> bool:
        """Return True if this reply made that call, to a built-in tool of Claude Code.

        Excluded are tools whose text comes from outside, and questions to the user: a rejected question is
        repeated elsewhere with the user's words.
        """
        name = self._calls.get(call_id)
        return name is not None and name not in _NOT_TRUSTED and not name.startswith("mcp__")

    def entry(self, sidechain: str | None) -> Entry:
        message = Message(Role.ASSISTANT, tuple(self._parts), self._origin)
        return Entry(message, self.entry_id, self._line, self._time, self._model, self._usage, sidechain)


def usage_of(usage: JsonObject) -> Usage | None:
    """Return the tokens that Anthropic's API reported; None if it reported none."""
    read, written = count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens")
    total = count(usage, "input_tokens") + read + written
    output = count(usage, "output_tokens")
    return Usage(total, output, read, written) if total or output else None
