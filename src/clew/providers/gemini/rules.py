"""Rules of Google's Gemini API (G0 to G3).

Each function yields the violations of the rule above it, such as two responses to three calls. Requests have
the model in their URL, not in their body: add it under ``model`` to apply the rules that depend on it. Field
names are read in both spellings that the API accepts, camel case and snake case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from clew.message import Json, JsonObject
from clew.providers.rules import (
    CheckScope,
    RuleBook,
    RuleFinding,
    RuleLevel,
    malformed_entries,
    once_per_check,
)
from clew.providers.shapes import as_list, as_object, as_text, object_or_none, objects

RULES = RuleBook()

MAX_NAME = 128

_ROLES = frozenset({"user", "model", "function", ""})
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]*")
_SIGNED_CALLS = re.compile(r"(?:.*/)?(?:auto-)?gemini-(?:[3-9]|\d\d)")


class GeminiPart(NamedTuple):
    """A part and its place."""

    content: int
    at: int
    call: JsonObject | None
    response: JsonObject | None
    signed: bool

    @property
    def where(self) -> str:
        """Return the path into the body."""
        return f"contents.{self.content}.parts.{self.at}"


@dataclass(slots=True)
class GeminiTurn:
    """Consecutive contents of the user or of the model, which the API reads as one turn."""

    by_model: bool
    first: int
    last: int
    parts: list[GeminiPart] = field(default_factory=list)

    @property
    def calls(self) -> list[GeminiPart]:
        """Return its function calls."""
        return [part for part in self.parts if part.call is not None]

    @property
    def responses(self) -> list[GeminiPart]:
        """Return its function responses."""
        return [part for part in self.parts if part.response is not None]

    @property
    def asks(self) -> bool:
        """Whether the user's contents have more than function responses, which begins a new turn."""
        return not self.by_model and any(part.response is None for part in self.parts)


def _either(value: JsonObject, camel: str, snake: str) -> Json:
    return value[camel] if camel in value else value.get(snake)


@once_per_check
def _turns(body: JsonObject) -> list[GeminiTurn]:
    turns: list[GeminiTurn] = []
    for i, content in objects(body.get("contents")):
        by_model = content.get("role") == "model"
        if not turns or turns[-1].by_model != by_model:
            turns.append(GeminiTurn(by_model, i, i))
        turns[-1].last = i
        turns[-1].parts.extend(_part(i, j, part) for j, part in objects(content.get("parts")))
    return turns


def _part(content: int, at: int, part: JsonObject) -> GeminiPart:
    call = _either(part, "functionCall", "function_call")
    response = _either(part, "functionResponse", "function_response")
    signed = bool(_either(part, "thoughtSignature", "thought_signature"))
    return GeminiPart(content, at, object_or_none(call), object_or_none(response), signed)


@RULES.add(
    "G0: contents have the documented shape",
    "Google's API reference; error texts 'contents.parts must not be empty' and 'Please use a "
    "valid role: user, model'.",
    "build contents of a role and at least one part",
)
def _malformed(body: JsonObject) -> Iterator[RuleFinding]:
    return malformed_entries("contents", body.get("contents"), _malformed_content)


def _malformed_content(where: str, content: JsonObject) -> Iterator[RuleFinding]:
    role, parts = content.get("role", ""), content.get("parts")
    if not isinstance(role, str) or role not in _ROLES:
        yield RuleFinding(f"{where}.role", "must be user or model")
    if not isinstance(parts, list) or not parts:
        yield RuleFinding(f"{where}.parts", "must be a list of at least one part")
    for j, part in enumerate(as_list(parts)):
        if not isinstance(part, dict) or not part:
            yield RuleFinding(f"{where}.parts.{j}", "must be an object with one kind of content")
            continue
        for camel, snake in (("functionCall", "function_call"), ("functionResponse", "function_response")):
            named = _either(part, camel, snake)
            if named is not None and not as_text(as_object(named).get("name")):
                yield RuleFinding(f"{where}.parts.{j}.{camel}", "must be an object with a name")


@RULES.add(
    "G0b: a request has a content",
    "Error text 'contents is not specified', known from many clients.",
    "add a content",
    scope=CheckScope.BODY,
)
def _missing_contents(body: JsonObject) -> Iterator[RuleFinding]:
    if body.get("contents") == []:
        yield RuleFinding("contents", "at least one content is required")


@RULES.add(
    "G1: function calls of the current turn keep their thought signature",
    "Error text 'Function call is missing a thought_signature' (code_puppy#165, spring-ai#4977). "
    "Of parallel calls in one content only the first needs it, and each content counts "
    "(js-genai#1275, pipecat#3420; recorded by pydantic-ai). Gemini 3 and later; older turns are "
    "not checked. Depends on the model.",
    "send the part back with its signature, or with the documented placeholder for foreign calls",
)
def _unsigned_calls(body: JsonObject) -> Iterator[RuleFinding]:
    if not _SIGNED_CALLS.match(as_text(body.get("model")).lower()):
        return
    turns = _turns(body)
    start = max((i for i, turn in enumerate(turns) if turn.asks), default=-1)
    for turn in turns[start + 1 :]:
        steps: set[int] = set()  # each content is one step, and a turn may have several
        for call in turn.calls:
            if call.content not in steps and not call.signed:
                yield RuleFinding(call.where, "function call is missing its thoughtSignature")
            steps.add(call.content)


@RULES.add(
    "G2: roles alternate",
    "litellm merges them for older models; recorded by pydantic-ai: contents of one role in a row "
    "are accepted.",
    "merge contents of one role",
    level=RuleLevel.WARN,
)
def _merged_contents(body: JsonObject) -> Iterator[RuleFinding]:
    for turn in _turns(body):
        if turn.first != turn.last:
            side = "model" if turn.by_model else "user"
            problem = f"contents {turn.first} to {turn.last} are all {side}; the API reads them as one"
            yield RuleFinding(f"contents.{turn.last}", problem)


@RULES.add(
    "G2b: every function call has its response in the next turn",
    "Error text 'Please ensure that the number of function response parts is equal to the number "
    "of function call parts' (gemini-cli#3814, #5443, #16984). Recorded by pydantic-ai: counted "
    "after merging.",
    "keep each call and its response together",
)
def _uneven_responses(body: JsonObject) -> Iterator[RuleFinding]:
    calls = 0
    for turn in _turns(body):
        if turn.by_model:
            calls = len(turn.calls)
        else:
            responses = len(turn.responses)
            if responses != calls:
                where = turn.responses[0].where if responses else f"contents.{turn.first}"
                yield RuleFinding(where, f"{responses} function responses to {calls} function calls")
            calls = 0


@RULES.add(
    "G2c: function names start with a letter or underscore",
    "Error text 'Invalid function name. Must start with a letter or an underscore' "
    "(ida-pro-mcp#129); 128 characters measured (2026-10-05), older reports say 64.",
    "rename the function, the same way everywhere",
)
def _illegal_names(body: JsonObject) -> Iterator[RuleFinding]:
    for where, name in _names(body):
        if len(name) > MAX_NAME or not _NAME.fullmatch(name):
            problem = (
                f"{name[:40]!r} must start with a letter or _ and have at most {MAX_NAME} plain characters"
            )
            yield RuleFinding(where, problem)


def _names(body: JsonObject) -> Iterator[tuple[str, str]]:
    for i, tool in objects(body.get("tools")):
        for j, declared in objects(_either(tool, "functionDeclarations", "function_declarations")):
            yield f"tools.{i}.functionDeclarations.{j}.name", as_text(declared.get("name"))
    for turn in _turns(body):
        for part in turn.parts:
            if name := as_text(as_object(part.call or part.response).get("name")):
                yield part.where, name


@RULES.add(
    "G3: a function call follows a user turn or a response",
    "Error text 'function call turn comes immediately after a user turn or after a function "
    "response turn', listed by several clients; not recorded.",
    "start with a user turn",
    verified=False,
)
def _leading_call(body: JsonObject) -> Iterator[RuleFinding]:
    first = _turns(body)[:1]
    if first and first[0].by_model and first[0].calls:
        problem = "a function call must come after a user turn or a function response"
        yield RuleFinding(first[0].calls[0].where, problem)
