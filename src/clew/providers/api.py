"""One provider API as pure functions: the ``Api`` protocol, and helpers for requests and responses.

An ``Ask`` becomes the history exactly as its session sends it, then the instruction. No I/O: ``remote.py``
sends what ``Api.body`` returns, and gives the answer to ``Api.reply``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Protocol

from clew.errors import InputError, ModelFailed, ModelRefused
from clew.message import Json, JsonObject, Role, text_message
from clew.message.text import join_surrogates
from clew.providers.model import Ask, Reply, StreamAssembler
from clew.providers.shapes import as_list, as_object, as_text, objects
from clew.providers.wire import Wire
from clew.tokens import model_named

# Half of a surrogate pair.
_HALF = re.compile("[\ud800-\udfff]")


class Api(Protocol):
    """One endpoint of a provider, for one model."""

    @property
    def path(self) -> str:
        """Return the path under the provider's base URL."""

    @property
    def wire(self) -> Wire:
        """Return the wire format of its requests."""

    def body(self, ask: Ask) -> JsonObject:
        """Return the request body for a question."""

    def reply(self, value: JsonObject) -> Reply:
        """Read a response body; raise a ``ModelError`` if it is not an answer."""

    def repaired(self, body: JsonObject, refused: ModelRefused) -> JsonObject | None:
        """Return the body without the field that was refused, or None if the request cannot be repaired."""

    def fields(self, max_output_tokens: int) -> JsonObject:
        """Return the request fields other than its contents: the model's name and the output token limit."""

    def streaming(self, body: JsonObject) -> JsonObject:
        """Return the body with streaming turned on."""

    def assembler(self) -> StreamAssembler:
        """Return an assembler for the events of one stream."""


def without_refused(body: JsonObject, refused: ModelRefused, optional: Collection[str]) -> JsonObject | None:
    """Drop the optional fields that a refusal names; return None if it names none that is in the body."""
    names = [name for name in optional if name in body and re.search(rf"\b{name}\b", refused.detail)]
    return {key: value for key, value in body.items() if key not in names} if names else None


def in_sdk_order(body: JsonObject, first: Sequence[str]) -> JsonObject:
    """Return the body with its fields in the order in which the provider's SDK writes them.

    These come first, the others by the alphabet: a request to which clew adds nothing has a plain client's
    bytes.
    """
    names = [*(name for name in first if name in body), *sorted(body.keys() - set(first))]
    return {name: body[name] for name in names}


def sendable(body: JsonObject) -> JsonObject:
    """Return the body without halves of surrogate pairs, as ``join_surrogates`` does it for a text."""
    try:
        text = json.dumps(body, ensure_ascii=False)
        if _HALF.search(text) is None:
            return body
        repaired: JsonObject = json.loads(join_surrogates(text))
    except RecursionError as cause:
        raise ModelRefused("the request is nested too deeply to be written") from cause
    return repaired


def answer_object(text: str) -> JsonObject:
    """Parse a response body as a JSON object; raise ``ModelFailed`` for anything else, such as a web page."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as cause:
        raise ModelFailed(f"the answer is not JSON: {text[:80]!r}") from cause
    if not isinstance(value, dict):
        raise ModelFailed(f"the answer is not an object: {text[:80]!r}")
    return value


def int_or_zero(value: object) -> int:
    """Return an integer from a response, or 0 if it is missing or not an integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


THINKING_TOKENS = 8_192
"""Added to the output limit of models that think, because thinking counts against it (chosen by hand)."""


def question(ask: Ask, wire: Wire) -> JsonObject:
    """Return the request fields with the history and the instruction.

    The history is rendered on its own and the instruction appended, so that everything before the instruction
    is identical to what the session sends. A tool call without a result gets a placeholder result.
    """
    if not ask.messages and not ask.instruction:
        raise InputError("nothing is asked: give messages, an instruction, or both")
    from clew.providers.conversion import convert

    fields = convert(ask.history, wire).body
    if not ask.instruction:
        return fields
    listed = as_list(fields[wire.list_key])
    return {**fields, wire.list_key: [*listed, *wire.render_items(text_message(Role.USER, ask.instruction))]}


def shared_fields(ask: Ask, wire: Wire, model: str, names: Collection[str]) -> JsonObject:
    """Return the fields of the session's own requests that its prompt cache depends on.

    A cache can only be read by the model that wrote it, so another model gets none of them. A tool choice
    that forces a call is left out, because the model could not answer.
    """
    if ask.rest is None or ask.rest.wire != wire.name:
        return {}
    original = as_object(ask.rest.value)
    if original.get("model", model) != model:
        return {}
    return {
        name: value
        for name, value in original.items()
        if name in names and (name != "tool_choice" or as_object(value).get("type") in ("auto", "none"))
    }


def with_room_to_think(ask: Ask, model: str, thinking_tokens: int) -> int:
    """Return the output token limit with thinking included, at most the model's own limit."""
    wanted = ask.max_output_tokens + thinking_tokens
    model_info = model_named(model)
    return min(wanted, model_info.max_output_tokens) if model_info.known else wanted


def tool_stubs(items: Json) -> list[Json]:
    """Return a minimal definition for each tool that is called in a history in Anthropic's format.

    Anthropic has rejected histories with calls to undefined tools (anthropic-sdk-python#494), and Bedrock
    still does.
    """
    blocks = (block for _, item in objects(items) for _, block in objects(item.get("content")))
    names = dict.fromkeys(as_text(block.get("name")) for block in blocks if block.get("type") == "tool_use")
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


# o1, o3-mini, gpt-5, gpt-5.2-codex, codex-mini; not gpt-5-chat-latest, gpt-4o, or another vendor's model.
_REASONING = re.compile(r"(?:openai[/.])?(?:o\d|gpt-[5-9](?!\S*chat)|codex-)")


def thinking_tokens(model: str) -> int:
    """Return the tokens to add for thinking: 0 if the model does not reason and so accepts a temperature."""
    return THINKING_TOKENS if _REASONING.match(model.lower()) else 0
