"""Pruning rules about calls: arguments that a later call repeats or outdates, and results that echo them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import TypeAlias

from clew.compaction.propose.edits import edits
from clew.compaction.propose.line_kinds import NUMBERED_LINE
from clew.compaction.propose.shown_arguments import dumped, noted
from clew.compaction.propose.shrink import without_remark
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.compaction.propose.steps import (
    WORTH_A_STUB,
    WORTH_CHARACTERS,
    Step,
    Stub,
    long_results,
    short_path,
    with_long_argument,
)
from clew.ledger.outcome import Ended, outcome
from clew.ledger.tool_actions import CHANGING, ActionKind, changed_file
from clew.message import Role, Text
from clew.message.parts import json_strings
from clew.message.text import LINE_NUMBER

DONE_SHARE = 0.5
"""Share of the lines of a failed edit that later edits inserted if it was made in another way."""


def failed_edits(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find edits that failed and were mostly made later, and what their results say."""
    if not any(not step.succeeded and step.action.kind in CHANGING for step in steps):
        return
    done: dict[str, dict[_Line, str]] = {}
    found: list[Stub] = []
    for step in reversed(steps):
        if step.succeeded:
            name = context.view[step.call.message].id
            for path in step.files[1]:
                done.setdefault(path, {}).update(dict.fromkeys(_changed_lines(step, path), name))
        elif step.action.kind in CHANGING and context.may_free(step.call, WORTH_A_STUB):
            found += _made_later(context, step, done)
    yield from reversed(found)


_Line: TypeAlias = tuple[str, str]
"""A line that an edit inserts or removes: "+" or "-", and the line without indentation."""


def _changed_lines(step: Step, path: str) -> frozenset[_Line]:
    """Return the lines that an edit inserts into a file; those that it removes if it only removes."""
    pairs = list(edits(step.given, path))
    lines = (("+", line.strip()) for _, new in pairs for text in new for line in text.split("\n"))
    added = frozenset(line for line in lines if line[1])
    gone = (("-", line.strip()) for old, _ in pairs for text in old for line in text.split("\n"))
    return added or frozenset(line for line in gone if line[1])


def _made_later(
    context: ShrinkContext, step: Step, done: Mapping[str, Mapping[_Line, str]]
) -> Iterator[Stub]:
    """Yield short forms of a failed edit and of its result if later calls made most of it in every file.

    ``done`` are the lines that were changed later in each file, and the messages that did it.
    """
    made: set[str] = set()
    for path in step.files[1]:
        later_lines, wanted = done.get(path, {}), _changed_lines(step, path)
        again = [later_lines[line] for line in wanted if line in later_lines]
        if not again or len(again) < DONE_SHARE * len(wanted):
            return
        made.update(again)
    if not made:
        return
    first, *others = sorted(made, key=lambda name: (len(name), name))
    later = f"{first} and later" if others else first
    ended = outcome(step.action, step.told).ended
    note = f"[{ended}, done in {later}; kept as {context.view[step.call.message].id}]"
    shorter = noted(step.given, note, step.action.subject)
    yield Stub(step.call, dumped(shorter), f"{ended}, and done in {later}")
    if ended is Ended.FAILED:  # a person who refused it may have said why
        first = step.text.strip().split("\n", 1)[0][:WORTH_CHARACTERS]
        yield Stub(step.result, f"{first}\n[done in {later}; kept as {step.name}]", f"done in {later}")


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
    you your duration_seconds exit_code metadata
    """.split()  # noqa: SIM905  # as a literal it takes a line for each word
)
"""Words of results that only say that a file or a task list was changed, and how much."""
_TOKEN = re.compile(r"[^\s\"'`,:;()\[\]{}<>]+")
_PATH = re.compile(r".+[./].+")


def confirmations(steps: Sequence[Step]) -> Iterator[Stub]:
    """Find results that say no more than that the call worked, such as "The file a.py has been updated.".

    If the call does not name the file, as in some transcripts, its name stays in the first of several results
    in a row that name the same.
    """
    before = ""
    for step in steps:
        named, before = before, ""
        if len(step.text) > LONGEST_CONFIRMATION:
            continue
        short = _CONFIRMED.get(step.action.kind)
        if not short or not step.succeeded:
            continue
        short = "[created]" if "creat" in step.text.lower() else short
        if _only_confirms(step, step.action.subject):
            yield Stub(step.result, short, "only says that it worked")
        elif not step.asked.input and (path := changed_file(step.text)) and _only_confirms(step, path):
            before = path
            told = short if path == named else f"{short[:-1]}: {short_path(path)}]"
            yield Stub(step.result, told, "only says that it worked")


def _only_confirms(step: Step, path: str) -> bool:
    """Whether all that a result says is a path, in its call, or words such as "updated"."""
    text = without_remark(_LINE_FEED.sub("\n", step.text))
    given = step.asked.input_text.lower()
    if step.action.kind is ActionKind.PATCH:
        text = _LISTED.sub(lambda line: line[0] if line[1].lower() not in given else "", text)
    text = text.replace(path, " ") if path else text
    tokens = set(_TOKEN.findall(text.lower())) - _SAYS_DONE
    if not tokens:
        return bool(step.text)
    in_call = _TOKEN if step.action.kind is ActionKind.TODO else _PATH
    return all(
        token in _SAYS_DONE
        or not any(map(str.isalpha, token))
        or (in_call.fullmatch(token) and token.rpartition("/")[2] in given)
        for token in (token.rstrip(".!…") for token in tokens)
    )


_LINE_FEED = re.compile(r"\\n")
"""A line feed in a result that is JSON."""
_LISTED = re.compile(r"^[AMD] (?:.*/)?([^/\n]+)$", re.MULTILINE)
"""A file in the list of those that a patch changed."""
_ANNOUNCES = re.compile(r"(?<=\.)\s[^.\n]*(?:`[^`\n]*`[^.\n]*)*:\Z")
"""A last sentence that announces the lines which are left out."""
ECHO_SHARE = 0.5
"""Share of a result from which it counts as an echo of its call; chosen by hand."""


def echoes(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find results that show again what their call wrote; lines that only the result has stay."""
    for step in long_results(steps):
        if step.action.kind not in CHANGING or not step.succeeded:
            continue
        written, lines, bare = _written(step), step.text.split("\n"), bare_lines(step.text)
        if written.isdisjoint(bare):
            continue
        own = [
            line
            for line, text in zip(lines, bare, strict=True)
            if text and text not in written and not NUMBERED_LINE.match(line)
        ]
        if sum(map(len, own)) <= (1 - ECHO_SHARE) * len(step.text):
            is_all = written.union(bare_lines("\n".join(own)), ("",)).issuperset(bare)
            what = "lines that repeat the change" if is_all else "lines: the change and what is around it"
            note = f"[… {len(lines) - len(own):,} {what}, kept as {step.name}]"
            told = _ANNOUNCES.sub("", "\n".join(own).strip())
            yield Stub(step.result, f"{told}\n{note}".lstrip(), "repeats what its call wrote")


def says_change(step: Step) -> bool:
    """Whether the call of an edit says what it wrote: some transcripts have only the result."""
    return any(edits(step.given)) or not _written(step).isdisjoint(bare_lines(step.text))


def _written(step: Step) -> set[str]:
    """Return the lines in the arguments of a call that are not blank."""
    texts = map(bare_lines, json_strings(step.given))
    return set(chain.from_iterable(texts)) - {""}


def bare_lines(text: str) -> list[str]:
    """Return the lines of a text, of a listing or of a diff without numbers, signs and indentation."""
    return [*map(str.strip, _FRAME.sub("", text).split("\n"))]


_FRAME = re.compile(rf"^[^\S\n]*(?:{LINE_NUMBER})?[^\S\n]*[+-]?", re.MULTILINE)
"""What may be around a line of a file: its indentation, its number and the sign of a change."""


SHORTEST_PROMPT = 800
"""Characters from which an argument that another call repeats is worth a pointer."""


def repeated_arguments(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find calls whose long argument a later call or a message to the agent repeats: a prompt, say."""
    last: dict[str, str] = {}
    found: list[Stub] = []
    long = with_long_argument(steps, SHORTEST_PROMPT)
    asked = _long_requests(context, long[0].call.message) if long else {}
    for step in reversed(long):
        given = step.given
        if not isinstance(given, dict) or step.action.kind in CHANGING:
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
