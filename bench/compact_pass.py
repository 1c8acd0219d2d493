"""What one compaction without a model costs, stage by stage, and whether it grows with the messages alone.

    uv run python bench/compact_pass.py [--shapes short real] [--sizes 1000 10000] [--write]

Sessions are made up from a seed: people ask, the model answers, calls tools and gets their results. ``short``
is like the lists that tests of chat tools use, a sentence or two each. ``real`` has texts as long as those of
real coding sessions: of a hundred tool results the middle one has 105 tokens, the 90th 1,500, the 99th 8,500.

Every run has a session of its own and starts cold: a new counter, a new ledger, no word known. Times are CPU
time of one process, the median of the runs; what else the machine does only ever adds to it, so the fastest
run of the whole is told as well.
"""

from __future__ import annotations

import argparse
import gc
import math
import platform
import random
import re
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from clew.compaction.plan.plan import apply
from clew.compaction.propose.ladder import propose
from clew.compaction.task import CompactionTask
from clew.compaction.verify import verify
from clew.ledger import Ledger
from clew.ledger.kinds import KNOWN_WORDS, VALUE_CHUNKS
from clew.message import Item, JsonObject, Message, Role, Text, ToolCall, ToolResult, text_message
from clew.rules.prefilter import CHUNKS
from clew.tokens import counter_for

RESULTS = Path(__file__).parent / "results" / "compact_pass.md"
MODEL = "claude-sonnet-4-5"
SIZES = (1_000, 10_000, 100_000)
MOST = {"short": 100_000, "real": 10_000}
"""Messages of a shape that fit the memory of a small machine, five times over."""
RUNS = 5
NAMED_AGAIN = 0.6
NAMED_LATELY = 100
"""So that a value is named two or three times, as in real coding sessions."""
SHARE = 0.25
"""Of the tokens before, what the view may have after."""
AT_A_COMPACTION = ("propose", "required", "verify", "apply")
STAGES = ("count tokens", "ledger", *AT_A_COMPACTION)
"""A session, and ``clew.compact`` with ``previous=``, count and read each message when it comes in."""

Result = TypeVar("Result")


# Sessions --------------------------------------------------------------------------------------------

FOLDERS = ("src/app", "src/store", "tests/unit", "docs", "lib/net", "pkg/cache", "scripts", "web/ui")
NOUNS = (
    *("parser", "handler", "cache", "request", "session", "worker", "schema", "index", "client", "token"),
    *("window", "ledger", "queue", "router", "reader", "writer", "config", "runner", "budget", "report"),
)
VERBS = ("loads", "checks", "returns", "keeps", "drops", "rewrites", "calls", "opens", "merges", "sorts")
PROMPT = "You help with a code base."
RULES = "We work on the store today. Never push to main, and don't edit anything under legacy/."
ASKS = (
    "Can you look at {path} and tell me what is wrong with it?",
    "Please add a test for {name}.",
    "The {noun} is slow when there are many rows. Have a look at it.",
    "What does {name} do with the {noun}?",
    "Is the {noun} the one that {verb} the {noun}?",
    "Run the tests again and fix what fails.",
    "Thanks, now the {noun} please.",
    "Tell me more about the {noun} and how it {verb} its {noun}.",
)
ANSWERS = (
    "It is in {path}, which {verb} the {noun} before anything else does.",
    "I have changed it so that it {verb} the {noun} only once. All tests pass.",
    "The {noun} {verb} its {noun} in {name}; that takes {number} ms of each call.",
    "Done, and the {noun} {verb} the {noun} now.",
    "I will look at the {noun} next, because it {verb} the {noun} there as well.",
    "The {noun} {verb} what the {noun} has left. Nothing else depends on it.",
)
OUTPUTS = (
    "{path}:{line}: def {name}({noun}, {name}):",
    "    {name} = {name}({noun})  # {verb} the {noun}",
    "{line} passed in {number} ms",
    "commit {hash} {verb} the {noun} of {path}",
    "INFO {noun}.{name} {verb} {number} rows from {path}",
    "the {noun} {verb} what the {noun} has left",
)
CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("read_file", {"path": "{path}"}),
    ("bash", {"command": "grep -n {name} {path}"}),
    ("bash", {"command": "python -m pytest {path} -q"}),
    ("edit_file", {"path": "{path}", "old_string": "{name}", "new_string": "{name}"}),
)


class Made:
    """Makes up what is said in a session."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._named: dict[str, list[str]] = {}
        self.pick = self._random.choice
        self._fill = {
            "noun": lambda: self.pick(NOUNS),
            "verb": lambda: self.pick(VERBS),
            "name": lambda: self.named("{noun}_{noun}_{count}"),
            "path": lambda: self.named("{folder}/{noun}_{count}.py"),
            "hash": lambda: self.named("{bits}"),
            "number": lambda: self.named("{number}"),
            "line": lambda: str(self._random.randrange(1, 900)),
        }

    def named(self, form: str) -> str:
        """Return a value, mostly one that was named lately."""
        before = self._named.setdefault(form, [])
        if not before or self._random.random() >= NAMED_AGAIN:
            before.append(
                form.format(
                    noun=self.pick(NOUNS),
                    folder=self.pick(FOLDERS),
                    count=len(before),
                    bits=f"{self._random.getrandbits(40):010x}",
                    number=self._random.randrange(1_000, 90_000),
                )
            )
        return self.pick(before[-NAMED_LATELY:])

    def sentence(self, templates: Sequence[str]) -> str:
        """Return one of these with its gaps filled."""
        return re.sub(r"{(\w+)}", lambda gap: self._fill[gap[1]](), self.pick(templates))

    def text(self, templates: Sequence[str], characters: float, gap: str) -> str:
        """Return sentences until they are so long; at least one."""
        found = [self.sentence(templates)]
        length = len(found[0])
        while length < characters:
            found.append(self.sentence(templates))
            length += len(found[-1]) + 1
        return gap.join(found)

    def length(self, middle: float, spread: float, most: float) -> float:
        """Return a length in characters; half of them are above the middle, given in tokens."""
        return 4 * min(most, math.exp(self._random.gauss(math.log(middle), spread)))

    def exchange(self, number: int, characters: float) -> Iterator[Message]:
        """Yield a call and its result."""
        tool, form = self.pick(CALLS)
        arguments: JsonObject = {key: self.sentence([value]) for key, value in form.items()}
        yield Message(Role.ASSISTANT, (ToolCall(f"call_{number}", tool, arguments),))
        output = self.text(OUTPUTS, characters, "\n")
        yield Message(Role.TOOL, (ToolResult(f"call_{number}", (Text(output),)),))


def short_turn(made: Made, number: int) -> Iterator[Message]:
    """Yield two questions with their answers; a third of the messages are a call and its result."""
    yield text_message(Role.USER, made.text(ASKS, 0, " "))
    yield text_message(Role.ASSISTANT, made.text(ANSWERS, made.pick((0, 100)), " "))
    yield text_message(Role.USER, made.text(ASKS, 0, " "))
    yield from made.exchange(number, made.pick((0, 100)))
    yield text_message(Role.ASSISTANT, made.text(ANSWERS, made.pick((0, 100)), " "))


def real_turn(made: Made, number: int) -> Iterator[Message]:
    """Yield a request, eight calls with results as long as real ones, and a report."""
    yield text_message(Role.USER, made.text(ASKS, made.length(40, 1.0, 2_000), " "))
    for step in range(8):
        yield from made.exchange(number * 8 + step, made.length(105, 2.0, 23_000))
    yield text_message(Role.ASSISTANT, made.text(ANSWERS, made.length(120, 1.0, 2_000), " "))


SHAPES = {"short": short_turn, "real": real_turn}


def session(shape: str, count: int, seed: int) -> list[Item]:
    made, messages, number = (
        Made(seed),
        [text_message(Role.SYSTEM, PROMPT), text_message(Role.USER, RULES)],
        0,
    )
    while len(messages) < count:
        messages += SHAPES[shape](made, number)
        number += 1
    return [Item(f"m{n}", message) for n, message in enumerate(messages[:count], start=1)]


# One pass --------------------------------------------------------------------------------------------


class Watch:
    """Notes how long each stage takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def time(self, stage: str, work: Callable[[], Result]) -> Result:
        """Do the work of a stage."""
        started = time.process_time()
        result = work()
        self.seconds[stage] = time.process_time() - started
        return result


def one_pass(view: Sequence[Item], share: float = SHARE) -> dict[str, float]:
    """Compact a view from nothing; return the seconds of each stage."""
    KNOWN_WORDS.clear()
    CHUNKS.clear()
    VALUE_CHUNKS.clear()
    watch, counter, ledger = Watch(), counter_for(MODEL), Ledger()
    sizes = watch.time("count tokens", lambda: {item.id: counter.count(item.message) for item in view})
    target = int(sum(sizes.values()) * share)
    watch.time("ledger", lambda: ledger.extend(view))
    originals = {item.id: item.message for item in view}
    task = CompactionTask(
        view=view,
        counter=counter,
        target_tokens=target,
        ledger=ledger,
        originals=originals.get,
        sizes=[*sizes.values()],
    )
    plan = watch.time("propose", lambda: propose(task))
    watch.time("required", lambda: task.required)
    report = watch.time("verify", lambda: verify(plan, task))
    watch.time("apply", lambda: apply(plan, view))
    if report.refused or not plan.operations:
        raise SystemExit(f"not a pass to be timed: {report.findings[:3]}")
    return watch.seconds


def passes(shape: str, count: int, runs: int) -> list[dict[str, float]]:
    found = []
    for seed in range(runs):
        view = session(shape, count, seed)
        gc.collect()
        found.append(one_pass(view))
    return found


# The table -------------------------------------------------------------------------------------------


def rows(shape: str, sizes: Sequence[int], runs: int) -> Iterator[str]:
    yield f"\n## {shape}\n"
    yield "| stage | " + " | ".join(f"{size:,} messages, s | µs each" for size in sizes) + " |"
    yield "|---|" + "---|---|" * len(sizes)
    timed = {size: passes(shape, size, runs) for size in sizes}
    for stage in STAGES:
        yield row(stage, {size: [one[stage] for one in found] for size, found in timed.items()})
    for name, stages in (("**at a compaction**", AT_A_COMPACTION), ("**all, from nothing**", STAGES)):
        spent = {
            size: [sum(one[stage] for stage in stages) for one in found] for size, found in timed.items()
        }
        yield row(name, spent)
        yield row(f"{name}, the fastest run", spent, min)


def row(
    name: str, seconds: dict[int, list[float]], of: Callable[[list[float]], float] = statistics.median
) -> str:
    told = {size: of(found) for size, found in seconds.items()}
    cells = (f"{spent:.4f} | {spent / size * 1e6:.1f}" for size, spent in told.items())
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", choices=SHAPES, nargs="+", default=[*SHAPES])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--write", action="store_true", help="also write bench/results/compact_pass.md")
    asked = parser.parse_args()
    one_pass(session("short", 100, seed=-1))  # patterns compiled, tables read
    tables = (
        rows(shape, [size for size in asked.sizes if size <= MOST[shape]], asked.runs)
        for shape in asked.shapes
    )
    text = "\n".join(
        (
            "# One compaction without a model\n\n`uv run python bench/compact_pass.py --write`\n",
            f"Python {platform.python_version()}, {asked.runs} runs, down to {SHARE:.0%} of the tokens.",
            *(line for table in tables for line in table),
        )
    )
    print(text)
    if asked.write:
        RESULTS.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
