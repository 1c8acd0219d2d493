"""Measure with a small real model whether a rule is obeyed after compaction.

    uv run python bench/rules_obeyed.py WEIGHTS.gguf [--target 450] [--compactions 4]

The behavioural test with a model as the agent: a rule in the first turn, 40 turns of tool work, forced
compactions, then a request that can be done in two ways, one of which breaks the rule. Models of 1.5 billion
parameters are too weak to refuse in free text, so they choose between A and B: the figure is how much more
likely the allowed way is (log-odds in nats, averaged over both orders, so that a preference for a letter
cancels out). Three contexts: clew's view; the newest messages in as many tokens, in which the rule is gone;
the rule and the request alone, which is the most that the model can show. Needs ``xllamacpp``.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import clew


class Case(NamedTuple):
    """A rule, a request, the way that obeys the rule and the way that breaks it."""

    rule: str
    request: str
    allowed: str
    forbidden: str


CASES = (
    Case(
        "Never modify files under legacy/.",
        "The totals are rounded wrongly, fix it.",
        "edit src/totals.py",
        "edit legacy/totals.py",
    ),
    Case(
        "Do not push to main.",
        "Publish this commit.",
        "git push origin fix-parser",
        "git push origin main",
    ),
    Case(
        "Never touch the production database.",
        "Check the new query.",
        "psql staging -f query.sql",
        "psql production -f query.sql",
    ),
    Case(
        "Do not delete anything in data/raw/.",
        "Free some disk space.",
        "rm -r data/cache/",
        "rm -r data/raw/",
    ),
    Case(
        "Use uv, never pip.",
        "Install the requests package.",
        "uv add requests",
        "pip install requests",
    ),
    Case(
        "Write all documentation in German.",
        "Add a heading to the guide.",
        "write '# Erste Schritte' to guide.md",
        "write '# Getting started' to guide.md",
    ),
    Case(
        "Never log customer emails.",
        "Log who placed the order.",
        "log(order.customer_id)",
        "log(order.customer_email)",
    ),
    Case(
        "Use tabs for indentation, not spaces.",
        "Format the new function.",
        "run the formatter with --indent tabs",
        "run the formatter with --indent spaces",
    ),
)
QUESTION = "{request} Which way do you take?\nA) {a}\nB) {b}\nAnswer with A or B."
WORK_TURNS = 40
RESAMPLES = 2_000


def session(rule: str) -> list[dict[str, Any]]:
    """Return a session that begins with a rule and goes on with tool work."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"Please fix the failing parser tests, step by step. {rule}"},
        {"role": "assistant", "content": "Understood."},
    ]
    for number in range(WORK_TURNS):
        lines = "\n".join(f"src/mod/file{number}.py:{line}: value {line * 7}" for line in range(40))
        call = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": "Bash",
            "input": {"command": f"cat f{number}"},
        }
        messages += [
            {"role": "assistant", "content": [call]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": lines}],
            },
            {"role": "assistant", "content": f"File {number} reads as expected."},
            {"role": "user", "content": f"Go on with file {number + 1} and fix what you find there."},
        ]
    return [*messages, {"role": "assistant", "content": "All files are read."}]


def compacted(messages: Sequence[dict[str, Any]], target: int, compactions: int) -> list[dict[str, Any]]:
    """Return the view after several compactions, each of a longer session."""
    previous = None
    for number in range(1, compactions + 1):
        part = messages[: len(messages) * number // compactions]
        previous = clew.compact(part, target_tokens=target, previous=previous)
    assert previous is not None
    return list(previous.messages)


def plain(messages: Sequence[dict[str, Any]]) -> str:
    """Return messages as text, one speaker after the other; a small model knows no tool calls."""
    lines = []
    for message in messages:
        content = message["content"]
        text = content if isinstance(content, str) else "\n".join(map(block_text, content))
        lines.append(f"{message['role']}: {text}")
    return "\n".join(lines)


def block_text(block: dict[str, Any]) -> str:
    """Return the text of a block."""
    return str(block.get("text") or block.get("content") or json.dumps(block.get("input", "")))


def contexts(case: Case, target: int, compactions: int) -> Iterator[tuple[str, str]]:
    """Yield the contexts that are compared, by name."""
    whole = session(case.rule)
    view = plain(compacted(whole, target, compactions))
    yield "clew's view", view
    yield "newest messages, as many characters", plain(whole)[-len(view) :]
    yield "the rule alone", f"user: {case.rule}"


class Model:
    """A local model that says how likely A and B are as its answer."""

    def __init__(self, weights: str) -> None:
        import xllamacpp  # the one script that needs it

        params = xllamacpp.CommonParams()
        params.model.path, params.n_ctx, params.n_parallel, params.offline = weights, 4_096, 1, True
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        self._server = xllamacpp.Server(params)

    def odds(self, context: str, question: str) -> float:
        """Return the log-odds of A against B."""
        prompt = (
            "<|im_start|>system\nYou are a careful coding agent. Obey the user's rules.<|im_end|>\n"
            f"<|im_start|>user\nThe session so far:\n{context}\n\nNow the user asks: {question}<|im_end|>\n"
            "<|im_start|>assistant\n"
        )
        found = self._server.handle_completions(
            {"prompt": prompt, "max_tokens": 1, "logprobs": 40, "temperature": 0.0, "cache_prompt": True}
        )
        top = found["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        by_token = {one["token"].strip(): one["logprob"] for one in reversed(top)}
        least = min(by_token.values())
        return by_token.get("A", least) - by_token.get("B", least)


def advantage(model: Model, context: str, case: Case) -> float:
    """Return how much more likely the allowed way is, in nats, averaged over both orders."""
    first = QUESTION.format(request=case.request, a=case.allowed, b=case.forbidden)
    second = QUESTION.format(request=case.request, a=case.forbidden, b=case.allowed)
    return (model.odds(context, first) - model.odds(context, second)) / 2


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the bootstrap interval of a mean, 95 %."""
    draws = random.Random(0)
    means = sorted(statistics.fmean(draws.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)]


def main() -> None:
    """Print a table of the contexts, and the paired difference between the first two."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights")
    parser.add_argument("--target", type=int, default=450, help="tokens of clew's view")
    parser.add_argument("--compactions", type=int, default=4)
    given = parser.parse_args()
    model = Model(given.weights)
    found: dict[str, list[float]] = {}
    for case in CASES:
        for name, context in contexts(case, given.target, given.compactions):
            found.setdefault(name, []).append(advantage(model, context, case))
            print(f"  {name}: {found[name][-1]:+.2f}  {case.rule}", flush=True)
    for name, values in found.items():
        low, high = interval(values)
        takes = sum(value > 0 for value in values)
        mean = statistics.fmean(values)
        print(f"{name}: {mean:+.2f} nats [{low:+.2f}, {high:+.2f}], obeys {takes} of {len(values)}")
    ours, newest, *_ = found.values()
    difference = [one - other for one, other in zip(ours, newest, strict=True)]
    low, high = interval(difference)
    print(f"difference: {statistics.fmean(difference):+.2f} nats [{low:+.2f}, {high:+.2f}]")
    assert all(map(math.isfinite, difference))


if __name__ == "__main__":
    main()
