"""Rules of OpenAI's Responses API (P0 to P8).

Each function yields the violations of the rule above it, such as a reasoning item without the item it led to.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from clew.message import JsonObject
from clew.providers.rules import (
    CheckScope,
    RuleBook,
    RuleFinding,
    Shape,
    is_deepseek,
    may_be_openai,
    misfit_numbers,
    misfits,
    once_per_check,
    temperature_up_to,
)
from clew.providers.shapes import as_list, as_number, as_text, objects

RULES = RuleBook()

_INPUT_PARTS = frozenset({"input_text", "input_image", "input_file", "input_audio"})
_PART_KINDS = {
    "user": _INPUT_PARTS,
    "system": _INPUT_PARTS,
    "developer": _INPUT_PARTS,
    "assistant": frozenset({"output_text", "refusal"}),
}
_ANY_PART = _INPUT_PARTS | {"output_text", "refusal", "text", "image_url", "tool_use", "tool_result", "image"}
"""Parts of this API and of others. Unlisted kinds may be new, and are not reported."""


def _wrong_parts(where: str, item: JsonObject) -> Iterator[RuleFinding]:
    """Yield the parts that a message of this role does not accept."""
    role = as_text(item.get("role"))
    wrong = _ANY_PART - _PART_KINDS[role] if role in _PART_KINDS else frozenset()
    for j, part in objects(item.get("content")):
        kind = as_text(part.get("type"))
        if kind in wrong:
            yield RuleFinding(f"{where}.content.{j}.type", f"{role} messages do not accept {kind} parts")


MAX_CALL_ID = 64
MAX_OUTPUT = 10_485_760
MIN_COMPACT_THRESHOLD = 1_000

_ROLES = frozenset({"user", "assistant", "system", "developer"})
_CALLS = frozenset(
    {"function_call", "custom_tool_call", "local_shell_call"}
    | {"shell_call", "apply_patch_call", "computer_call"}
)
_OUTPUTS = frozenset(f"{call}_output" for call in _CALLS)
_JOINED = _CALLS | _OUTPUTS
_FIELDS: dict[str, dict[str, Shape]] = {
    "message": {"content": (str, list)},
    "reasoning": {"summary": list},
    "function_call": {"call_id": str, "name": str, "arguments": str},
    "function_call_output": {"call_id": (str, type(None)), "output": (str, list)},
    "custom_tool_call": {"call_id": str, "name": str, "input": str},
    "custom_tool_call_output": {"call_id": str, "output": (str, list)},
    "computer_call_output": {"call_id": str, "output": dict},
    "shell_call_output": {"call_id": str, "output": list},
    "apply_patch_call_output": {"call_id": str},
}
_SOUND_OR_FILM = re.compile(r"data:(?:audio|video)/")


@once_per_check
def _items(body: JsonObject) -> list[tuple[int, str, JsonObject]]:
    """Return the items that are objects: index, type, item. A message may omit its type."""
    return [(i, _type(item), item) for i, item in objects(body.get("input"))]


def _type(item: JsonObject) -> str:
    return as_text(item.get("type")) or ("message" if "role" in item else "")


def _is_continued(body: JsonObject) -> bool:
    """Whether the API has earlier items that are not in the input."""
    return bool(body.get("previous_response_id") or body.get("conversation"))


def _is_stored(body: JsonObject) -> bool:
    return body.get("store") is not False


@RULES.add(
    "P0: items have the documented shape",
    "OpenAI's OpenAPI specification (August 2026).",
    "build items with a type (or a role) and the fields each needs",
)
def _malformed(body: JsonObject) -> Iterator[RuleFinding]:
    raw = body.get("input")
    if raw is None and ("prompt" in body or _is_continued(body)):
        return
    if not isinstance(raw, str | list):
        yield RuleFinding("input", "must be a string or a list")
    strict = may_be_openai(body)
    for i, item in enumerate(as_list(raw)):
        if isinstance(item, dict):
            yield from _malformed_item(f"input.{i}", item)
            yield from _wrong_parts(f"input.{i}", item) if strict else ()
        else:
            yield RuleFinding(f"input.{i}", "must be an object")


def _malformed_item(where: str, item: JsonObject) -> Iterator[RuleFinding]:
    kind = _type(item)
    if not kind and not isinstance(item.get("id"), str):  # a bare id refers to a stored item
        yield RuleFinding(where, "must have a type or a role")
    if kind == "message" and as_text(item.get("role")) not in _ROLES:
        yield RuleFinding(f"{where}.role", f"must be one of {', '.join(sorted(_ROLES))}")
    yield from misfits(where, item, _FIELDS.get(kind, {}))
    if kind == "message":
        for j, part in enumerate(as_list(item.get("content"))):
            if not isinstance(part, dict) or not isinstance(part.get("type"), str):
                yield RuleFinding(f"{where}.content.{j}", "must be an object with a type")


@RULES.add(
    "P1: a reasoning item is followed by the item it led to",
    "Recorded by pydantic-ai: \"of type 'reasoning' was provided without its required following "
    'item" for an item with an id whose follower was rewritten and has none; accepted once the '
    "reasoning went out as text. Recorded by opencode: with store false and no ids at all, the "
    "same order is accepted. Only for OpenAI's models: DeepSeek accepts it.",
    "keep the reasoning item and its follower with their ids, or drop the reasoning item",
)
def _stranded_reasoning(body: JsonObject) -> Iterator[RuleFinding]:
    if not may_be_openai(body):
        return
    pending: list[tuple[int, JsonObject]] = []  # reasoning items whose follower has not come yet
    for i, kind, item in _items(body):
        if kind == "reasoning":
            if item.get("id"):
                pending.append((i, item))
        elif pending:
            if not _follows_reasoning(kind, item, _is_stored(body)):
                yield from _stranded_findings(pending)
            pending = []
    yield from _stranded_findings(pending)


def _follows_reasoning(kind: str, item: JsonObject, stored: bool) -> bool:
    if kind == "item_reference" or not kind:
        return True
    made_by_model = kind not in _OUTPUTS and (kind != "message" or item.get("role") == "assistant")
    # If items are stored, the API identifies the follower by its id; a rewritten item without one is not it.
    return made_by_model and (bool(item.get("id")) or not stored)


def _stranded_findings(pending: list[tuple[int, JsonObject]]) -> Iterator[RuleFinding]:
    for i, item in pending:
        yield RuleFinding(
            f"input.{i}", f"reasoning {as_text(item.get('id'))} without its required following item"
        )


@RULES.add(
    "P2: a stored item keeps its reasoning item",
    "Error text \"of type 'message' was provided without its required 'reasoning' item\" "
    "(codex#20774, agents-python#3941). A model may also answer without reasoning, which cannot be "
    "seen here.",
    "drop the item's id with its reasoning, or keep both",
    verified=False,
)
def _orphaned_items(body: JsonObject) -> Iterator[RuleFinding]:
    if not may_be_openai(body) or not _is_stored(body):
        return
    if not any(kind == "reasoning" for _, kind, _ in _items(body)):
        return
    reasoned = False
    for i, kind, item in _items(body):
        if kind == "reasoning":
            reasoned = True
        elif kind in _OUTPUTS or (kind == "message" and item.get("role") != "assistant"):
            reasoned = False
        elif item.get("id") and not reasoned and kind in ("message", *_CALLS):
            yield RuleFinding(f"input.{i}", f"{as_text(item.get('id'))} is without its reasoning item")


@RULES.add(
    "P3: every call has its output and every output its call",
    "Error texts 'No tool call found for function call output' and 'No tool output found for "
    "function call' (pydantic-ai and litellm source, a cline test). Recorded by pydantic-ai: ids "
    "may repeat. Not applied to outputs if the API holds earlier items.",
    "keep each call and its output together",
)
def _unpaired(body: JsonObject) -> Iterator[RuleFinding]:
    hidden = _is_continued(body) or any(kind in ("item_reference", "") for _, kind, _ in _items(body))
    waiting: defaultdict[str, list[int]] = defaultdict(list)
    for i, kind, item in _items(body):
        call_id = _call_id(item)
        if kind in _CALLS:
            waiting[call_id].append(i)
        elif kind.endswith("_call"):
            waiting.setdefault(call_id, [])  # server-side: an output is allowed but not required
        elif kind not in _OUTPUTS:
            continue
        elif waiting.get(call_id):
            waiting[call_id].pop()  # ids may repeat: an output belongs to the nearest call
        elif call_id not in waiting and not hidden:
            yield RuleFinding(f"input.{i}", f"no tool call found for {kind} {call_id}")
    for call_id, places in waiting.items():
        for i in places:
            yield RuleFinding(f"input.{i}", f"no tool output found for call {call_id}")


def _call_id(item: JsonObject) -> str:
    """Return the id shared by a call and its output; a local shell's output has it under ``id``."""
    return as_text(item.get("call_id")) or as_text(item.get("id"))


@RULES.add(
    "P4: ids, outputs and thresholds are in range",
    "OpenAPI specification: call_id 1 to 64 characters, output at most 10,485,760, "
    "compact_threshold from 1,000.",
    "shorten the id or the output",
)
def _sizes_out_of_range(body: JsonObject) -> Iterator[RuleFinding]:
    for i, kind, item in _items(body):
        call_id, output = item.get("call_id"), item.get("output")
        if kind in _JOINED and isinstance(call_id, str) and not 1 <= len(call_id) <= MAX_CALL_ID:
            yield RuleFinding(f"input.{i}.call_id", f"must have 1 to {MAX_CALL_ID} characters")
        if kind in _OUTPUTS and isinstance(output, str) and len(output) > MAX_OUTPUT:
            yield RuleFinding(f"input.{i}.output", f"{len(output):,} characters, {MAX_OUTPUT:,} are allowed")
    for i, step in objects(body.get("context_management")):
        threshold = as_number(step.get("compact_threshold"))
        if threshold is not None and threshold < MIN_COMPACT_THRESHOLD:
            yield RuleFinding(
                f"context_management.{i}.compact_threshold", f"must be at least {MIN_COMPACT_THRESHOLD}"
            )


@RULES.add(
    "P5: on DeepSeek no message is between a call and its output",
    "Recorded by pydantic-ai (deepseek-v4-flash): 'No tool output found for tool call' if a "
    "message is between two calls. Depends on the model.",
    "put messages before the calls or after the outputs",
)
def _interleaved_calls(body: JsonObject) -> Iterator[RuleFinding]:
    if not is_deepseek(body):
        return
    waiting: dict[str, int] = {}
    for i, kind, item in _items(body):
        if kind in _CALLS:
            waiting[_call_id(item)] = i
        elif kind in _OUTPUTS:
            waiting.pop(_call_id(item), None)
        elif kind == "message":
            for call_id, at in waiting.items():
                yield RuleFinding(f"input.{at}", f"a message is between call {call_id} and its output")
            waiting.clear()


@RULES.add(
    "P6: temperature is from 0 to 2",
    "Recorded by pydantic-ai: \"Invalid 'temperature': decimal below minimum value\".",
    "change the number",
)
def _temperature_out_of_range(body: JsonObject) -> Iterator[RuleFinding]:
    yield from misfit_numbers(body, ("max_output_tokens", "max_tool_calls"))
    yield from temperature_up_to(2, body)


@RULES.add(
    "P7: files are not audio or video",
    "Recorded upstream in pydantic-ai: \"got unsupported MIME type 'audio/mpeg'\".",
    "send a transcript instead",
)
def _sound_files(body: JsonObject) -> Iterator[RuleFinding]:
    for i, _kind, item in _items(body):
        for key in ("content", "output"):
            for j, part in objects(item.get(key)):
                if _SOUND_OR_FILM.match(as_text(part.get("file_data"))):
                    yield RuleFinding(
                        f"input.{i}.{key}.{j}.file_data", "audio and video files are not supported"
                    )


@RULES.add(
    "P8: a compaction trigger is the last item",
    "OpenAI's types and documentation (openai 3.49.0): compaction_trigger must be last in the input.",
    "move it to the end, or take it out",
)
def _trigger_not_last(body: JsonObject) -> Iterator[RuleFinding]:
    last = len(as_list(body.get("input"))) - 1
    for i, kind, _item in _items(body):
        if kind == "compaction_trigger" and i != last:
            yield RuleFinding(f"input.{i}", "a compaction trigger must be the last item")


@RULES.add(
    "P0b: a request names its model",
    "OpenAI's OpenAPI specification: only a stored prompt can name the model instead.",
    "add the field",
    scope=CheckScope.BODY,
)
def _missing_fields(body: JsonObject) -> Iterator[RuleFinding]:
    if not body.get("model") and "prompt" not in body:
        yield RuleFinding("model", "is required")
