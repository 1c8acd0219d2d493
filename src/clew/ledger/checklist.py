"""Checklists in texts: their lines, how far each is done, and whether the text is a task list of the agent.

"- [x] write the tests" is done, "- [⚡] write the docs" in progress. A list counts as the tasks of the agent
if its heading says so ("## Todo List"), or if the text is hardly more than the list. Other lists of open
boxes in an answer, such as what a reviewer should look at, are no work of the session. ``Todos`` reads both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clew.ledger.phrases import Foreign
from clew.message.text import lazy_pattern

PENDING, IN_PROGRESS, COMPLETED = "pending", "in_progress", "completed"
_LIST_SHARE = 0.5
"""Share of the lines of a text that are on the list, from which on the text is hardly more than the list;
chosen by hand."""


@dataclass(frozen=True, slots=True)
class ListedTask:
    """A line of a checklist: the place of its words in the text, and its state."""

    text: str
    start: int
    status: str

    @property
    def key(self) -> str:
        """Its words as they compare with those of another list: without case, marks and symbols around."""
        return _AROUND.sub("", self.text.casefold())


def listed_tasks(text: str) -> list[ListedTask]:
    """Return the lines of the checklists in a text, without those in code, quotations and tables."""
    is_foreign_at = Foreign(text).holds
    return [
        ListedTask(match[2].rstrip(), match.start(2), _status(match[1]))
        for match in _CHECK.finditer(text)
        if not is_foreign_at(match.start())
    ]


def is_task_list(text: str, tasks: list[ListedTask]) -> bool:
    """Return True if these lines of a text of the agent are its own tasks; questions are none."""
    if not tasks or all(task.text.endswith("?") for task in tasks):
        return False
    heading = _LAST_LINE.search(text[: text.rfind("\n", 0, tasks[0].start) + 1])
    if heading and _OF_TASKS.search(heading[0]):
        return True
    lines = sum(1 for line in text.splitlines() if line.strip())
    return len(tasks) >= lines * _LIST_SHARE and any(task.status is not COMPLETED for task in tasks)


def only_lists_open_tasks(text: str) -> bool:
    """Return True if a text is a checklist with something left to do, and says nothing else."""
    if "] " not in text or all(task.status is COMPLETED for task in listed_tasks(text)):
        return False
    return not any(map(str.isalnum, _LEAD_IN.sub("", _CHECK.sub("", text))))


def _status(mark: str) -> str:
    if not mark.strip():
        return PENDING
    return COMPLETED if mark in _DONE_MARKS else IN_PROGRESS


# What the patterns recognise ---------------------------------------------------------------------------

_CHECK = lazy_pattern(
    r"^[ \t]*(?:[-*+]|\d{1,2}[.)])[ \t]+\[([ xX]|[^\w\s\[\](){}\"'`]{1,3})\][ \t]+(\S[^\n]*)$", re.MULTILINE
)
"""A line of a checklist: "- [x] write the tests", "- [⚡] write the docs"."""
_DONE_MARKS = frozenset("xX✓✔✅☑")
_AROUND = lazy_pattern(r"\A[\W_]+|[\W_]+\Z")
_LAST_LINE = lazy_pattern(r"\S[^\n]*\s*\Z")
_OF_TASKS = lazy_pattern(
    r"\bto-?\s?dos?\b|\btasks?\b|\bprogress\b|\bplan\b|\baufgaben\b|\btâches\b|\btar(?:eas|efas)\b|\bcompiti\b"
    r"|\bзадач|할 일|작업 목록|やること|タスク|待办|任务",
    re.IGNORECASE,
)
"""A heading that names tasks: "## Todo List", "**Agent task list:**"."""
_LEAD_IN = lazy_pattern(r"^[ \t]*(?:#{1,6}[ \t][^\n]*|[^\n]*:[*_ \t]*)$", re.MULTILINE)
"""A heading, or a line that ends in a colon."""
