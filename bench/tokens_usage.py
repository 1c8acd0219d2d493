"""How well a counter predicts what Claude really charged: the growth of input from one call to the next.

Claude Code's transcripts carry the usage of every call. Between two consecutive calls of a session the
input grows by the reply and by the tool results, all of which the transcript holds. Steps are left out where
it does not hold everything: where the person spoke (harnesses add reminders there), where anything but text
came back, where the model changed or the session was compacted.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tokens_corpus import DATA, records, result_text

from clew.message import Message, Role, Text, Thinking, ToolCall, ToolResult
from clew.tokens import Calibration, TokenCounter
from clew.tokens.families import total


class Step(NamedTuple):
    """What was added to the input between two calls, and by how many tokens it grew."""

    model: str
    added: tuple[Message, ...]
    grown: int


class Call(NamedTuple):
    """One request to the model: its input as charged, its reply, and what came back before the next."""

    id: str
    model: str
    charged: int
    reply: list[dict]
    answers: list[object]


class Fit(NamedTuple):
    """Predicted against charged, over many steps."""

    steps: int
    total: float
    """Relative error of the sum."""
    median: float
    """Median of the absolute relative errors of single steps."""
    upper_quartile: float


class Teach(Enum):
    """What the counter is told before it predicts the second half of a session."""

    NOTHING = "cold"
    ONCE = "after one report of the first half"
    ALWAYS = "after a report of every step"


def sessions(name: str) -> list[list[Step]]:
    """Return the usable steps of every session of a data set, where there are a few."""
    paths = sorted((DATA / "transcripts" / name).glob("*.zst"))
    found = ([step for pair in pairwise(_calls(path)) if (step := _step(*pair))] for path in paths)
    return [steps for steps in found if len(steps) >= 4]


def measure(history: list[list[Step]], counter: TokenCounter, teach: Teach) -> Fit:
    """Predict the second half of every session; each starts from what is known before any report."""
    pairs: list[tuple[int, int]] = []
    for steps in history:
        counter.calibration = Calibration()
        half = len(steps) // 2
        if teach is Teach.ONCE:
            growth = sum(step.grown for step in steps[:half])
            counter.report_usage(total(counter.weigh_all(step.added) for step in steps[:half]), growth)
        for i, step in enumerate(steps):
            tally = counter.weigh_all(step.added)
            if i >= half:
                pairs.append((counter.tokens(tally), step.grown))
            if teach is Teach.ALWAYS:
                counter.report_usage(tally, step.grown)
    errors = sorted(abs(ours / theirs - 1) for ours, theirs in pairs)
    overall = sum(ours for ours, _ in pairs) / sum(theirs for _, theirs in pairs) - 1
    return Fit(len(errors), overall, statistics.median(errors), errors[len(errors) * 3 // 4])


def _calls(path: Path) -> Iterator[Call | None]:
    """Yield the calls of a session; None where the next one does not continue the last."""
    call: Call | None = None
    for record in records(path):
        if record.get("type") == "system" and "compact" in str(record.get("subtype")):
            yield call
            yield None
            call = None
        if record.get("type") not in ("user", "assistant") or record.get("isSidechain"):
            continue
        message = record["message"]
        if record["type"] == "user":
            if call is not None:
                call.answers.append(message["content"])
        elif call is not None and call.id == message["id"]:
            call.reply.extend(message["content"])
        else:
            yield call
            usage = message["usage"]
            kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
            charged = sum(usage.get(kind) or 0 for kind in kinds)
            call = Call(message["id"], message["model"], charged, list(message["content"]), [])
    yield call


def _step(call: Call | None, following: Call | None) -> Step | None:
    if call is None or following is None or call.model != following.model:
        return None
    grown = following.charged - call.charged
    results = [_results(answer) for answer in call.answers]
    if grown <= 0 or not results or not all(results):
        return None
    reply = Message(Role.ASSISTANT, tuple(filter(None, map(_part, call.reply))))
    answers = (Message(Role.TOOL, parts) for parts in results if parts)
    if len(list(reply.calls)) != sum(len(parts) for parts in results if parts):
        return None
    return Step(call.model, (reply, *answers), grown)


def _part(block: dict) -> Text | Thinking | ToolCall | None:
    match block["type"]:
        case "text":
            return Text(block["text"])
        case "thinking":
            return Thinking(block["thinking"], block.get("signature"))
        case "tool_use":
            return ToolCall(block["id"], block["name"], block["input"])
    return None


def _results(answer: object) -> tuple[ToolResult, ...] | None:
    """Return the tool results of a user's message; None if it holds anything else."""
    if not isinstance(answer, list) or not all(block["type"] == "tool_result" for block in answer):
        return None
    inner = [b for block in answer if isinstance(block.get("content"), list) for b in block["content"]]
    if any(block.get("type") != "text" for block in inner):
        return None
    return tuple(
        ToolResult(block["tool_use_id"], (Text(result_text(block.get("content"))),)) for block in answer
    )
