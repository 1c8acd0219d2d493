"""Codex: rollouts, ``~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl`` and the same as ``.zst``.

A line is ``{"timestamp": …, "type": "response_item", "payload": {…}}`` with an item of OpenAI's Responses
API, or another type: ``turn_context`` (the model), ``event_msg`` (token counts, rollbacks), ``compacted``. A
rollout is read once. For each entry only its id is kept, and for each message a fingerprint by which a
compaction's copy of it is recognised. Items in the user's role are labelled: typed by the user, inserted by
the harness, or a summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from clew.message import (
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
from clew.providers.openai_responses import parse_item
from clew.transcripts.fields import NameLimit, count, mapping, name_of, objects, string
from clew.transcripts.jsonl import head_objects, read_objects
from clew.transcripts.messages import MACHINE_TRUST, injected_message, relabel, user_message
from clew.transcripts.records import Boundary, Dropped, Entry, Problem, Record, Start
from clew.transcripts.source import Source

FORMAT = "codex"
_RECORDS = {"session_meta", "turn_context", "response_item", "event_msg", "compacted"}
_BOOKKEEPING = {"turn_context", "world_state", "security_risk_score", "state"}
_ITEMS = {"message", "reasoning", "function_call", "function_call_output", "local_shell_call"}
_SKIPPED_ITEMS = {"ghost_snapshot", "other"}
_OWN_TOOLS = frozenset({"shell", "exec_command", "shell_command", "local_shell", "apply_patch"})
_REFUSED = re.compile(
    r"(?:exec command|patch) rejected by user|exec_command failed[^\n]*[Rr]ejected by user[^\n]*"
)


def sniff(source: Source) -> float:
    """Recognise a rollout by its first records; the oldest ones have no envelope."""
    head = head_objects(source)
    if any(string(record, "type") in _RECORDS and isinstance(record.get("payload"), dict) for record in head):
        return 1.0
    items = (string(line, "type") in _ITEMS or line.get("record_type") == "state" for line in head[1:])
    return 0.9 if head and _is_bare_meta(head[0]) and all(items) else 0.0


def _is_bare_meta(record: JsonObject) -> bool:
    return {"id", "timestamp"} <= record.keys() and not {"type", "role", "content"} & record.keys()


def read(source: Source) -> Iterator[Record]:
    """Read a rollout: messages, compactions, rollbacks."""
    rollout = _Rollout(name_of(source, ".jsonl"), _first_model(source))
    yield from read_objects(source, rollout.record)
    yield from rollout.end()


def _first_model(source: Source) -> str | None:
    contexts = (record for record in head_objects(source) if record.get("type") == "turn_context")
    return next((model for c in contexts if (model := string(mapping(c, "payload"), "model"))), None)


@dataclass(slots=True)
class _Rollout:
    """Reads a rollout record by record."""

    fallback_id: str
    model: str | None
    started: bool = False
    held: Entry | None = None
    """The model's last entry: the tokens of its call are reported after it."""
    ids: list[str] = field(default_factory=list)
    """The entries and compactions that were not rolled back, in order."""
    turns: list[int] = field(default_factory=list)
    """Where in ``ids`` each turn of the user begins."""
    known: dict[int, int] = field(default_factory=dict)
    """From a message's fingerprint to its position in ``ids``."""
    unknown: set[str] = field(default_factory=set)
    own_calls: set[str] = field(default_factory=set)
    """Calls to tools whose output Codex wraps, so that no output can imitate Codex's own text."""
    allowance: NameLimit = field(default_factory=NameLimit)

    def record(self, record: JsonObject, number: int) -> Iterator[Record]:
        """Read one record."""
        kind, payload = _unwrap(record)
        time = string(record, "timestamp")
        if not self.started and kind is not None:
            yield from self._start(payload if kind == "session_meta" else {}, time, number)
        match kind:
            case "response_item":
                yield from self._item(payload, number, time)
            case "inter_agent_communication":
                yield from self._agent_message(payload, number, time)
            case "compacted":
                yield from self._compaction_records(payload, number, time)
            case "event_msg":
                yield from self._event(payload, number)
            case "session_meta":
                pass  # a fork repeats its parent's
            case _ if kind not in _BOOKKEEPING and str(kind) not in self.unknown:
                self.unknown.add(str(kind))
                yield Problem(f"a record of the unknown type {kind!r}", number)
        if kind == "turn_context":
            self.model = string(payload, "model") or self.model

    def end(self) -> Iterator[Record]:
        """Yield the entry that waited."""
        if self.held is not None:
            yield self.held
            self.held = None

    def _start(self, meta: JsonObject, time: str | None, number: int) -> Iterator[Record]:
        """Yield the ``Start``, and the system prompt that the session's first record holds."""
        self.started = True
        spawned = mapping(meta, "source", "subagent", "thread_spawn")
        parent = string(meta, "forked_from_id") or string(meta, "parent_thread_id")
        yield Start(
            string(meta, "id") or string(meta, "session_id") or self.fallback_id,
            FORMAT,
            directory=string(meta, "cwd"),
            model=self.model,
            time=string(meta, "timestamp") or time,
            parent_id=parent or string(spawned, "parent_thread_id"),
        )
        instructions = string(mapping(meta, "base_instructions"), "text")
        instructions = instructions or string(meta, "base_instructions") or string(meta, "instructions")
        if instructions:
            message = Message(Role.SYSTEM, (Text(instructions, trust=Trust.SYSTEM),))
            yield from self._add_entry(Entry(message, f"L{number}", number, time))

    def _item(self, item: JsonObject, number: int, time: str | None) -> Iterator[Record]:
        """Read an item of the conversation: a message, reasoning, a call or its output."""
        if string(item, "type") in _SKIPPED_ITEMS:
            return
        if item.get("type") == "agent_message":
            yield from self._agent_message(item, number, time)
            return
        message = label_speakers(parse_item(item))
        self.own_calls.update(call.call_id for call in message.calls if call.name in _OWN_TOOLS)
        if message.role is Role.TOOL:
            message = replace(message, parts=tuple(map(self._with_refusal, message.parts)))
        yield from self._add_entry(Entry(message, f"L{number}", number, time))

    def _with_refusal(self, part: Part) -> Part:
        """Mark a refused call as an error: Codex's fixed text, for a tool whose output it wraps."""
        if isinstance(part, ToolResult) and part.call_id in self.own_calls and _REFUSED.fullmatch(part.text):
            return replace(part, is_error=True)
        return part

    def _agent_message(self, sent: JsonObject, number: int, time: str | None) -> Iterator[Record]:
        """Yield what another agent sent: a model's text in the user's role."""
        blocks = (string(block, "text") for block in objects(sent.get("content")))
        text = string(sent, "content") or "\n".join(text for text in blocks if text)
        if text:
            yield from self._add_entry(
                Entry(injected_message(text, Trust.ASSISTANT), f"L{number}", number, time)
            )

    def _add_entry(self, entry: Entry) -> Iterator[Record]:
        """Pass an entry on; one of the model's waits for its token report."""
        yield from self.end()
        message = entry.message
        if message.role is Role.USER and message.origin is Origin.SPOKEN:
            self.turns.append(len(self.ids))
        mark = _fingerprint(message)
        if mark is not None:
            self.known[mark] = len(self.ids)
        self.ids.append(entry.id)
        if message.role is Role.ASSISTANT:
            self.held = replace(entry, model=self.model)
        else:
            yield entry

    def _event(self, event: JsonObject, number: int) -> Iterator[Record]:
        """Read an event: token counts belong to the reply before, a rollback drops turns."""
        match event.get("type"):
            case "token_count" if self.held is not None:
                usage = _usage(mapping(event, "info", "last_token_usage") or event)
                window = count(mapping(event, "info"), "model_context_window") or None
                self.held = replace(self.held, usage=usage or self.held.usage, window=window)
            case "thread_rolled_back":
                yield from self.end()
                yield from self._rolled_back(count(event, "num_turns"), number)

    def _rolled_back(self, turns: int, number: int) -> Iterator[Record]:
        if turns <= 0 or not self.turns:
            return
        first = self.turns[-turns] if turns <= len(self.turns) else self.turns[0]
        del self.turns[-turns:]
        dropped = tuple(self.ids[first:])
        del self.ids[first:]
        self.known = {mark: place for mark, place in self.known.items() if place < first}
        yield Dropped(dropped, number, "rolled back")

    def _compaction_records(self, payload: JsonObject, number: int, time: str | None) -> Iterator[Record]:
        """Yield the boundary of a compaction, and the messages that it wrote."""
        yield from self.end()
        kept, fresh_messages = self._replacement(payload)
        boundary_id = f"L{number}"
        self.ids.append(boundary_id)
        yield Boundary(boundary_id, number, time, keeps=tuple(kept))
        for i, message in enumerate(fresh_messages, start=1):
            yield from self._add_entry(Entry(message, f"L{number}.{i}", number, time))

    def _replacement(self, payload: JsonObject) -> tuple[list[str], list[Message]]:
        """Return the ids of the entries that a compaction kept, and the messages that it wrote."""
        summary = string(payload, "message")
        summaries = [relabel(Message(Role.USER, (Text(summary),)), Origin.SUMMARY)] if summary else []
        if not isinstance(payload.get("replacement_history"), list):
            # Older versions did not write it: the history after a compaction was the user's messages.
            turns = self.turns if self.allowance.covers(len(self.turns)) else []
            return [self.ids[place] for place in turns], summaries
        kept: list[str] = []
        fresh_messages: list[Message] = []
        for item in objects(payload["replacement_history"]):
            message = label_speakers(parse_item(item))
            mark = _fingerprint(message)
            place = self.known.get(mark) if mark is not None else None
            if place is not None:
                kept.append(self.ids[place])
            elif message.origin is Origin.SPOKEN and message.role in (Role.USER, Role.ASSISTANT):
                fresh_messages.append(relabel(message, Origin.SUMMARY))  # a shortened copy
            else:
                fresh_messages.append(message)
        has_summary = any(message.origin is Origin.SUMMARY for message in fresh_messages)
        return kept, fresh_messages if has_summary else fresh_messages + summaries


def _unwrap(record: JsonObject) -> tuple[str | None, JsonObject]:
    """Return a record's kind and content; the oldest files have no envelope."""
    payload = record.get("payload")
    if isinstance(payload, dict):
        return string(record, "type"), payload
    if string(record, "type") in _ITEMS:
        return "response_item", record
    if record.get("record_type") == "state":
        return "state", {}
    if _is_bare_meta(record):
        return "session_meta", record
    return string(record, "type"), {}


def _fingerprint(message: Message) -> int | None:
    """Return a fingerprint that copies of this message share; None for what is never copied."""
    texts = tuple(part.text for part in message.parts if isinstance(part, Text | Thinking) and part.text)
    calls = tuple(part.call_id for part in message.parts if isinstance(part, ToolCall | ToolResult))
    return hash((message.role, texts, calls)) if texts or calls else None


def _usage(usage: JsonObject) -> Usage | None:
    total, output = count(usage, "input_tokens"), count(usage, "output_tokens")
    if not total and not output:
        return None
    return Usage(total, output, cache_read_tokens=count(usage, "cached_input_tokens"))


# Who wrote a text ----------------------------------------------------------------------------------


# Beginnings of text that Codex inserts in the user's role: <environment_context>, # AGENTS.md instructions …
_SCAFFOLDING = re.compile(
    r"\s*(?:# AGENTS\.md instructions|<INSTRUCTIONS>|<(?:user_instructions|environment_context|turn_aborted"
    r"|user_shell_command|user_action|skill|subagent_notification|agent_message_board_notification"
    r"|codex_internal_context|goal_context|recommended_plugins|hook_prompt|personality_spec|model_switch"
    r"|collaboration_mode|permissions instructions|apps_instructions|skills_instructions"
    r"|plugins_instructions|multi_agent_mode|app-context)\b)"
)
_SUMMARY = re.compile(
    r"\s*(?:Another language model started to solve this problem and produced a summary"
    r"|You were originally given instructions from a user over one or more turns)"
)
# <image name=[Image #1]> and </image>, around an attached image.
_IMAGE_WRAPPER = re.compile(r"\s*</?image\b[^<>]*>\s*")
_EDITOR_CONTEXT = re.compile(
    r"\s*# (?:Context from my IDE setup|Files mentioned by the user|Review findings):"
)
_REQUEST = "## My request for Codex:"


def label_speakers(message: Message) -> Message:
    """Label a message in the user's role by its real author; others are returned unchanged."""
    if message.role is not Role.USER:
        return message
    if any(isinstance(part, Text) and _SUMMARY.match(part.text) for part in message.parts):
        return relabel(message, Origin.SUMMARY)
    labelled = user_message(piece for part in message.parts for piece in _pieces(part))
    return replace(labelled, native=message.native)


def _pieces(part: Part) -> Iterator[Part]:
    if not isinstance(part, Text):
        yield part
    elif _SCAFFOLDING.match(part.text) or _IMAGE_WRAPPER.fullmatch(part.text):
        yield replace(part, trust=MACHINE_TRUST)
    elif _EDITOR_CONTEXT.match(part.text) and _REQUEST in part.text:
        # The editor's context comes first; the user's words follow the last such heading, because an open
        # file that the editor quotes may contain one too.
        cut = part.text.rindex(_REQUEST) + len(_REQUEST)
        yield Text(part.text[:cut], trust=MACHINE_TRUST)
        yield Text(part.text[cut:], trust=Trust.USER)
    else:
        yield part
