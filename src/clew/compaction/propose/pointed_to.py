"""What the files that a request points to say is next: "pick up where we left off", "implement PLAN.md"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from clew.compaction.plan import Claim, ClaimKind, Topic
from clew.compaction.plan.digest import ORDERS_OPENING
from clew.compaction.propose.citations import Find, answer_to
from clew.compaction.propose.edits import edits
from clew.compaction.propose.guides import is_guide, lists_tasks, may_guide, order_steps
from clew.compaction.propose.line_kinds import NUMBERED_LINE
from clew.compaction.propose.named_parts import heading_level, is_named, names_in
from clew.compaction.propose.request_text import outline
from clew.compaction.propose.worklist import LIST_SHARE
from clew.ledger.artifacts import Artifact
from clew.message import Cite, Item, ToolCall, Trust, words

LONGEST_POINTER = 160
"""Characters of a request that may only point elsewhere; a longer one says itself what it asks for."""
SOON = 60
"""Messages after such a request in which the file that it means is read. Both chosen by hand."""
LONGEST_ORDERS = 1_000
"""Characters quoted of the orders in one file or skill; chosen by hand."""
MOST_ITEMS, LONGEST_ITEM = 2, 900
"""Unchecked items that are quoted with all that they say if not all fit, and the characters of each..."""
MOST_FIRST_LINES, LONGEST_FIRST_LINE = 12, 240
"""...and of those after them the first line is quoted. All chosen by hand."""
_UNCHECKED = ("- [ ] ", "* [ ] ", "+ [ ] ")
_CHECKED = re.compile(r"[-*+] \[[xX]\] ")
_TITLE = re.compile(r"(?<=^# )\S.*$|(?<=<skill-context name=\").+?(?=\")", re.MULTILINE)
MOST_FILES = 2
MOST_HEADINGS = 20
_TEXT_FILE = re.compile(r"\.(?:md|mdx|markdown|txt|org|rst)$", re.IGNORECASE)
_POINTS = re.compile(
    r"\b(?:pick (?:it |this |that )?up|left off|continue|resume|carry on|keep going|go on|proceed"
    r"|next (?:task|step|item|one)|what(?:'s| is) next|get (?:back )?to work|start (?:the )?work|catch up)\b",
    re.IGNORECASE,
)
_HANDED_OVER = re.compile(
    r"resume|hand-?off|hand-?over|checkpoint|next|todo|to-do|plan|progress|status|state|backlog|roadmap|tasks?\b"
    r"|worklog|continu|session",
    re.IGNORECASE,
)
"""Names of files in which a session leaves what the next one needs."""
_FOLLOWS = (
    r"\b(?:implement|execute|follow|continue|resume|work|carry out|process|build|do|start|finish|complete)\b"
    r"[^!?\n]*"
)
"""What an instruction begins with that makes a file the task."""
_HEADING = re.compile(r"(#{1,6})\s+\S")
_NEXT = (
    re.compile(r"\bnext\b|\bstart here\b|\bhappens first\b|\bdo first\b", re.IGNORECASE),
    re.compile(
        r"\bto-?do\b|\bremaining\b|\bin (?:flight|progress)\b|\bpending\b|\bopen (?:items|tasks|work)\b"
        r"|\boutstanding\b|\baction items\b|\bcurrent(?:ly)?\b|\bleft to do\b",
        re.IGNORECASE,
    ),
)
"""Headings of sections that say what is next, the plainest first."""


def said_next(
    asked: Sequence[Claim], files: Sequence[Artifact], gone: Collection[str], find: Find, room: int = 0
) -> Iterator[Claim]:
    """Yield what files that requests point to say is next, as data of these files.

    ``room`` are the characters of the view.

    A list of tasks is quoted by its unchecked items; any other text by its section on what is next, or by
    its headings if the request says to follow it.
    """
    texts = "\n".join(claim.text for claim in asked)
    items = list(unchecked_items(asked, files, gone, find, room))
    yield from items
    listed = {claim.sources[0] for claim in items}
    found = 0
    for artifact in files:
        name = artifact.name.replace("\\", "/").rpartition("/")[2]
        if not _TEXT_FILE.search(name) or Cite(artifact.first.message, artifact.first.part) in listed:
            continue
        if any(_means(claim, name, artifact) for claim in asked):
            claims = list(_quoted(name, artifact, gone, find, whole=name in texts))
            yield from claims
            found += len(claims)
        if found == MOST_FILES:
            return


# Lists of tasks --------------------------------------------------------------------------------------


def unchecked_items(
    asked: Sequence[Claim], files: Sequence[Artifact], gone: Collection[str], find: Find, room: int
) -> Iterator[Claim]:
    """Yield the unchecked items of lists of tasks: they say what the work is.

    That is each list that a request names, and the first one that the agent read soon after the request in
    progress, if that leaves the view: "complete all tasks of phase 1" names no file. Items are quoted from
    the first reading of the file, without those that its last edit checked off.
    """
    texts = "\n".join(claim.text for claim in asked)
    began = asked[0].sources[0].number if asked else 0
    found = False
    for artifact in files:
        name = artifact.name.replace("\\", "/").rpartition("/")[2]
        is_named = name in texts
        is_new = not found and began < artifact.first.number <= began + SOON
        if not _TEXT_FILE.search(name) or not (is_named or is_new):
            continue
        place = answer_to(artifact.first, find)
        if place is None or not (is_named or (place[0].message in gone and lists_tasks(place[1]))):
            continue
        found = found or not is_named
        sources = (Cite(artifact.first.message, artifact.first.part), place[0])
        done = _checked_off(artifact.last_change, find)
        for quoted in _quoted_items(place[1], done, int(room * LIST_SHARE), names_in(texts)):
            yield Claim("", ClaimKind.ARTIFACT, f"{name}\n{quoted}", sources, Trust.UNTRUSTED)


def _quoted_items(text: str, done: Collection[str], room: int, names: Collection[str]) -> Iterator[str]:
    """Yield the unchecked items of a list under their headings, those with one of the names first.

    If they are too long, only the first are quoted with all that they say, and the first lines of more.
    """
    lines = [NUMBERED_LINE.sub("", line) for line in text.split("\n")]
    whole = _by_name([one for one in _unchecked(lines, room) if one.first not in done], names)
    if sum(len(one.text) for one in whole) <= room:
        yield from _under_headings(whole)
        return
    items = _by_name([one for one in _unchecked(lines, LONGEST_ITEM) if one.first not in done], names)
    named = sum(one.is_named(names) for one in items)
    most = max(MOST_ITEMS, min(named, MOST_FIRST_LINES))
    chosen = [one._replace(text=_cut(one.text, LONGEST_ITEM)) for one in items[:most]]
    more = items[most : most + MOST_FIRST_LINES]
    yield from _under_headings(
        [*chosen, *(one._replace(text=_cut(one.first, LONGEST_FIRST_LINE)) for one in more)]
    )


class _TaskItem(NamedTuple):
    """An unchecked item of a list, and the headings above it, without the title of the document."""

    heading: str
    text: str

    @property
    def first(self) -> str:
        """The first line."""
        return self.text.split("\n", 1)[0]

    def is_named(self, names: Collection[str]) -> bool:
        """Whether the item or its heading has one of these names."""
        return any(is_named(line, names) for line in (*self.heading.split("\n"), self.first))


def _by_name(items: Sequence[_TaskItem], names: Collection[str]) -> list[_TaskItem]:
    return sorted(items, key=lambda one: not one.is_named(names)) if names else list(items)


def _under_headings(items: Iterable[_TaskItem]) -> Iterator[str]:
    """Yield neighbouring items of one section as one text, below its heading."""
    for heading, group in groupby(items, key=lambda one: one.heading):
        yield "\n".join((*filter(None, [heading]), *(one.text for one in group)))


def _unchecked(lines: Sequence[str], longest: int) -> Iterator[_TaskItem]:
    """Yield the unchecked items of a list, each with the indented lines below it as far as they fit."""
    item: list[str] = []
    headings: dict[int, str] = {}
    for line in [*lines, ""]:
        if item and line.startswith((" ", "\t")) and len("\n".join(item)) + len(line) < longest:
            item.append(line.rstrip())
            continue
        if item:
            yield _TaskItem("\n".join(headings.values()), "\n".join(item))
        item = [line.rstrip()] if line.startswith(_UNCHECKED) else []
        if level := heading_level(line):
            headings = {above: text for above, text in headings.items() if above < level}
            if level > 1:
                headings[level] = line.rstrip()
    return


def _cut(item: str, longest: int) -> str:
    """Return an item, or its first words if one line of it is too long."""
    if len(item) <= longest:
        return item
    end = item.rfind(" ", len(_UNCHECKED[0]), longest + 1)
    return item[: end if end > 0 else longest].rstrip()


def _checked_off(cite: Cite | None, find: Find) -> set[str]:
    """Return the items that an edit checked off, as they were before."""
    message = find(cite.message) if cite else None
    part = message.parts[cite.part] if message and cite and cite.part < len(message.parts) else None
    if not isinstance(part, ToolCall):
        return set()
    new = (line.strip() for _, texts in edits(part.arguments) for text in texts for line in text.split("\n"))
    return {f"{line[:2]}[ ]{line[5:]}" for line in new if _CHECKED.match(line)}


# Sections on what is next ----------------------------------------------------------------------------


def _means(claim: Claim, name: str, artifact: Artifact) -> bool:
    """Whether a request is about a file: it says to follow it, or only points to what a session left."""
    if name in claim.text:
        return re.search(_FOLLOWS + re.escape(name), claim.text, re.IGNORECASE) is not None
    if len(claim.text) > LONGEST_POINTER or not _POINTS.search(claim.text):
        return False
    asked = claim.sources[0].number
    return bool(_HANDED_OVER.search(name)) and asked < artifact.first.number <= asked + SOON


def _quoted(
    name: str, artifact: Artifact, gone: Collection[str], find: Find, *, whole: bool
) -> Iterator[Claim]:
    """Yield what a file says is next, as first read, if that leaves the view and the file was not changed."""
    place = answer_to(artifact.first, find)
    if place is None or place[0].message not in gone or artifact.changed:
        return
    cite, text = place
    lines = [NUMBERED_LINE.sub("", line).rstrip() for line in text.split("\n")]
    shown = _next_section(lines) or (_headings(lines) if whole else [])
    if shown:
        sources = (Cite(artifact.first.message, artifact.first.part), cite)
        yield Claim("", ClaimKind.ARTIFACT, "\n".join((name, *shown)), sources, Trust.UNTRUSTED)


def _next_section(lines: Sequence[str]) -> list[str]:
    """Return the lines of the section on what is next, as many as fit; empty if there is none."""
    for wanted in _NEXT:
        for i, line in enumerate(lines):
            heading = _HEADING.match(line)
            if heading and wanted.search(line):
                section = [line]
                for below in lines[i + 1 :]:
                    other = _HEADING.match(below)
                    if other and len(other[1]) <= len(heading[1]):
                        break
                    if sum(map(len, section)) + len(below) > LONGEST_ITEM:
                        break
                    section.append(below)
                if any(map(str.strip, section[1:])):
                    return "\n".join(section).rstrip().split("\n")
    return []


def _headings(lines: Sequence[str]) -> list[str]:
    """Return the headings of a text, as many as fit."""
    found: list[str] = []
    fenced = False
    for line in lines:
        fenced ^= line.startswith("```")
        if not fenced and _HEADING.match(line) and sum(map(len, found)) + len(line) <= LONGEST_ITEM:
            found.append(line)
    return found[:MOST_HEADINGS] if len(found) > 1 else []


# Orders ----------------------------------------------------------------------------------------------


def orders_in(
    asked: Sequence[Claim],
    files: Sequence[Artifact],
    turn: Sequence[Item],
    gone: Collection[str],
    find: Find,
) -> Iterator[Claim]:
    """Yield what texts that say how to work forbid or always require, if they leave the view; as data.

    That is the latest skill among the messages of the running turn that leave, and files that the requests
    name or that were left for this session.
    """
    skill = list(_orders_of_skill(turn))
    known = {claim.sources[-1] for claim in skill}
    yield from skill
    texts = "\n".join(claim.text for claim in asked)
    for artifact in files:
        place = answer_to(artifact.first, find) if is_guide(artifact.name, texts) else None
        if place is not None and place[0].message in gone and place[0] not in known:
            name = artifact.name.replace("\\", "/").rpartition("/")[2]
            yield from _orders(name, place[1], (Cite(artifact.first.message, artifact.first.part), place[0]))


def _orders_of_skill(span: Sequence[Item]) -> Iterator[Claim]:
    for item in reversed(span):
        for j, part in enumerate(item.message.parts):
            if may_guide(item.message, part):
                text = words(part)
                yield from _orders(_title(text), text, (Cite(item.id, j),))
                return


def orders_claim(text: str, cite: Cite, most_characters: int) -> Claim:
    """Quote a prompt that says what to do, as data; of a long one the orders and steps."""
    text = text.strip("\n")
    return _told(_title(text), outline(text, most_characters).split("\n"), (cite,))


def _title(text: str) -> str:
    title = _TITLE.search(text)
    return title[0].strip() if title else text.strip().split("\n", 1)[0].strip()


def _orders(name: str, text: str, sources: tuple[Cite, ...]) -> Iterator[Claim]:
    """Yield the orders of a text, in whole steps."""
    lines: list[str] = []
    left = LONGEST_ORDERS
    for step in order_steps(text, strict=True):
        told = [NUMBERED_LINE.sub("", text[start:end]).rstrip() for start, end in step]
        if (size := sum(map(len, told))) <= left:
            left -= size
            lines += told
    if lines:
        yield _told(name, lines, sources)


def _told(name: str, lines: Sequence[str], sources: tuple[Cite, ...]) -> Claim:
    text = "\n".join((f"{ORDERS_OPENING}{name}:", *lines))
    return Claim("", ClaimKind.ARTIFACT, text, sources, Trust.UNTRUSTED, topic=Topic.FILE_TEXT)
