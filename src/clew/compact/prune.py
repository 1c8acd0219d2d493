"""The gentlest rung: show less of tool output that something later repeats, replaces or outdates.

Nothing unique is lost: a stub names the turn that shows the same thing, or keeps head, tail and the lines
that matter of an output too large to carry. The original stays in the log under the message's id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from clew.compact.excerpt import excerpt
from clew.message import Item, Message, Part, Place, Text, ToolCall, ToolResult, pair
from clew.plan import Shrink
from clew.tokens import TokenCounter

WORTH_TOKENS = 40
"""A stub costs about twenty tokens; what frees less than this is left alone."""
OVERSIZED_TOKENS = 4_000
"""About the 97th percentile of tool results in real coding sessions: larger ones are shown in excerpt."""
EXCERPT_TOKENS = 1_000

_READING = re.compile(r"read|view|cat|open|show|get", re.IGNORECASE)
_WRITING = re.compile(r"write|edit|replace|patch|create|insert|update", re.IGNORECASE)
_PLANNING = re.compile(r"todo|plan|task", re.IGNORECASE)
_PATH_KEYS = ("file_path", "path", "filePath", "filename", "file", "absolute_path", "notebook_path")


@dataclass(frozen=True, slots=True)
class Stub:
    """A part that could be shown smaller."""

    place: Place
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Step:
    """A tool result together with the call it answers."""

    result: Place
    call: Place
    tool: str
    key: str
    """The call, written so that the same call made again has the same key."""
    path: str | None
    text: str


def prune(view: Sequence[Item], stop: int, counter: TokenCounter, excess_tokens: int) -> list[Shrink]:
    """Propose smaller forms of messages before index ``stop`` until so many tokens are freed."""
    steps = _steps(view)
    shrunk: dict[int, dict[int, str]] = {}
    reasons: dict[int, str] = {}
    freed = 0
    for propose in _PASSES:
        for stub in propose(view, steps):
            i, j = stub.place
            if freed >= excess_tokens:
                return _shrinks(view, shrunk, reasons)
            if i >= stop or j in shrunk.get(i, {}):
                continue
            saved = counter.count_part(view[i].message.parts[j]) - counter.count_text(stub.text)
            if saved >= WORTH_TOKENS:
                shrunk.setdefault(i, {})[j] = stub.text
                reasons.setdefault(i, stub.reason)
                freed += saved
    return _shrinks(view, shrunk, reasons)


def shorten(view: Sequence[Item], counter: TokenCounter, most_tokens: int) -> list[Shrink]:
    """Propose excerpts of every part larger than ``most_tokens``, the newest message's too."""
    shrunk: dict[int, dict[int, str]] = {}
    reasons: dict[int, str] = {}
    for i, item in enumerate(view):
        for j, part in enumerate(item.message.parts):
            tokens = counter.count_part(part)
            if tokens > most_tokens and isinstance(part, ToolResult | Text):
                shrunk.setdefault(i, {})[j] = _excerpt_text(item.id, part.text, most_tokens, tokens)
                reasons[i] = f"{tokens:,} tokens are more than there is room for"
    return _shrinks(view, shrunk, reasons)


def _steps(view: Sequence[Item]) -> list[Step]:
    """Return every answered call with its result, in the order of the results."""
    steps = []
    for result, call in sorted(pair([item.message for item in view]).answers.items()):
        asked = view[call.message].message.parts[call.part]
        told = view[result.message].message.parts[result.part]
        if isinstance(asked, ToolCall) and isinstance(told, ToolResult):
            steps.append(Step(result, call, asked.name, _key(asked), _path(asked), told.text))
    return steps


def _key(call: ToolCall) -> str:
    given = call.input
    written = json.dumps(given, sort_keys=True) if given is not None else call.input_text
    return f"{call.name} {written}"


def _path(call: ToolCall) -> str | None:
    given = call.input or {}
    found = (given.get(key) for key in _PATH_KEYS)
    return next((path for path in found if isinstance(path, str)), None)


# The passes, gentlest first --------------------------------------------------------------------------


def _repeated(view: Sequence[Item], steps: Sequence[Step]) -> Iterator[Stub]:
    """Find outputs that a later one repeats to the letter."""
    later: dict[str, Place] = {}
    for step in reversed(steps):
        if step.text in later:
            name = view[later[step.text].message].id
            yield Stub(step.result, f"[the same output as in {name}]", f"repeated in {name}")
        later.setdefault(step.text, step.result)


def _asked_again(view: Sequence[Item], steps: Sequence[Step]) -> Iterator[Stub]:
    """Find outputs of a call that was made again later: the later answer is the current one."""
    later: dict[str, Place] = {}
    for step in reversed(steps):
        if step.key in later:
            name = view[later[step.key].message].id
            yield Stub(
                step.result, f"[outdated: the same call was made again in {name}]", f"asked again in {name}"
            )
        later.setdefault(step.key, step.result)


def _outdated_reads(view: Sequence[Item], steps: Sequence[Step]) -> Iterator[Stub]:
    """Find reads of a file that was read whole or written later."""
    later: dict[str, str] = {}
    for step in reversed(steps):
        if step.path is None:
            continue
        name = view[step.result.message].id
        if _WRITING.search(step.tool):
            later[step.path] = f"changed in {name}"
        elif _READING.search(step.tool):
            if step.path in later:
                why = later[step.path]
                yield Stub(step.result, f"[outdated: {step.path} was {why}]", f"{step.path} {why}")
            if _whole(view, step):
                later.setdefault(step.path, f"read again in {name}")


def _whole(view: Sequence[Item], step: Step) -> bool:
    """Tell whether a read asked for the whole file: no offset, no limit, no range."""
    call = view[step.call.message].message.parts[step.call.part]
    given = call.input if isinstance(call, ToolCall) else None
    return not any(re.search("offset|limit|range|start|end|lines", key) for key in given or {})


def _old_plans(view: Sequence[Item], steps: Sequence[Step]) -> Iterator[Stub]:
    """Find plans that a later plan replaces: their arguments, which hold the whole list each time."""
    latest: dict[str, str] = {}
    for step in reversed(steps):
        if not _PLANNING.search(step.tool):
            continue
        call = view[step.call.message].message.parts[step.call.part]
        given = call.input if isinstance(call, ToolCall) else None
        lists = [value for value in (given or {}).values() if isinstance(value, list)]
        if not lists:
            continue
        name = view[step.call.message].id
        if step.tool in latest:
            note = json.dumps({"outdated": f"replaced by the plan in {latest[step.tool]}"})
            yield Stub(step.call, note, f"a later plan stands in {latest[step.tool]}")
        latest.setdefault(step.tool, name)


def _oversized(view: Sequence[Item], steps: Sequence[Step]) -> Iterator[Stub]:
    """Find raw logs and other outputs too large to carry whole."""
    for step in steps:
        if len(step.text) >= OVERSIZED_TOKENS * 2:
            name = view[step.result.message].id
            shown = _excerpt_text(name, step.text, EXCERPT_TOKENS, len(step.text) // 4)
            yield Stub(step.result, shown, "a large output, shown in excerpt")


_PASSES: tuple[Callable[[Sequence[Item], Sequence[Step]], Iterator[Stub]], ...] = (
    _repeated,
    _asked_again,
    _outdated_reads,
    _old_plans,
    _oversized,
)


# Putting stubs in place ------------------------------------------------------------------------------


def _excerpt_text(name: str, text: str, most_tokens: int, tokens: int) -> str:
    return f"[about {tokens:,} tokens, shown in excerpt; the whole of it is kept as {name}]\n" + excerpt(
        text, most_tokens * 3
    )


def _shrinks(
    view: Sequence[Item], shrunk: dict[int, dict[int, str]], reasons: dict[int, str]
) -> list[Shrink]:
    return [
        Shrink(view[i].id, _with_stubs(view[i].message, stubs), reasons[i])
        for i, stubs in sorted(shrunk.items())
    ]


def _with_stubs(message: Message, stubs: dict[int, str]) -> Message:
    parts = [_stubbed(part, stubs[j]) if j in stubs else part for j, part in enumerate(message.parts)]
    return replace(message, parts=tuple(parts))


def _stubbed(part: Part, text: str) -> Part:
    match part:
        case ToolResult():
            return replace(part, parts=(Text(text, trust=part.trust),))
        case ToolCall():
            arguments = json.loads(text) if isinstance(part.arguments, dict) else text
            return replace(part, arguments=arguments)
        case Text():
            return replace(part, text=text)
        case _:
            return part
