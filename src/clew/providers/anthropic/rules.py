"""All rules of Anthropic's API (``RULES``); here those on images, system turns and server tools.

Each function yields the violations of one rule (its docstring begins with the rule's id: A11, A14, A20, A21);
the table below it has the rule's level, evidence and advice. The other rules are in the ``rules_…`` files.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.message import JsonObject
from clew.providers.anthropic.rules_content import CONTENT_RULES
from clew.providers.anthropic.rules_models import known_family
from clew.providers.anthropic.rules_request import COMPACTION_RULES, REQUEST_RULES
from clew.providers.anthropic.rules_turns import TURN_RULES
from clew.providers.anthropic.rules_walk import (
    CALL,
    RESULT,
    SERVER_CALLS,
    Block,
    Inner,
    MergedTurn,
    blocks,
    inner_blocks,
    is_server_result,
    is_server_side,
    turns,
)
from clew.providers.rules import ApiRule, RuleFinding, RuleLevel, in_order
from clew.providers.shapes import as_object, as_text
from clew.tokens.images import image_size

MAX_SIDE = 8_000
MANY_IMAGES = 20
MAX_SIDE_OF_MANY = 2_000
MAX_IMAGE_CHARACTERS = 10 * 1024 * 1024
MAX_REQUEST_BYTES = 32 * 1024 * 1024


def _images(body: JsonObject) -> list[Block | Inner]:
    """Return every image, including nested ones."""
    outer = [block for block in blocks(body) if block.kind == "image"]
    return [*outer, *(inner for inner in inner_blocks(body) if inner.value.get("type") == "image")]


def large_images(body: JsonObject) -> Iterator[RuleFinding]:
    """A11: an image with too many pixels or bytes."""
    images = _images(body)
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


def large_request(body: JsonObject) -> Iterator[RuleFinding]:
    """A11b: a request with too many bytes, estimated from below."""
    size = sum(_text_size(block.value) for block in blocks(body))
    size += sum(_text_size(inner.value) for inner in inner_blocks(body))
    if size > MAX_REQUEST_BYTES:
        yield RuleFinding("messages", f"at least {size:,} bytes, {MAX_REQUEST_BYTES:,} are allowed")


def _text_size(value: JsonObject) -> int:
    text = value.get("text") or value.get("content") or as_object(value.get("source")).get("data")
    return len(text) if isinstance(text, str) else 0


IMAGE_RULES = (
    ApiRule(
        "A11",
        "images are small enough",
        RuleLevel.REFUSE,
        "Error texts on 8,000 pixels a side, and on 2,000 'for many-image requests' of more than 20 "
        "(crush#3810, oh-my-pi#10633, claude-code#49537); 10 MB of base64 (older reports: 5 MB).",
        "scale images down, or drop old ones",
        large_images,
    ),
    ApiRule(
        "A11b",
        "a request is at most 32 MB",
        RuleLevel.REFUSE,
        "Anthropic's list of errors: 413 request_too_large.",
        "send less: drop images and old results",
        large_request,
    ),
)


_SYSTEM_KINDS = frozenset({"text", "tool_addition", "tool_removal"})


def misplaced_system_turns(body: JsonObject) -> Iterator[RuleFinding]:
    """A14: a system turn at a place where the API refuses one."""
    every = turns(body)
    for i, turn in enumerate(every):
        if turn.role != "system":
            continue
        where = f"messages.{turn.first}"
        if i == 0:
            yield RuleFinding(where, "a system turn cannot come first")
        elif not (every[i - 1].role == "user" or _ends_in_server_tool(every[i - 1])):
            yield RuleFinding(
                where, "a system turn must follow a user turn, or a turn that ends in a server tool"
            )
        if i + 1 < len(every) and every[i + 1].role != "assistant":
            yield RuleFinding(where, "a system turn must come last or right before an assistant turn")
        for at, block in enumerate(turn.blocks):
            if block.kind not in _SYSTEM_KINDS:
                yield turn.finding(at, f"a system turn cannot hold {block.kind}")


def _ends_in_server_tool(turn: MergedTurn) -> bool:
    return bool(turn.blocks) and is_server_side(turn.blocks[-1].kind)


def unsupported_system_turns(body: JsonObject) -> Iterator[RuleFinding]:
    """A14b: a system turn for a model that does not accept one."""
    family = known_family(body)
    if family is None or family.system_turns:
        return
    for turn in turns(body):
        if turn.role == "system":
            problem = f"role 'system' is not supported on {as_text(body.get('model'))}"
            yield RuleFinding(f"messages.{turn.first}", problem)


def server_results_without_call(body: JsonObject) -> Iterator[RuleFinding]:
    """A20: a result of a server tool without a call before it."""
    called: set[str] = set()
    for block in blocks(body):
        if block.kind in SERVER_CALLS:
            called.add(block.id())
        elif is_server_result(block.kind) and block.id("tool_use_id") not in called:
            yield RuleFinding(
                block.where, f"{block.kind} for {block.id('tool_use_id')}, which nothing called before"
            )


def unfinished_server_calls(body: JsonObject) -> Iterator[RuleFinding]:
    """A21: a call of a server tool without a result, in a turn that has ended."""
    every = turns(body)
    answered = {b.id("tool_use_id") for b in blocks(body) if is_server_result(b.kind)}
    # Code that the provider runs may call client tools; its own result comes when it has finished.
    running = {
        as_text(as_object(b.value.get("caller")).get("tool_id")) for b in blocks(body) if b.kind == CALL
    }
    open_turn = _open_turn(every)
    for i, turn in enumerate(every):
        for at, block in enumerate(turn.blocks):
            unfinished = (
                block.kind in SERVER_CALLS and block.id() not in answered and block.id() not in running
            )
            if unfinished and i != open_turn:
                yield turn.finding(at, f"{block.kind} {block.id()} has no result, and its turn is over")


def _open_turn(every: list[MergedTurn]) -> int:
    """Return the index of the assistant turn that the request continues, or -1."""
    i = len(every) - 1
    while i >= 0 and (every[i].role == "system" or _only_results(every[i])):
        i -= 1
    return i if i >= 0 and every[i].role == "assistant" else -1


def _only_results(turn: MergedTurn) -> bool:
    return turn.role == "user" and all(block.kind == RESULT for block in turn.blocks)


SERVER_RULES = (
    ApiRule(
        "A14",
        "a system turn follows the user and precedes the assistant",
        RuleLevel.REFUSE,
        "Anthropic's claude-api skill. Recorded by pydantic-ai: several in a row count as one, and "
        "tool_addition blocks are accepted as well as text.",
        "move it right before the next assistant turn, or to the top-level system field",
        misplaced_system_turns,
    ),
    ApiRule(
        "A14b",
        "a system turn needs a model that accepts one",
        RuleLevel.REFUSE,
        "Error text \"role 'system' is not supported on this model\" (claude-api skill; pydantic-ai's list "
        "of models). Depends on the model.",
        "write it into a user turn, or use the top-level system field",
        unsupported_system_turns,
    ),
    ApiRule(
        "A20",
        "every server tool result follows its call",
        RuleLevel.REFUSE,
        "Error text 'unexpected `tool_use_id` found in `advisor_tool_result` blocks … must have a "
        "corresponding `server_tool_use` block before it' (claude-code#64383, #84783).",
        "keep a server tool's call and its result together, or drop both",
        server_results_without_call,
    ),
    ApiRule(
        "A21",
        "every server tool call has its result once its turn is over",
        RuleLevel.REFUSE,
        "Error text '`web_search` tool use with id … was found without a corresponding "
        "`web_search_tool_result` block' (Anthropic's page on stop reasons). A call without a result is "
        "accepted only in the turn that the request continues.",
        "keep a server tool's call and its result together, or drop both",
        unfinished_server_calls,
    ),
)


RULES = in_order(COMPACTION_RULES, CONTENT_RULES, IMAGE_RULES, REQUEST_RULES, SERVER_RULES, TURN_RULES)
