"""Write an ``Ask`` as a request body: the history exactly as its session sends it, then the instruction."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from clew.errors import InputError
from clew.message import Json, JsonObject, Role, said
from clew.providers import Wire, convert
from clew.providers.model import Ask
from clew.providers.shapes import as_list, as_object, as_text, objects
from clew.tokens import model_named

THINKING_TOKENS = 8_192
"""Added to the output limit of models that think, because thinking counts against it (chosen by hand)."""


def question(ask: Ask, wire: Wire) -> JsonObject:
    """Return the request fields with the history and the instruction.

    The history is rendered on its own and the instruction appended, so that everything before the instruction
    is identical to what the session sends. A tool call without a result gets a placeholder result.
    """
    if not ask.messages and not ask.instruction:
        raise InputError("nothing is asked: give messages, an instruction, or both")
    fields = convert(ask.history, wire).body
    if not ask.instruction:
        return fields
    listed = as_list(fields[wire.list_key])
    return {**fields, wire.list_key: [*listed, *wire.render_items(said(Role.USER, ask.instruction))]}


def shared_fields(ask: Ask, wire: Wire, model: str, names: Collection[str]) -> JsonObject:
    """Return the fields of the session's own requests that its prompt cache depends on.

    A cache can only be read by the model that wrote it, so another model gets none of them. A tool choice
    that forces a call is left out, because the model could not answer.
    """
    if ask.rest is None or ask.rest.wire != wire.name:
        return {}
    given = as_object(ask.rest.value)
    if given.get("model", model) != model:
        return {}
    return {
        name: value
        for name, value in given.items()
        if name in names and not (name == "tool_choice" and _forces_a_call(value))
    }


def _forces_a_call(choice: Json) -> bool:
    return as_object(choice).get("type") not in ("auto", "none")


def with_room_to_think(ask: Ask, model: str, thinking_tokens: int) -> int:
    """Return the output token limit with thinking included, at most the model's own limit."""
    wanted = ask.max_output_tokens + thinking_tokens
    known = model_named(model)
    return min(wanted, known.max_output_tokens) if known.known else wanted


def tool_stubs(items: Json) -> list[Json]:
    """Return a minimal definition for each tool that is called in a history in Anthropic's format.

    Anthropic has rejected histories with calls to undefined tools (anthropic-sdk-python#494), and Bedrock
    still does.
    """
    names = dict.fromkeys(_called(items))
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def _called(items: Json) -> Iterable[str]:
    for _, item in objects(items):
        for _, block in objects(item.get("content")):
            if block.get("type") == "tool_use":
                yield as_text(block.get("name"))
