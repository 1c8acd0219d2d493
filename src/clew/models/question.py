"""Write a question in a wire format: the history as its session sends it, then the instruction."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from clew.errors import InputError
from clew.message import Json, JsonObject, Role, said
from clew.ports import Ask
from clew.tokens import model_named
from clew.wire import Wire, convert
from clew.wire.shapes import as_list, as_object, as_text, objects

THINKING_TOKENS = 8_192
"""Added to the length of the answer for models that think before they speak: both count against one limit."""


def question(ask: Ask, wire: Wire) -> JsonObject:
    """Return the fields of a request that hold what is asked.

    The history is written alone and the instruction after it, so that nothing before the instruction
    differs from what the session itself would send. A call that still waits is answered in between.
    """
    if not ask.messages and not ask.instruction:
        raise InputError("nothing is asked: give messages, an instruction, or both")
    fields = convert(ask.history, wire).body
    if not ask.instruction:
        return fields
    listed = as_list(fields[wire.list_key])
    return {**fields, wire.list_key: [*listed, *wire.render_items(said(Role.USER, ask.instruction))]}


def shared_fields(ask: Ask, wire: Wire, model: str, names: Collection[str]) -> JsonObject:
    """Return those fields of the session's own requests that its cache depends on.

    Only a model can read a cache that wrote it, so another model gets none; nor is a choice that forces
    a tool call taken over, because then no answer would come.
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
    """Return the limit of the whole answer, thinking included, as far as the model goes."""
    wanted = ask.max_output_tokens + thinking_tokens
    known = model_named(model)
    return min(wanted, known.max_output_tokens) if known.known else wanted


def tool_stubs(items: Json) -> list[Json]:
    """Return a bare definition for each tool that a history in Anthropic's format calls.

    Anthropic has refused histories with calls where no tools are defined (anthropic-sdk-python#494), and
    Bedrock still does.
    """
    names = dict.fromkeys(_called(items))
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def _called(items: Json) -> Iterable[str]:
    for _, item in objects(items):
        for _, block in objects(item.get("content")):
            if block.get("type") == "tool_use":
                yield as_text(block.get("name"))
