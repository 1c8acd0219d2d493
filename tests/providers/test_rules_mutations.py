"""Break what a real API accepted in one illegal way, and the right rule fires."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from clew.providers import WIRES
from tests.providers.recorded import accepted

Body = dict[str, Any]


class Mutation(NamedTuple):
    """A way to break a body of one format; False where this body has nothing to break."""

    wire: str
    rule: str
    apply: Callable[[Body], bool]


def blocks(body: Body, kind: str) -> Iterator[tuple[Body, int]]:
    for message in body["messages"]:
        if isinstance(message["content"], list):
            yield from ((message, i) for i, block in enumerate(message["content"]) if block["type"] == kind)


def drop_block(body: Body, kind: str) -> bool:
    for message, i in blocks(body, kind):
        del message["content"][i]
        body["messages"] = [kept for kept in body["messages"] if kept["content"]]
        return True
    return False


def insert_block(body: Body, kind: str, block: Body, after: bool) -> bool:
    for message, i in blocks(body, kind):
        message["content"].insert(i + after, block)
        return True
    return False


def repeat_block(body: Body, kind: str) -> bool:
    for message, i in blocks(body, kind):
        message["content"].insert(i, copy.deepcopy(message["content"][i]))
        return True
    return False


def rename_call(body: Body) -> bool:
    for message, i in blocks(body, "tool_use"):
        call = message["content"][i]
        results = [other["content"][j] for other, j in blocks(body, "tool_result")]
        for result in results:
            if result["tool_use_id"] == call["id"]:
                result["tool_use_id"] = "read:0"
        call["id"] = "read:0"
        return True
    return False


def answer_too_late(body: Body) -> bool:
    if not drop_block(copy.deepcopy(body), "tool_result"):
        return False
    for message, i in blocks(body, "tool_result"):
        at = body["messages"].index(message)
        result = message["content"].pop(i)
        later = [{"role": "user", "content": "wait"}, {"role": "assistant", "content": "waiting"}]
        body["messages"][at : at + 1] = [*later, {"role": "user", "content": [result, *message["content"]]}]
        return True
    return False


def drop_message(body: Body, wanted: Callable[[Body], object]) -> bool:
    for i, message in enumerate(body["messages"]):
        if wanted(message):
            del body["messages"][i]
            return True
    return False


def speak_before_answer(body: Body) -> bool:
    for i, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            body["messages"].insert(i, {"role": "user", "content": "wait"})
            return True
    return False


def drop_item(body: Body, kind: str) -> bool:
    items = body["input"] if isinstance(body["input"], list) else []
    for i, item in enumerate(items):
        if item.get("type") == kind:
            del items[i]
            return True
    return False


def lengthen_call_id(body: Body) -> bool:
    items = body["input"] if isinstance(body["input"], list) else []
    called = [item for item in items if item.get("type") in ("function_call", "function_call_output")]
    for item in called:
        item["call_id"] = item["call_id"].ljust(65, "x")
    return bool(called)


def forget_follower_id(body: Body) -> bool:
    items = body["input"] if isinstance(body["input"], list) else []
    for before, item in pairwise(items):
        if before.get("type") == "reasoning" and "id" in before and item.pop("id", None):
            return True
    return False


def function_part(body: Body, names: tuple[str, str]) -> tuple[list[Body], int] | None:
    for content in body["contents"]:
        for i, part in enumerate(content["parts"]):
            if part.keys() & set(names):
                return content["parts"], i
    return None


def drop_part(body: Body, *names: str) -> bool:
    found = function_part(body, names)
    if found:
        parts, i = found
        parts[i] = {"text": "…"}
    return bool(found)


def unsign_last_call(body: Body) -> bool:
    last = body["contents"][-1]["parts"]
    if not body["model"].startswith("gemini-3") or not last[0].keys() & {
        "functionResponse",
        "function_response",
    }:
        return False
    signed = [
        part for part in body["contents"][-2]["parts"] if part.keys() & {"functionCall", "function_call"}
    ]
    return any(signed[0].pop(name, None) for name in ("thoughtSignature", "thought_signature"))


def misname_function(body: Body) -> bool:
    found = function_part(body, ("functionCall", "function_call"))
    if found:
        parts, i = found
        next(parts[i][name] for name in ("functionCall", "function_call") if name in parts[i])["name"] = "1 2"
    return bool(found)


TEXT = {"type": "text", "text": "and"}

MUTATIONS = {
    "a result is lost": Mutation("anthropic", "A1", lambda body: drop_block(body, "tool_result")),
    "a result comes too late": Mutation("anthropic", "A1", answer_too_late),
    "a late result has no call before it": Mutation("anthropic", "A2", answer_too_late),
    "a call is lost": Mutation("anthropic", "A2", lambda body: drop_block(body, "tool_use")),
    "a result comes twice": Mutation("anthropic", "A2b", lambda body: repeat_block(body, "tool_result")),
    "text follows a call": Mutation(
        "anthropic", "A3", lambda body: insert_block(body, "tool_use", TEXT, True)
    ),
    "text precedes a result": Mutation(
        "anthropic", "A5", lambda body: insert_block(body, "tool_result", TEXT, False)
    ),
    "a call comes twice": Mutation("anthropic", "A6", lambda body: repeat_block(body, "tool_use")),
    "a text is empty": Mutation(
        "anthropic", "A7", lambda body: insert_block(body, "text", {**TEXT, "text": ""}, True)
    ),
    "an id has a colon": Mutation("anthropic", "A18", rename_call),
    "a tool message is lost": Mutation(
        "openai", "O2", lambda body: drop_message(body, lambda m: m["role"] == "tool")
    ),
    "its call is lost": Mutation(
        "openai", "O1", lambda body: drop_message(body, lambda m: m.get("tool_calls"))
    ),
    "somebody speaks in between": Mutation("openai", "O2", speak_before_answer),
    "an output is lost": Mutation("responses", "P3", lambda body: drop_item(body, "function_call_output")),
    "its function call is lost": Mutation("responses", "P3", lambda body: drop_item(body, "function_call")),
    "a call id is long": Mutation("responses", "P4", lengthen_call_id),
    "a follower loses its id": Mutation("responses", "P1", forget_follower_id),
    "a function response is lost": Mutation(
        "gemini", "G2b", lambda body: drop_part(body, "functionResponse", "function_response")
    ),
    "a function call is lost": Mutation(
        "gemini", "G2b", lambda body: drop_part(body, "functionCall", "function_call")
    ),
    "a signature is lost": Mutation("gemini", "G1", unsign_last_call),
    "a function has a bad name": Mutation("gemini", "G2c", misname_function),
}


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS)
def test_a_broken_request_is_refused_by_the_right_rule(mutation):
    missed, broken = [], 0
    for one in accepted(mutation.wire):
        body = copy.deepcopy(one.body)
        if mutation.apply(body):
            broken += 1
            if mutation.rule not in WIRES[one.wire].check(body, scope=one.scope).rule_ids:
                missed.append(one.file)
    assert missed == []
    assert broken >= 3
