"""Text of files that the work is about and that would leave the view.

An agent reads a file, edits others, and comes back to the first one many messages later. By then recent
messages name the file, but its text is gone, so the agent would have to read it again. A digest quotes
passages of such files as they are now, with the edits made since: ::

    [m2,m11]
    ~ text of src/rates.py:
      def rate(day):
          return table[day] * factor

Which passages: those that recent messages are about. In a trial with the reader benchmark (``bench/reader``)
such passages helped a model to continue several times as much as others of the same size. In the same room
they help a small model as much as older tool calls do, no more (``bench/results/reader.md``), but they save
the agent reading the file again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

from clew.compaction.plan import Claim, ClaimKind, Topic
from clew.compaction.propose.edits import EditBlock, edits, patch_blocks, written_text
from clew.compaction.propose.excerpt import NUMBERED_LINE
from clew.compaction.propose.steps import Step, is_whole, steps_of
from clew.compaction.propose.terms import NAME
from clew.ledger.command_line import simple_commands, without_prefixes
from clew.ledger.tool_actions import ActionKind
from clew.message import Cite, Item, Role, ToolCall, Trust, words

MOST_MESSAGES = 400
"""Last messages before the recent ones in which files are looked for: it bounds the cost of a compaction."""
REPLIES = 6
"""Last replies of the agent that say which files the work is about; chosen by hand."""
LONGEST_READ = 4_000
"""Characters of each text and call of a reply that are read for that."""
PASSAGE = 1_200
"""Characters from which a passage ends at the next empty line, and 400 later in any case: about the size of a
function, and the size that was measured."""
LONGEST_PASSAGE = PASSAGE + 400
SHORTEST_PASSAGE = 80
LONGEST_CLAIM = 3_600
"""Characters up to which neighbouring passages become one claim; the checks refuse much longer ones."""
LONGEST_LINE = 300
"""Characters. Files with longer lines are generated or data."""
LARGEST_FILE = 200_000
"""Characters. A larger text is a log or data."""
OVERLAP = 0.5
"""Share of the lines of an earlier read that a later one of the same file has to make it superfluous."""
NAMED_LAST, NAMED_RECENTLY, NAMED_IN_REQUEST = 3.0, 2.0, 1.0
"""Weights of a file that the last reply, recent replies, or the request and the goal name..."""
TERM_LAST, TERM_RECENT, TERM_REQUEST = 1.0, 1.0, 0.5
"""...and of the names in a passage that these mention. Chosen by the measure above."""
OPENING = "text of "
"""How the line of such a claim begins."""
_GENERATED = re.compile(
    r"(?:^|/)(?:_build|build|dist|out|target|coverage|node_modules|__pycache__|\.next)/"
    r"|\.(?:lock|log|svg|map|csv|min\.\w+)$"
)
"""Paths of files that programs write; an agent looks at them and edits others."""
_COMMON_STEM = re.compile(
    r"__init__|index|main|mod|lib|types?|utils?|conf(?:ig)?|setup|page|layout|routes?|README"
)
"""Names of files that many folders have: they are told apart by their folder."""
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
_WORD = re.compile(r"[A-Za-z_]\w{3,}")
_IMPORT = re.compile(
    r"(?:import\b(?!\.)|from\s+\S+\s+import\b|export\s+(?:\*|\{[^}]*\})\s+from\b|(?:pub\s+)?use\s+[\w:]+|using\s+[\w.]+;"
    r"|#\s*include\b|package\s+\w|(?:const|let|var)\s+[\w{},\s]+=\s*require\()"
)
"""A line that begins an import; imports stand at the left margin."""
_CLOSED_BY = {"(": ")", "{": "}"}
_OPENS = re.compile(r"(?:[{(\[:,]|=>|->|\bthen|\bdo)\s*$|^\s*(?:@\w|/\*\*|#{1,6} )")
"""A line that opens a block, goes on in the next line, or announces it."""
_WRITES = re.compile(
    r"open\([^)\n]*['\"][rb]?[wax]\+?b?['\"]|\bwrite_text\(|\bwrite_bytes\(|\bwriteFile(?:Sync)?\(|\bfs\.write|\.write\("
    r"|\bsed\s+-i|Set-Content|Out-File|File\.write"
)
"""What a script says that writes a file."""
_PATH = re.compile(r"[\w.\-]+(?:/[\w.\-]+)*\.\w+")
_RUNS = re.compile(r"python[\d.]*|node|ruby|perl|bash|sh|zsh|pwsh|powershell|deno|bun|tsx|ts-node|php|uv|npx")
"""Programs that run a script."""


_PLAN = re.compile(
    r"(?i:(?:^|[/_.\- ])(?:plans?|specs?|specification|design|proposal|prd|rfc|tasks?|todo|roadmap|playbook)"
    r"(?=[/_.\- ]))[^/]*(?:/[^/]+)*\.(?:md|mdc|txt|rst)$"
)
"""The path of a plan: ``docs/plans/2026-02-06-phases.md``, ``tasks.md``, ``api-spec.md``."""


_PROSE_FILE = re.compile(r"\.(?:mdc?|mdx|txt|rst|org|adoc|html?)$|(?:^|/)[^./]+$", re.IGNORECASE)
"""The path of a text without code, or of a folder whose files were listed."""
_COMMENT = re.compile(r"\s*(?:#|//|/?\*|--|\"\"\"|<!--)")
FEWEST_LINES = 3
"""Lines of code that a passage has at least."""


class FileLine(NamedTuple):
    """A line of a file, and where it was read or written last."""

    text: str
    name: str
    """The path of its file as the call writes it: perhaps without the folder in which a command runs."""
    sources: tuple[Cite, ...]
    """The call, which names the file, and the result if it was read."""


FileTexts: TypeAlias = dict[str, list[list[FileLine]]]
"""What is known of files, by path: of each, the texts of the parts that were read or written."""


class FilePassage(NamedTuple):
    """Lines of a file that stand together."""

    path: str
    text: int
    """Which text of the file: several parts of it may have been read."""
    start: int
    """The index of the first line in that text."""
    lines: tuple[FileLine, ...]
    weight: float

    @property
    def size(self) -> int:
        """The number of characters."""
        return sum(len(line.text) + 1 for line in self.lines)


class Topics:
    """What the work is about now: by the agent's last replies, the request and the goal."""

    def __init__(self, view: Sequence[Item], asked: Iterable[str]) -> None:
        replies = [item.message for item in view if item.message.role is Role.ASSISTANT][-REPLIES:]
        said = ["\n".join(words(part)[:LONGEST_READ] for part in reply.parts) for reply in replies]
        self._texts = (said[-1] if said else "", "\n".join(said), "\n".join(asked))
        self._names = tuple(frozenset(NAME.findall(text)) for text in self._texts)

    def of_file(self, path: str) -> float:
        """Return how much the work is about a file; 0 if nothing names it, or a program writes it."""
        name = "" if _GENERATED.search(path) else _short_name(path)
        weights = zip((NAMED_LAST, NAMED_RECENTLY, NAMED_IN_REQUEST), self._texts, strict=True)
        return sum(weight for weight, text in weights if name and name in text)

    def of_passages(self, texts: Sequence[str]) -> list[float]:
        """Return how much the work is about the names in each passage; a name in few of them counts more."""
        every = frozenset().union(*self._names)
        held = [every.intersection(_WORD.findall(text)) for text in texts]
        common = Counter(name for names in held for name in names)
        return [sum(self._weight(name) / common[name] for name in names) for names in held]

    def _weight(self, name: str) -> float:
        shares = zip((TERM_LAST, TERM_RECENT, TERM_REQUEST), self._names, strict=True)
        return sum(weight for weight, names in shares if name in names)


def _short_name(path: str) -> str:
    """Return the name by which people mean a file: ``rates.py``, but ``billing/index.ts``."""
    folder, _, name = path.rpartition("/")
    is_common = _COMMON_STEM.fullmatch(name.partition(".")[0]) is not None
    return f"{folder.rpartition('/')[2]}/{name}" if is_common and folder else name


def passages(
    files: FileTexts, gone: Collection[str], topics: Topics, visible: Collection[str] = ()
) -> list[FilePassage]:
    """Return the passages of files that the work is about and that leave the view, best first.

    ``files`` are the current texts, ``gone`` the ids of the messages before the cut and of those that are
    shown shortened; ``visible`` are the lines that are shown of these.
    """
    found = []
    for path, texts in files.items():
        of_file = topics.of_file(path)
        shown = {line.text.strip() for lines in texts for line in lines if not _has_left(line, gone)}
        shown.update(visible)
        for number, lines in enumerate(texts):
            for start, run in _runs(lines, gone):
                text = "\n".join(line.text for line in run)
                if (
                    len(text.strip()) >= SHORTEST_PASSAGE
                    and _has_code(path, run)
                    and not _is_shown(run, shown)
                ):
                    found.append(FilePassage(path, number, start, tuple(run), of_file))
    weights = topics.of_passages(["\n".join(line.text for line in one.lines) for one in found])
    found = [one._replace(weight=one.weight + more) for one, more in zip(found, weights, strict=True)]
    return sorted(found, key=lambda one: -one.weight)


def repeats(passage: FilePassage, others: Iterable[FilePassage]) -> bool:
    """Whether most lines of a passage are in others of the same file, read at another time."""
    same = {line.text.strip() for other in others if other.path == passage.path for line in other.lines}
    return bool(same) and _is_shown(passage.lines, same)


def _has_code(path: str, run: Sequence[FileLine]) -> bool:
    """Whether a passage of a source file has more than comments."""
    if _PROSE_FILE.search(path):
        return True
    code = (line for line in run if line.text.strip() and not _COMMENT.match(line.text))
    return len(list(islice(code, FEWEST_LINES))) == FEWEST_LINES


def _has_left(line: FileLine, gone: Collection[str]) -> bool:
    """Whether what shows a line leaves the view: the result of a read, or the call that wrote it."""
    return line.sources[-1].message in gone


def _is_shown(run: Sequence[FileLine], shown: Collection[str]) -> bool:
    """Whether recent messages show most lines of a passage."""
    said = [text for line in run if (text := line.text.strip())]
    return sum(text in shown for text in said) >= OVERLAP * len(said)


def claims(chosen: Iterable[FilePassage]) -> Iterator[Claim]:
    """Yield a claim for each passage, in order; neighbours become one as long as it is not too long."""
    joined: list[FilePassage] = []
    for passage in sorted(chosen, key=lambda one: (one.path, one.text, one.start)):
        last = joined[-1] if joined else None
        if last and _follows(last, passage) and last.size + passage.size <= LONGEST_CLAIM:
            joined[-1] = last._replace(lines=last.lines + passage.lines)
        else:
            joined.append(passage)
    for passage in joined:
        lines = _closed(passage.lines)
        if not lines:
            continue
        text = "\n".join((f"{OPENING}{_name(passage)}:", *(line.text for line in lines)))
        sources = dict.fromkeys(cite for line in lines for cite in line.sources)
        yield Claim("", ClaimKind.ARTIFACT, text, tuple(sources), Trust.UNTRUSTED, topic=Topic.FILE_TEXT)


def _follows(first: FilePassage, second: FilePassage) -> bool:
    same = (first.path, first.text) == (second.path, second.text)
    return same and first.start + len(first.lines) == second.start


def _name(passage: FilePassage) -> str:
    """Return the path of a passage's file as all calls that it cites write it."""
    return min((line.name for line in passage.lines), key=len)


def is_plan(path: str) -> bool:
    """Whether a file is a plan, a specification or a list of tasks, by its path."""
    return _PLAN.search(path) is not None


# The text of files as it is now ------------------------------------------------------------------------


def current_texts(items: Sequence[Item], topics: Topics) -> FileTexts:
    """Return what was read and written of the files that the work is about, with later edits applied."""
    found: dict[str, list[list[FileLine]]] = {}
    scripts: dict[str, str] = {}
    for step in steps_of(items):
        if not step.action.subject:
            continue
        read, changed = step.files
        if found and step.action.kind is ActionKind.SHELL:
            outdated = _written_by_script(step.action.subject, scripts, found)
            found.update((path, []) for path in outdated if step.succeeded)
        if changed and _WRITES.search(text := written_text(step.asked.arguments) or step.action.subject):
            scripts.update((path.rpartition("/")[2], text) for path in changed)
        if found and changed and step.succeeded:
            gone = [path for folder in step.deleted for path in found if is_inside(path, folder)]
            found.update((path, []) for path in gone)
        about = [path for path in changed or [read] if path and topics.of_file(path)]
        if not about or not step.succeeded:  # most calls are about other files
            continue
        call = items[step.call.message].id
        if not changed:
            path, new = _known(read, found), _lines_read(step, call, read)
            kept = [] if is_whole(step) else [old for old in found.get(path, ()) if not _shows(new, old)]
            found[path] = [*kept, new] if new else kept
            continue
        for path in about:
            key = _known(path, found)
            found[key] = _changed(step, call, path, found.get(key, []), is_only=len(changed) == 1)
    return found


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
    named = {name for text in texts for name in _PATH.findall(text)}
    return [path for path in known if any(path == name or path.endswith(f"/{name}") for name in named)]


def _known(path: str, found: Iterable[str]) -> str:
    """Return the path by which a file is known: a call may leave out the folder in which it runs."""
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
    return [FileLine(NUMBERED_LINE.sub("", line) if numbered else line, name, cites) for line in lines]


def _as_written(path: str, call: ToolCall) -> str:
    """Return the longest end of a path that a call names."""
    given = words(call)
    while path not in given and "/" in path:
        path = path.partition("/")[2]
    return path


def _shows(later: Sequence[FileLine], earlier: Sequence[FileLine]) -> bool:
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
    elif (content := written_text(step.asked.arguments)) is not None and is_only:
        return [written(content)] if len(content) <= LARGEST_FILE else []
    else:
        blocks = [EditBlock(path, old[0], new[0]) for old, new in edits(step.asked.arguments) if old and new]
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
    if at < 0:
        return lines
    first = text.count("\n", 0, at)
    last = first + old.count("\n")
    begins_inside = at > 0 and text[at - 1] != "\n"
    ends_inside = at + len(old) < len(text) and text[at + len(old)] != "\n"
    whole = inserted[int(begins_inside) : len(inserted) - int(ends_inside)]
    return [*lines[:first], *whole, *lines[last + 1 :]]


def _runs(lines: Sequence[FileLine], gone: Collection[str]) -> Iterator[tuple[int, list[FileLine]]]:
    """Yield passages of lines that leave the view, without imports, each with the index of its first line."""
    run: list[FileLine] = []
    size = 0
    imports = _imports(lines)
    for i, line in enumerate(lines):
        leaves = i not in imports and _has_left(line, gone)
        if leaves and len(line.text) <= LONGEST_LINE:
            run.append(line)
            size += len(line.text) + 1
        ends = not line.text.strip() if size >= PASSAGE else False
        if run and (not leaves or ends or size >= LONGEST_PASSAGE):
            yield i + 1 - len(run) - (not leaves), run
            run, size = [], 0
    if run:
        yield len(lines) - len(run), run


def _closed(lines: Sequence[FileLine]) -> Sequence[FileLine]:
    """Return a passage without the lines at its end that say nothing without those after them."""
    end = len(lines)
    is_prose = bool(lines) and _PROSE_FILE.search(lines[0].name) is not None
    while end and _needs_more(lines[end - 1].text, is_prose=is_prose):
        end -= 1
    return lines[:end]


def _needs_more(line: str, *, is_prose: bool) -> bool:
    """Whether a line says nothing without those after it: it opens a block, or comments on what follows."""
    return (
        not line.strip()
        or _OPENS.search(line) is not None
        or (not is_prose and _COMMENT.match(line) is not None)
    )


def _imports(lines: Sequence[FileLine]) -> set[int]:
    """Return the indices of lines that import something, also over several lines."""
    found: set[int] = set()
    closing = ""
    for i, line in enumerate(lines):
        text = line.text.strip()
        if closing:
            found.add(i)
            closing = "" if closing in text else closing
        elif _IMPORT.match(line.text):
            found.add(i)
            opened = next((bracket for bracket in _CLOSED_BY if bracket in text), "")
            closing = _CLOSED_BY[opened] if opened and _CLOSED_BY[opened] not in text else ""
    return found
