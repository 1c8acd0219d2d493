"""Convert a history to another wire format, and list what could not be converted.

``convert(messages, "openai").items`` is the list for OpenAI Chat, ``.losses`` what it could not carry.

- A history that is in the target's format and passes its check is returned unchanged.
- Tool results are placed as the target requires. Anthropic and Gemini: all results of a batch at the start of
  the next user message. OpenAI Chat: one ``tool`` message each, right after the calls. OpenAI Responses: one
  item each, at its original place.
- Leading system messages go to the target's system field. Later ones stay in the list if the target allows
  it; otherwise they become user messages between ``<system>`` tags.
- If the target has no error flag, a failed result begins with ``[tool error]``; converting to a format with
  the flag turns that back into the flag.
- Thinking is only kept for the provider that signed it; for others it is dropped or, on request, becomes
  text. Server-side tools, approvals and compactions become text.
- Ids that the target refuses, and repeated ids, are replaced by unique ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from clew.message import (
    Json,
    Message,
    Native,
    Pairing,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    pair,
    system_prefix,
)
from clew.message.atoms import Place
from clew.providers.conversion.parts import Conversion, convert_parts, is_freeform, same_parts
from clew.providers.conversion.regroup import (
    DraftMessage,
    PlacedPart,
    is_answer,
    is_call,
    merge_neighbours,
    regroup,
)
from clew.providers.conversion.targets import (
    DEFAULT_OPTIONS,
    TARGETS,
    ConversionLoss,
    ConversionOptions,
    Target,
    name_calls,
)
from clew.providers.conversion.targets import ConversionLossKind as Loss
from clew.providers.formats import wire_named
from clew.providers.rules import CheckScope
from clew.providers.wire import Wire, as_entry, native_object

_INSTRUCTING = (Role.SYSTEM, Role.DEVELOPER)


@dataclass(frozen=True, slots=True)
class Converted:
    """A history in a target's wire format."""

    wire: Wire
    items: list[Any]
    """The message list as JSON (``Any``, for SDKs that have their own types)."""
    system: Json
    """The system field; None if there is none or it is part of the list."""
    losses: tuple[ConversionLoss, ...]

    @property
    def body(self) -> dict[str, Any]:
        """Return the request fields with the history."""
        if self.system is None or self.wire.system_key is None:
            return {self.wire.list_key: self.items}
        return {self.wire.system_key: self.system, self.wire.list_key: self.items}


def convert(
    messages: Sequence[Message], to: Wire | str, choices: ConversionOptions = DEFAULT_OPTIONS
) -> Converted:
    """Write messages in another wire format; they may begin with system messages, as in ``Body.system``."""
    target = TARGETS[wire_named(to).name if isinstance(to, str) else to.name]
    messages = [as_entry(message) for message in messages]
    return _if_unchanged(messages, target, choices) or _convert(messages, target, choices)


def _if_unchanged(
    messages: Sequence[Message], target: Target, choices: ConversionOptions
) -> Converted | None:
    """Return the history unchanged if it is already in the target's format and needs no repair."""
    if not choices.repair and all(
        target.is_native(message.native) or _is_plain_text(message) for message in messages
    ):
        return _render(messages, target, ())
    if not all(target.is_native(message.native) for message in messages):
        return None
    converted = _render(messages, target, ())
    return None if target.wire.check(converted.body, scope=CheckScope.MESSAGES).refused else converted


def _is_plain_text(message: Message) -> bool:
    """Whether a message is text of the user's role that was read in no format: any target can write it."""
    texts = message.native is None and message.role is Role.USER
    return texts and all(isinstance(part, Text) for part in message.parts)


def _render(messages: Sequence[Message], target: Target, losses: Sequence[ConversionLoss]) -> Converted:
    system_count = _count_for_system_field(messages, target)
    system = target.wire.render_system(messages[:system_count]) if system_count else None
    return Converted(target.wire, target.wire.render(messages[system_count:]), system, tuple(losses))


def _count_for_system_field(messages: Sequence[Message], target: Target) -> int:
    """Return the number of leading messages that go to the system field."""
    if target.wire.system_key is None:
        return 0
    leading = system_prefix(messages)
    if not target.instructions_anywhere:
        return leading
    # A single plain text can be the field; anything else keeps its structure in the list.
    plain = leading == 1 and messages[0].role is Role.SYSTEM and len(messages[0].parts) == 1
    listed = plain and "role" in (native_object(messages[0].native, target.wire.name) or {})
    return int(plain and not listed and isinstance(messages[0].parts[0], Text))


def _convert(messages: Sequence[Message], target: Target, choices: ConversionOptions) -> Converted:
    """Convert the parts, put them into the target's order, and write the messages."""
    messages = [_with_some_content(message, target) for message in messages]
    pairing = pair([_without_server_tools(message) for message in messages])
    names = name_calls(messages, pairing, target)
    conversion = Conversion(target, choices, pairing, names, _freeform(messages, pairing, target))
    drafts = _assign_roles(
        [_draft(conversion, i, message) for i, message in enumerate(messages)], messages, conversion
    )
    drafts = regroup(drafts, conversion)
    drafts = merge_neighbours((draft for draft in drafts if draft.pieces), messages, conversion)
    if drafts and not target.allows_trailing_space:
        drafts[-1] = _without_last_space(conversion, drafts[-1])
    written_messages = [_finish(draft, messages, target) for draft in drafts]
    losses = sorted(
        conversion.losses, key=lambda loss: (loss.message, -1 if loss.part is None else loss.part)
    )
    return _render(written_messages, target, losses)


def _with_some_content(message: Message, target: Target) -> Message:
    """Replace an empty list of parts by an empty string, because OpenAI's APIs refuse the list."""
    entry = native_object(message.native, target.wire.name)
    if entry is None or entry.get("content") != [] or not target.allows_blank_text:
        return message
    return replace(message, native=Native(target.wire.name, {**entry, "content": ""}))


def _without_server_tools(message: Message) -> Message:
    """Replace server-side calls and results by placeholders, so that only client tools are paired."""
    if not any(part.server_side for part in message.parts if isinstance(part, ToolCall | ToolResult)):
        return message
    parts = [
        Unknown("server-side tool") if isinstance(part, ToolCall | ToolResult) and part.server_side else part
        for part in message.parts
    ]
    return replace(message, parts=tuple(parts))


def _freeform(messages: Sequence[Message], pairing: Pairing, target: Target) -> frozenset[Place]:
    """Return the calls of tools that take plain text, and their results, if the target has such tools."""
    if target.object_arguments:
        return frozenset()
    calls = {
        Place(i, j)
        for i, message in enumerate(messages)
        for j, part in enumerate(message.parts)
        if isinstance(part, ToolCall) and is_freeform(part)
    }
    return frozenset(calls | {result for result, call in pairing.answers.items() if call in calls})


def _draft(conversion: Conversion, index: int, message: Message) -> DraftMessage:
    role = _role_of(message)
    return DraftMessage(
        role, tuple([PlacedPart(*part) for part in convert_parts(conversion, index, message, role)])
    )


def _role_of(message: Message) -> Role:
    """Return the role that fits the parts: assistant for calls, tool for results outside a user message."""
    if any(map(is_call, message.parts)):
        return Role.ASSISTANT
    if any(map(is_answer, message.parts)) and message.role is not Role.USER:
        return Role.TOOL
    return message.role


def _assign_roles(
    drafts: Sequence[DraftMessage], messages: Sequence[Message], conversion: Conversion
) -> list[DraftMessage]:
    """Give every message a role that the target allows at its place."""
    out: list[DraftMessage] = []
    leading = True
    for i, draft in enumerate(drafts):
        leading = leading and draft.role in _INSTRUCTING
        if draft.role not in _INSTRUCTING or conversion.to.instructions_anywhere:
            out.append(draft)
        elif leading or conversion.to.is_native(messages[i].native):
            if draft.role is Role.DEVELOPER:
                conversion.lose((i, None), Loss.ROLE, "the developer message became a system message")
            out.append(draft)
        else:
            conversion.lose(
                (i, None), Loss.ROLE, f"the {draft.role} message became a user message, between tags"
            )
            out.append(DraftMessage(Role.USER, tuple(map(_tag_system, draft.pieces))))
    return out


def _tag_system(piece: PlacedPart) -> PlacedPart:
    if not isinstance(piece.part, Text):
        return piece
    return PlacedPart(piece.place, Text(f"<system>\n{piece.part.text}\n</system>", trust=piece.part.trust))


def _without_last_space(conversion: Conversion, draft: DraftMessage) -> DraftMessage:
    place, part = draft.pieces[-1]
    if draft.role is not Role.ASSISTANT or not isinstance(part, Text) or part.text == part.text.rstrip():
        return draft
    conversion.lose(place, Loss.BLANK, "white space at the end of the last assistant text")
    return replace(
        draft, pieces=(*draft.pieces[:-1], PlacedPart(place, replace(part, text=part.text.rstrip())))
    )


def _finish(draft: DraftMessage, messages: Sequence[Message], target: Target) -> Message:
    """Return the message of a draft: the original one if it is unchanged."""
    first = messages[draft.pieces[0].place.message]
    parts = tuple([piece.part for piece in draft.pieces])
    if draft.role is first.role and same_parts(parts, first.parts):
        return first
    native = first.native if target.is_native(first.native) else None
    return Message(draft.role, parts, first.origin, native)
