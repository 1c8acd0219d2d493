"""Texts that say how the work is to be done: a skill, and the task, plan or resume file that it began with.

They are data, never rules: an excerpt keeps the lines of them that give orders, and their steps.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from clew.ledger.shell import Action
from clew.ledger.tool_actions import action_of, touches
from clew.message import Item, Message, Origin, Part, Place, Role, Text, ToolCall, ToolResult, words
from clew.message.text import LINE_NUMBER, lazy_pattern
from clew.rules.orders import gives_order
from clew.rules.speech import is_prompt_of_command

LONGEST_READ = 40_000
"""Characters of such a text that are read for orders..."""
MOST_ORDERS = 60
"""...and how many are looked for."""
WRAPPED, CONTINUED = 60, 2
"""Characters from which a line may go on in the next one, and in how many it may."""
BEGINNING = 400
"""Characters in which a text says that it is a skill."""
_SKILL = lazy_pattern(
    r"<skill(?:[-_]\w+)?\b|^Base directory for this skill: |^# Skill: |\A---\nname: [^\n]+\ndescription: ",
    re.MULTILINE,
)
"""How harnesses begin the text of a skill; the last is the text of its file."""
_STEP = re.compile(
    rf"[ \t]*(?:{LINE_NUMBER})?[ \t]*(?:#{{1,4}} \S|\d{{1,2}}[.)] \S|[-*+] \[ \] \S|\*\*Step \d)"
)
"""A heading, a numbered step or an unchecked item."""
LEAST_UNCHECKED = 2
"""Unchecked items that make a text a list of tasks: one may be an example."""
_UNCHECKED = lazy_pattern(rf"^[ \t]*(?:{LINE_NUMBER})?[ \t]*(?:[-*+]|\d{{1,2}}[.)]) \[ \] \S", re.MULTILINE)
_NO_ORDER = re.compile(rf"\s*(?:{LINE_NUMBER})?\s*(?:[-*+] \[[xX]\] |#{{1,6}} )")
"""A checked item, or a heading."""
_NUMBER = re.compile(rf"^[ \t]*{LINE_NUMBER}")
_POINT = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])\s")
_ANNOUNCES = re.compile(r":[*_]*\s*$")
LONGEST_BODY = 40
"""Lines of what a line announces, at most; chosen by hand."""
_OPENING = re.compile(rf"[ \t]*(?:{LINE_NUMBER})?[ \t]*(?:#{{1,6}} |[-*+•] |\d{{1,2}}[.)] |[|<>`*]|---|$)")
"""The beginning of a line that does not go on with the one before it; an empty line is one."""
_GUIDE_FILE = re.compile(
    r"(?:^|[/\\_.\- ])(?:resume|hand-?off|hand-?over|next-?steps|skill)(?:[-_. ][^/\\]*)?\.(?:md|mdc|txt)$",
    re.IGNORECASE,
)
"""The path of a file in which a session leaves notes for the next one, or of a skill."""
_NAMES_TEXT = re.compile(r"\.(?:mdc?|mdx|txt|rst|org)\b", re.IGNORECASE)
_TEXT_FILE = re.compile(r"\.(?:md|mdc|mdx|txt|rst|org)$", re.IGNORECASE)


def is_skill(text: str) -> bool:
    """Whether a text is that of a skill, as harnesses show it."""
    return _SKILL.search(text, 0, BEGINNING) is not None


def may_guide(message: Message, part: Part) -> bool:
    """Whether a part is the text of a skill that a tool or a harness put there."""
    if isinstance(part, ToolResult):
        return is_skill(part.text)
    injected = isinstance(part, Text) and message.role is Role.USER and message.origin is not Origin.SPOKEN
    return injected and is_skill(words(part))


def guides_in(view: Sequence[Item], start: int, large: Collection[int], asked: str) -> Iterator[Place]:
    """Yield the parts of large messages, from an index on, that say how to work."""
    calls: dict[str, ToolCall] = {}
    for i in range(start, len(view)):
        message = view[i].message
        is_prompt = i in large and i > 0 and is_prompt_of_command(view[i - 1].message, message)
        for j, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                calls[part.call_id] = part
            elif i in large and (is_prompt or may_guide(message, part) or _reads_guide(part, calls, asked)):
                yield Place(i, j)


def _reads_guide(part: Part, calls: Mapping[str, ToolCall], asked: str) -> bool:
    """Whether a part shows a file that says how to work, and nothing else."""
    call = calls.get(part.call_id) if isinstance(part, ToolResult) else None
    if call is None or not isinstance(part, ToolResult) or not _NAMES_TEXT.search(words(call)):
        return False
    done = touches(action_of(call), part.text)
    if len(done) != 1 or done[0].action is not Action.READ:
        return False
    return is_guide(done[0].name, asked) or (is_text_file(done[0].name) and lists_tasks(part.text))


def is_guide(path: str, asked: str) -> bool:
    """Whether a file says how to work: by its name, or because the request or the goal names it."""
    name = re.split(r"[/\\]", path)[-1]
    return _GUIDE_FILE.search(path) is not None or (is_text_file(name) and name in asked)


def is_text_file(path: str) -> bool:
    """Whether a path is that of a text for people, not of code."""
    return _TEXT_FILE.search(path) is not None


def lists_tasks(text: str) -> bool:
    """Whether a text is a list of tasks that are still to do: it has unchecked items."""
    unchecked = _UNCHECKED.finditer(text, 0, LONGEST_READ)
    return sum(1 for _ in islice(unchecked, LEAST_UNCHECKED)) == LEAST_UNCHECKED


def order_steps(text: str, *, strict: bool = False) -> Iterator[list[tuple[int, int]]]:
    """Yield the spans of the lines of each step that forbids or requires something.

    A line goes on in those after it, and one that ends with a colon has what it announces below it. With
    ``strict``, only what forbids something or requires it always; no checked items, no headings, no lines of
    code without what says when to run them.
    """
    lines = list(_lines(text))
    found = at = 0
    fenced = False
    while at < len(lines) and found < MOST_ORDERS:
        line = text[slice(*lines[at])]
        fenced ^= _bare(line).startswith("```")
        if not gives_order(line, strict=strict) or (strict and (fenced or _NO_ORDER.match(line))):
            at += 1
            continue
        announces = _ANNOUNCES.search(line) is not None
        end = _body_end(text, lines, at) if announces else _continued(text, lines, at)
        if not announces or end > at + 1 or not strict:
            found += 1
            yield lines[at:end]
        at = end


def _continued(text: str, lines: Sequence[tuple[int, int]], at: int) -> int:
    """Return the index behind the lines that a line goes on in."""
    end = at + 1
    while (
        end < len(lines)
        and end - at <= CONTINUED
        and lines[end - 1][1] - lines[end - 1][0] >= WRAPPED
        and not _OPENING.match(text[slice(*lines[end])])
    ):
        end += 1
    return end


def _body_end(text: str, lines: Sequence[tuple[int, int]], at: int) -> int:
    """Return the index behind what a line announces: a list, a code block, or more indented lines."""
    lead = _bare(text[slice(*lines[at])])
    depth, is_point = len(lead) - len(lead.lstrip()), _POINT.match(lead) is not None
    end, fenced = at + 1, False
    for i in range(at + 1, min(len(lines), at + 1 + LONGEST_BODY)):
        line = _bare(text[slice(*lines[i])])
        bare = line.strip()
        if bare.startswith("```"):
            fenced = not fenced
        elif not fenced and not bare:
            if end > at + 1:
                break
            continue
        elif not fenced and len(line) - len(line.lstrip()) <= depth and (is_point or not _POINT.match(line)):
            break
        end = i + 1
    return end


def _bare(line: str) -> str:
    """Return a line without the number that a tool puts before it."""
    return _NUMBER.sub("", line).expandtabs(4)


def step_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of headings and steps."""
    return (span for span in _lines(text) if _STEP.match(text, *span))


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in text[:LONGEST_READ].split("\n"):
        yield start, start + len(line)
        start += len(line) + 1
