"""``Tool``: a tool that an agent can call, such as ``recall_search``, and what the tools work with.

Here are its definition for each provider, the JSON schema of its parameters, the check of its arguments, and
the session that it works on. Strict mode requires every property to be listed as required, so an optional one
may be null instead. A model that omits it anyway is accepted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from clew.budget import Policy, Window
from clew.errors import InputError, UnknownWire
from clew.memory.memory import Memory
from clew.memory.notes.notebook import Notebook
from clew.message import Item, Json, JsonObject, Trust

_TYPES: dict[str, type] = {"string": str, "integer": int, "array": list}
_CALLED = {"string": "text", "integer": "a whole number", "array": "a list of texts"}


def string(about: str, *, optional: bool = False, of: type[StrEnum] | Sequence[str] = ()) -> JsonObject:
    """Return the schema of a text, or of one of some words."""
    property_ = _property("string", about, optional)
    if of:
        property_["enum"] = [*(str(text) for text in of), *([None] if optional else [])]
    return property_


def integer(about: str, *, optional: bool = False) -> JsonObject:
    """Return the schema of an integer."""
    return _property("integer", about, optional)


def strings(about: str, *, optional: bool = False) -> JsonObject:
    """Return the schema of a list of texts."""
    return {**_property("array", about, optional), "items": {"type": "string"}}


def _property(kind: str, about: str, optional: bool) -> JsonObject:
    return {"type": [kind, "null"] if optional else kind, "description": about}


def object_schema(**properties: JsonObject) -> JsonObject:
    """Return the schema of a tool's parameters."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def read_arguments(schema: JsonObject, arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    """Return the value of each property, None if omitted; raise ``InputError`` for invalid arguments."""
    values = _object(arguments)
    properties: dict[str, Any] = schema["properties"]  # type: ignore[assignment]  # as ``object_schema`` wrote it
    unknown = [name for name in values if name not in properties]
    wrong = [f"there is no argument {name!r}" for name in unknown]
    wrong += [
        text for name, item in properties.items() if (text := _what_is_wrong(name, item, values.get(name)))
    ]
    if wrong:
        raise InputError("; ".join(wrong), f"it takes {', '.join(properties) or 'nothing'}")
    return {name: values.get(name) for name in properties}


def bounded_number(arguments: Mapping[str, Any], name: str, least: int, most: int, default: int) -> int:
    """Return the given number, or a default; raise ``InputError`` if it is out of bounds."""
    number: int | None = arguments[name]
    if number is None:
        return default
    if not least <= number <= most:
        raise InputError(f"{name} is {number}", f"it must be from {least} to {most}")
    return number


def _object(arguments: Mapping[str, Any] | str) -> Mapping[str, Any]:
    if not isinstance(arguments, str):
        return arguments
    try:
        values = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as cause:
        raise InputError(f"the arguments are not JSON ({cause})", "give an object") from cause
    if not isinstance(values, dict):
        raise InputError("the arguments are not an object", "give an object")
    return values


def _what_is_wrong(name: str, schema: Mapping[str, Any], value: Json) -> str:
    """Return what is wrong with the value of an argument; empty if nothing is."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if value is None:
        return "" if "null" in kinds else f"{name} is missing"
    if isinstance(value, bool) or not isinstance(value, _TYPES[kinds[0]]):
        return f"{name} is not {_CALLED[kinds[0]]}"
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        return f"{name} is not a list of texts"
    if "enum" in schema and value not in schema["enum"]:
        return f"{name} is not one of {', '.join(word for word in schema['enum'] if word)}"
    return ""


class Expanded(Protocol):
    """What a reference points to."""

    @property
    def what(self) -> str:
        """Return ``message``, ``digest``, ``claim`` or ``rule``."""

    @property
    def text(self) -> str:
        """Return its own text, if it is not a message."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the messages it comes from."""


class Measured(Protocol):
    """The size of a session's window."""

    @property
    def window(self) -> Window:
        """Return the window."""

    @property
    def policy(self) -> Policy:
        """Return the compaction policy."""


class Named(Protocol):
    """Something with an id."""

    @property
    def id(self) -> str:
        """Return the id."""


class ToolSession(Protocol):
    """What the tools need of a session; ``clew.Session`` implements it."""

    @property
    def name(self) -> str:
        """Return the session's name."""

    @property
    def tokens(self) -> int:
        """Return the tokens of the current view."""

    @property
    def gauge(self) -> Measured:
        """Return the size of the window."""

    def view(self) -> list[Item]:
        """Return the current view."""

    def originals(self, ids: Iterable[str]) -> Iterator[Item]:
        """Yield original messages; unknown ids are skipped."""

    def seen(self) -> Iterator[Item]:
        """Yield all that the model was ever shown of the session, whether it is still in view or not."""

    def expand(self, ref: str) -> Expanded:
        """Return what a reference points to."""

    def number(self, seq: int) -> int:
        """Return how many messages there were at a position of the log."""

    def pin(self, quote: str) -> Named:
        """Pin a rule, kept verbatim."""


class Consent(StrEnum):
    """A person's answer to a write request of the agent."""

    GIVEN = "given"
    DENIED = "denied"
    LATER = "later"
    """Not now: the request stays pending if it can."""


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A write that an agent asks for."""

    tool: str
    summary: str
    """What would happen, in one sentence for people; the quoted words are the agent's."""
    trust: Trust


LEAST_CHARACTERS = 2_000
MOST_CHARACTERS = 16_000
"""Characters of one answer, so that it does not fill the window (chosen by hand)."""
PER_TOKEN = 4
"""Characters per token, roughly."""

Approve = Callable[[WriteRequest], Consent]


def ask_later(_: WriteRequest) -> Consent:
    """Leave every request pending."""
    return Consent.LATER


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What the tools work with."""

    session: ToolSession
    memory: Memory
    approve: Approve

    @property
    def window_tenth(self) -> int:
        """Return the characters of a tenth of the window: no answer may be longer."""
        return max(LEAST_CHARACTERS, self.session.gauge.window.usable_tokens // 10 * PER_TOKEN)

    @property
    def answer_characters(self) -> int:
        """Return how many characters an answer may quote."""
        return min(MOST_CHARACTERS, self.window_tenth)

    @property
    def notebook(self) -> Notebook:
        """Return the notes that apply to the session."""
        return self.memory.notebook


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool answers."""

    text: str
    trust: Trust = Trust.SEMI_TRUSTED
    """The lowest trust of what it quotes; SEMI_TRUSTED for the harness's own text."""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that an agent can call."""

    name: str
    description: str
    parameters: JsonObject
    does: Callable[[ToolContext, dict[str, Any]], ToolAnswer]
    read_only: bool = True
    """It changes nothing, so it needs no approval."""
    asks: Callable[[ToolContext, dict[str, Any]], bool] = lambda _context, _arguments: True
    """False for a call of a writing tool that is refused or quarantined, so that it needs no approval."""

    def definition(self, wire: str) -> JsonObject:
        """Return its entry in a provider's list of tools, or in MCP's."""
        named: JsonObject = {"name": self.name, "description": self.description}
        match wire:
            case "anthropic":
                return {**named, "input_schema": self.parameters}
            case "openai":
                return {
                    "type": "function",
                    "function": {**named, "parameters": self.parameters, "strict": True},
                }
            case "responses":
                return {"type": "function", **named, "parameters": self.parameters, "strict": True}
            case "gemini":
                return {**named, "parametersJsonSchema": self.parameters}
            case "mcp":
                return {**named, "inputSchema": self.parameters, "annotations": self._annotations}
        raise UnknownWire(f"no tool format for {wire!r}")

    @property
    def _annotations(self) -> JsonObject:
        """Return MCP's hints. Nothing is ever destroyed: forgotten notes stay in the log."""
        return {
            "readOnlyHint": self.read_only,
            "destructiveHint": False,
            "idempotentHint": self.read_only,
            "openWorldHint": False,
        }
