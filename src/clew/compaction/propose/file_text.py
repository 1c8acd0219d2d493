"""Text of files that the work is about and that would leave the view, as claims for the digest.

An agent reads a file, edits others, and comes back to the first one many messages later. By then recent
messages name the file, but its text is gone, so the agent would have to read it again. A digest quotes
passages of such files as they are now, with the edits made since: ::

    [m2,m11]
    ~ text of src/rates.py:
      def rate(day):
          return table[day] * factor

In go the current texts (``current_text.py``) and the ids of the messages that leave; out come passages, those
that recent messages are about first. In a trial with the reader benchmark (``bench/reader``) such passages
helped a model to continue several times as much as others of the same size. In the same room they help a
small model as much as older tool calls do, no more (``bench/results/reader.md``), but they save the agent
reading the file again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, zip_longest
from math import log2
from typing import NamedTuple

from clew.compaction.plan import Claim, ClaimKind, Topic
from clew.compaction.plan.digest import NUMBERS
from clew.compaction.propose.current_text import OVERLAP, FileLine, FileTexts
from clew.compaction.propose.lines import gap_note
from clew.compaction.propose.named_parts import named_sections
from clew.compaction.propose.topics import Topics
from clew.message import Trust

PASSAGE = 1_200
"""Characters from which a passage ends at the next empty line, and 400 later in any case: about the size of a
function, and the size that was measured."""
LONGEST_PASSAGE = PASSAGE + 400
SHORTEST_PASSAGE = 80
LONGEST_CLAIM = 3_600
"""Characters up to which neighbouring passages become one claim; the checks refuse much longer ones."""
LONGEST_LINE = 300
"""Characters. Files with longer lines are generated or data."""
NAMED_SECTION = 20.0
"""Weight of a section that the request or the last reply names: it is what they are about. More than names in
a passage add up to."""
FEWEST_LINES = 3
"""Lines of code that a passage has at least."""
OPENING = "text of "
"""How the line of such a claim begins."""
OWN_REASON = 1.0
"""Weight of the names in a passage from which it has a reason of its own to be quoted, beside its file: that
of one name that the last reply mentions and no other passage has. Chosen by hand."""
NAMED_LINES = 10.0
"""Weight of a passage with lines that the request, the last reply or a failure names by their numbers."""
_IMPORT = re.compile(
    r"(?:import\b(?!\.)|from\s+\S+\s+import\b|export\s+(?:\*|\{[^}]*\})\s+from\b|(?:pub\s+)?use\s+[\w:]+|using\s+[\w.]+;"
    r"|#\s*include\b|package\s+\w|(?:const|let|var)\s+[\w{},\s]+=\s*require\()"
)
"""A line that begins an import; imports stand at the left margin."""
_CLOSED_BY = {"(": ")", "{": "}"}
_OPENS = re.compile(r"(?:[{(\[:,]|=>|->|\bthen|\bdo)\s*$|^\s*(?:@\w|/\*\*|#{1,6} )")
"""A line that opens a block, goes on in the next line, or announces it."""
_PLAN = re.compile(
    r"(?i:(?:^|[/_.\- ])(?:plans?|specs?|specification|design|proposal|prd|rfc|tasks?|todo|roadmap|playbook)"
    r"(?=[/_.\- ]))[^/]*(?:/[^/]+)*\.(?:md|mdc|txt|rst)$"
)
"""The path of a plan: ``docs/plans/2026-02-06-phases.md``, ``tasks.md``, ``api-spec.md``."""
_PROSE_FILE = re.compile(r"\.(?:mdc?|mdx|txt|rst|org|adoc|html?)$|(?:^|/)[^./]+$", re.IGNORECASE)
"""The path of a text without code, or of a folder whose files were listed."""
_COMMENT = re.compile(r"\s*(?:#|//|/?\*|--|\"\"\"|<!--)")


class FilePassage(NamedTuple):
    """Neighbouring lines of a file."""

    path: str
    text: int
    """Which text of the file: several parts of it may have been read."""
    start: int
    """The index of the first line in that text."""
    lines: tuple[FileLine, ...]
    weight: float
    is_needed: bool = True
    """Whether the work is about it now; otherwise it is shown if nothing else needs the room."""
    has_reason: bool = False
    """Whether names in it, or the numbers of its lines, are a reason to quote it beside its file."""
    rest: int = 0
    """The number of lines that the text has behind it."""

    @property
    def size(self) -> int:
        """The number of characters."""
        return sum(len(line.text) + 1 for line in self.lines)


def is_plan(path: str) -> bool:
    """Whether a file is a plan, a specification or a list of tasks, by its path."""
    return _PLAN.search(path) is not None


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
        if not of_file and _PROSE_FILE.search(path):  # an agent that needs a past document is told to
            continue
        shown = {line.text.strip() for lines in texts for line in lines if not _has_left(line, gone)}
        shown.update(visible)
        for number, lines in enumerate(texts):
            named = _named_lines(path, lines, topics)
            for start, run in _runs(lines, gone, named):
                text = "\n".join(line.text for line in run)
                if (
                    len(text.strip()) >= SHORTEST_PASSAGE
                    and _has_code(path, run)
                    and not _is_shown(run, shown)
                ):
                    weight = NAMED_SECTION if start in named else NAMED_LINES * _is_named(path, run, topics)
                    rest = len(lines) - start - len(run)
                    found.append(FilePassage(path, number, start, tuple(run), weight, rest=rest))
    weights = topics.of_passages(["\n".join(line.text for line in one.lines) for one in found])
    found = [one for one in map(partial(_weighed, topics), found, weights) if one.is_needed or one.has_reason]
    return sorted(found, key=lambda one: -one.weight)


def _weighed(topics: Topics, passage: FilePassage, own: float) -> FilePassage:
    """Return a passage with its weight; it is needed for a reason of its own, or if its file is next.

    Of a document that the work is about, any passage is needed: names say little about prose.
    """
    of_file = topics.of_file(passage.path)
    reason = passage.weight + own
    is_whole = _PROSE_FILE.search(passage.path) is not None or topics.is_next(passage.path)
    is_needed = of_file > 0 and (is_whole or reason >= OWN_REASON)
    return passage._replace(
        weight=reason + log2(1 + of_file),
        is_needed=is_needed or passage.weight > 0,
        has_reason=reason >= OWN_REASON,
    )


def _is_named(path: str, run: Sequence[FileLine], topics: Topics) -> bool:
    """Whether a passage has lines that are named by their numbers."""
    numbers = {line.number for line in run} - {0}
    if not numbers:
        return False
    first, last = min(numbers), max(numbers)
    return any(start <= last and first <= end for start, end in topics.lines_of(path))


def _named_lines(path: str, lines: Sequence[FileLine], topics: Topics) -> frozenset[int]:
    """Return the indices of the lines in sections of a document that the work is about by name."""
    if not topics.parts or not _PROSE_FILE.search(path):
        return frozenset()
    sections = named_sections([line.text for line in lines], topics.parts)
    return frozenset(i for section in sections for i in range(*section))


def _runs(
    lines: Sequence[FileLine], gone: Collection[str], named: Collection[int] = ()
) -> Iterator[tuple[int, list[FileLine]]]:
    """Yield passages of lines that leave the view, without imports, each with the index of its first line.

    No passage has lines both inside and outside of a ``named`` section.
    """
    run: list[FileLine] = []
    size = 0
    imports = _imports(lines)
    for i, line in enumerate(lines):
        leaves = i not in imports and _has_left(line, gone)
        if leaves:
            run.append(line if len(line.text) <= LONGEST_LINE else line._replace(text=gap_note(1)))
            size += len(run[-1].text) + 1
        ends = not line.text.strip() if size >= PASSAGE else False
        ends = ends or (i in named) != (i + 1 in named)
        if run and (not leaves or ends or size >= LONGEST_PASSAGE):
            yield i + 1 - len(run) - (not leaves), run
            run, size = [], 0
    if run:
        yield len(lines) - len(run), run


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
    return sum([text in shown for text in said]) >= OVERLAP * len(said)


def repeats(passage: FilePassage, others: Iterable[FilePassage]) -> bool:
    """Whether most lines of a passage are in others of the same file, read at another time."""
    same = {line.text.strip() for other in others if other.path == passage.path for line in other.lines}
    return bool(same) and _is_shown(passage.lines, same)


def claims(chosen: Iterable[FilePassage]) -> Iterator[Claim]:
    """Yield claims for passages, in order: those of one text together, with gaps marked, if not too long."""
    together: list[list[FilePassage]] = []
    size = 0
    for passage in sorted(chosen, key=lambda one: (one.path, one.text, one.start)):
        last = together[-1][-1] if together else None
        size += passage.size
        if last and (last.path, last.text) == (passage.path, passage.text) and size <= LONGEST_CLAIM:
            together[-1].append(passage)
        else:
            together.append([passage])
            size = passage.size
    yield from filter(None, map(_claim, together))


def _claim(together: Sequence[FilePassage]) -> Claim | None:
    """Return what quotes passages of one text, with what is left out between and behind them marked."""
    said: list[str] = []
    lines: list[FileLine] = []
    last, end = together[-1], 0
    for passage, follower in zip_longest(together, together[1:]):
        is_followed = follower is not None and follower.start == passage.start + len(passage.lines)
        quoted = passage.lines if is_followed else _without_open_end(passage.lines)
        if quoted:
            said += [gap_note(passage.start - end)] if lines and passage.start > end else ()
            said += [line.text for line in quoted]
            lines += quoted
            end = passage.start + len(quoted)
    if not lines:
        return None
    left = last.start + len(last.lines) + last.rest - end
    is_cut = last.rest > 0 or any(line.text.strip() for line in last.lines[max(0, end - last.start) :])
    said += [gap_note(left)] if is_cut else ()
    opening = f"{OPENING}{_path_as_cited(lines)}{_numbers(lines)}:"
    sources = dict.fromkeys(cite for line in lines for cite in line.sources)
    text = "\n".join((opening, *said))
    return Claim("", ClaimKind.ARTIFACT, text, tuple(sources), Trust.UNTRUSTED, topic=Topic.FILE_TEXT)


def file_of(claim: Claim) -> str:
    """Return the path of the file that a claim quotes."""
    return NUMBERS.sub("", claim.text.partition(":\n")[0].removeprefix(OPENING))


def _numbers(lines: Sequence[FileLine]) -> str:
    """Return which lines of the file a text begins and ends with, if the read said so and it still holds."""
    first, last = lines[0].number, lines[-1].number
    return f", lines {first}-{last}" if 0 < first <= last else ""


def _path_as_cited(lines: Sequence[FileLine]) -> str:
    """Return the path of a file as all calls that show its lines write it."""
    return min((line.name for line in lines), key=len)


def _without_open_end(lines: Sequence[FileLine]) -> Sequence[FileLine]:
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
