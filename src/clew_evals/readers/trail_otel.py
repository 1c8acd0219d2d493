"""Traces in OpenTelemetry spans with OpenInference names, as TRAIL publishes them.

Every call of the model carries the whole conversation up to it. An agent's session is therefore the longest
of its calls, with the reply.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from clew.message import (
    Json,
    JsonObject,
    Message,
    Part,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Trust,
    Usage,
    text_message,
)
from clew.transcripts.fields import mapping, name_of, objects, string, value_of
from clew.transcripts.json_document import Element, Field, outline, walk
from clew.transcripts.messages import injected_message
from clew.transcripts.records import Entry, Problem, Record, Start
from clew.transcripts.source import Source

NAME = "trail-otel"
_FIELD = re.compile(r"llm\.(input|output)_messages\.(\d{1,9})\.message\.(.+)")
_CALL_FIELD = re.compile(r"tool_calls\.(\d{1,9})\.tool_call\.(id|function\.name|function\.arguments)")
_MAX_WRITTEN = 1 << 20
_CALLING = "Calling tools:\n"
_ANSWER = re.compile(r"Call id: (\S+)\n(?=Observation:|Error:)")
_ROLES = {"assistant": Role.ASSISTANT, "system": Role.SYSTEM}


def sniff(source: Source) -> bool:
    """Whether this is a trace with a list of spans."""
    return not source.is_directory and outline(source).keys[:2] == ["trace_id", "spans"]


def read(source: Source) -> Iterator[Record]:
    """Read the conversation of every agent in a trace."""
    trace_id = name_of(source, ".json")
    agents: dict[str, _Agent] = {}
    for piece in walk(source):
        match piece:
            case Field("trace_id", str() as value):
                trace_id = value
            case Element("spans", _, dict() as span):
                _collect(span, agents.setdefault(trace_id, _Agent(trace_id)), agents)
            case Problem():
                yield piece
            case _:
                pass
    for agent in agents.values():
        if agent.messages:
            yield from agent.records()


@dataclass(slots=True)
class _Agent:
    """An agent, and the longest of its calls so far."""

    id: str
    parent: str | None = None
    task: str | None = None
    messages: tuple[JsonObject, ...] = ()
    replies: int = 0
    """Messages at the end that are the model's reply."""
    attributes: JsonObject | None = None
    time: str | None = None

    def records(self) -> Iterator[Record]:
        """Yield the conversation."""
        attributes = self.attributes or {}
        model = string(attributes, "llm.model_name")
        yield Start(self.id, NAME, self.task, model=model, time=self.time, parent_id=self.parent)
        first = next((i for i, message in enumerate(self.messages) if message.get("role") == "user"), None)
        for i, message in enumerate(self.messages):
            is_reply = i >= len(self.messages) - self.replies
            yield Entry(
                _message(message, i, is_task=i == first),
                f"#{i}",
                i,
                model=model if is_reply else None,
                usage=_usage(attributes) if is_reply else None,
            )


def _collect(span: JsonObject, agent: _Agent, agents: dict[str, _Agent]) -> None:
    """Walk down the spans, an agent's with what it was asked, and keep each agent's longest call."""
    stack = [(span, agent)]
    while stack:
        span, agent = stack.pop()
        attributes = mapping(span, "span_attributes")
        kind = attributes.get("openinference.span.kind")
        if kind == "AGENT":
            own = f"{string(span, 'trace_id')}/{string(span, 'span_id')}"
            agent = agents[own] = _Agent(own, agent.id, string(attributes, "smolagents.task"))
        elif kind == "LLM":
            _keep_longest(agent, attributes, string(span, "timestamp"))
        stack += [(child, agent) for child in reversed(list(objects(span.get("child_spans"))))]


def _keep_longest(agent: _Agent, attributes: JsonObject, time: str | None) -> None:
    """Keep a call of the model if it has more messages than the longest so far.

    A message is given field by field: ``llm.input_messages.0.message.role``, ``….0.message.content``.
    """
    sent: defaultdict[int, JsonObject] = defaultdict(dict)
    replied: defaultdict[int, JsonObject] = defaultdict(dict)
    for key, value in attributes.items():
        match = _FIELD.fullmatch(key)
        if match:
            messages = replied if match[1] == "output" else sent
            messages[int(match[2])][match[3]] = value
    if len(sent) + len(replied) > len(agent.messages):
        agent.messages = tuple(
            messages[number] for messages in (sent, replied) for number in sorted(messages)
        )
        agent.replies = len(replied)
        agent.attributes, agent.time = attributes, time


def _usage(attributes: JsonObject) -> Usage:
    def number(key: str) -> int:
        text = str(attributes.get(f"llm.token_count.{key}"))
        return int(text) if text.isdecimal() else 0

    return Usage(number("prompt"), number("completion"))


# One message -----------------------------------------------------------------------------------------


def _message(fields: JsonObject, index: int, *, is_task: bool) -> Message:
    """Read one message; ``is_task`` for the first of the user.

    Some calls give everything but the system prompt in the user's role.
    """
    text, role = _text(fields), _ROLES.get(str(fields.get("role")), Role.USER)
    answer = _ANSWER.match(text)
    if text.startswith(_CALLING):
        return Message(Role.ASSISTANT, _written_calls(text, index))
    if answer and role is Role.USER:
        words = text[answer.end() :]
        content = Text(words, trust=Trust.UNTRUSTED)
        result = ToolResult(answer[1], (content,), words.startswith("Error:"), trust=Trust.UNTRUSTED)
        return Message(Role.TOOL, (result,))
    if role is Role.USER and not is_task:
        return injected_message(text, Trust.UNTRUSTED)
    parts = text_message(role, text).parts if text else ()
    return Message(role, (*parts, *_calls(fields)))


def _text(fields: JsonObject) -> str:
    """Return the words: one field, or one for each part."""
    whole = fields.get("content")
    if isinstance(whole, str):
        return whole
    pieces = [(key, value) for key, value in fields.items() if key.endswith("message_content.text")]
    return "\n".join(str(value) for _, value in sorted(pieces, key=lambda piece: _number(piece[0])))


def _number(key: str) -> int:
    digits = re.search(r"\d{1,9}", key)
    return int(digits[0]) if digits else 0


def _calls(fields: JsonObject) -> Iterator[ToolCall]:
    calls: defaultdict[int, JsonObject] = defaultdict(dict)
    for key, value in fields.items():
        match = _CALL_FIELD.fullmatch(key)
        if match:
            calls[int(match[1])][match[2]] = value
    for _, call in sorted(calls.items()):
        name, arguments = string(call, "function.name") or "unknown", string(call, "function.arguments") or ""
        yield ToolCall(string(call, "id") or "", name, arguments, trust=Trust.ASSISTANT)


def _written_calls(text: str, index: int) -> tuple[Part, ...]:
    """Read the calls that smolagents writes out as a Python list; what is not one stays text."""
    listed = _python_value(text.removeprefix(_CALLING).strip())
    calls = []
    for i, call in enumerate(objects(listed)):
        function = mapping(call, "function")
        raw = function.get("arguments")
        arguments: JsonObject | str = raw if isinstance(raw, dict) else {"code": raw}
        call_id = string(call, "id") or f"#{index}.{i}"
        name = string(function, "name") or "unknown"
        calls.append(ToolCall(call_id, name, arguments, trust=Trust.ASSISTANT))
    return tuple(calls) or (Text(text, trust=Trust.ASSISTANT),)


def _python_value(text: str) -> Json:
    """Read what Python wrote out; None if JSON cannot hold it, or if it is too long to try."""
    if len(text) > _MAX_WRITTEN:
        return None
    with warnings.catch_warnings(action="ignore"):  # of escapes that Python would not write
        try:
            return value_of(json.dumps(ast.literal_eval(text)))[0]
        except (TypeError, ValueError, SyntaxError, MemoryError, RecursionError):
            return None
