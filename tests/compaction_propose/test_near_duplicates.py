"""Outputs that differ in a few lines point to each other, also if the whole session is recent."""

from __future__ import annotations

import pytest

import clew

FAILURES = ({3: 14, 17: 90}, {3: 14}, {3: 14, 40: 7}, {})


def output(failed):
    return "\n".join(
        f"src/module_{n:03}.py: "
        + (f"FAILED at line {failed[n]}" if n in failed else "ok, 12 checks, nothing to report")
        for n in range(80)
    )


def session():
    yield {"role": "user", "content": "Fix the failing checks."}
    for number, failed in enumerate(FAILURES):
        call = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": "Bash",
            "input": {"command": f"check {number}"},
        }
        yield {"role": "assistant", "content": [{"type": "text", "text": f"Run {number}."}, call]}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output(failed)}
        yield {"role": "user", "content": [result]}
    yield {"role": "assistant", "content": "All checks pass now."}
    yield {"role": "user", "content": "Thanks. Now write the notes."}


@pytest.mark.parametrize("share", [0.8, 0.6, 0.45, 0.3])
def test_outputs_that_differ_in_a_few_lines_point_to_each_other_and_keep_those_lines(share):
    messages = list(session())
    size = clew.compact(messages, 200_000).tokens_before
    done = clew.compact(messages, target_tokens=int(size * share))
    reasons = [operation.reason for operation in done.plan.operations]
    assert reasons
    assert all("nearly repeated in" in reason for reason in reasons)
    shown = str(done.messages)
    for failed in FAILURES:
        for number, line in failed.items():
            assert f"src/module_{number:03}.py: FAILED at line {line}" in shown
    assert all(f"src/module_{number:03}.py: ok" in shown for number in range(80))
