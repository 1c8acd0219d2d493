"""A call that compacts nothing costs what is new, however long the list is."""

import sys
from types import FrameType
from typing import Any

import pytest

import clew

WINDOW = 100_000_000
CALLS = 4
MOST_GROWTH = 1.25
"""Instructions per call at 1,600 messages against 200; a loop over the list doubles it at least."""


def entry(n: int) -> dict[str, Any]:
    role = "user" if n % 2 == 0 else "assistant"
    return {"role": role, "content": f"Step {n}: the reader of module_{n % 300} loads src/app/file_{n}.py."}


def instructions(messages: list[Any], fitted: clew.CompactResult, keeps: str) -> int:
    """Return the bytecode instructions of a few calls, each with one more exchange."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    for _ in range(CALLS):
        start = len(messages)
        messages = [*(messages if keeps == "whole" else fitted.messages), entry(start), entry(start + 1)]
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            fitted = clew.compact(messages, WINDOW, previous=fitted)
        finally:
            sys.settrace(before)
    return count


@pytest.mark.parametrize("keeps", ["whole", "messages"])
@pytest.mark.parametrize("compacted", [False, True])
def test_an_idle_call_costs_the_same_at_any_length(keeps, compacted):
    def cost(length: int) -> int:
        messages = [entry(n) for n in range(length)]
        fitted = clew.compact(messages, WINDOW)
        if compacted:
            fitted = clew.compact(messages, WINDOW, previous=fitted, target_tokens=fitted.tokens_after // 2)
            assert fitted.changed
            messages = messages if keeps == "whole" else fitted.messages
        return instructions(messages, fitted, keeps)

    cost(50)  # tables and patterns are loaded
    short, long = cost(200), cost(1_600)
    assert long < short * MOST_GROWTH, (short, long)
