"""Pruning rules about calls: arguments that a later call repeats or outdates, and results that echo them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from types import MappingProxyType

from clew.compaction.propose.edits import edits
from clew.compaction.propose.line_kinds import NUMBERED_LINE
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.compaction.propose.steps import (
    WORTH_A_POINTER,
    WORTH_A_STUB,
    WORTH_CHARACTERS,
    Step,
    Stub,
    is_whole,
    long_results,
    with_long_argument,
)
from clew.ledger.shell import normal_path
from clew.ledger.tool_actions import ActionKind
from clew.message import Role, Text
from clew.message.parts import json_strings
from clew.message.patterns import LINE_NUMBER


def rewritten(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find calls that write a whole file which a later call writes or reads whole."""
    if not with_long_argument(steps, WORTH_A_POINTER):
        return
    current: dict[str, str] = {}
    found: list[Stub] = []
    for step in reversed(steps):
        if not (step.action.subject and step.succeeded):
            continue
        read, changed = step.files
        path = changed[0] if step.action.kind is ActionKind.WRITE and len(changed) == 1 else ""
        if path in current:
            found += _without_content(context, step, current[path])
        if path:
            current[path] = f"written again in {context.view[step.call.message].id}"
        elif read and not changed and is_whole(step):
            current[read] = f"read in {step.name}"
    yield from reversed(found)


def _without_content(context: ShrinkContext, step: Step, later: str) -> Iterator[Stub]:
    """Yield a call that writes a file without the file's text."""
    given, name = step.asked.arguments, context.view[step.call.message].id
    if not isinstance(given, dict):
        return
    long = [key for key, text in given.items() if isinstance(text, str) and len(text) >= WORTH_A_POINTER]
    if long:
        note = f"[outdated: {later}; kept as {name}]"
        yield Stub(step.call, json.dumps({**given, **dict.fromkeys(long, note)}), f"the file was {later}")


_EDITS = frozenset((ActionKind.EDIT, ActionKind.PATCH))
DONE_SHARE = 0.5
"""Share of the lines of a failed edit that later edits inserted if it was made in another way."""


def _inserted(step: Step) -> set[str]:
    """Return the lines that an edit inserts."""
    added = (text for _, new in edits(step.asked.arguments) for text in new)
    return {line.strip() for text in added for line in text.split("\n")} - {""}


def failed_edits(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find edits that failed and were mostly made later."""
    long = (step for step in steps if context.may_free(step.call, WORTH_A_STUB))
    if not any(step.action.kind in _EDITS and not step.succeeded for step in long):
        return
    changed: dict[str, str] = {}
    inserted: dict[str, set[str]] = {}
    found: list[Stub] = []
    for step in reversed(steps):
        if step.succeeded:
            for path in step.files[1]:
                changed[path] = step.name
                inserted.setdefault(path, set()).update(_inserted(step))
            continue
        path = normal_path(step.action.title) if step.action.kind in _EDITS else ""
        wanted = _inserted(step) if path in changed else set()
        if wanted and len(wanted & inserted[path]) >= DONE_SHARE * len(wanted):
            later = changed[path]
            name = context.view[step.call.message].id
            note = {
                "file": path,
                "outdated": f"this edit failed; the file was changed in {later}; kept as {name}",
            }
            found.append(Stub(step.call, json.dumps(note), f"failed, and done in {later}"))
    yield from reversed(found)


_ACKNOWLEDGE = frozenset(
    (
        ActionKind.WRITE,
        ActionKind.EDIT,
        ActionKind.PATCH,
        ActionKind.DELETE,
        ActionKind.MOVE,
        ActionKind.TODO,
        ActionKind.NEW_TASK,
        ActionKind.TASK_CHANGE,
    )
)


def acknowledged(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find results that only confirm the call and repeat its arguments."""
    for step in long_results(steps):
        if step.action.kind in _ACKNOWLEDGE and step.succeeded:
            first = step.text.strip().split("\n", 1)[0][:WORTH_CHARACTERS]
            yield Stub(step.result, f"{first}\n[the rest is kept as {step.name}]", "only confirms the call")


_CONFIRMED = MappingProxyType(
    {
        ActionKind.WRITE: "[written]",
        ActionKind.EDIT: "[updated]",
        ActionKind.PATCH: "[updated]",
        ActionKind.DELETE: "[deleted]",
        ActionKind.MOVE: "[moved]",
        ActionKind.TODO: "[updated]",
    }
)
"""What is shown of a result that says no more."""
LONGEST_CONFIRMATION = 600
"""Characters; a longer result of an edit says more than that it worked. Chosen by hand."""
_SAYS_DONE = frozenset(
    """
    a added all and applied at been bytes changed changes code content contents created d deleted done edit
    edited edits exit existing file files following has have in is it line lines m made modified moved new of
    ok old output overwritten patch removed renamed replaced replacement replacements saved seconds success
    successful successfully the time to total update updated wall was were with wrote written
    applicable continue current ensure if list plan please proceed progress tasks that todo todos track use
    you your
    """.split()  # noqa: SIM905  # as a literal it takes a line for each word
)
"""Words of results that only say that a file or a task list was changed, and how much."""
_TOKEN = re.compile(r"[^\s\"'`,:;()\[\]{}<>]+")
_PATH = re.compile(r".+[./].+")


def confirmations(steps: Sequence[Step]) -> Iterator[Stub]:
    """Find results that say no more than that the call worked, such as "The file a.py has been updated."."""
    for step in steps:
        short = _CONFIRMED.get(step.action.kind)
        if short and len(step.text) <= LONGEST_CONFIRMATION and step.succeeded and _only_confirms(step):
            short = "[created]" if "creat" in step.text.lower() else short
            yield Stub(step.result, short, "only says that it worked")


def _only_confirms(step: Step) -> bool:
    """Whether all that a result says is in its call, but for words such as "updated"."""
    given, path = step.asked.input_text, step.action.subject
    text = step.text.replace(path, " ") if path else step.text
    in_call = _TOKEN if step.action.kind is ActionKind.TODO else _PATH
    tokens = (token.rstrip(".!…") for token in _TOKEN.findall(text))
    return bool(step.text) and all(
        token.lower() in _SAYS_DONE
        or not any(map(str.isalpha, token))
        or (in_call.fullmatch(token) and token.rpartition("/")[2] in given)
        for token in tokens
    )


_WRITES = frozenset((ActionKind.WRITE, ActionKind.EDIT, ActionKind.PATCH))
_ANNOUNCES = re.compile(r"(?<=\.)\s[^.\n]*(?:`[^`\n]*`[^.\n]*)*:\Z")
"""A last sentence that announces the lines which are left out."""
_LINE_NUMBERS = re.compile(rf"^[^\S\n]*{LINE_NUMBER}", re.MULTILINE)
ECHO_SHARE = 0.5
"""Share of a result from which it counts as an echo of its call; chosen by hand."""


def echoes(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find results that show again what their call wrote; lines that only the result has stay."""
    for step in long_results(steps):
        if step.action.kind not in _WRITES or not step.succeeded or not _repeats_change(step):
            continue
        written = _written(step)
        lines = step.text.split("\n")
        around = [line for line in lines if NUMBERED_LINE.match(line) and not _is_among(line, written)]
        own = [line for line in lines if not (NUMBERED_LINE.match(line) or _is_among(line, written))]
        if sum(map(len, own)) <= (1 - ECHO_SHARE) * len(step.text):
            what = "lines: the change and what is around it" if around else "lines that repeat the change"
            note = f"[… {len(lines) - len(own):,} {what}, kept as {step.name}]"
            told = _ANNOUNCES.sub("", "\n".join(own).strip())
            yield Stub(step.result, f"{told}\n{note}".lstrip(), "repeats what its call wrote")


def says_change(step: Step) -> bool:
    """Whether the call of an edit says what it wrote: some transcripts have only the result."""
    return any(edits(step.asked.arguments)) or _repeats_change(step)


def _repeats_change(step: Step) -> bool:
    """Whether a result has a line that its call wrote."""
    written = _written(step) - {""}
    lines = [*map(str.strip, _LINE_NUMBERS.sub("", step.text).split("\n"))]
    signed = (line.lstrip("+-").strip() for line in lines if line[:1] in "+-")
    return not (written.isdisjoint(lines) and written.isdisjoint(signed))


def _written(step: Step) -> set[str]:
    """Return the lines in the arguments of a call."""
    return {line.strip() for text in json_strings(step.asked.input) for line in text.split("\n")}


def _is_among(line: str, written: set[str]) -> bool:
    """Whether a line of a listing or of a diff is one of these, without its number or sign."""
    bare = NUMBERED_LINE.sub("", line).strip()
    return bare in written or bare.lstrip("+-").strip() in written


SHORTEST_PROMPT = 800
"""Characters from which an argument that another call repeats is worth a pointer."""


def repeated_arguments(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find calls whose long argument a later call or a message to the agent repeats: a prompt, say."""
    last: dict[str, str] = {}
    found: list[Stub] = []
    long = with_long_argument(steps, SHORTEST_PROMPT)
    asked = _long_requests(context, long[0].call.message) if long else {}
    for step in reversed(long):
        given = step.asked.arguments
        if not isinstance(given, dict) or step.action.kind in _WRITES:
            continue
        shorter = dict(given)
        name = context.view[step.call.message].id
        for key, text in given.items():
            if isinstance(text, str) and len(text) >= SHORTEST_PROMPT:
                same = asked.get(text.strip()) or last.setdefault(text, name)
                if same != name:
                    shorter[key] = f"{text[:WORTH_CHARACTERS]} [… as in {same}]"
        if shorter != given:
            found.append(Stub(step.call, json.dumps(shorter, ensure_ascii=False), "said elsewhere, too"))
    yield from reversed(found)


def _long_requests(context: ShrinkContext, first: int) -> dict[str, str]:
    """Return the long texts that the agent was given just before an index or later, with their messages."""
    return {
        part.text.strip(): item.id
        for item in context.view[max(0, first - 1) :]
        if item.message.role is Role.USER
        for part in item.message.parts
        if isinstance(part, Text) and len(part.text) >= SHORTEST_PROMPT
    }
