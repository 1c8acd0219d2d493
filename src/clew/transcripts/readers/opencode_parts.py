"""Read one opencode message with its parts into records. A tool part holds the call and its result.

``{"type": "tool", "tool": "bash", "callID": "c1", "state": {"status": "completed", "output": "ok"}}`` becomes
a ``ToolCall`` in the assistant's entry and a ``ToolResult`` in the entry after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from clew.message import (
    Json,
    JsonObject,
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
    trust_of,
)
from clew.transcripts.fields import Ids, NameLimit, count, mapping, objects, string, time_of
from clew.transcripts.messages import MACHINE_TRUST, media_from_url, user_message
from clew.transcripts.records import Boundary, Dropped, Entry, Problem, Record

NAME = "opencode"
_BOOKKEEPING = ("step-finish", "snapshot", "patch", "retry", "agent", "compaction")
"""Parts without text for the model: opencode's own notes. Mentioned agents are in the text as well."""


@dataclass(slots=True)
class OpencodeSession:
    """What must be remembered while reading a session: only ids."""

    ids: Ids = field(default_factory=Ids)
    call_ids: Ids = field(default_factory=Ids)
    entries: list[tuple[str, str]] = field(default_factory=list)
    """For each entry, the message it came from and the entry's id."""
    compaction: JsonObject = field(default_factory=dict)
    """The compaction part that waits for its summary; empty if there is none."""
    allowance: NameLimit = field(default_factory=NameLimit)

    def entry_id(self, owner: str, suffix: str = "") -> str:
        """Return a new id for an entry of a message."""
        entry_id = self.ids.unique(owner + suffix, owner)
        self.entries.append((owner, entry_id))
        return entry_id

    def entries_from(self, owner: str | None) -> tuple[str, ...]:
        """Return the ids of all entries from a message on; empty if there is no such message."""
        owners = [known for known, _ in self.entries]
        start = owners.index(owner) if owner in owners else len(owners)
        return tuple(entry_id for _, entry_id in self.entries[start:])

    def kept_from(self, owner: str | None) -> tuple[str, ...]:
        """Return what a compaction kept, from a message on."""
        return self.entries_from(owner) if owner and self.allowance.covers(len(self.entries)) else ()

    def reverted(self, revert: JsonObject) -> Iterator[Record]:
        """Yield a ``Dropped`` for entries that the user reverted; if a part is named, its message stays."""
        owner = string(revert, "messageID")
        dropped = self.entries_from(owner)
        if "partID" in revert:
            own = {entry_id for known, entry_id in self.entries if known == owner}
            dropped = tuple(entry_id for entry_id in dropped if entry_id not in own)
        if dropped:
            yield Dropped(dropped, reason="reverted")


def message_records(
    session: OpencodeSession, info: JsonObject, parts: Json, line: int | None
) -> Iterator[Record]:
    """Read one message: an entry for what was said and one for the results of its calls."""
    read = _assistant_records if info.get("role") == "assistant" else _user_records
    yield from read(session, info, list(objects(parts)), line)
    yield from session.ids.repeated(string(info, "id"), line)


# User messages ---------------------------------------------------------------------------------------


def _user_records(
    session: OpencodeSession, info: JsonObject, parts: list[JsonObject], line: int | None
) -> Iterator[Record]:
    owner = string(info, "id") or f"#{line}"
    for part in parts:
        if part.get("type") == "compaction":
            session.compaction = {**part, "owner": owner}
    content = tuple(read for part in parts if (read := _user_part(part)))
    yield from _unknown(content, line)
    if not content:
        return
    yield Entry(
        user_message(content), session.entry_id(owner), line, time_of(mapping(info, "time").get("created"))
    )


def _user_part(part: JsonObject) -> Part | None:
    text = string(part, "text")
    match part.get("type"):
        case "text":
            by_machine = part.get("synthetic") is True or "compaction_continue" in mapping(part, "metadata")
            return Text(text, trust=MACHINE_TRUST if by_machine else Trust.USER) if text else None
        case "subtask":
            return Text(string(part, "prompt") or "", trust=MACHINE_TRUST)
        case "file":
            return _file(part, Trust.USER)
        case kind if kind in _BOOKKEEPING:
            return None
        case kind:
            return Unknown(str(kind), trust=MACHINE_TRUST, native=Native(NAME, part))


def _file(part: JsonObject, trust: Trust) -> Part | None:
    url = string(part, "url")
    return media_from_url(url, string(part, "mime"), trust, string(part, "filename")) if url else None


# Assistant messages ----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Step:
    """One answer of the model, with the results of its calls."""

    parts: list[Part] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)


def _assistant_records(
    session: OpencodeSession, info: JsonObject, parts: list[JsonObject], line: int | None
) -> Iterator[Record]:
    """Yield the records of one of the model's messages, one entry for each step and one for its results."""
    owner = string(info, "id") or f"#{line}"
    time = time_of(mapping(info, "time").get("created"))
    is_summary = info.get("summary") is True and bool(info.get("finish")) and not info.get("error")
    if is_summary:
        yield _boundary(session, owner, line, time)
    origin = Origin.SUMMARY if is_summary else Origin.SPOKEN
    usage: Usage | None = usage_of(mapping(info, "tokens"))
    for i, step in enumerate(_steps(session, parts, trust_of(Role.ASSISTANT, origin))):
        number = f":{i + 1}" if i else ""
        yield from _unknown(tuple(step.parts), line)
        message = Message(Role.ASSISTANT, tuple(step.parts), origin)
        yield Entry(message, session.entry_id(owner, number), line, time, string(info, "modelID"), usage)
        usage = None  # one report per call of the model
        if step.results:
            answer = Message(Role.TOOL, tuple(step.results))
            entry_id = session.entry_id(owner, f"{number}:results")
            yield Entry(answer, entry_id, line, time, hidden_results=tuple(step.hidden))


def _boundary(session: OpencodeSession, owner: str, line: int | None, time: str | None) -> Boundary:
    part, session.compaction = session.compaction, {}
    trigger = "overflow" if part.get("overflow") is True else "auto" if part.get("auto") is True else "manual"
    return Boundary(
        session.ids.unique(string(part, "owner"), f"{owner}:compaction"),
        line,
        time,
        trigger if part else None,
        keeps=session.kept_from(string(part, "tail_start_id")),
    )


def _steps(session: OpencodeSession, parts: list[JsonObject], trust: Trust) -> Iterator[_Step]:
    """Yield the answers in one message: after tools have run, a new step is a new call of the model."""
    step = _Step()
    for part in parts:
        kind = part.get("type")
        if kind == "step-start":
            if step.results:
                yield step
                step = _Step()
        elif kind == "tool":
            _add_tool(
                step, part, session.call_ids.unique(string(part, "callID"), f"{string(part, 'id')}"), trust
            )
        elif read := _assistant_part(part, trust):
            _add_said(step, read)
    if step.parts:
        yield step


def _add_said(step: _Step, part: Part) -> None:
    """Add a part of the answer; parts of one reasoning item, which all carry its sealed data, are joined."""
    if isinstance(part, Thinking) and part.item_id:
        for place, known in enumerate(step.parts):
            if isinstance(known, Thinking) and known.item_id == part.item_id:
                text = "\n\n".join(filter(None, (known.text, part.text)))
                step.parts[place] = replace(known, text=text, signature=part.signature or known.signature)
                return
    step.parts.append(part)


def _assistant_part(part: JsonObject, trust: Trust) -> Part | None:
    match part.get("type"):
        case "text":
            text = string(part, "text")
            return Text(text, trust=trust) if text else None
        case "reasoning":
            return _thinking(part, trust)
        case "file":
            return _file(part, trust)
        case kind if kind in _BOOKKEEPING:
            return None
        case kind:
            return Unknown(str(kind), trust=trust, native=Native(NAME, part))


def _thinking(part: JsonObject, trust: Trust) -> Part:
    """Return reasoning with what its provider needs to accept it again: a signature, or a sealed item."""
    text = string(part, "text") or ""
    metadata = mapping(part, "metadata")
    signature = string(mapping(metadata, "anthropic"), "signature")
    if signature:
        return Thinking(text, signature, trust=trust)
    for provider in objects(list(metadata.values())):
        item_id, sealed = string(provider, "itemId"), string(provider, "reasoningEncryptedContent")
        if item_id or sealed:
            return Thinking(text, sealed, item_id=item_id, trust=trust)
    return Thinking(text, trust=trust)


def _add_tool(step: _Step, part: JsonObject, call_id: str, trust: Trust) -> None:
    """Add a tool part to a step: its call and, once it has run, its result."""
    state, name = mapping(part, "state"), string(part, "tool") or "unknown"
    step.parts.append(ToolCall(call_id, name, mapping(state, "input"), trust=trust))
    if state.get("status") not in ("completed", "error"):
        return
    failed = state.get("status") == "error"
    text = state.get("error" if failed else "output")
    words = f"{text if isinstance(text, str) else ''}{exit_line(state, failed)}"
    parts: list[Part] = [Text(words, trust=Trust.UNTRUSTED)]
    parts += [
        file for attached in objects(state.get("attachments")) if (file := _file(attached, Trust.UNTRUSTED))
    ]
    step.results.append(ToolResult(call_id, tuple(parts), failed, name, trust=Trust.UNTRUSTED))
    if "compacted" in mapping(state, "time"):
        step.hidden.append(call_id)


def exit_line(state: JsonObject, failed: bool) -> str:
    """Return a line with the exit code of a command; opencode stores it only next to the output."""
    code = mapping(state, "metadata").get("exit")
    is_code = isinstance(code, int) and not isinstance(code, bool)
    return f"\n[exit code: {code}]" if is_code and code != 0 and not failed else ""


def usage_of(tokens: JsonObject) -> Usage | None:
    """Return a message's token usage; only the total shows whether ``output`` includes reasoning."""
    cache = mapping(tokens, "cache")
    read, written = count(cache, "read"), count(cache, "write")
    given = count(tokens, "input") + read + written
    output = max(count(tokens, "total") - given, count(tokens, "output"))
    return Usage(given, output, read, written) if given or output else None


def _unknown(parts: tuple[Part, ...], line: int | None) -> Iterator[Problem]:
    for part in parts:
        if isinstance(part, Unknown):
            yield Problem(f"a part of the unknown type {part.kind!r}, kept unchanged", line)
