"""Sessions to compact: made up step by step, and one that grows and is compacted again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from clew.compaction.ledger_claims import MandatoryContent
from clew.compaction.plan import Claim, Digest, Plan, Shrink
from clew.compaction.plan.plan import apply
from clew.compaction.propose import Written, propose
from clew.compaction.task import CompactionTask, Keep
from clew.ledger import Ledger
from clew.message import (
    Item,
    Json,
    JsonObject,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trust,
    text_message,
)
from clew.providers import ANTHROPIC
from clew.tokens import TokenCounter, counter_for

LONG = "\n".join(f"line {n} of the file, with some words" for n in range(25))


COUNTER: TokenCounter = counter_for("claude-sonnet-4-5")


def items(messages: Iterable[Message], first: int = 1) -> list[Item]:
    return [Item(f"m{n}", message) for n, message in enumerate(messages, start=first)]


def spoken(text: str, *more: Part) -> Message:
    """Make a message of the model."""
    return Message(Role.ASSISTANT, (Text(text, trust=Trust.ASSISTANT), *more))


def step(name: str, tool: str, arguments: JsonObject, output: str, *, error: bool = False) -> list[Message]:
    """Make a call and its result."""
    call = ToolCall(name, tool, arguments, trust=Trust.ASSISTANT)
    result = ToolResult(name, (Text(output),), is_error=error)
    return [Message(Role.ASSISTANT, (call,)), Message(Role.TOOL, (result,))]


def history(*steps: tuple[str, JsonObject, str]) -> list[Item]:
    """Make a session of one call and one result a step."""
    messages = [text_message(Role.USER, "go")]
    for n, (tool, arguments, output) in enumerate(steps):
        messages += step(f"c{n}", tool, arguments, output)
    return items(messages)


def read(view: Iterable[Item]) -> Ledger:
    ledger = Ledger()
    ledger.extend(view)
    return ledger


def tokens_of(view: Iterable[Item]) -> int:
    return sum(COUNTER.count(item.message) for item in view)


# One session, once -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BriefTask(CompactionTask):
    """A task in which ``brief``, if given, is said instead of what the ledger has to say."""

    brief: MandatoryContent | None = None

    def mandatory(self, span: Sequence[Item]) -> MandatoryContent:
        return super().mandatory(span) if self.brief is None else self.brief


def situation(
    view: Sequence[Item], target: int, brief: MandatoryContent | None = None, **more: object
) -> CompactionTask:
    """Return a view with what its ledger has to say; ``brief`` says something else instead."""
    ledger = read(view)
    return BriefTask(view=view, counter=COUNTER, target_tokens=target, ledger=ledger, brief=brief, **more)  # type: ignore[arg-type]


# One that goes on ------------------------------------------------------------------------------------


class Living:
    """A session as it is kept: a log, a ledger, and a view that compactions change."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.log: dict[str, Message] = {}
        self.ledger = Ledger()
        self.view: list[Item] = []
        self.shown: tuple[str, Digest] | None = None
        self.compactions = 0
        self.asked: set[str] = set()
        """The messages whose originals were asked for by the last compaction."""
        self.add(messages)

    def add(self, messages: Iterable[Message]) -> None:
        for item in items(messages, len(self.log) + 1):
            self.log[item.id] = item.message
            self.ledger.add(item)
            self.view.append(item)

    def go_on(self, steps: Iterable[str]) -> None:
        """Let these things happen next."""
        for kind in steps:
            self.add(MADE[kind](len(self.log)))

    def original(self, name: str) -> Message | None:
        self.asked.add(name)
        return self.log.get(name)

    def situation(self, target: int, keep: Keep | None = None) -> CompactionTask:
        return CompactionTask(
            view=self.view,
            counter=COUNTER,
            target_tokens=target,
            ledger=self.ledger,
            keep=keep or Keep(),
            shown=self.shown,
            digest_id=f"d{self.compactions + 1}",
            originals=self.original,
        )

    def evidence(self, target: int) -> CompactionTask:
        return replace(self.situation(target), originals=self.log.get, wire=ANTHROPIC)

    def compact(self, target: int, written: Written | None = None) -> Plan:
        """Propose a plan and put it in place."""
        self.asked.clear()
        plan = propose(self.situation(target), written)
        self.view = apply(plan, self.view)
        for digest in plan.digests:
            self.shown = (digest.id, digest)
            self.compactions += 1
        return plan


def misquotes(claims: Iterable[Claim], original: Callable[[str], Message | None]) -> list[Claim]:
    """Return the claims that are marked as quotes and do not stand where they say."""
    wrong = []
    for claim in claims:
        cite = claim.sources[0]
        message = original(cite.message)
        if claim.verbatim and (message is None or claim.text not in cite.quote(message)):
            wrong.append(claim)
    return wrong


def touched(plan: Plan) -> set[str]:
    return {name for op in plan.operations for name in ([op.id] if isinstance(op, Shrink) else op.ids)}


# Made up ---------------------------------------------------------------------------------------------


def _file(n: int) -> str:
    return f"src/pkg/module_{n % 5}.py"


def _read(n: int) -> list[Message]:
    return step(
        f"c{n}", "Read", {"file_path": _file(n)}, f"def handler_{n}():\n{LONG}\nLIMIT_{n % 7} = {n * 37}"
    )


def _edit(n: int) -> list[Message]:
    told = f"The file {_file(n)} has been updated. Here is a snippet of it:\n{LONG}"
    given: JsonObject = {"file_path": _file(n), "old_string": "a", "new_string": f"b_{n}"}
    return step(f"c{n}", "Edit", given, told)


def _fail(n: int) -> list[Message]:
    told = f"FAILED tests/test_{n}.py::test_case_{n} - ValueError: bad value_{n}\n1 failed in 0.{n}s"
    return step(f"c{n}", "bash", {"command": f"pytest tests/test_{n}.py"}, told, error=True)


def _plan(n: int) -> list[Message]:
    todos: list[Json] = [{"content": f"do part {k} of step {n}", "status": "pending"} for k in range(6)]
    return step(f"c{n}", "TodoWrite", {"todos": todos}, "Todos have been modified successfully.")


def _log(n: int) -> list[Message]:
    lines = (f"2026-01-02 10:00:{k % 60:02d} INFO worker {k} on node_{n}" for k in range(150))
    return step(f"c{n}", "bash", {"command": f"tail -n 150 app_{n}.log"}, "\n".join(lines))


def _parallel(n: int) -> list[Message]:
    calls = tuple(ToolCall(f"c{n}.{k}", "grep", {"q": f"{k}"}, trust=Trust.ASSISTANT) for k in range(4))
    results = tuple(ToolResult(f"c{n}.{k}", (Text(f"hit_{n}_{k}\n{LONG}"),)) for k in range(4))
    return [Message(Role.ASSISTANT, calls), Message(Role.TOOL, results)]


def _think(n: int) -> list[Message]:
    thought = Thinking(f"I wonder about node_{n}.", signature="x" * 40, trust=Trust.ASSISTANT)
    call, result = step(f"c{n}", "bash", {"command": f"ls {n}"}, f"file_{n}.txt")
    return [Message(Role.ASSISTANT, (thought, *call.parts)), result]


MADE: dict[str, Callable[[int], list[Message]]] = {
    "ask": lambda n: [text_message(Role.USER, f"Please look at handler_{n} in {_file(n)} and fix it.")],
    "rule": lambda n: [
        text_message(Role.USER, f"Never modify files under legacy_{n}/. Use port {4000 + n} for tests.")
    ],
    "talk": lambda n: [
        text_message(Role.USER, "Thanks!"),
        spoken(f"I chose option_{n} because cache_{n} was slow. Done."),
    ],
    "read": _read,
    "edit": _edit,
    "run": lambda n: step(
        f"c{n}", "bash", {"command": f"make target_{n % 3}"}, f"{LONG}\nbuilt out/{n}_t.bin"
    ),
    "fail": _fail,
    "plan": _plan,
    "log": _log,
    "giant": lambda n: step(
        f"c{n}", "bash", {"command": f"cat {n}.txt"}, f"value_{n} " * 2_500 + "\nERROR: end"
    ),
    "paste": lambda n: [
        text_message(Role.USER, f"I see this. Do not restart node_{n}.\n{LONG}\nWhat is trace_{n}?")
    ],
    "parallel": _parallel,
    "think": _think,
}
"""What may happen in a session: the n-th step, a few messages that belong together."""


def session(kinds: Iterable[str]) -> list[Message]:
    """Make a session of a prompt, a request, and these steps."""
    messages = [
        text_message(Role.SYSTEM, "You are careful."),
        text_message(Role.USER, "Port the reports to v2 in src/report.py."),
    ]
    for n, kind in enumerate(kinds):
        messages += MADE[kind](n)
    return messages


kinds = st.lists(st.sampled_from(sorted(MADE)), min_size=1, max_size=25)
"""What happens in a session."""
shares = st.floats(0.02, 1.1)
"""Of its tokens, what the view may have afterwards."""
