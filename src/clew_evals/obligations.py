"""What a session has laid on its agent by the cut: open tasks, changed files, failures, the last test run.

Read from the calls and results themselves by a few plain rules, apart from the ledger: what is measured must
not choose what it is measured by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from clew.message import Item, Json, JsonObject, Place, ToolCall, ToolResult, pair
from clew_evals.passages import with_forward_slashes
from clew_evals.words import content_words

MOST_FAILURES = 10
FEWEST_WORDS = 4
LONGEST_LINE = 240
MOST_LINES = 400
"""Of an edit that is looked through for replaced values; larger ones are rewritten files."""
SHORTEST_VALUE = 3


class ToolExchange(NamedTuple):
    """A call, and its result if there is one."""

    call: ToolCall
    result: ToolResult | None

    @property
    def failed(self) -> bool:
        """Whether the tool said that it failed."""
        return self.result is not None and self.result.is_error


def exchanges(items: Sequence[Item]) -> list[ToolExchange]:
    """Return the calls of a history with their results, in order."""
    messages = [item.message for item in items]
    answers = {call: result for result, call in pair(messages).answers.items()}
    results = []
    for i, message in enumerate(messages):
        for j, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                at = answers.get(Place(i, j))
                result = messages[at.message].parts[at.part] if at else None
                results.append(ToolExchange(part, result if isinstance(result, ToolResult) else None))
    return results


# Open tasks --------------------------------------------------------------------------------------------

_WHOLE_LISTS = frozenset({"todowrite", "todo_write", "update_plan", "updateplan", "write_todos"})
_ENDED = frozenset({"completed", "complete", "done", "cancelled", "canceled", "deleted"})
_TASK_NUMBER = re.compile(r"#(\w+)")


def open_tasks(done: Sequence[ToolExchange]) -> list[str]:
    """Return the tasks that the agent's own plan has not ended by now."""
    return [task.text for task in _tasks(done) if not task.is_ended]


def ended_tasks(done: Sequence[ToolExchange]) -> list[str]:
    """Return the tasks that the agent's own plan marks as ended."""
    return [task.text for task in _tasks(done) if task.is_ended]


def is_plan_call(exchange: ToolExchange) -> bool:
    """Whether a call changes the agent's plan."""
    name = exchange.call.name.lower()
    return name in _WHOLE_LISTS or name in ("taskcreate", "taskupdate")


class _PlannedTask(NamedTuple):
    text: str
    is_ended: bool


def _tasks(done: Sequence[ToolExchange]) -> list[_PlannedTask]:
    """Return the tasks of the agent's plan as it is now.

    Some tools write the whole list with each call (TodoWrite, update_plan), others a task at a time
    (TaskCreate, whose result names its number, and TaskUpdate).
    """
    listed: list[_PlannedTask] = []
    single: dict[str, _PlannedTask] = {}
    for call, result in done:
        name, data = call.name.lower(), call.input
        if data is None:
            continue
        if name in _WHOLE_LISTS:
            listed = list(_listed(data))
        elif name == "taskcreate":
            match = _TASK_NUMBER.search(result.text[:300]) if result else None
            if match and isinstance(data.get("subject"), str):
                single[match[1]] = _PlannedTask(str(data["subject"]), is_ended=False)
        elif name == "taskupdate" and data.get("status") in _ENDED:
            number = str(data.get("taskId"))
            if number in single:
                single[number] = single[number]._replace(is_ended=True)
    return [*listed, *single.values()]


def _listed(data: JsonObject) -> Iterator[_PlannedTask]:
    rows = data.get("todos") or data.get("plan") or data.get("items")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            text = row.get("content") or row.get("step") or row.get("description")
            if isinstance(text, str) and text.strip():
                yield _PlannedTask(text, is_ended=row.get("status") in _ENDED)


# Changed files -----------------------------------------------------------------------------------------

_CHANGING = re.compile(
    r"edit|write|multiedit|notebookedit|str_replace_editor|str_replace_based_edit_tool|create_file|write_file|replace"
    r"|edit_file|create|patch",
    re.IGNORECASE,
)
_PATH_NAMES = ("file_path", "filePath", "path", "notebook_path", "filename")
_PATCHED = re.compile(r"\*\*\* (?:Update|Add|Delete) File: ([^\s\"\\]+)")


def changed_files(done: Sequence[ToolExchange]) -> list[str]:
    """Return the files that calls changed, each once, in the order of their first change."""
    result: dict[str, None] = {}
    for exchange in done:
        if not exchange.failed:
            result.update(dict.fromkeys(_targets(exchange.call)))
    return list(result)


def _targets(call: ToolCall) -> Iterator[str]:
    data = call.input
    if _CHANGING.fullmatch(call.name) and data is not None:
        if data.get("command") in ("view", "undo_edit"):
            return
        path = next((value for name in _PATH_NAMES if isinstance(value := data.get(name), str)), "")
        if path:
            yield with_forward_slashes(path)
    elif "*** " in (text := call.input_text):
        yield from (with_forward_slashes(match[1]) for match in _PATCHED.finditer(text))


# Failed attempts ---------------------------------------------------------------------------------------


def failed_attempts(done: Sequence[ToolExchange]) -> list[str]:
    """Return what the last failed calls returned, a line each, each once."""
    result: dict[str, None] = {}
    for exchange in done:
        if exchange.failed and exchange.result is not None:
            line = _first_line(exchange.result.text)
            if len(set(content_words(line))) >= FEWEST_WORDS:
                result.pop(line, None)
                result[line] = None
    return list(result)[-MOST_FAILURES:]


def _first_line(text: str) -> str:
    lines = (line.strip() for line in text.split("\n"))
    return next((line for line in lines if content_words(line)), "")[:LONGEST_LINE]


# The last test run -------------------------------------------------------------------------------------

COMMAND_ARGUMENTS = ("command", "cmd", "script", "commands", "code")
"""How the argument is called that holds what a tool runs; files, searches and other agents run no tests."""
_COUNTED = re.compile(
    r"(?:^|[=|,:;(\[✓✔✗✖×]|\b[Tt]ests?\b|\bFiles\b|\b[Ff]ound\b|\band\b)[ \t]*"
    r"(\d+) (passed|passing|failed|failing|failures?|errors?)\b",
    re.MULTILINE,
)
"""Counts as runners sum them up; ``Task 2 failed`` counts nothing."""
_GO = re.compile(r"^--- (FAIL): (\S+)|^(ok) +\t?(\S+)", re.MULTILINE)
_BAD = ("fail", "error", "FAIL")


def last_test_status(done: Sequence[ToolExchange]) -> tuple[str, ...]:
    """Return what must be said of the last test run: ``("2 failed",)``, else ``("31 passed",)``."""
    for exchange in reversed(done):
        text = exchange.result.text[-20_000:] if exchange.result and _runs(exchange.call) else ""
        counted = [f"{match[1]} {match[2]}" for match in _COUNTED.finditer(text)][-3:]
        failed = [match[2] for match in _GO.finditer(text) if match[1]]
        bad = [status for status in counted if status[0] != "0" and any(sign in status for sign in _BAD)]
        bad += failed[:3]
        if counted or failed:
            return tuple(bad or counted[-1:])
    return ()


def _runs(call: ToolCall) -> bool:
    data = call.input
    if data is None:
        return True
    return any(name in data for name in COMMAND_ARGUMENTS) and not any(name in data for name in _PATH_NAMES)


# Superseded values -------------------------------------------------------------------------------------

_OLD_NAMES, _NEW_NAMES = ("old_string", "oldString", "old_str"), ("new_string", "newString", "new_str")
_TOKEN = re.compile(r"[\w.$/%-]+")


class Superseded(NamedTuple):
    """A value that an edit replaced: on the same line, and nothing else on it changed.

    ``timeout = 30`` edited to ``timeout = 45`` gives the words ``timeout``, the old 30 and the new 45.
    """

    words: tuple[str, ...]
    """The rest of the line."""
    old: str
    new: str


def replaced_values(done: Sequence[ToolExchange]) -> list[Superseded]:
    """Return the replaced values, the last state of each line only."""
    result: dict[tuple[str, ...], Superseded] = {}
    for exchange in done:
        data = exchange.call.input
        if exchange.failed or data is None:
            continue
        for old, new in _changed_lines(_text(data, _OLD_NAMES), _text(data, _NEW_NAMES)):
            change = _one_value(old, new)
            if change:
                result[change.words] = change
    return list(result.values())


def _text(source: Mapping[str, Json], names: Sequence[str]) -> str:
    return next((value for name in names if isinstance(value := source.get(name), str)), "")


def _changed_lines(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Yield the lines that replace others, with those."""
    before, after = old.split("\n"), new.split("\n")
    if len(before) + len(after) > MOST_LINES:
        return
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "replace" and b - a == d - c:
            yield from zip(before[a:b], after[c:d], strict=True)


def _one_value(old: str, new: str) -> Superseded | None:
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    if len(before) != len(after) or len(before) < 3:
        return None
    differing = [i for i, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
    if len(differing) != 1:
        return None
    at = differing[0]
    if min(len(before[at]), len(after[at])) < SHORTEST_VALUE:
        return None
    return Superseded((*before[:at], *before[at + 1 :]), before[at], after[at])
