"""To-dos, read from the calls of task tools and from checklists in text.

A tool that writes the whole list (``TodoWrite``, ``update_plan``, ``todowrite``, ``write_todos``) replaces
what it wrote before; one that writes single tasks (``TaskCreate``, ``TaskUpdate``) changes them one by one,
and one that shows them (``TaskList``) reports what sub-agents changed. A checklist that a person or a plan
states ("- [ ] write the tests") adds to its own list; one that the agent writes in a text replaces what it
listed before, in texts and with its tool. ``Todos`` is one of the three trackers of ``Loops``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from clew.ledger.checklist import COMPLETED, ListedTask, is_task_list, listed_tasks
from clew.ledger.exchange import Exchange, Reading
from clew.ledger.loop import Closed, Loop, LoopKind
from clew.ledger.outcome import Ended
from clew.ledger.tool_actions import ActionKind
from clew.message import Cite, Json, JsonObject
from clew.message.text import lazy_pattern
from clew.rules.speech import ASSISTANT, Utterance


class TodoOrigin(StrEnum):
    """Which kind of list a task is on."""

    LIST = "list"
    TASKS = "tasks"
    CHECKLIST = "checklist"
    """Of a person or a plan."""
    NOTED = "noted"
    """A checklist in the agent's own text."""


class TodoKey(NamedTuple):
    """Identifies a task: its text, or the number its tool assigned."""

    origin: TodoOrigin
    name: str


class Todo(NamedTuple):
    """A task on its list now."""

    text: str
    status: str


@dataclass(slots=True)
class Todos:
    """Tracks tasks as loops."""

    loops: dict[TodoKey, Loop] = field(default_factory=dict)
    """Tasks that are on a list now, finished ones included."""
    ended: list[Loop] = field(default_factory=list)
    """Tasks that were removed from their list."""
    count: int = 0
    updated: Cite | None = None
    """The last call that wrote or showed a list, or changed a task."""
    noted: Cite | None = None
    """The last text of the agent that is a task list."""
    _listed: dict[TodoKey, None] = field(init=False, default_factory=dict)
    """The tasks of the list that is written as a whole."""

    def __post_init__(self) -> None:
        self._listed = {key: None for key in self.loops if key.origin is TodoOrigin.LIST}

    @property
    def current(self) -> tuple[Todo, ...]:
        """Return the tasks on their lists now, in order."""
        return tuple(Todo(loop.text, loop.status) for loop in self.loops.values())

    def as_of(self, loop: Loop) -> Cite:
        """Return where the state of a task was written last; of a checklist's, where it stands."""
        origin = next((key.origin for key, one in self.loops.items() if one.id == loop.id), None)
        if origin is TodoOrigin.NOTED:
            return self.noted or loop.source
        return self.updated if origin is not TodoOrigin.CHECKLIST and self.updated else loop.source

    def add(self, reading: Reading) -> None:
        """Read a message."""
        for exchange in reading.exchanges:
            if exchange.outcome.ended is Ended.OK:
                self._apply_call(exchange)
        for utterance in reading.said:
            if "] " in utterance.text and (tasks := listed_tasks(utterance.text)):
                self._apply_checklist(utterance, tasks)

    def _apply_call(self, exchange: Exchange) -> None:
        arguments = exchange.action.arguments
        if exchange.action.kind in _OF_TASKS:
            self.updated = exchange.asked
        match exchange.action.kind:
            case ActionKind.TODO:
                rows = arguments.get("todos")
                rows = rows if isinstance(rows, list) else arguments.get("plan") or arguments.get("task_list")
                if isinstance(rows, list):
                    self._replace_list(rows, exchange)
            case ActionKind.NEW_TASK:
                number = _TASK_NUMBER.search(exchange.result.text)
                subject = arguments.get("subject")
                if number and isinstance(subject, str) and subject:
                    self._put(
                        TodoKey(TodoOrigin.TASKS, number[1]), subject, "pending", _place(exchange, subject)
                    )
            case ActionKind.TASK_CHANGE:
                self._change_task(exchange, arguments)
            case ActionKind.TASK_LIST:
                self._see_list(exchange)
            case _:
                pass

    def _replace_list(self, rows: list[Json], exchange: Exchange) -> None:
        self._replace_noted((), exchange.asked)
        before = {key: self.loops.pop(key) for key in self._listed}
        self._listed = {}
        for row in rows:
            text, status = _row(row)
            if not text:
                continue
            key = TodoKey(TodoOrigin.LIST, text)
            if key in before:
                self.loops[key] = before.pop(key)
            self._listed[key] = None
            self._put(key, text, status, _place(exchange, text))
        for loop in before.values():
            self._end(loop, Closed.LEFT_OUT, exchange.asked)

    def _change_task(self, exchange: Exchange, arguments: JsonObject) -> None:
        key = TodoKey(TodoOrigin.TASKS, str(arguments.get("taskId") or arguments.get("task_id") or ""))
        loop = self.loops.get(key)
        if loop is None:
            return
        status, subject = arguments.get("status"), arguments.get("subject")
        text = subject if isinstance(subject, str) and subject else loop.text
        source = loop.source if text == loop.text else _place(exchange, text)
        self.loops[key] = replace(loop, text=text, source=source)
        if isinstance(status, str) and status:
            self._put(key, text, status, _place(exchange, text))

    def _see_list(self, exchange: Exchange) -> None:
        """Take over the states that a tool shows of known tasks; a line of another one adds nothing."""
        for match in _SHOWN_TASK.finditer(exchange.result.text):
            key = TodoKey(TodoOrigin.TASKS, match[1])
            if key in self.loops:
                self._put(key, self.loops[key].text, match[2], exchange.answered)

    def _apply_checklist(self, utterance: Utterance, tasks: list[ListedTask]) -> None:
        is_agents = utterance.speaker is ASSISTANT
        is_whole = is_agents and is_task_list(utterance.text, tasks)
        if is_whole:
            self._replace_noted(tasks, utterance.cite(0, len(utterance.text)))
        for task in tasks:
            known = (TodoKey(origin, task.key) for origin in (TodoOrigin.CHECKLIST, TodoOrigin.NOTED))
            key = next((key for key in known if key in self.loops), None)
            is_new = key is None and (is_whole or (not is_agents and task.status is not COMPLETED))
            if is_new:
                key = TodoKey(TodoOrigin.NOTED if is_agents else TodoOrigin.CHECKLIST, task.key)
            if key is not None:
                place = utterance.cite(task.start, task.start + len(task.text))
                self._put(key, task.text, task.status, place)

    def _replace_noted(self, tasks: Iterable[ListedTask], by: Cite) -> None:
        """End what the agent listed in earlier texts and does not list now."""
        self.noted = by
        listed = {task.key for task in tasks}
        for key in [key for key in self.loops if key.origin is TodoOrigin.NOTED and key.name not in listed]:
            self._end(self.loops.pop(key), Closed.LEFT_OUT, by)

    def _put(self, key: TodoKey, text: str, status: str, cite: Cite) -> None:
        """Set the state of a task, opening it if it is new."""
        loop = self.loops.get(key)
        if loop is None:
            self.count += 1
            loop = Loop(f"t{self.count}", LoopKind.TODO, text, cite, status)
        closed = _ENDED.get(status)
        if closed is None and loop.closed is Closed.BY_HAND:
            self.loops[key] = replace(loop, status=status)  # listing it again does not reopen it
        elif closed is None:
            self.loops[key] = replace(loop, status=status, closed=None, closed_by=None)
        elif loop.closed is not closed:
            self.loops[key] = replace(loop, status=status, closed=closed, closed_by=cite)

    def _end(self, loop: Loop, closed: Closed, cite: Cite) -> None:
        self.ended.append(loop if loop.closed else loop.ended(closed, cite))

    # What a person does by hand --------------------------------------------------------------------------

    def close(self, id_: str, why: str) -> Loop | None:
        """Close a task by hand; None if it is not one of these, or not open."""
        for key, loop in self.loops.items():
            if loop.id == id_ and loop.is_open:
                self.loops[key] = loop.closed_by_hand(why)
                return self.loops[key]
        return None

    def reopen(self, id_: str) -> Loop | None:
        """Reopen a task that was closed by hand and is still on its list; None if there is none."""
        for key, loop in self.loops.items():
            if loop.id == id_ and loop.closed is Closed.BY_HAND:
                self.loops[key] = loop.reopened()
                return self.loops[key]
        return None


def _row(row: Json) -> tuple[str, str]:
    """Return text and status of one row of a list; tools use different keys."""
    if not isinstance(row, dict):
        return "", ""
    text = next(
        (
            value
            for key in ("content", "step", "title", "description", "text")
            if isinstance(value := row.get(key), str)
        ),
        "",
    )
    status = row.get("status")
    return text, status if isinstance(status, str) else "pending"


def _place(exchange: Exchange, text: str) -> Cite:
    """Return the position of a task's words in the call that wrote it."""
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    start = exchange.call.input_text.find(written)
    return exchange.asked._replace(start=start, end=start + len(written)) if start >= 0 else exchange.asked


# What the patterns recognise ---------------------------------------------------------------------------

_SHOWN_TASK = lazy_pattern(r"^#(\w+) \[(\w+)\] \S", re.MULTILINE)
"""A line of a list that a tool shows: "#6 [completed] Write the tests"."""
_TASK_NUMBER = lazy_pattern(r"[Tt]ask #(\w+) created")
_ENDED = {
    "completed": Closed.DONE,
    "complete": Closed.DONE,
    "done": Closed.DONE,
    "cancelled": Closed.CANCELLED,
    "canceled": Closed.CANCELLED,
    "deleted": Closed.CANCELLED,
}
"""How a task ended, by the status of its tool."""
_OF_TASKS = frozenset((ActionKind.TODO, ActionKind.NEW_TASK, ActionKind.TASK_CHANGE, ActionKind.TASK_LIST))
"""Kinds of calls that write, change or show tasks."""
