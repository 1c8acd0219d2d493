"""The list of files that the agent is working through, without those that it has changed since.

A linter, a search or a type checker lists places in many files, and the agent changes one after the other.
What it has not changed yet is what comes next, and nothing else says it::

    [m17]
    ~ listed, and not changed since:
      widgets/footer.tsx:4:10 'motion' is defined but never used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from clew.compaction.plan import Claim, ClaimKind, Topic
from clew.compaction.plan.digest import LEFT_OPENING
from clew.compaction.propose.lines import LONGEST_LINE
from clew.compaction.propose.steps import Step
from clew.message import Cite, Trust

LIST_SHARE = 0.05
"""Share of the room for what is left of a list of work; chosen by hand."""
LATEST, FEWEST_DONE = 4, 3
"""Of so many last changed files a list names so many, among them the last. With all these conditions the next
forty messages change a file that is left in 62 % of lists in recorded sessions; without them, in 18 %."""
LEAST_DONE = 0.2
"""Share of the files on a list that are changed since: of fewer, it may list all files there are."""
LEAST_SAID = 15
"""Characters that lines say beside the path, on average: a list of mere names is an inventory."""
LONGEST_LIST, MOST_LINES = 60_000, 2_000
"""Characters and lines of an output that is read as a list."""
_CHANGES = re.compile(r"\bgit\b")
"""A command that lists what was changed, not what is to be changed."""
_BOX = re.compile(r"\s*(?:\d+[:|]?\s+)?(?:[-*+]|\d+[.)]) \[(?P<mark>.)\] ")
"""An item of a checklist."""
_PATH = re.compile(r"[\w.\-]+(?:/[\w.\-\[\]()@]+)*\.\w{1,6}\b")


def work_left(steps: Sequence[Step], most_characters: int) -> Claim | None:
    """Return what the latest such list says of files that no call has changed since.

    Lines after the file that was changed last come first.
    """
    since: dict[str, None] = {}
    """Files changed after a step, the last first..."""
    names: list[str] = []
    """...and the names of the first of them."""
    for step in reversed(steps):
        if names and names[0] in step.text and _may_list(step, names):
            lines = _left(_listed(step.text), list(since))
            if lines:
                text = "\n".join((LEFT_OPENING, *_fitting(lines, most_characters)))
                cites = (Cite(step.name, step.result.part),)
                return Claim("", ClaimKind.ARTIFACT, text, cites, Trust.UNTRUSTED, topic=Topic.FILE_TEXT)
        for path in step.files[1] if step.action.subject else ():
            if path not in since:
                since[path] = None
                names += [path.rpartition("/")[2]] if len(since) <= LATEST else []
    return None


def _may_list(step: Step, names: Sequence[str]) -> bool:
    """Whether an output names most of the files changed last after it, and is no report of changes."""
    is_short = len(step.text) <= LONGEST_LIST
    return (
        is_short
        and sum(map(step.text.__contains__, names)) >= FEWEST_DONE
        and not _CHANGES.search(step.action.subject)
    )


def _listed(text: str) -> dict[str, list[str]]:
    """Return the lines about each file: those with its path, and the indented ones below; no ticked items."""
    found: dict[str, list[str]] = {}
    lines: list[str] | None = None
    is_ticked = False
    for line in text.split("\n")[:MOST_LINES]:
        if box := _BOX.match(line):
            is_ticked = box["mark"] in "xX"
        elif not line.strip():
            is_ticked = False
        if is_ticked:
            continue
        path = _PATH.search(line[:LONGEST_LINE])
        if path:
            lines = found.setdefault(path[0], [])
        elif not line.startswith((" ", "\t")):
            lines = None
        if lines is not None and line.strip():
            lines.append(line)
    return found


def _left(listed: dict[str, list[str]], changed: Sequence[str]) -> list[str]:
    """Return the lines about files that were not changed; none if the work does not follow the list."""
    done = [path for path in listed if any(_is_same(path, one) for one in changed)]
    said = sum(len(lines[0]) - len(path) for path, lines in listed.items() if lines)
    on_list = [any(_is_same(path, one) for path in done) for one in changed[:LATEST]]
    is_followed = on_list[0] and sum(on_list) >= FEWEST_DONE
    if len(done) < max(FEWEST_DONE, LEAST_DONE * len(listed)) or said < LEAST_SAID * len(listed):
        return []
    kinds = {path.rpartition(".")[2] for path in done}
    left = [path for path in listed if path not in done and path.rpartition(".")[2] in kinds]
    order = list(listed)
    last = next((order.index(path) for path in done if _is_same(path, changed[0])), 0)
    left.sort(key=lambda path: order.index(path) < last)
    return [line for path in left for line in listed[path]] if is_followed else []


def _is_same(listed: str, changed: str) -> bool:
    """Whether two paths are of one file: either may leave out folders around it, or begin after a space."""
    return (
        listed == changed or listed.endswith(f"/{changed}") or changed.endswith((f"/{listed}", f" {listed}"))
    )


def _fitting(lines: Iterable[str], room: int) -> Iterable[str]:
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return
        yield line
