"""What the files that the work is about contain now, as far as the messages show it.

``current_texts`` goes through the calls of a session in order. A read adds the lines it shows; an edit, a
patch or a write changes the lines that are known; a deletion, a script that writes the file and the report
of another agent that names it make them unknown. Each line keeps the citations of the messages that show it::

    read rates.py            ->  def rate(day):  [m2]
    edit "day" -> "date"     ->  def rate(date):  [m11]
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from clew.compaction.propose.edits import EditBlock, edits, patch_blocks, written_text
from clew.compaction.propose.line_kinds import NUMBERED_LINE
from clew.compaction.propose.steps import Step, is_whole
from clew.compaction.propose.topics import Topics, is_generated
from clew.ledger.command_line import simple_commands, without_prefixes
from clew.ledger.tool_actions import ActionKind
from clew.message import Cite, Item, ToolCall, words

MOST_MESSAGES = 400
"""Last messages before the recent ones in which files are looked for: it bounds the cost of a compaction."""
RECENT_READS = 120
"""Last messages whose reads are known although the work is no longer about their files: their text is shown
if there is room to spare."""
LARGEST_FILE = 200_000
"""Characters. A larger text is a log or data."""
OVERLAP = 0.5
"""Share of the lines of an earlier read that a later one of the same file has to make it superfluous."""
_WRAPPER = re.compile(
    r"\s*(?:</?(?:output|content|entries|file|path|type|returncode|warning)\b[^<>]*>(?:.*</\w+>)?"
    r"|\(\d+ entries\)|\(End of file [^()]*\))\s*"
)
"""A line that a tool puts around the text of a file."""
_GLUED = re.compile(r"^<content>(?=\d+: )", re.MULTILINE)
"""The same before the first line, on that line."""
_PREAMBLE = re.compile(
    r"\A(?:(?:Exit code|Wall time|Chunk ID|Process exited|Original token count|Total output lines)\b.*\n)+"
    r"(?:\s*Output:\n)?"
)
"""What Codex puts before the output of a command."""
_REMINDER = re.compile(r"\s*<system-reminder>(?:(?!</?system-reminder>).)*+</system-reminder>\s*", re.DOTALL)
"""What a harness adds to the output of a tool."""
_WRITES = re.compile(
    r"open\([^)\n]*['\"][rb]?[wax]\+?b?['\"]|\bwrite_text\(|\bwrite_bytes\(|\bwriteFile(?:Sync)?\(|\bfs\.write|\.write\("
    r"|\bsed\s+-i|Set-Content|Out-File|File\.write"
)
"""What a script says that writes a file."""
_PATH = re.compile(r"[\w.\-]+(?:/[\w.\-]+)*\.\w+")
NUMBER = re.compile(r"\s*(\d{1,7})\b")
"""The number of a line in what a read shows."""
_RUNS = re.compile(r"python[\d.]*|node|ruby|perl|bash|sh|zsh|pwsh|powershell|deno|bun|tsx|ts-node|php|uv|npx")
"""Programs that run a script."""


class FileLine(NamedTuple):
    """A line of a file, and where it was read or written last."""

    text: str
    name: str
    """The path of its file as the call writes it: perhaps without the folder in which a command runs."""
    sources: tuple[Cite, ...]
    """The call, which names the file, and the result if it was read."""
    number: int = 0
    """Its number in the file if the read shows it and no edit has moved it since; otherwise 0."""


FileTexts: TypeAlias = dict[str, list[list[FileLine]]]
"""What is known of files, by path: of each, the texts of the parts that were read or written."""


def current_texts(items: Sequence[Item], steps: Sequence[Step], topics: Topics) -> FileTexts:
    """Return what was read and written of the files that the work is about, with later edits applied.

    ``steps`` are those of the messages.
    """
    found: dict[str, list[list[FileLine]]] = {}
    scripts: dict[str, str] = {}
    recent = len(items) - RECENT_READS
    for step in steps:
        if found and step.tells_of_agent:
            found.update((path, []) for path in _named_in(step.text, found))
        if not step.action.subject:
            continue
        read, changed = step.files
        if found:
            found.update((path, []) for path in _not_followed(step, scripts, found, topics))
        if changed and _WRITES.search(text := written_text(step.given) or step.action.subject):
            scripts.update((path.rpartition("/")[2], text) for path in changed)
        about = [path for path in changed or [read] if path and topics.of_file(path)]
        if not about and read and step.result.message >= recent and not is_generated(read):
            about = [read]
        if not about or not step.succeeded:  # most calls are about other files
            continue
        call = items[step.call.message].id
        if not changed:
            path, new = _known(read, found), _lines_read(step, call, read)
            kept = [] if is_whole(step) else [old for old in found.get(path, ()) if not _shows_most(new, old)]
            found[path] = [*kept, new] if new else kept
            continue
        for path in about:
            key = _known(path, found)
            found[key] = _changed(step, call, path, found.get(key, []), is_only=len(changed) == 1)
    return found


def _not_followed(
    step: Step, scripts: Mapping[str, str], found: Collection[str], topics: Topics
) -> list[str]:
    """Return the known files whose text is not known after a call.

    A script wrote them, they were deleted, or the work is no longer about them and has changed them.
    """
    changed = step.files[1]
    paths = [_known(path, found) for path in changed if not topics.of_file(path)]
    paths = [path for path in paths if path in found]
    if step.action.kind is ActionKind.SHELL and (
        run := _written_by_script(step.action.subject, scripts, found)
    ):
        paths += run if step.succeeded else ()
    if changed and step.succeeded:
        paths += [path for folder in step.deleted for path in found if is_inside(path, folder)]
    return paths


def is_inside(path: str, folder: str) -> bool:
    """Whether a file is in a folder; a call may leave out the folders around it."""
    return folder not in (".", "/", "") and f"/{folder.strip('/')}/" in f"/{path}"


def _written_by_script(line: str, scripts: Mapping[str, str], known: Collection[str]) -> list[str]:
    """Return the known files that a command writes by running a script, its own text or a file of before.

    What becomes of them cannot be followed.
    """
    texts = []
    for simple in simple_commands(line):
        program, *arguments = without_prefixes(simple.words) or [""]
        is_run = _RUNS.fullmatch(program.rpartition("/")[2]) is not None
        if is_run and _WRITES.search(line):
            texts.append(line)
        names = {word.rpartition("/")[2] for word in (arguments if is_run else [program])}
        texts += [scripts[name] for name in names if name in scripts]
    return _named_in("\n".join(texts), known) if texts else []


def _named_in(text: str, known: Collection[str]) -> list[str]:
    """Return the known files that a text names."""
    named = set(_PATH.findall(text))
    if not named:
        return []
    return [path for path in known if any(path == name or path.endswith(f"/{name}") for name in named)]


def _known(path: str, found: Collection[str]) -> str:
    """Return the path by which a file is known: a call may leave out the folder in which it runs."""
    if path in found:
        return path
    same = (one for one in found if one == path or one.endswith(f"/{path}") or path.endswith(f"/{one}"))
    return next(same, path)


def _lines_read(step: Step, call: str, path: str) -> list[FileLine]:
    text = step.text
    if len(text) > LARGEST_FILE:
        return []
    name = _as_written(path, step.asked)
    cites = (Cite(call, step.call.part), Cite(step.name, step.result.part))
    text = _GLUED.sub("", _PREAMBLE.sub("", _REMINDER.sub("", text)))
    lines = [line for line in text.rstrip("\n").split("\n") if not _WRAPPER.fullmatch(line)]
    numbered = sum(NUMBERED_LINE.match(line) is not None for line in lines) * 2 > len(lines)
    if not numbered:
        return [FileLine(line, name, cites) for line in lines]
    numbers = [NUMBER.match(line) for line in lines]
    return [
        FileLine(NUMBERED_LINE.sub("", line), name, cites, int(number[1]) if number else 0)
        for line, number in zip(lines, numbers, strict=True)
    ]


def _as_written(path: str, call: ToolCall) -> str:
    """Return the longest end of a path that a call names."""
    given = words(call)
    while path not in given and "/" in path:
        path = path.partition("/")[2]
    return path


def _shows_most(later: Sequence[FileLine], earlier: Sequence[FileLine]) -> bool:
    """Whether a later read shows most of an earlier one."""
    shown = {line.text.strip() for line in later}
    return sum(line.text.strip() in shown for line in earlier) >= OVERLAP * len(earlier)


def _changed(
    step: Step, call: str, path: str, texts: list[list[FileLine]], *, is_only: bool
) -> list[list[FileLine]]:
    """Return the texts of a file after a call that wrote or edited it; none if it is not known how."""
    name, cites = _as_written(path, step.asked), (Cite(call, step.call.part),)

    def written(text: str) -> list[FileLine]:
        return [FileLine(line, name, cites) for line in text.split("\n")]

    is_patch = step.action.kind is ActionKind.PATCH
    if is_patch:
        blocks = [block for block in patch_blocks(step.action.subject) if path.endswith(block.path)]
    elif (content := written_text(step.given)) is not None and is_only:
        return [written(content)] if len(content) <= LARGEST_FILE else []
    else:
        blocks = [EditBlock(path, old[0], new[0]) for old, new in edits(step.given) if old and new]
    if not blocks or not (is_only or is_patch):
        return []
    for block in blocks:
        if block.is_whole_file:
            return [written(block.new)]
        if is_patch and not any(_has(lines, block.old) for lines in texts):
            return []  # the patch may have changed any of the lines that are known
        texts = [_replaced(lines, block.old, written(block.new)) for lines in texts]
    return texts


def _has(lines: Sequence[FileLine], old: str) -> bool:
    return bool(old) and old in "\n".join(line.text for line in lines)


def _replaced(lines: list[FileLine], old: str, inserted: Sequence[FileLine]) -> list[FileLine]:
    """Return lines after an edit of a block; unchanged if the block is not among them.

    Lines of which the edit changes only a part are left out: no message shows them as they are now.
    """
    text = "\n".join(line.text for line in lines)
    at = text.find(old) if old else -1
    moves = len(inserted) != old.count("\n") + 1
    if at < 0:  # elsewhere in the file, perhaps before these lines
        return [line._replace(number=0) for line in lines] if moves and lines and lines[0].number else lines
    first = text.count("\n", 0, at)
    last = first + old.count("\n")
    begins_inside = at > 0 and text[at - 1] != "\n"
    ends_inside = at + len(old) < len(text) and text[at + len(old)] != "\n"
    whole = inserted[int(begins_inside) : len(inserted) - int(ends_inside)]
    after = lines[last + 1 :]
    return [*lines[:first], *whole, *([line._replace(number=0) for line in after] if moves else after)]
