"""Real agents that read many files, with and without the proxy, and what their requests cost.

The model is scripted: it asks for one file after the other. Costs are in tokens of plain input, at usual
prices: 0.1 for what the prompt cache holds, 1.25 for what is written to it, 5 for output.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.errors import ContextTooLong
from clew.message import Message, Role, Text, ToolCall, Usage
from clew.providers.model import Ask, Reply, Stop
from clew.proxy.reactor import RequestReactor
from clew.proxy.relay import Upstream
from clew.proxy.server import Proxy, Routes
from clew.proxy.stats import Stats
from clew.testing.server import ReceivedRequest, ScriptedServer
from clew.tokens import counter_for
from tests.hosts.real import RULE, Computer
from tests.hosts.test_claude_code import QUIET
from tests.hosts.test_codex import CONFIG

TURNS = (
    "Find out how the modules here work together, and fix the parser. Read one file after the other.",
    f"Go on with the next files. {RULE}",
    "Go on.",
)
LINES = 260
READ, WRITE, OUTPUT = 0.1, 1.25, 5.0
FIXED_TOKENS = 15_000
"""What the scripted model adds for system prompt and tools when it reports its input."""
SUMMARY = "The user wants the parser fixed. Some files were read. Next: read the other files."


@dataclass
class ReadingModel:
    """Asks for one file after the other, and ends a turn after ``per_turn`` of them."""

    call: Callable[[str], tuple[str, dict[str, Any]]]
    """Returns the client's tool for reading a file, and its arguments."""
    per_turn: int
    limit: int | None = None
    """The window; longer requests are refused."""
    said: int = 0
    asked: int = 0

    def __call__(self, ask: Ask) -> Reply:
        counter = counter_for("claude-sonnet-4-5")
        tokens = FIXED_TOKENS + sum(map(counter.count, ask.messages)) + counter.count_text(ask.instruction)
        if "detailed summary" in ask.instruction or "CONTEXT CHECKPOINT" in ask.instruction:
            return self._reply(Message(Role.ASSISTANT, (Text(f"<summary>{SUMMARY}</summary>"),)), tokens)
        if self.limit and tokens > self.limit:
            raise ContextTooLong(tokens=tokens, limit=self.limit)
        self.said += 1
        if self.said % (self.per_turn + 1) == 0:
            return self._reply(Message(Role.ASSISTANT, (Text(f"I read {self.asked} files so far."),)), tokens)
        name = f"part_{self.asked}.py"
        self.asked += 1
        tool, given = self.call(name)
        parts = (Text(f"Next I read {name}."), ToolCall(f"call_{self.asked}", tool, given))
        return self._reply(Message(Role.ASSISTANT, parts), tokens, Stop.TOOL_CALL)

    @staticmethod
    def _reply(message: Message, tokens: int, stop: Stop = Stop.END) -> Reply:
        return Reply(message, stop=stop, usage=Usage(input_tokens=tokens, output_tokens=60))


@dataclass
class Outcome:
    """What happened in one run of an agent."""

    requests: int = 0
    sent: int = 0
    """Tokens sent in all."""
    cost: float = 0.0
    breaks: int = 0
    """Requests that could not use most of what the one before had sent."""
    refused: int = 0
    without_rule: int = 0
    """Requests without the rule, after it was stated."""
    largest: int = 0
    counts: dict[str, int] = field(default_factory=dict)


def outcome_of(requests: list[ReceivedRequest], proxy: Proxy | None) -> Outcome:
    """Bill the requests that reached the upstream."""
    counter, sizes = counter_for("claude-sonnet-4-5"), dict[str, int]()
    made, before, ruled = Outcome(), list[str](), False
    for request in requests:
        parts = _parts(request)
        for one in parts:
            sizes.setdefault(one, counter.count_text(one))
        same = next(
            (n for n, (a, b) in enumerate(zip(parts, before, strict=False)) if a != b),
            min(len(parts), len(before)),
        )
        cached, new = sum(sizes[one] for one in parts[:same]), sum(sizes[one] for one in parts[same:])
        made.requests += 1
        made.sent += cached + new
        made.largest = max(made.largest, cached + new)
        made.cost += cached * READ + new * WRITE + 60 * OUTPUT
        made.breaks += bool(before) and cached < 0.5 * sum(sizes[one] for one in before)
        made.refused += request.check().refused
        holds = RULE in request.raw.decode()
        made.without_rule += ruled and not holds
        ruled, before = ruled or holds, parts
    if proxy is not None:
        report = proxy.stats.report()["counts"]
        made.counts = {str(name): int(str(number)) for name, number in report.items()}  # type: ignore[union-attr]
    return made


def _parts(request: ReceivedRequest) -> list[str]:
    """Return what the prompt cache sees, in its order, without marks."""
    body: dict[str, Any] = request.body
    listed = body.get("input") or body.get("messages") or []
    fixed = [body.get(name) for name in ("tools", "instructions", "system")]
    return [json.dumps(_unmarked(one)) for one in (*fixed, *listed) if one]


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unmarked(one) for key, one in value.items() if key != "cache_control"}
    return [_unmarked(one) for one in value] if isinstance(value, list) else value


def project(folder: Path, files: int) -> None:
    """Write files of real code: pieces of the standard library."""
    sources = sorted(Path(os.__file__).parent.glob("*.py"))
    lines = [line for path in sources for line in path.read_text(errors="replace").splitlines()]
    for n in range(files):
        (folder / f"part_{n}.py").write_text("\n".join(lines[n * LINES : (n + 1) * LINES]) + "\n")


@dataclass(frozen=True)
class Agent:
    """How an agent is run."""

    call: Callable[[str], tuple[str, dict[str, Any]]]
    run: Callable[[Computer, str, str, bool], str]
    """Runs one turn: the computer, the program, the text, and whether it continues the last one."""
    configure: Callable[[Path, str], dict[str, str]]
    """Writes its configuration into a home for an API address; returns environment variables."""


def _claude(here: Computer, program: str, text: str, again: bool) -> str:
    more = ("--continue",) if again else ()
    return here.run(program, "-p", text, *more, "--model", "claude-sonnet-4-5", seconds=900)


def _codex(here: Computer, program: str, text: str, again: bool) -> str:
    resume = ("resume", "--last") if again else ()
    flags = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
    return here.run(program, "exec", *resume, *flags, text, seconds=900)


def _codex_home(home: Path, url: str) -> dict[str, str]:
    (home / ".codex").mkdir()
    config = CONFIG.replace("60000", "400000").replace("40000", "380000")
    (home / ".codex" / "config.toml").write_text(config.format(url=url))
    return {"OPENAI_API_KEY": "none"}


def _pi(here: Computer, program: str, text: str, again: bool) -> str:
    more = ("--continue",) if again else ()
    return here.run(program, "--provider", "loop", "--model", "m", *more, "-p", text, seconds=900)


def _pi_home(home: Path, url: str) -> dict[str, str]:
    (home / ".pi" / "agent").mkdir(parents=True)
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    model = {"id": "m", "name": "m", "reasoning": False, "input": ["text"], "cost": cost}
    model |= {"contextWindow": 400_000, "maxTokens": 4_000}
    loop = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "none", "models": [model]}
    (home / ".pi" / "agent" / "models.json").write_text(json.dumps({"providers": {"loop": loop}}))
    return {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}


AGENTS = {
    "claude": Agent(
        lambda name: ("Read", {"file_path": name}),
        _claude,
        lambda _, url: {**QUIET, "ANTHROPIC_BASE_URL": url},
    ),
    "codex": Agent(lambda name: ("exec_command", {"cmd": f"cat {name}"}), _codex, _codex_home),
    "pi": Agent(lambda name: ("read", {"path": name}), _pi, _pi_home),
}


@contextmanager
def _proxy(url: str, window: int | None) -> Iterator[Proxy]:
    stats, upstream = Stats(), Upstream.of(url)
    react = RequestReactor(stats, compact=window is not None, window=window)
    with Proxy(Routes(upstream, upstream), react, stats).running() as proxy:
        yield proxy
    react.close()


def run_agent(
    name: str,
    program: str,
    folder: Path,
    per_turn: int,
    *,
    proxy: bool,
    window: int | None = None,
    limit: int | None = None,
) -> Outcome:
    """Run an agent for three turns; ``window`` compacts in flight, ``limit`` is the upstream's window."""
    agent = AGENTS[name]
    home, work = folder / "home", folder / "project"
    home.mkdir(parents=True)
    work.mkdir()
    project(work, per_turn * len(TURNS))

    def call(file: str) -> tuple[str, dict[str, Any]]:
        tool, given = agent.call(file)
        return tool, {**given, "file_path": str(work / file)} if "file_path" in given else given

    model = ReadingModel(call, per_turn, limit)
    with ScriptedServer.always(model, strict=False) as server:
        with _proxy(server.url, window) if proxy else nullcontext() as between:
            address = between.url if between else server.url
            here = Computer(home, work, server, agent.configure(home, address))
            for turn, text in enumerate(TURNS):
                agent.run(here, program, text, turn > 0)
        return outcome_of(server.requests, between)
