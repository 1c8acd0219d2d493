"""Anthropic's rules about turns: calls and results, the order of blocks, system turns (A1 to A6, A8 to A21).

Each function yields the violations of the rule above it, such as a call without a result in the next turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from clew.message import JsonObject
from clew.providers.anthropic.rules_walk import (
    CALL,
    RESULT,
    SERVER_CALLS,
    THINKING,
    Block,
    MergedTurn,
    blocks,
    is_server_result,
    is_server_side,
    known_family,
    turns,
)
from clew.providers.rules import RuleBook, RuleFinding, RuleLevel
from clew.providers.shapes import as_object, as_text

TURN_RULES = RuleBook()

_NO_TURN = MergedTurn("", -1, -1, -1)
"""Stands before the first and after the last turn, so that each turn has neighbours."""


def _ids(of: list[Block], key: str) -> set[str]:
    return {block.id(key) for block in of}


@TURN_RULES.add(
    "A1: every tool call is answered in the next message",
    "Error text '`tool_use` ids were found without `tool_result` blocks immediately after' (recorded "
    "by opencode; Kilo-Org/kilocode#5163). A call at the very end of the list counts too: no recording "
    "shows one accepted, and as the start of an answer it would meet A8b or A8c.",
    "keep each call and all its results together",
)
def _unanswered_calls(body: JsonObject) -> Iterator[RuleFinding]:
    for turn, following in pairwise([*turns(body), _NO_TURN]):
        if turn.role != "assistant" or not (calls := turn.calls):
            continue
        answered = _ids(following.results, "tool_use_id") if following.role == "user" else set()
        for call in calls:
            if call.id() and call.id() not in answered:
                problem = f"tool_use {call.id()} has no tool_result in the next message"
                yield RuleFinding(call.where, problem, f"messages.{turn.number}")


@TURN_RULES.add(
    "A2: every tool result answers a call of the previous message",
    "Error text 'unexpected `tool_use_id` found in `tool_result` blocks' (openclaw#8525, "
    "claude-code#24670, #18947).",
    "drop the result, or keep the call it answers",
)
def _unexpected_results(body: JsonObject) -> Iterator[RuleFinding]:
    for previous, turn in pairwise([_NO_TURN, *turns(body)]):
        if turn.role != "user" or not turn.results:
            continue
        called = _ids(previous.calls, "id") if previous.role == "assistant" else set()
        for at, block in enumerate(turn.blocks):
            if block.kind == RESULT and (text := block.id("tool_use_id")) and text not in called:
                yield turn.finding(at, f"tool_result for {text}, which the previous message did not call")


@TURN_RULES.add(
    "A2b: a tool call has one result",
    "Error text 'each tool_use must have a single result. Found multiple `tool_result` blocks with "
    "id', quoted in the tests and repairs of many clients.",
    "keep one result for each call",
)
def _repeated_results(body: JsonObject) -> Iterator[RuleFinding]:
    for turn in turns(body):
        seen: set[str] = set()
        for at, block in enumerate(turn.blocks):
            if block.kind == RESULT and turn.role == "user":
                text = block.id("tool_use_id")
                if text in seen:
                    yield turn.finding(at, f"a second tool_result for {text}")
                seen.add(text)


@TURN_RULES.add(
    "A3: nothing but calls follows a call in an assistant turn",
    "Recorded by opencode (2026-05-05): text after tool_use gets the error of A1; the same blocks with "
    "the text first are accepted. Blocks of server tools may follow (Anthropic's page on stop "
    "reasons).",
    "put text and thinking before the calls",
)
def _text_after_calls(body: JsonObject) -> Iterator[RuleFinding]:
    for turn in turns(body):
        if turn.role != "assistant":
            continue
        called = False
        for at, block in enumerate(turn.blocks):
            if block.kind == CALL:
                called = True
            elif called and not is_server_side(block.kind):
                yield turn.finding(at, f"{block.kind} after a tool_use in the same turn")


@TURN_RULES.add(
    "A4: roles alternate and the user speaks first",
    "Recorded by opencode and pydantic-ai: consecutive messages of one role are merged, and a leading "
    "assistant message is accepted. Anthropic's own error list still asks for alternation.",
    "merge consecutive messages of one role",
    level=RuleLevel.WARN,
)
def _merged_messages(body: JsonObject) -> Iterator[RuleFinding]:
    for turn in turns(body):
        if turn.first != turn.last and turn.role != "system":
            problem = f"messages {turn.first} to {turn.last} are all {turn.role}; the API reads them as one"
            yield RuleFinding(f"messages.{turn.last}", problem, f"messages.{turn.number}")
    if turns(body) and turns(body)[0].role == "assistant":
        yield RuleFinding("messages.0", "the history begins with the assistant", "messages.1")


@TURN_RULES.add(
    "A5: tool results come first in their message",
    "Anthropic's page on stop reasons: a tool_result after other content fails with the error of A1. "
    "Counted after merging.",
    "put the results first and text after them",
)
def _results_not_first(body: JsonObject) -> Iterator[RuleFinding]:
    for previous, turn in pairwise(turns(body)):
        if turn.role != "user" or not previous.calls:
            continue
        other = False
        for at, block in enumerate(turn.blocks):
            if block.kind != RESULT:
                other = True
            elif other:
                yield turn.finding(at, "tool_result after other content")


@TURN_RULES.add(
    "A6: tool call ids are unique within a turn",
    "Error text '`tool_use` ids must be unique' (cua#524, claude-code#20700, #28515), always at a "
    "later block of one message.",
    "give each call of a turn its own id",
)
def _repeated_ids(body: JsonObject) -> Iterator[RuleFinding]:
    for turn in turns(body):
        seen: set[str] = set()
        for at, block in enumerate(turn.blocks):
            if block.kind == CALL:
                if block.id() and block.id() in seen:
                    yield turn.finding(at, f"tool_use id {block.id()} is used twice in this turn")
                seen.add(block.id())


@TURN_RULES.add(
    "A6b: a tool call id is not reused in a later turn",
    "Roo-Code and litellm rewrite such ids, but pydantic-ai recorded a request that reuses one in a "
    "later turn and was accepted.",
    "give each call its own id",
    level=RuleLevel.WARN,
)
def _reused_ids(body: JsonObject) -> Iterator[RuleFinding]:
    seen: dict[str, int] = {}
    for turn in turns(body):
        for call in turn.calls:
            if call.id() and seen.setdefault(call.id(), turn.number) != turn.number:
                yield RuleFinding(call.where, f"tool_use id {call.id()} was used in an earlier turn")


@TURN_RULES.add(
    "A8: the last assistant text does not end in white space",
    "Error text 'final assistant content cannot end with trailing whitespace' (litellm and vercel/ai "
    "strip it).",
    "strip the last assistant text",
)
def _trailing_space(body: JsonObject) -> Iterator[RuleFinding]:
    last = turns(body)[-1:]
    if last and last[0].role == "assistant" and last[0].blocks:
        text = as_text(last[0].blocks[-1].value.get("text"))
        if text.strip() and text != text.rstrip():
            yield last[0].finding(len(last[0].blocks) - 1, "the last assistant text ends in white space")


@TURN_RULES.add(
    "A8b: a request ends with the user if the model does not accept a prefill",
    "Error text 'This model does not support assistant message prefill' (Opus and Sonnet 4.6 and "
    "later, Fable 5: claude-api skill; opencode#13768, skyvern#4795). Depends on the model. A turn "
    "that waits for a server tool is accepted (recorded by pydantic-ai).",
    "end with a user message",
)
def _unsupported_prefill(body: JsonObject) -> Iterator[RuleFinding]:
    family = known_family(body)
    if family and not family.prefill and _is_prefilled(body):
        where = f"messages.{turns(body)[-1].last}"
        yield RuleFinding(where, f"{as_text(body.get('model'))} does not accept an assistant prefill")


@TURN_RULES.add(
    "A8c: a request with tools ends with the user",
    "Error text 'When using tools, pre-filling the `assistant` response is not supported' "
    "(claude-engineer#40, inngest/agent-kit#41, langgraph#4940), from 2024 and 2025; not seen since.",
    "end with a user message",
    verified=False,
)
def _prefill_with_tools(body: JsonObject) -> Iterator[RuleFinding]:
    if body.get("tools") and _is_prefilled(body):
        yield RuleFinding(
            f"messages.{turns(body)[-1].last}", "an assistant prefill is not accepted with tools"
        )


def _is_prefilled(body: JsonObject) -> bool:
    last = turns(body)[-1:]
    if not last or last[0].role != "assistant" or "fallback_credit_token" in body:
        return False
    # A turn that waits for a server tool is continued by sending it back; A1 checks calls.
    ending = last[0].blocks[-1].kind if last[0].blocks else ""
    return ending != CALL and not is_server_side(ending)


@TURN_RULES.add(
    "A9b: a running tool loop begins with thinking",
    "Error text 'Expected `thinking` or `redacted_thinking`, but found `tool_use`' for thinking.type "
    "'enabled' (haystack-core-integrations#2146, pydantic-ai#2075, n8n#22550). A later live test "
    "(hermes-agent#24107) dropped the blocks and was accepted, so the rule is not certain.",
    "keep the thinking of the loop's first step, or turn thinking off",
    verified=False,
)
def _loop_without_thinking(body: JsonObject) -> Iterator[RuleFinding]:
    if as_object(body.get("thinking")).get("type") != "enabled":
        return
    every = turns(body)
    if not every or every[-1].role != "user" or not every[-1].results:
        return
    asking = [i for i, turn in enumerate(every) if turn.role == "user" and not turn.results]
    start = asking[-1] if asking else -1
    for turn in every[start + 1 :]:
        if turn.role == "assistant" and turn.blocks:
            if turn.blocks[0].kind not in THINKING:
                yield turn.finding(
                    0, f"expected thinking before {turn.blocks[0].kind} in the running tool loop"
                )
            return


# System turns and server tools ------------------------------------------------------------------------

_SYSTEM_KINDS = frozenset({"text", "tool_addition", "tool_removal"})


@TURN_RULES.add(
    "A14: a system turn follows the user and precedes the assistant",
    "Anthropic's claude-api skill. Recorded by pydantic-ai: several in a row count as one, and "
    "tool_addition blocks are accepted as well as text.",
    "move it right before the next assistant turn, or to the top-level system field",
)
def _misplaced_system_turns(body: JsonObject) -> Iterator[RuleFinding]:
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


@TURN_RULES.add(
    "A14b: a system turn needs a model that accepts one",
    "Error text \"role 'system' is not supported on this model\" (claude-api skill; pydantic-ai's list "
    "of models). Depends on the model.",
    "write it into a user turn, or use the top-level system field",
)
def _unsupported_system_turns(body: JsonObject) -> Iterator[RuleFinding]:
    family = known_family(body)
    if family is None or family.system_turns:
        return
    for turn in turns(body):
        if turn.role == "system":
            problem = f"role 'system' is not supported on {as_text(body.get('model'))}"
            yield RuleFinding(f"messages.{turn.first}", problem)


@TURN_RULES.add(
    "A20: every server tool result follows its call",
    "Error text 'unexpected `tool_use_id` found in `advisor_tool_result` blocks … must have a "
    "corresponding `server_tool_use` block before it' (claude-code#64383, #84783).",
    "keep a server tool's call and its result together, or drop both",
)
def _server_results_without_call(body: JsonObject) -> Iterator[RuleFinding]:
    called: set[str] = set()
    for block in blocks(body):
        if block.kind in SERVER_CALLS:
            called.add(block.id())
        elif is_server_result(block.kind) and block.id("tool_use_id") not in called:
            yield RuleFinding(
                block.where, f"{block.kind} for {block.id('tool_use_id')}, which nothing called before"
            )


@TURN_RULES.add(
    "A21: every server tool call has its result once its turn is over",
    "Error text '`web_search` tool use with id … was found without a corresponding "
    "`web_search_tool_result` block' (Anthropic's page on stop reasons). A call without a result is "
    "accepted only in the turn that the request continues.",
    "keep a server tool's call and its result together, or drop both",
)
def _unfinished_server_calls(body: JsonObject) -> Iterator[RuleFinding]:
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
