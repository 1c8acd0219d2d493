"""Anthropic's rules about turns: pairs of calls and results, and the order of blocks (A1 to A6, A8, A9b).

Each function yields the violations of one rule, such as a call without a result in the next turn; the table
at the end has the rule's level, evidence and advice.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from clew.message import JsonObject
from clew.providers.anthropic.rules_models import known_family
from clew.providers.anthropic.rules_walk import (
    CALL,
    RESULT,
    THINKING,
    Block,
    MergedTurn,
    is_server_side,
    turns,
)
from clew.providers.rules import ApiRule, RuleFinding, RuleLevel
from clew.providers.shapes import as_object, as_text

_NO_TURN = MergedTurn("", -1, -1, -1)
"""Stands before the first and after the last turn, so that each turn has neighbours."""


def _ids(blocks: list[Block], key: str) -> set[str]:
    return {block.id(key) for block in blocks}


def unanswered_calls(body: JsonObject) -> Iterator[RuleFinding]:
    """A1: a call without its result in the next turn."""
    for turn, following in pairwise([*turns(body), _NO_TURN]):
        if turn.role != "assistant" or not (calls := turn.calls):
            continue
        answered = _ids(following.results, "tool_use_id") if following.role == "user" else set()
        for call in calls:
            if call.id() and call.id() not in answered:
                problem = f"tool_use {call.id()} has no tool_result in the next message"
                yield RuleFinding(call.where, problem, f"messages.{turn.number}")


def unexpected_results(body: JsonObject) -> Iterator[RuleFinding]:
    """A2: a result whose call is not in the previous turn."""
    for previous, turn in pairwise([_NO_TURN, *turns(body)]):
        if turn.role != "user" or not turn.results:
            continue
        called = _ids(previous.calls, "id") if previous.role == "assistant" else set()
        for at, block in enumerate(turn.blocks):
            if block.kind == RESULT and (text := block.id("tool_use_id")) and text not in called:
                yield turn.finding(at, f"tool_result for {text}, which the previous message did not call")


def repeated_results(body: JsonObject) -> Iterator[RuleFinding]:
    """A2b: two results for one call."""
    for turn in turns(body):
        seen: set[str] = set()
        for at, block in enumerate(turn.blocks):
            if block.kind == RESULT and turn.role == "user":
                text = block.id("tool_use_id")
                if text in seen:
                    yield turn.finding(at, f"a second tool_result for {text}")
                seen.add(text)


def text_after_calls(body: JsonObject) -> Iterator[RuleFinding]:
    """A3: text or thinking after a call, within one assistant turn."""
    for turn in turns(body):
        if turn.role != "assistant":
            continue
        called = False
        for at, block in enumerate(turn.blocks):
            if block.kind == CALL:
                called = True
            elif called and not is_server_side(block.kind):
                yield turn.finding(at, f"{block.kind} after a tool_use in the same turn")


def merged_messages(body: JsonObject) -> Iterator[RuleFinding]:
    """A4: messages that the API merges, and a history that begins with the assistant."""
    for turn in turns(body):
        if turn.first != turn.last and turn.role != "system":
            problem = f"messages {turn.first} to {turn.last} are all {turn.role}; the API reads them as one"
            yield RuleFinding(f"messages.{turn.last}", problem, f"messages.{turn.number}")
    if turns(body) and turns(body)[0].role == "assistant":
        yield RuleFinding("messages.0", "the history begins with the assistant", "messages.1")


def results_not_first(body: JsonObject) -> Iterator[RuleFinding]:
    """A5: a result after other content, in the turn that answers calls."""
    for previous, turn in pairwise(turns(body)):
        if turn.role != "user" or not previous.calls:
            continue
        other = False
        for at, block in enumerate(turn.blocks):
            if block.kind != RESULT:
                other = True
            elif other:
                yield turn.finding(at, "tool_result after other content")


def repeated_ids(body: JsonObject) -> Iterator[RuleFinding]:
    """A6: one id for two calls of a turn."""
    for turn in turns(body):
        seen: set[str] = set()
        for at, block in enumerate(turn.blocks):
            if block.kind == CALL:
                if block.id() and block.id() in seen:
                    yield turn.finding(at, f"tool_use id {block.id()} is used twice in this turn")
                seen.add(block.id())


def reused_ids(body: JsonObject) -> Iterator[RuleFinding]:
    """A6b: an id used again in a later turn."""
    seen: dict[str, int] = {}
    for turn in turns(body):
        for call in turn.calls:
            if call.id() and seen.setdefault(call.id(), turn.number) != turn.number:
                yield RuleFinding(call.where, f"tool_use id {call.id()} was used in an earlier turn")


def trailing_space(body: JsonObject) -> Iterator[RuleFinding]:
    """A8: a last assistant message whose text ends in white space."""
    last = turns(body)[-1:]
    if last and last[0].role == "assistant" and last[0].blocks:
        text = as_text(last[0].blocks[-1].value.get("text"))
        if text.strip() and text != text.rstrip():
            yield last[0].finding(len(last[0].blocks) - 1, "the last assistant text ends in white space")


def unsupported_prefill(body: JsonObject) -> Iterator[RuleFinding]:
    """A8b: a request that ends with the assistant, for a model that does not accept a prefill."""
    family = known_family(body)
    if family and not family.prefill and _is_prefilled(body):
        where = f"messages.{turns(body)[-1].last}"
        yield RuleFinding(where, f"{as_text(body.get('model'))} does not accept an assistant prefill")


def prefill_with_tools(body: JsonObject) -> Iterator[RuleFinding]:
    """A8c: a request with tools that ends with the assistant."""
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


def loop_without_thinking(body: JsonObject) -> Iterator[RuleFinding]:
    """A9b: a running tool loop that does not begin with thinking, although thinking is enabled."""
    if as_object(body.get("thinking")).get("type") != "enabled":
        return
    every = turns(body)
    if not every or every[-1].role != "user" or not every[-1].results:
        return
    start = next((i for i in range(len(every) - 1, -1, -1) if _asks(every[i])), -1)
    for turn in every[start + 1 :]:
        if turn.role == "assistant" and turn.blocks:
            if turn.blocks[0].kind not in THINKING:
                yield turn.finding(
                    0, f"expected thinking before {turn.blocks[0].kind} in the running tool loop"
                )
            return


def _asks(turn: MergedTurn) -> bool:
    return turn.role == "user" and not turn.results


TURN_RULES = (
    ApiRule(
        "A1",
        "every tool call is answered in the next message",
        RuleLevel.REFUSE,
        "Error text '`tool_use` ids were found without `tool_result` blocks immediately after' (recorded "
        "by opencode; Kilo-Org/kilocode#5163). A call at the very end of the list counts too: no recording "
        "shows one accepted, and as the start of an answer it would meet A8b or A8c.",
        "keep each call and all its results together",
        unanswered_calls,
    ),
    ApiRule(
        "A2",
        "every tool result answers a call of the previous message",
        RuleLevel.REFUSE,
        "Error text 'unexpected `tool_use_id` found in `tool_result` blocks' (openclaw#8525, "
        "claude-code#24670, #18947).",
        "drop the result, or keep the call it answers",
        unexpected_results,
    ),
    ApiRule(
        "A2b",
        "a tool call has one result",
        RuleLevel.REFUSE,
        "Error text 'each tool_use must have a single result. Found multiple `tool_result` blocks with "
        "id', quoted in the tests and repairs of many clients.",
        "keep one result for each call",
        repeated_results,
    ),
    ApiRule(
        "A3",
        "nothing but calls follows a call in an assistant turn",
        RuleLevel.REFUSE,
        "Recorded by opencode (2026-05-05): text after tool_use gets the error of A1; the same blocks with "
        "the text first are accepted. Blocks of server tools may follow (Anthropic's page on stop "
        "reasons).",
        "put text and thinking before the calls",
        text_after_calls,
    ),
    ApiRule(
        "A4",
        "roles alternate and the user speaks first",
        RuleLevel.WARN,
        "Recorded by opencode and pydantic-ai: consecutive messages of one role are merged, and a leading "
        "assistant message is accepted. Anthropic's own error list still asks for alternation.",
        "merge consecutive messages of one role",
        merged_messages,
    ),
    ApiRule(
        "A5",
        "tool results come first in their message",
        RuleLevel.REFUSE,
        "Anthropic's page on stop reasons: a tool_result after other content fails with the error of A1. "
        "Counted after merging.",
        "put the results first and text after them",
        results_not_first,
    ),
    ApiRule(
        "A6",
        "tool call ids are unique within a turn",
        RuleLevel.REFUSE,
        "Error text '`tool_use` ids must be unique' (cua#524, claude-code#20700, #28515), always at a "
        "later block of one message.",
        "give each call of a turn its own id",
        repeated_ids,
    ),
    ApiRule(
        "A6b",
        "a tool call id is not reused in a later turn",
        RuleLevel.WARN,
        "Roo-Code and litellm rewrite such ids, but pydantic-ai recorded a request that reuses one in a "
        "later turn and was accepted.",
        "give each call its own id",
        reused_ids,
    ),
    ApiRule(
        "A8",
        "the last assistant text does not end in white space",
        RuleLevel.REFUSE,
        "Error text 'final assistant content cannot end with trailing whitespace' (litellm and vercel/ai "
        "strip it).",
        "strip the last assistant text",
        trailing_space,
    ),
    ApiRule(
        "A8b",
        "a request ends with the user if the model does not accept a prefill",
        RuleLevel.REFUSE,
        "Error text 'This model does not support assistant message prefill' (Opus and Sonnet 4.6 and "
        "later, Fable 5: claude-api skill; opencode#13768, skyvern#4795). Depends on the model. A turn "
        "that waits for a server tool is accepted (recorded by pydantic-ai).",
        "end with a user message",
        unsupported_prefill,
    ),
    ApiRule(
        "A8c",
        "a request with tools ends with the user",
        RuleLevel.REFUSE,
        "Error text 'When using tools, pre-filling the `assistant` response is not supported' "
        "(claude-engineer#40, inngest/agent-kit#41, langgraph#4940), from 2024 and 2025; not seen since.",
        "end with a user message",
        prefill_with_tools,
        verified=False,
    ),
    ApiRule(
        "A9b",
        "a running tool loop begins with thinking",
        RuleLevel.REFUSE,
        "Error text 'Expected `thinking` or `redacted_thinking`, but found `tool_use`' for thinking.type "
        "'enabled' (haystack-core-integrations#2146, pydantic-ai#2075, n8n#22550). A later live test "
        "(hermes-agent#24107) dropped the blocks and was accepted, so the rule is not certain.",
        "keep the thinking of the loop's first step, or turn thinking off",
        loop_without_thinking,
        verified=False,
    ),
)
