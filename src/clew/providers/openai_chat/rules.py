"""Rules of OpenAI's Chat Completions API (O0 to O7).

Each function yields the violations of the rule above it, such as a ``tool`` message that answers no call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clew.message import JsonObject
from clew.providers.rules import (
    CheckScope,
    RuleBook,
    RuleFinding,
    Shape,
    malformed_entries,
    may_be_openai,
    messages,
    misfit_numbers,
    misfits,
    once_per_check,
    temperature_up_to,
)
from clew.providers.shapes import as_list, as_object, as_text, objects

RULES = RuleBook()


@once_per_check
def calls(body: JsonObject) -> list[tuple[str, JsonObject]]:
    """Return every tool call with its path."""
    return [
        (f"messages.{i}.tool_calls.{j}", call)
        for i, role, message in messages(body)
        if role == "assistant"
        for j, call in objects(message.get("tool_calls"))
    ]


@once_per_check
def parts(body: JsonObject) -> list[tuple[str, str, JsonObject]]:
    """Return every content part with its path and its message's role."""
    return [
        (f"messages.{i}.content.{j}", role, part)
        for i, role, message in messages(body)
        for j, part in objects(message.get("content"))
    ]


MAX_TOOLS = 128
MAX_NAME = 128
MAX_DOCUMENTED_NAME = 64
MAX_DESCRIPTION = 1_024
MAX_CALL_ID = 40

_NAME = re.compile(r"[a-zA-Z0-9_-]+")


@RULES.add(
    "O3: at most 128 tools, with plain names",
    "OpenAPI specification; hexstrike#29 (tools). 128 characters is the longest name measured on "
    "api.openai.com (2026-10-05). Only for OpenAI's models.",
    "send fewer tools, rename them",
)
def _unusable_tools(body: JsonObject) -> Iterator[RuleFinding]:
    if not may_be_openai(body):
        return
    count = len(as_list(body.get("tools")))
    if count > MAX_TOOLS:
        yield RuleFinding("tools", f"{count} tools, {MAX_TOOLS} are allowed")
    for where, name in _names(body):
        if len(name) > MAX_NAME or not _NAME.fullmatch(name):
            yield RuleFinding(where, f"must be 1 to {MAX_NAME} letters, digits, _ or -")


def _names(body: JsonObject) -> Iterator[tuple[str, str]]:
    for i, tool in objects(body.get("tools")):
        yield from _names_of(f"tools.{i}", tool)
    for where, call in calls(body):
        yield from _names_of(where, call)


def _names_of(where: str, holder: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the names of a tool or call with their paths: of a function, or of a custom tool."""
    for kind in ("function", "custom"):
        if isinstance(name := as_object(holder.get(kind)).get("name"), str):
            yield f"{where}.{kind}.name", name


@RULES.add(
    "O3b: tool names and descriptions are short",
    "The specification says 64 characters for a name; reports of 2024 and 2025 name 1,024 for a "
    "description (home-assistant#121325, sentry-mcp#106). Longer ones have been accepted since.",
    "shorten them",
    verified=False,
)
def _long_names(body: JsonObject) -> Iterator[RuleFinding]:
    if not may_be_openai(body):
        return
    for where, name in _names(body):
        if MAX_DOCUMENTED_NAME < len(name) <= MAX_NAME:
            yield RuleFinding(where, f"{len(name)} characters, {MAX_DOCUMENTED_NAME} are documented")
    for i, tool in objects(body.get("tools")):
        length = len(as_text(as_object(tool.get("function")).get("description")))
        if length > MAX_DESCRIPTION:
            yield RuleFinding(
                f"tools.{i}.function.description", f"{length} characters, {MAX_DESCRIPTION} were allowed"
            )


@RULES.add(
    "O3c: tool call ids have at most 40 characters",
    "Error text 'string too long. Expected a string with maximum length 40' (camel#2215, "
    "vercel/ai#5171, agno#5382); vercel/ai#8132 could not repeat it in July 2026.",
    "shorten ids that come from other providers, the same way in call and answer",
    verified=False,
)
def _long_call_ids(body: JsonObject) -> Iterator[RuleFinding]:
    if not may_be_openai(body):
        return
    for where, call in calls(body):
        length = len(as_text(call.get("id")))
        if length > MAX_CALL_ID:
            yield RuleFinding(f"{where}.id", f"{length} characters, {MAX_CALL_ID} are allowed")


_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_FIELDS: dict[str, dict[str, Shape]] = {
    "system": {"content": (str, list)},
    "developer": {"content": (str, list)},
    "user": {"content": (str, list)},
    "assistant": {"content": (str, list, type(None))},
    "tool": {"content": (str, list), "tool_call_id": str},
    "function": {"content": (str, type(None)), "name": str},
}
_PART_KINDS: dict[str, frozenset[str]] = {
    "system": frozenset({"text"}),
    "developer": frozenset({"text"}),
    "user": frozenset({"text", "image_url", "input_audio", "file"}),
    "assistant": frozenset({"text", "refusal"}),
    "tool": frozenset({"text"}),
}
_NO_SYSTEM = re.compile(r"(?:openai/)?o1-(?:mini|preview)")
_NO_AUDIO = re.compile(r"(?:openai/)?gpt-5")


@RULES.add(
    "O0: messages have the documented shape",
    "OpenAI's OpenAPI specification (August 2026).",
    "build messages of role and content, with the fields each role needs",
)
def _malformed(body: JsonObject) -> Iterator[RuleFinding]:
    return malformed_entries("messages", body.get("messages"), _malformed_message)


_SPEAKING = frozenset({"system", "developer", "user", "assistant"})


def _is_plain(message: JsonObject) -> bool:
    """Return True for most messages: text of a known role without calls, or the answer to a call."""
    if not isinstance(message.get("content"), str) or message.get("tool_calls") is not None:
        return False
    role = message.get("role")
    if role == "tool":
        return isinstance(message.get("tool_call_id"), str)
    return isinstance(role, str) and role in _SPEAKING


def _malformed_message(where: str, message: JsonObject) -> Iterable[RuleFinding]:
    return () if _is_plain(message) else _malformed_fields(where, message)


def _malformed_fields(where: str, message: JsonObject) -> Iterator[RuleFinding]:
    role = as_text(message.get("role"))
    if role not in _ROLES:
        yield RuleFinding(f"{where}.role", f"must be one of {', '.join(sorted(_ROLES))}")
    yield from misfits(where, message, _FIELDS.get(role, {}))
    for j, part in enumerate(as_list(message.get("content"))):
        if not isinstance(part, dict):
            yield RuleFinding(f"{where}.content.{j}", "must be an object")
    if (calls := message.get("tool_calls")) is not None:
        yield from malformed_entries(f"{where}.tool_calls", calls, _malformed_call)


def _malformed_call(where: str, call: JsonObject) -> Iterator[RuleFinding]:
    kind, text = ("custom", "input") if call.get("type") == "custom" else ("function", "arguments")
    yield from misfits(where, call, {"id": str, kind: dict})
    if isinstance(called := call.get(kind), dict):
        yield from misfits(f"{where}.{kind}", called, {"name": str, text: str})


@RULES.add(
    "O1: every tool message answers a call of the assistant message before it",
    "Error texts \"messages with role 'tool' must be a response to a preceeding message with "
    "'tool_calls'\" (semantic-kernel#12708, llama_index#16214) and \"'tool_call_id' not found in "
    "'tool_calls'\".",
    "drop the tool message, or keep the call it answers",
)
def _unexpected_answers(body: JsonObject) -> Iterator[RuleFinding]:
    called: set[str] = set()
    for i, role, message in messages(body):
        if role == "tool":
            text = as_text(message.get("tool_call_id"))
            if not called:
                yield RuleFinding(
                    f"messages.{i}", "a tool message must follow an assistant message with tool_calls"
                )
            elif text not in called:
                yield RuleFinding(
                    f"messages.{i}.tool_call_id", f"{text!r} is not in the tool_calls before it"
                )
        else:
            made = objects(message.get("tool_calls")) if role == "assistant" else ()
            called = {as_text(call.get("id")) for _, call in made}


@RULES.add(
    "O2: every tool call is answered before the next message",
    "Error text \"An assistant message with 'tool_calls' must be followed by tool messages "
    "responding to each 'tool_call_id'\" (pydantic-ai#174); also for a call at the very end.",
    "keep each call and all its answers together",
)
def _unanswered_calls(body: JsonObject) -> Iterator[RuleFinding]:
    waiting: list[tuple[str, str]] = []
    for i, role, message in messages(body):
        if role == "tool":
            answered = as_text(message.get("tool_call_id"))
            first = next((one for one in waiting if one[0] == answered), None)
            waiting = [one for one in waiting if one is not first]
            continue
        yield from _unanswered_findings(waiting)
        calls = objects(message.get("tool_calls")) if role == "assistant" else ()
        waiting = [(as_text(call.get("id")), f"messages.{i}.tool_calls.{j}") for j, call in calls]
    yield from _unanswered_findings(waiting)


def _unanswered_findings(waiting: list[tuple[str, str]]) -> Iterator[RuleFinding]:
    for call_id, where in waiting:
        yield RuleFinding(where, f"tool call {call_id} is not answered by a tool message right after it")


_SAYS_MORE = ("tool_calls", "function_call", "refusal", "audio")


@RULES.add(
    "O4: content is of the kinds that its role accepts",
    "OpenAPI specification: null only with tool calls, at least one part, tool and system parts "
    "are text, assistant parts text or a refusal. Only for OpenAI's models: other servers accept "
    "more.",
    "write such parts as text, or move them to a user message",
)
def _wrong_content(body: JsonObject) -> Iterator[RuleFinding]:
    if not may_be_openai(body):
        return
    for i, role, message in messages(body):
        content = message.get("content")
        if content == []:
            yield RuleFinding(f"messages.{i}.content", "must have at least one part")
        if content is None and role == "assistant" and not any(map(message.get, _SAYS_MORE)):
            yield RuleFinding(f"messages.{i}.content", "may be null only with tool_calls")
    for where, role, part in parts(body):
        kind = as_text(part.get("type"))
        if role in _PART_KINDS and kind not in _PART_KINDS[role]:
            yield RuleFinding(where, f"{role} messages do not accept {kind or 'untyped'} parts")


@RULES.add(
    "O5: the model accepts instructions",
    "Recorded by pydantic-ai (o1-mini, system and developer). Depends on the model.",
    "put the instructions into the first user message",
)
def _unsupported_roles(body: JsonObject) -> Iterator[RuleFinding]:
    model = as_text(body.get("model"))
    if not _NO_SYSTEM.match(model):
        return
    for i, role, _message in messages(body):
        if role in ("system", "developer"):
            yield RuleFinding(f"messages.{i}.role", f"{model} does not support {role!r}")


@RULES.add(
    "O6: temperature is from 0 to 2",
    "OpenAPI specification; recorded by pydantic-ai on the Responses API.",
    "change the number",
)
def _temperature_out_of_range(body: JsonObject) -> Iterator[RuleFinding]:
    yield from misfit_numbers(body, ("max_tokens", "max_completion_tokens", "n", "seed"))
    yield from temperature_up_to(2, body)


@RULES.add(
    "O7: the model accepts audio",
    "Recorded upstream in pydantic-ai (gpt-5-mini): 'Content blocks are expected to be either text "
    "or image_url type'. Depends on the model.",
    "send a transcript instead of audio",
)
def _unsupported_audio(body: JsonObject) -> Iterator[RuleFinding]:
    model = as_text(body.get("model"))
    if not _NO_AUDIO.match(model) or "audio" in model:
        return
    for where, _role, part in parts(body):
        if part.get("type") == "input_audio":
            yield RuleFinding(where, f"{model} accepts only text and images")


@RULES.add(
    "O0b: a request has a model and a message",
    "OpenAI's OpenAPI specification: both are required.",
    "add the field",
    scope=CheckScope.BODY,
)
def _missing_fields(body: JsonObject) -> Iterator[RuleFinding]:
    if not body.get("model"):
        yield RuleFinding("model", "is required")
    if body.get("messages") == []:
        yield RuleFinding("messages", "at least one message is required")
