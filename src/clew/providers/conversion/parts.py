"""Convert each part to the target format.

A call of Anthropic becomes one of OpenAI with another id if that is too long; its signed thinking is dropped
and reported. Parts that were read in the target's own format are kept. Parts that no other provider accepts
(signed thinking, server-side tools, approvals, compactions) become text or are dropped, and are reported, as
are fields that the neutral part does not represent.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from clew.message import (
    ApprovalAnswer,
    ApprovalRequest,
    Compacted,
    Json,
    JsonObject,
    Media,
    Message,
    Native,
    Pairing,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from clew.message.atoms import Place
from clew.providers.conversion.targets import CallNames, ConversionLoss, ConversionOptions, Target
from clew.providers.conversion.targets import ConversionLossKind as Loss
from clew.providers.formats import WIRES
from clew.providers.media import known_type
from clew.providers.shapes import as_object

_BOOKKEEPING = frozenset(
    {"id", "status", "type", "index", "object", "model", "usage", "stop_reason", "stop_sequence"}
    | {"logprobs", "caller"}
)
"""Fields that are useless outside their original exchange, so their loss is not reported."""
_UNDERSTOOD_INSIDE = {
    "image_url": frozenset({"url"}),
    "input_audio": frozenset({"data", "format"}),
    "file": frozenset({"file_id", "filename", "file_data"}),
    "function": frozenset({"name", "arguments"}),
    "custom": frozenset({"name", "input"}),
    "source": frozenset({"type", "media_type", "data", "url", "file_id", "content"}),
}
"""The fields that parts represent inside of a field that holds an object."""


def unread_fields(value: JsonObject, understood: frozenset[str]) -> list[str]:
    """Return the non-empty fields that are not understood, with the path of nested ones."""
    outside = sorted(key for key in value.keys() - understood - _BOOKKEEPING if _has_value(value[key]))
    inside = sorted(
        f"{holder}.{key}"
        for holder, known in _UNDERSTOOD_INSIDE.items()
        for key, inner in as_object(value.get(holder)).items()
        if key not in known and _has_value(inner)
    )
    return outside + inside


def _has_value(value: Json) -> bool:
    return value is not False and value not in (None, "", [], {})


ERROR_MARK = "[tool error]"
"""Begins the text of a failed result if the target has no error flag; read back if a target has one."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """The state of one conversion."""

    to: Target
    choices: ConversionOptions
    pairing: Pairing
    """The pairs of client tools (not server-side ones)."""
    names: CallNames
    freeform: frozenset[Place]
    """Calls of tools that take plain text, and their results, if the target has such tools."""
    losses: list[ConversionLoss] = field(default_factory=list)

    def lose(self, place: tuple[int, int | None], kind: Loss, why: str) -> None:
        """Report a loss in a part or in a whole message."""
        self.losses.append(ConversionLoss(*place, kind, why))


def convert_parts(
    conversion: Conversion, index: int, message: Message, role: Role
) -> Iterator[tuple[Place, Part]]:
    """Yield the converted parts of a message with this role, each with its original place."""
    shared = {id(part.native.value) for part in message.parts if part.native}
    if message.native and id(message.native.value) not in shared:
        # A message may have a name field for its speaker; only tool names are represented.
        _report_fields(conversion, (index, None), message.native, frozenset({"name"}))
    for j, part in enumerate(message.parts):
        place = Place(index, j)
        for inner in (part, *part.parts) if isinstance(part, ToolResult) else (part,):
            if inner.native and not isinstance(inner, Unknown):
                _report_fields(conversion, place, inner.native)
        for carried in _convert(conversion, place, part, role):
            yield place, carried


def _report_fields(
    conversion: Conversion,
    place: tuple[int, int | None],
    native: Native,
    not_represented: frozenset[str] = frozenset(),
) -> None:
    """Report the fields of an object from another format that its neutral part does not represent.

    ``not_represented`` are fields that the format represents elsewhere, but not in this object.
    """
    source = WIRES.get(native.wire)
    if conversion.to.is_native(native) or source is None or not isinstance(native.value, dict):
        return
    names = unread_fields(native.value, source.understood - not_represented)
    if names:
        conversion.lose(place, Loss.FIELDS, f"no place for {', '.join(names)}")


def _convert(conversion: Conversion, place: Place, part: Part, role: Role) -> tuple[Part, ...]:
    """Return what a part becomes in the target's format: itself, another part, text, or nothing."""
    match part:
        case Text():
            return _convert_text(conversion, place, part)
        case ToolCall(server_side=False):
            return (_convert_call(conversion, place, part),)
        case ToolResult(server_side=False):
            return _convert_result(conversion, place, part, role)
        case _ if conversion.to.is_native(part.native):
            return (part,)
        case ToolResult(parts=()):
            return ()  # the call itself becomes text
        case Media():
            return (_convert_media(conversion, place, part, role),)
        case Thinking():
            return _convert_thinking(conversion, place, part)
        case _:
            return _convert_to_text(conversion, place, part)


def _convert_text(conversion: Conversion, place: Place, part: Text) -> tuple[Part, ...]:
    if conversion.to.allows_blank_text or part.text.strip():
        return (part,)
    if part.text:
        conversion.lose(place, Loss.BLANK, "only white space")
    return ()


def _convert_thinking(conversion: Conversion, place: Place, part: Thinking) -> tuple[Part, ...]:
    title = conversion.to.wire.title
    if conversion.choices.thinking_as_text and part.text.strip():
        conversion.lose(place, Loss.THINKING, "became text of the assistant")
        return (Text(f"<thinking>\n{part.text}\n</thinking>", trust=part.trust),)
    conversion.lose(place, Loss.THINKING, f"{title} accepts only thinking that it has signed")
    return ()


def same_parts(parts: Sequence[Part], others: Sequence[Part]) -> bool:
    """Whether these are the same part objects."""
    return len(parts) == len(others) and all(map(operator.is_, parts, others))


# Tools -----------------------------------------------------------------------------------------------


def _convert_call(conversion: Conversion, place: Place, part: ToolCall) -> Part:
    call_id, name = conversion.names.ids[place], conversion.names.tools[place]
    if name != part.name:
        conversion.lose(place, Loss.RENAMED, f"the tool {part.name!r} was renamed to {name!r}")
    if conversion.to.object_arguments and part.input is None:
        conversion.lose(place, Loss.ARGUMENTS, "not a JSON object; put under 'input'")
    if (call_id, name) != (part.call_id, part.name):
        part = replace(part, call_id=call_id, name=name)
    if place in conversion.freeform and not conversion.to.is_native(part.native):
        part = replace(part, native=Native(conversion.to.wire.name, _FREEFORM_CALL[conversion.to.wire.name]))
    return part


def _convert_result(conversion: Conversion, place: Place, part: ToolResult, role: Role) -> tuple[Part, ...]:
    """Convert a result; media that the target does not allow inside it follow as user content."""
    kept: list[Part] = []
    moved: list[Part] = []
    for inner in part.parts:
        for converted in _convert_inner(conversion, place, inner, role):
            stays = not isinstance(converted, Media) or _stays(conversion, converted)
            (kept if stays else moved).append(converted)
    if moved:
        why = f"{len(moved)} media moved out of the result, after it"
        conversion.lose(place, Loss.MOVED, why)
        moved.insert(0, Text(f"[from the result of {conversion.names.ids.get(place, part.call_id)}]"))
    if not same_parts(kept, part.parts):
        part = replace(part, parts=tuple(kept))
    part = _with_error_flag(conversion, place, part)
    return (_renamed_result(conversion, place, part), *moved)


def _convert_inner(conversion: Conversion, place: Place, inner: Part, role: Role) -> tuple[Part, ...]:
    if isinstance(inner, Media) and not conversion.to.is_native(inner.native):
        media = _with_media_type(inner)
        can_follow = role is not Role.ASSISTANT and conversion.to.takes_media(media, Role.USER)
        if can_follow or conversion.to.takes_media(media, Role.TOOL):
            return (media,)
    return _convert(conversion, place, inner, Role.TOOL)


def _stays(conversion: Conversion, media: Media) -> bool:
    return conversion.to.is_native(media.native) or conversion.to.takes_media(media, Role.TOOL)


def _with_error_flag(conversion: Conversion, place: Place, part: ToolResult) -> ToolResult:
    """Replace the error flag by ``ERROR_MARK`` if the target has no flag, else the mark by the flag."""
    first = part.parts[0] if part.parts else None
    text = first.text if isinstance(first, Text) else ""
    if part.is_error and not conversion.to.error_flag:
        conversion.lose(place, Loss.ERROR_FLAG, f"its text begins with {ERROR_MARK}")
        marked = Text(f"{ERROR_MARK}\n{text}" if text else ERROR_MARK, trust=part.trust)
        return replace(part, parts=(marked, *part.parts[1 if isinstance(first, Text) else 0 :]))
    foreign = not conversion.to.is_native(part.native)
    if conversion.to.error_flag and foreign and text.partition("\n")[0] == ERROR_MARK:
        rest = text.partition("\n")[2]
        kept = (Text(rest, trust=part.trust),) if rest else ()
        return replace(part, parts=(*kept, *part.parts[1:]), is_error=True)
    return part


def _renamed_result(conversion: Conversion, place: Place, part: ToolResult) -> ToolResult:
    call_id = conversion.names.ids.get(place, part.call_id)
    name = conversion.names.tools.get(place, part.name)
    if call_id != part.call_id or (name != part.name and conversion.to.wire.name == "gemini"):
        part = replace(part, call_id=call_id, name=name)
    if (
        place in conversion.freeform
        and conversion.to.wire.name == "responses"
        and not conversion.to.is_native(part.native)
    ):
        part = replace(part, native=Native("responses", {"type": "custom_tool_call_output", "output": ""}))
    return part


_FREEFORM_CALL: dict[str, Json] = {
    "openai": {"type": "custom", "custom": {"name": "", "input": ""}},
    "responses": {"type": "custom_tool_call", "input": ""},
}
"""Native objects that make the codecs write a call of a tool that takes plain text."""


def is_freeform(part: ToolCall) -> bool:
    """Whether a call is of a tool that takes plain text."""
    value = part.native.value if part.native else None
    return isinstance(value, dict) and value.get("type") in ("custom", "custom_tool_call")


# Media -----------------------------------------------------------------------------------------------


def _convert_media(conversion: Conversion, place: Place, part: Media, role: Role) -> Part:
    media = _with_media_type(part)
    if conversion.to.takes_media(media, role):
        return media
    text = _transcript(media)
    if text:
        conversion.lose(place, Loss.MEDIA, "audio replaced by its transcript")
        return Text(text, trust=part.trust)
    what = media.media_type or media.kind
    where = media.url or media.title or media.file_id or "its bytes are left out"
    conversion.lose(place, Loss.MEDIA, f"{conversion.to.wire.title} does not accept {what} from the {role}")
    return Text(f"[{what}: {where}]", trust=part.trust)


def _transcript(media: Media) -> str | None:
    """Return the transcript of the assistant's audio, which OpenAI Chat includes."""
    match media.native:
        case Native(value={"audio": {"transcript": str(text)}}):
            return text
        case _:
            return None


def _with_media_type(part: Media) -> Media:
    """Return a medium with its media type, detected from its first bytes if the format does not have it."""
    if part.media_type or not part.data:
        return part
    return replace(part, media_type=known_type(part.data))


# Parts that become text ------------------------------------------------------------------------------


def _convert_to_text(conversion: Conversion, place: Place, part: Part) -> tuple[Part, ...]:
    kind, text = _loss_and_text(part)
    if text:
        conversion.lose(place, kind, "became text")
        return (Text(text, trust=part.trust),)
    conversion.lose(place, kind, "left out: it contains no text")
    return ()


def _loss_and_text(part: Part) -> tuple[Loss, str]:
    """Return what is lost with a part, and the text that replaces it; empty if it contains none."""
    match part:
        case ToolCall():
            return Loss.SERVER_TOOL, f"[{part.name}: {part.input_text}]"
        case ToolResult():
            return Loss.SERVER_TOOL, f"[result: {part.text}]" if part.text else ""
        case ApprovalRequest():
            return Loss.APPROVAL, f"[asks for approval to run {part.name}: {part.arguments}]"
        case ApprovalAnswer():
            reason = f": {part.reason}" if part.reason else ""
            return Loss.APPROVAL, f"[{'approved' if part.approved else 'not approved'}{reason}]"
        case Compacted():
            text = f"[summary of what came before]\n{part.text}" if part.text else ""
            return Loss.COMPACTION, text
        case _:
            text = "\n".join(_texts_in(part.native.value)) if part.native else ""
            return Loss.UNKNOWN, text


def _texts_in(value: Json) -> list[str]:
    """Return the texts in an object of unknown kind: everything under ``text``, at any depth."""
    texts: list[str] = []
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending.extend(reversed(node))
        elif isinstance(node, dict):
            text = node.get("data") if node.get("type") == "text" and "data" in node else node.get("text")
            if isinstance(text, str) and text.strip():
                texts.append(text)
            pending += [node.get("content"), node.get("source")]  # the last one is looked at first
    return texts
