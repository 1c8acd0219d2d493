"""Anthropic's rules about the content of messages (A0, A7, A9, A11, A15, A16b, A18).

Each function yields the violations of the rule above it, such as a ``tool_use`` block in a user message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.message import Json, JsonObject
from clew.providers.anthropic.rules_walk import CALL, RESULT, Block, Inner, blocks, inner_blocks, turns
from clew.providers.rules import RuleBook, RuleFinding, Shape, messages, misfits
from clew.providers.shapes import as_list, as_object, as_text, objects
from clew.tokens.images import image_size

CONTENT_RULES = RuleBook()

_ROLES = frozenset({"user", "assistant", "system"})
_FIELDS: dict[str, dict[str, Shape]] = {
    "text": {"text": str},
    "image": {"source": dict},
    "document": {"source": dict},
    "thinking": {"thinking": str, "signature": str},
    "redacted_thinking": {"data": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "server_tool_use": {"id": str, "name": str, "input": dict},
    "mcp_tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"tool_use_id": str, "content": (str, list, type(None))},
}
_COMPACTION: dict[str, Shape] = {
    "content": (str, type(None)),
    "encrypted_content": (str, type(None)),
    "signature": (str, type(None)),
}
_ONLY_IN = {
    "tool_use": "assistant",
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    RESULT: "user",
}
_OTHERS = frozenset(
    {"input_text", "output_text", "input_image", "input_file", "input_audio", "image_url", "refusal"}
    | {"function_call", "function_call_output", "file"}
)
"""Blocks of other APIs that this one refuses."""
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_SERVER_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
# A call may name a tool with a name that a definition could not have.
_CALLED_NAME = re.compile(r"(?s).{1,200}")


@CONTENT_RULES.add(
    "A0: messages have the documented shape",
    "The types of Anthropic's SDK (0.121, August 2026); error text '`tool_use` blocks can only be in "
    "`assistant` messages' and similar ones.",
    "build messages of role and content, with the fields each block needs",
)
def _malformed_messages(body: JsonObject) -> Iterator[RuleFinding]:
    entries = body.get("messages")
    if not isinstance(entries, list):
        yield RuleFinding("messages", "must be a list")
    if not isinstance(body.get("system"), str | list | None):
        yield RuleFinding("system", "must be a string or a list")
    for i, message in enumerate(as_list(entries)):
        if isinstance(message, dict):
            yield from _malformed_message(f"messages.{i}", message)
        else:
            yield RuleFinding(f"messages.{i}", "must be an object")


def _malformed_message(where: str, message: JsonObject) -> Iterator[RuleFinding]:
    role, content = message.get("role"), message.get("content")
    if as_text(role) not in _ROLES:
        yield RuleFinding(f"{where}.role", "must be user, assistant or system")
    if not isinstance(content, str | list):
        yield RuleFinding(f"{where}.content", "must be a string or a list")
    for j, block in enumerate(as_list(content)):
        yield from _malformed_block(f"{where}.content.{j}", block, as_text(role))


def _malformed_block(where: str, block: Json, role: str) -> Iterator[RuleFinding]:
    if not isinstance(block, dict):
        yield RuleFinding(where, "must be an object")
        return
    kind = block.get("type")
    if not isinstance(kind, str):
        yield RuleFinding(f"{where}.type", "must be a string")
        return
    yield from misfits(where, block, _FIELDS.get(kind, {}))
    if kind in _OTHERS:
        yield RuleFinding(f"{where}.type", f"{kind} is a block of another API")
    if _ONLY_IN.get(kind, role) != role:
        yield RuleFinding(where, f"{kind} blocks can only be in {_ONLY_IN[kind]} messages")


@CONTENT_RULES.add(
    "A7: no text is blank and no message empty",
    "Error texts 'text content blocks must be non-empty' (claude-code#59812, #6774, "
    "anthropic-sdk-python#461) and, for messages of nothing else, 'must contain non-whitespace text' "
    "(claude-code#23440, hermes-agent#41985). White space among other blocks is accepted: Claude "
    "itself writes it before calls, and clients send it back. Only a last assistant message may be "
    "empty.",
    "drop blank text blocks and empty messages",
)
def _blank_text(body: JsonObject) -> Iterator[RuleFinding]:
    last = len(as_list(body.get("messages"))) - 1
    for i, role, message in messages(body):
        if message.get("content") in ("", []) and not (role == "assistant" and i == last):
            yield RuleFinding(f"messages.{i}.content", "must not be empty")
    for turn in turns(body):
        blank = _is_blank(turn.blocks[0]) and all(map(_is_blank, turn.blocks)) if turn.blocks else False
        for at, block in enumerate(turn.blocks):
            if blank or (block.kind == "text" and block.value.get("text") == ""):
                yield turn.finding(at, "text must not be blank")
    for j, value in objects(body.get("system")):
        if value.get("type") == "text" and value.get("text") == "":
            yield RuleFinding(f"system.{j}", "text must not be empty")


def _is_blank(block: Block) -> bool:
    text = block.value.get("text")
    return block.kind == "text" and isinstance(text, str) and not text.strip()


@CONTENT_RULES.add(
    "A7b: no cache mark is on empty text",
    "Error text 'cache_control cannot be set for empty text blocks' (claude-code#62379).",
    "move the mark to a block with text",
)
def _cached_blank_text(body: JsonObject) -> Iterator[RuleFinding]:
    for inner in inner_blocks(body):
        if inner.value.get("text") == "" and inner.value.get("cache_control"):
            yield RuleFinding(inner.where, "cache_control cannot be set for empty text")


@CONTENT_RULES.add(
    "A7c: a tool result's content is not an empty list",
    "A comment in pydantic-ai's Anthropic model; not recorded.",
    "leave content out, or say that there was no output",
    verified=False,
)
def _empty_results(body: JsonObject) -> Iterator[RuleFinding]:
    for block in blocks(body):
        if block.kind == RESULT and block.value.get("content") == []:
            yield RuleFinding(f"{block.where}.content", "must not be an empty list")


@CONTENT_RULES.add(
    "A9: thinking carries its signature",
    "Error texts 'Invalid `signature` in `thinking` block' and 'cannot be modified' "
    "(claude-code#63284). Only a blank signature can be seen without the API; empty thinking text with "
    "a signature is accepted (recorded by pydantic-ai, Sonnet 5).",
    "send thinking back exactly as it came, or drop the whole block",
)
def _unsigned_thinking(body: JsonObject) -> Iterator[RuleFinding]:
    for block in blocks(body):
        if block.kind == "thinking" and block.value.get("signature") == "":
            yield RuleFinding(f"{block.where}.signature", "thinking needs its signature")
        elif block.kind == "redacted_thinking" and block.value.get("data") == "":
            yield RuleFinding(f"{block.where}.data", "redacted thinking needs its data")


@CONTENT_RULES.add(
    "A15: a compaction block is not an empty string",
    "The SDK's docstring: null content is a no-op, an empty string is not allowed, encrypted_content "
    "goes back verbatim. The beta header it needs is not part of the body.",
    "send the compaction block back exactly as it came",
)
def _empty_compaction(body: JsonObject) -> Iterator[RuleFinding]:
    for block in blocks(body):
        if block.kind != "compaction":
            continue
        if block.value.get("content") == "":
            yield RuleFinding(
                f"{block.where}.content", "must not be an empty string; null marks a failed compaction"
            )
        yield from misfits(block.where, block.value, _COMPACTION)


@CONTENT_RULES.add(
    "A15b: a signed compaction block comes first, and alone",
    "Documentation of compaction on demand (beta compact-2026-09-04): error codes "
    "compaction_block_misplaced and compaction_block_ambiguous; the block goes back unchanged, first in "
    "messages, only the latest one.",
    "drop the messages that the block replaces and every earlier block, and put it first",
)
def _misplaced_compaction(body: JsonObject) -> Iterator[RuleFinding]:
    result = [block for block in blocks(body) if block.kind == "compaction"]
    signed = [block for block in result if as_text(block.value.get("signature"))]
    for block in signed:
        if (block.message, block.at) != (0, 0):
            yield RuleFinding(
                block.where, "a signed compaction block must be the first block of the first message"
            )
    output = [block for block in result if as_text(block.value.get("content"))]
    if signed and len(output) > 1:
        yield RuleFinding(output[-1].where, "only the latest compaction block with content may be sent")


@CONTENT_RULES.add(
    "A15c: one compaction block with content",
    "Error code compaction_block_ambiguous, documented for compaction on demand; whether it holds for "
    "histories with several blocks of compact_20260112 is not known.",
    "send only the latest compaction block with content",
    verified=False,
)
def _several_compactions(body: JsonObject) -> Iterator[RuleFinding]:
    result = [block for block in blocks(body) if block.kind == "compaction"]
    output = [block for block in result if as_text(block.value.get("content"))]
    if len(output) > 1 and not any(as_text(block.value.get("signature")) for block in result):
        yield RuleFinding(output[-1].where, "a second compaction block with content")


@CONTENT_RULES.add(
    "A16b: a message has only role and content",
    "Anthropic's API forbids unknown fields everywhere ('Extra inputs are not permitted'), and the SDK "
    "knows only these two, and clear_at of a system message within the conversation.",
    "leave out the other fields (id, model, usage) of a stored response",
)
def _extra_message_fields(body: JsonObject) -> Iterator[RuleFinding]:
    for i, role, message in messages(body):
        if len(message) > 2:
            for key in message:
                if key not in ("role", "content") and not (role == "system" and key == "clear_at"):
                    yield RuleFinding(f"messages.{i}.{key}", "extra inputs are not permitted")


@CONTENT_RULES.add(
    "A18: ids and tool names have only letters, digits, _ and -",
    "Error texts 'String should match pattern ^[a-zA-Z0-9_-]+$' for tool_use.id and "
    "tool_result.tool_use_id, '^srvtoolu_[a-zA-Z0-9_]+$' for server_tool_use.id and "
    "'^[a-zA-Z0-9_-]{1,128}$' for a tool's name, quoted by many clients; 128 measured (2026-10-05). "
    "The name in a call has 1 to 200 characters of any kind (Claude Code's changelog).",
    "replace other characters, the same way in the call and its result",
)
def _illegal_ids(body: JsonObject) -> Iterator[RuleFinding]:
    for block in blocks(body):
        if block.kind == CALL:
            yield from _mismatch(block, "id", _ID)
            yield from _mismatch(block, "name", _CALLED_NAME)
        elif block.kind == RESULT:
            yield from _mismatch(block, "tool_use_id", _ID)
        elif block.kind == "server_tool_use":
            yield from _mismatch(block, "id", _SERVER_ID)
    for i, tool in objects(body.get("tools")):
        name = tool.get("name")
        if isinstance(name, str) and not _TOOL_NAME.fullmatch(name):
            yield RuleFinding(f"tools.{i}.name", f"must match {_TOOL_NAME.pattern}")


def _mismatch(block: Block, key: str, pattern: re.Pattern[str]) -> Iterator[RuleFinding]:
    value = block.value.get(key)
    if isinstance(value, str) and not pattern.fullmatch(value):
        yield RuleFinding(f"{block.where}.{key}", f"must match {pattern.pattern}")


# Sizes -----------------------------------------------------------------------------------------------

MAX_SIDE = 8_000
MANY_IMAGES = 20
MAX_SIDE_OF_MANY = 2_000
MAX_IMAGE_CHARACTERS = 10 * 1024 * 1024
MAX_REQUEST_BYTES = 32 * 1024 * 1024


@CONTENT_RULES.add(
    "A11: images are small enough",
    "Error texts on 8,000 pixels a side, and on 2,000 'for many-image requests' of more than 20 "
    "(crush#3810, oh-my-pi#10633, claude-code#49537); 10 MB of base64 (older reports: 5 MB).",
    "scale images down, or drop old ones",
)
def _large_images(body: JsonObject) -> Iterator[RuleFinding]:
    every: list[Block | Inner] = [*blocks(body), *inner_blocks(body)]
    images = [block for block in every if block.value.get("type") == "image"]
    many = len(images) > MANY_IMAGES
    limit = MAX_SIDE_OF_MANY if many else MAX_SIDE
    for image in images:
        text = as_text(as_object(image.value.get("source")).get("data"))
        if len(text) > MAX_IMAGE_CHARACTERS:
            yield RuleFinding(
                image.where, f"{len(text):,} characters of base64, {MAX_IMAGE_CHARACTERS:,} are allowed"
            )
        size = image_size(text) if text else None
        if size and max(size) > limit:
            reason = f" in a request of {len(images)} images" if many else ""
            yield RuleFinding(
                image.where, f"{size.width} × {size.height} pixels, {limit} a side are allowed{reason}"
            )


@CONTENT_RULES.add(
    "A11b: a request is at most 32 MB",
    "Anthropic's list of errors: 413 request_too_large.",
    "send less: drop images and old results",
)
def _large_request(body: JsonObject) -> Iterator[RuleFinding]:
    size = sum(_text_size(block.value) for block in blocks(body))
    size += sum(_text_size(inner.value) for inner in inner_blocks(body))
    if size > MAX_REQUEST_BYTES:
        yield RuleFinding("messages", f"at least {size:,} bytes, {MAX_REQUEST_BYTES:,} are allowed")


def _text_size(value: JsonObject) -> int:
    text = value.get("text") or value.get("content") or as_object(value.get("source")).get("data")
    return len(text) if isinstance(text, str) else 0
