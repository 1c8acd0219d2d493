"""Pruning rules about text that an edit shows again.

An agent reads a function, quotes it as the text to replace, and writes it again with one line changed: the
same lines three times. What the edit writes is the current text, so it stays whole. ::

    Edit {"old_string": "[… 12 lines, as in new_string] return total", "new_string": …}
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from clew.compaction.propose.edits import EditBlock, counterpart, edits, patch_blocks
from clew.compaction.propose.line_kinds import NUMBERED_LINE
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.compaction.propose.steps import WORTH_A_STUB, Step, Stub
from clew.ledger.tool_actions import ActionKind
from clew.message import Json

LEAST_RUN = 3
"""Lines in a row that a note replaces: fewer would save nothing. Chosen by hand."""
MOST_EDITS = 40
"""Later edits of a file that are compared with a read of it: it bounds the cost of a compaction."""


def unchanged_lines(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find edits whose text to replace has lines that the new text has too; these are left out of the old."""
    for step in steps:
        if (
            step.action.kind is ActionKind.EDIT
            and context.may_free(step.call, WORTH_A_STUB)
            and step.succeeded
        ):
            given = step.given
            shorter = _without_unchanged(given)
            if shorter != given:
                yield Stub(step.call, json.dumps(shorter, ensure_ascii=False), "shown again by the new text")


def _without_unchanged(value: Json) -> Json:
    """Return arguments without the lines of old texts that the new text has too."""
    if isinstance(value, list):
        return [_without_unchanged(one) for one in value]
    if not isinstance(value, dict):
        return value
    shorter = {key: _without_unchanged(one) for key, one in value.items()}
    for key, old in value.items():
        other = counterpart(key)
        new = value.get(other) if other else None
        if isinstance(old, str) and isinstance(new, str):
            kept = set(map(str.strip, new.split("\n")))
            shared = [line.strip() in kept for line in old.split("\n")]
            shorter[key] = _with_notes(old.split("\n"), shared, f"as in {other}")
    return shorter


def _with_notes(lines: Sequence[str], gone: Sequence[bool], why: str) -> str:
    """Return lines with a note for each long run of those that go."""
    shown: list[str] = []
    run: list[str] = []
    for line, goes in zip([*lines, None], [*gone, False], strict=True):
        if goes and line is not None:
            run.append(line)
            continue
        shown += [f"[… {len(run):,} lines, {why}]"] if len(run) >= LEAST_RUN else run
        run = []
        if line is not None:
            shown.append(line)
    return "\n".join(shown)


class _Replaced(NamedTuple):
    """Lines of a file that a later edit quotes, and the message of the edit."""

    lines: list[str]
    name: str


def replaced_lines(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find reads of lines that a later edit replaces: they are outdated, and the edit shows both forms."""
    later: dict[str, list[_Replaced]] = {}
    found: list[Stub] = []
    for step in reversed(steps):
        if not (step.action.subject and step.succeeded):
            continue
        read, changed = step.files
        if (
            read
            and not changed
            and (known := later.get(read))
            and context.may_free(step.result, WORTH_A_STUB)
        ):
            found += _without_replaced(step, known)
        for path in changed if step.action.kind in (ActionKind.EDIT, ActionKind.PATCH) else ():
            blocks = later.setdefault(path, [])
            if len(blocks) < MOST_EDITS:
                blocks += _quoted(step, path, context.view[step.call.message].id)
    yield from reversed(found)


def _quoted(step: Step, path: str, name: str) -> Iterator[_Replaced]:
    """Yield what an edit of a file replaces."""
    if step.action.kind is ActionKind.PATCH:
        blocks = [block for block in patch_blocks(step.action.subject) if path.endswith(block.path)]
    else:
        blocks = [EditBlock(path, old[0], "") for old, new in edits(step.given) if old and new]
    for block in blocks:
        lines = [line.strip() for line in block.old.strip("\n").split("\n")]
        if len(lines) >= LEAST_RUN:
            yield _Replaced(lines, name)


def _without_replaced(step: Step, later: Collection[_Replaced]) -> Iterator[Stub]:
    lines = step.text.split("\n")
    bare = [NUMBERED_LINE.sub("", line).strip() for line in lines]
    gone = [""] * len(lines)
    for block in later:
        for start in _runs(bare, block.lines):
            gone[start : start + len(block.lines)] = [block.name] * len(block.lines)
    if any(gone):
        name = next(filter(None, gone))
        text = _with_notes(lines, list(map(bool, gone)), f"changed in {name}")
        yield Stub(step.result, text, f"changed in {name}")


def _runs(lines: Sequence[str], wanted: Sequence[str]) -> Iterator[int]:
    """Yield where lines occur in a row; the first and the last one may be parts of lines."""
    first, *inner, last = wanted
    for i in range(len(lines) - len(wanted) + 1):
        if (
            lines[i].endswith(first)
            and lines[i + len(wanted) - 1].startswith(last)
            and list(lines[i + 1 : i + len(wanted) - 1]) == inner
        ):
            yield i
