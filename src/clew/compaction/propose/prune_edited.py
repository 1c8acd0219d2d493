"""Pruning rules about text of files that a later call outdates, in reads and in the calls that wrote it.

An agent reads a function, quotes it as the text to replace, writes it again with one line changed, and later
writes the whole file anew. What was written last is the current text, so it stays whole; older forms of the
same lines make room, wherever they are shown. ::

    Edit {"old_string": "def total(): [… 12 lines, replaced; kept as m4]", "new_string": …}
    Write {"content": "[outdated: overwritten in m86; kept as m63]"}
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from clew.compaction.propose.edits import EditBlock, counterpart, edits, patch_blocks, written_text
from clew.compaction.propose.outdated_lines import (
    LEAST_RUN,
    Replaced,
    documents,
    is_patch,
    patch_sections,
    with_notes,
    without_removed,
    without_replaced,
)
from clew.compaction.propose.shown_arguments import dumped, noted
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.compaction.propose.steps import WORTH_A_POINTER, WORTH_A_STUB, Step, Stub, is_whole, short_path
from clew.ledger.tool_actions import CHANGING, ActionKind
from clew.message import Json

MOST_BLOCKS = 80
"""Later edits of a file that are compared with its text: it bounds the cost of a compaction."""
FEW_REMOVED = 3
"""Lines that an edit removes up to which they stay, as they say what it changed; of more, the first stays.
Chosen by hand."""


@dataclass(slots=True)
class _Later:
    """What later calls did to a file."""

    replaced: list[Replaced] = field(default_factory=list)
    whole: str = ""
    """Which call wrote or read it whole..."""
    is_written: bool = False
    """...and whether it wrote it."""


def outdated_text(context: ShrinkContext, steps: Sequence[Step]) -> Iterator[Stub]:
    """Find text of files that later calls replaced, in reads, edits, patches and written files.

    Of an edit also leaves out what it removed, unless it is the last call.
    """
    files: dict[str, _Later] = {}
    found: list[Stub] = []
    for step in reversed(steps):
        if not step.succeeded or step.action.kind not in _OF_FILES:
            continue
        read, changed = _files(step) if step.action.kind is ActionKind.EDIT else step.files
        known = {path: files[path] for path in (changed or [read]) if path in files} if files else {}
        if changed:
            is_last = step.call.message >= steps[-1].call.message
            if context.may_free(step.call, WORTH_A_STUB):
                found += _without_outdated(context, step, known, is_last=is_last)
            _record(files, step, context.view[step.call.message].id)
        elif read and known and context.may_free(step.result, WORTH_A_STUB):
            found += _outdated_read(step, known[read])
        if read and not changed and is_whole(step) and not files.get(read, _Later()).is_written:
            files.setdefault(read, _Later()).whole = f"read in {step.name}"
    yield from reversed(found)


_OF_FILES = (*CHANGING, ActionKind.READ, ActionKind.SHELL)


def _files(step: Step) -> tuple[str, list[str]]:
    """Return the file that a call read and those that it changed; a cell of a notebook counts as a file."""
    given = step.given
    if not isinstance(given, dict) or "new_source" not in given:
        return step.files
    cell = given.get("cell_id", given.get("cell_number"))
    return "", [f"{path}#{cell}" for path in step.files[1]] if given.get(
        "edit_mode", "replace"
    ) == "replace" else []


# What later calls did ---------------------------------------------------------------------------------


def _record(files: dict[str, _Later], step: Step, name: str) -> None:
    """Note what a call did to its files, for the calls before it."""
    changed = _files(step)[1]
    written = _written_whole(step, changed)
    for path in changed:
        if path in written:
            files[path] = _Later(whole=f"overwritten in {name}", is_written=True)
        elif step.action.kind in (ActionKind.EDIT, ActionKind.PATCH):
            replaced = files.setdefault(path, _Later()).replaced
            if len(replaced) < MOST_BLOCKS:
                replaced += _quoted(step, path)


def _written_whole(step: Step, changed: Collection[str]) -> set[str]:
    """Return those of the changed files whose whole text a call writes."""
    kind = step.action.kind
    if kind is ActionKind.PATCH:
        blocks = [block.path for block in patch_blocks(step.action.subject) if block.is_whole_file]
        return {path for path in changed if any(path.endswith(block) for block in blocks)}
    if kind is ActionKind.SHELL:
        targets = [document.path for document in documents(step.action.subject)]
        return {path for path in changed if any(_is_same(path, target) for target in targets)}
    is_cell = kind is ActionKind.EDIT and changed != step.files[1]
    is_whole_write = kind is ActionKind.WRITE and len(changed) == 1 and _has_text(step)
    return {*changed} if is_cell or is_whole_write else set()


def _has_text(step: Step) -> bool:
    """Whether a call shows the whole text of the file that it writes: some transcripts leave it out."""
    given = step.action.arguments
    if given.get("append") or str(given.get("mode", "")).startswith("a"):
        return False
    return written_text(step.given) is not None or len(step.asked.input_text) >= WORTH_A_POINTER


def _is_same(path: str, target: str) -> bool:
    """Whether a command writes this file: it may be named without the folder in which the command runs."""
    return path == target or path.endswith(f"/{target.removeprefix('./')}")


def _quoted(step: Step, path: str) -> Iterator[Replaced]:
    """Yield what an edit of a file replaces."""
    if step.action.kind is ActionKind.PATCH:
        blocks = [block for block in patch_blocks(step.action.subject) if path.endswith(block.path)]
    else:
        blocks = [EditBlock(path, old[0], "") for old, new in edits(step.given) if old and new]
    for block in blocks:
        lines = [line.strip() for line in block.old.strip("\n").split("\n")]
        if len(lines) >= LEAST_RUN:
            yield lines


# What earlier calls show ------------------------------------------------------------------------------


def _outdated_read(step: Step, later: _Later) -> Iterator[Stub]:
    """Yield a read without the lines that were changed since; a note, if the file was written anew."""
    if later.is_written:
        text = f"[outdated: {short_path(step.files[0])} was {later.whole}; kept as {step.name}]"
        yield Stub(step.result, text, f"the file was {later.whole}")
    elif (text := without_replaced(step.text, later.replaced, step.name)) != step.text:
        yield Stub(step.result, text, "lines of it were changed later")


def _without_outdated(
    context: ShrinkContext, step: Step, known: Mapping[str, _Later], *, is_last: bool
) -> Iterator[Stub]:
    """Yield a call without text of its files that is no longer current."""
    name, changed = context.view[step.call.message].id, _files(step)[1]
    only = known.get(changed[0]) if len(changed) == 1 else None
    kind = step.action.kind
    if only and only.whole and (only.is_written or kind is ActionKind.WRITE) and kind in _SHOWN_AS_NOTE:
        note = f"[outdated: {only.whole}; kept as {name}]"
        shorter = noted(step.given, note, step.action.subject)
    else:
        shorter = _shorter(step.given, known, "" if is_last else name)
    if shorter != step.given:
        yield Stub(step.call, dumped(shorter), "text of a file that is no longer current")


_SHOWN_AS_NOTE = frozenset((ActionKind.WRITE, ActionKind.EDIT))


def _shorter(given: Json, known: Mapping[str, _Later], name: str) -> Json:
    """Return arguments without outdated lines and, if the call has a name, without what it removed."""
    if isinstance(given, list):
        return [_shorter(one, known, name) for one in given]
    replaced = [block for later in known.values() for block in later.replaced]
    if isinstance(given, dict):
        shown = {key: _shorter(one, known, name) for key, one in given.items()}
        for key, old in given.items():
            new = given.get(counterpart(key)) if counterpart(key) else None
            if isinstance(old, str) and isinstance(new, str):
                shown[key] = _old_text(old, new, counterpart(key), name)
        return shown
    if not isinstance(given, str) or given.count("\n") < LEAST_RUN:
        return given
    if is_patch(given):
        return _patch(given, known, name)
    if found := documents(given):
        return _with_shorter_documents(given, found, known, name)
    return without_replaced(given, replaced, name)


def _old_text(old: str, new: str, other: str, name: str) -> str:
    """Return the text that an edit replaces without the lines that the new text has, or its first line."""
    lines = old.split("\n")
    if not name or len(lines) <= LEAST_RUN:
        return old
    kept = {line.strip() for line in new.split("\n")}
    shared = [line.strip() in kept for line in lines]
    removed = sum(not is_shared and not line.isspace() for line, is_shared in zip(lines, shared, strict=True))
    if removed > FEW_REMOVED:
        return f"{lines[0]}\n[… {len(lines) - 1:,} lines, replaced; kept as {name}]"
    return with_notes(lines, [f"as in {other}" if is_shared else "" for is_shared in shared])


def _patch(patch: str, known: Mapping[str, _Later], name: str) -> str:
    """Return a patch without the lines that it removed and those that later calls replaced."""
    shown: list[str] = []
    for path, lines in patch_sections(patch):
        later = next((one for at, one in known.items() if path and at.endswith(path)), _Later())
        if later.is_written and len(lines) > LEAST_RUN:
            shown += (lines[0], f"[outdated: {later.whole}]")
        else:
            shown += without_removed(lines, later.replaced, name)
    return "\n".join(shown)


def _with_shorter_documents(
    line: str, found: Sequence[EditBlock], known: Mapping[str, _Later], name: str
) -> str:
    """Return a command line without text in its here-documents that is no longer current."""
    for document in found:
        later = next((one for path, one in known.items() if _is_same(path, document.path)), _Later())
        shorter = without_replaced(document.new, later.replaced, name)
        if later.whole and document.new.count("\n") >= LEAST_RUN:
            shorter = f"[outdated: {later.whole}]"
        line = line.replace(document.new, shorter)
    return line
