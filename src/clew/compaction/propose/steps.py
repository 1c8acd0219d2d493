"""Tool results with the calls they answer, and proposed smaller texts for parts of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clew.ledger.outcome import Ended, outcome
from clew.ledger.shell import CHANGES, Action, Touch, normal_path
from clew.ledger.tool_actions import ActionKind, ToolAction, action_of, touches
from clew.message import Item, Json, Place, ToolCall, ToolResult, pair
from clew.message.text import once

WORTH_CHARACTERS = 120
"""Shorter outputs stay as they are: a stub takes about as much."""
WORTH_A_POINTER = 400
"""Characters from which a repeated output is replaced by a pointer: a shorter one mostly says whether a call
worked, and that should be readable in its place. Chosen by hand."""
WORTH_TOKENS = 40
"""A stub costs about 20 tokens; a part of a tool that frees less than this stays as it is..."""
WORTH_A_STUB = WORTH_TOKENS + 10
"""...so the part of a smaller message has no stub: each has ten words..."""
WORTH_OF_PROSE = 8
"""...and a text of the agent that frees less than this; both chosen by hand."""


class Stub(NamedTuple):
    """A proposed smaller text for a part."""

    place: Place
    text: str
    reason: str
    instead: Place | None = None
    """Another part that says as much or more."""


_AGENTS = frozenset(("task", "agent", "dispatch_agent", "spawn_agent", "delegate"))
"""Tools that ask another agent: each answer has findings of its own."""
_REPORTS = _AGENTS | {"subagent", "taskoutput", "agentoutput", "agentoutputtool", "wait_agent", "wait"}
"""The same, and tools that wait for its report."""
_ONLY_READS = re.compile(r"explor|search|review|research|plan|fact.?check", re.IGNORECASE)
"""Kinds of agents that change no file."""
_ABOUT_RUN = ("description", "explanation", "justification", "timeout", "timeout_ms", "initial_wait")
"""Arguments of a command that say why it is run or how long it may take."""


@dataclass(frozen=True)
class Step:
    """A tool result with the call it answers."""

    name: str
    """The id of the result's message."""
    result: Place
    call: Place
    told: ToolResult
    asked: ToolCall

    @once
    def text(self) -> str:
        """The tool's output."""
        return self.told.text

    @once
    def key(self) -> str:
        """The call in a normal form: the same call made again has the same key, also if it says why."""
        given = self.asked.input
        if isinstance(given, dict) and self.action.kind is ActionKind.SHELL:
            given = {name: value for name, value in given.items() if name not in _ABOUT_RUN}
        written = json.dumps(given, sort_keys=True) if given is not None else self.asked.input_text
        return f"{self.asked.name} {written}"

    @once
    def given(self) -> Json:
        """The arguments: an object, also if the wire has it as text; other text as it is."""
        given = self.asked.input
        return self.asked.arguments if given is None else given

    @once
    def action(self) -> ToolAction:
        """What the call does."""
        return action_of(self.asked)

    @property
    def asks_agent(self) -> bool:
        """Whether the call gives work to another agent, which answers with a report."""
        return self.asked.name.lower() in _AGENTS

    @property
    def tells_of_agent(self) -> bool:
        """Whether the result reports what another agent did, which may have changed files."""
        if self.asked.name.lower() not in _REPORTS and not self.action.subject.startswith("agent://"):
            return False
        kinds = (self.action.arguments.get(key) for key in ("subagent_type", "agent", "agent_type"))
        return not any(isinstance(kind, str) and _ONLY_READS.search(kind) for kind in kinds)

    @property
    def is_told(self) -> bool:
        """Whether the arguments say what was asked for: some transcripts lost them, or have a description."""
        if self.action.subject:
            return True
        given = {name: value for name, value in self.action.arguments.items() if name not in _ABOUT_RUN}
        if given.keys() != {"text"}:
            return bool(given)
        # A page shows a call as Markdown: of a search only the folder, of a read or run what it is about.
        return self.action.kind is not ActionKind.SEARCH and "`" in str(given["text"])

    @once
    def succeeded(self) -> bool:
        """Whether the call succeeded."""
        return outcome(self.action, self.told).ended is Ended.OK

    @once
    def _done(self) -> list[Touch]:
        return touches(self.action, self.text)

    @property
    def deleted(self) -> list[str]:
        """The files and folders that the call deleted."""
        return [normal_path(one.name) for one in self._done if one.action is Action.DELETED]

    @once
    def files(self) -> tuple[str, list[str]]:
        """The file whose content the result shows, if any, and the files the call changed."""
        done = self._done
        changed = [
            normal_path(one.name) for one in done if one.action in CHANGES or one.action is Action.WRITTEN
        ]
        read = [normal_path(one.name) for one in done if one.action is Action.READ]
        return (read[0] if len(done) == 1 and read else ""), changed


def steps_of(view: Sequence[Item], start: int = 0) -> list[Step]:
    """Return every answered call whose result is at the index ``start`` or later, in order of the results."""
    steps = []
    for result, call in sorted(_answers_from(view, start)):
        name, message = view[result.message]
        told, asked = message.parts[result.part], view[call.message].message.parts[call.part]
        if isinstance(told, ToolResult) and isinstance(asked, ToolCall):
            steps.append(Step(name, result, call, told, asked))
    return steps


def _answers_from(view: Sequence[Item], start: int) -> Iterator[tuple[Place, Place]]:
    """Yield the results from an index on, each with the place of its call."""
    since, found = start, pair([item.message for item in view[start:]])
    while since > 0 and any(since + orphan.message >= start for orphan in found.orphans):
        since = max(0, since - (len(view) - since) - CALLS_BEFORE)  # their calls are mostly just before
        found = pair([item.message for item in view[since:]])
    for result, call in found.answers.items():
        if since + result.message >= start:
            yield (_later(result, since), _later(call, since)) if since else (result, call)


CALLS_BEFORE = 8
"""Messages before a result in which its call is looked for first; chosen by hand."""


def _later(place: Place, messages: int) -> Place:
    return Place(place.message + messages, place.part)


_PART_OF_FILE = re.compile(r"offset|limit|range|start|end|line")
_WHOLE_FILE = re.compile(r"\s*(?:cat|nl|bat)(?:\s+-\w+)*\s+[^\s|;&<>]+\s*")


def is_whole(step: Step) -> bool:
    """Whether a read asked for the whole file: no offset, limit, range or pipe."""
    if step.action.kind is ActionKind.SHELL:
        return _WHOLE_FILE.fullmatch(step.action.subject) is not None
    return not any(_PART_OF_FILE.search(key) for key in step.action.arguments)


def long_results(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield the steps whose output is worth a stub."""
    return (step for step in steps if len(step.text) >= WORTH_CHARACTERS)


def with_long_argument(steps: Sequence[Step], characters: int) -> list[Step]:
    """Return the calls whose arguments have at least so many characters, as JSON."""
    return [step for step in steps if len(step.asked.input_text) >= characters]


LONGEST_NAME = 80
"""Characters of a path that a note shows, the last ones."""


def short_path(path: str) -> str:
    """Return a path, or its end, for a note."""
    return path if len(path) <= LONGEST_NAME else f"…{path[-LONGEST_NAME:]}"
