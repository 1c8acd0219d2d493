"""Split a document into pieces at its headings, and classify it by topic (``topics.toml``).

A Markdown file with the headings *Ops* and *Restart* below it has a piece with the trail
``("Ops", "Restart")`` and the lines of that section.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import PurePosixPath
from typing import NamedTuple, TypeAlias

Front: TypeAlias = dict[str, str]
MOST_FRONT_LINES = 100
"""Lines that front matter may have."""
# Matches a line of front matter such as `status: active`.
_FIELD = re.compile(r"([A-Za-z][\w -]{0,40}?)\s*[:=]\s*(.*)")


def front_matter(lines: list[str]) -> tuple[Front, int]:
    """Return the fields between the first two lines of dashes (or pluses), and how many lines they take.

    Only plain fields such as ``status: active`` are read; nested ones are skipped.
    """
    fence = lines[0].strip() if lines else ""
    if fence not in ("---", "+++"):
        return {}, 0
    for end, line in enumerate(lines[1:MOST_FRONT_LINES], start=1):
        if line.strip() == fence:
            matches = (_FIELD.fullmatch(line.rstrip()) for line in lines[1:end])
            return {text[1].lower(): text[2].strip("\"' []") for text in matches if text}, end + 1
    return {}, 0


_DATES = (
    "updated", "last_updated", "last-updated", "lastmod", "modified", "last_modified", "reviewed", "date",
)  # fmt: skip
"""Fields of front matter that say when a document was last changed, the most telling first."""


def stated_date(front: Front) -> datetime | None:
    """Return when a document was last changed, as its front matter says; None if it does not."""
    for name in _DATES:
        with suppress(ValueError, OverflowError):
            date = datetime.fromisoformat(front.get(name, "").strip())
            return date.astimezone(UTC) if date.tzinfo else date.replace(tzinfo=UTC)
    return None


OUTDATED = frozenset({"deprecated", "superseded", "obsolete", "archived", "rejected", "outdated", "retired"})
"""Statuses of a document that no longer applies."""
_WORDS = rf"(?P<word>{'|'.join(sorted(OUTDATED))})"
_STATUS_FIELD = re.compile(rf"[\W_]*status[\W_]*:[\W_]*{_WORDS}\b", re.I)  # **Status:** Superseded by 0012
_STATUS_HEADING = re.compile(r"(?:#{1,6}\s*)?status[\s:#]*", re.I)  # ## Status
_NOTICE = re.compile(
    rf"(?!#)[\W_]*(?:(?:warning|note|caution|important)[\W_]+)?(?:{_WORDS}"
    r"(?:[\W_]*$|[*_]*\s*[:.,;!(—–]|\s+(?:by|in favou?r of|since|as of|on \d|with)\b)"
    r"|this (?:document|page|file|guide|adr|decision|runbook|note|plan|spec\w*|proposal|policy)"
    rf" (?:is|was|has been)(?: now)? (?P<said>{'|'.join(sorted(OUTDATED))})\b)",
    re.I,
)
"""A line that says it of the document: "Superseded by 12", "> **Deprecated**: use …", "This page is …"."""
_IN_TITLE = re.compile(rf"#\s.*[\[(]{_WORDS}\b|#\s+{_WORDS.replace('word', 'first')}\s*[:—–-]", re.I)
"""A title that says it: "# Deploy by hand (deprecated)"."""
_PROSE = frozenset({".md", ".mdx", ".markdown", ".rst", ".txt"})
_STATUS_WITHIN = 12
"""Lines with text in which a document says that it is outdated; chosen by hand."""
_SECTION_WITHIN = 60
"""Lines in which its section *Status* begins, as in records of decisions; chosen by hand."""


def stated_status(path: str, lines: Sequence[str]) -> str:
    """Return the word by which the text of a document says that it no longer applies; "" if it does not."""
    if PurePosixPath(path).suffix.lower() not in _PROSE:
        return ""  # a setting `status: archived` is not about its file
    texts = [line.strip() for line in lines[:_SECTION_WITHIN] if line.strip()]
    for n, line in enumerate(texts):
        is_status = n > 0 and _STATUS_HEADING.fullmatch(texts[n - 1])
        forms = (_STATUS_FIELD, _NOTICE, _IN_TITLE) if n < _STATUS_WITHIN else (_NOTICE,) if is_status else ()
        for form in forms:
            if said := form.match(line):
                return next(word for word in said.groups() if word).lower()
    return ""


LONGEST = 2_400
"""Characters of one piece; a longer section is split between paragraphs (chosen by hand)."""
_MARKDOWN = re.compile(r"(#{1,6})\s+(.*)")  # ## Restart
_LINE_END = re.compile(r"\r\n|\r|\n")
"""Where Python counts a new line; ``str.splitlines`` also splits at form feeds."""
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*$")  # =======
_TABLE = re.compile(r"\[{1,2}([^\[\]]+)\]{1,2}\s*(?:#.*)?$")  # [tool.clew]
_YAML_KEY = re.compile(r"([A-Za-z_][\w.-]*)\s*:(?:\s|$)")  # services:
# CREATE TABLE orders
_STATEMENT = re.compile(
    r"\s*(create\s+(?:or\s+replace\s+)?(?:\w+\s+)?(?:table|view|index|type|function|trigger)\b[^(\n]*)", re.I
)


@dataclass(frozen=True, slots=True)
class DocumentPiece:
    """A part of a document under one heading."""

    trail: tuple[str, ...]
    """The headings above it, outermost first."""
    first: int
    last: int
    """Its lines, counted from 1, both included."""
    text: str

    def ref(self, path: str) -> str:
        """Return the exact reference: ``docs/ops.md#Restart:12-30``."""
        heading = self.trail[-1] if self.trail else ""
        return f"{path}#{heading}:{self.first}-{self.last}"


class _Heading(NamedTuple):
    line: int
    """The first line of its section, counted from 0."""
    level: int
    text: str


def split_document(path: str, text: str) -> list[DocumentPiece]:
    """Return the pieces of a document, parsed according to its file name suffix."""
    lines = text.splitlines()
    suffix = PurePosixPath(path).suffix.lower()
    if suffix == ".py":
        return [piece for piece in _docstrings(text) if piece.text.strip()]
    read_headings = _READERS.get(suffix)
    headings = list(read_headings(lines)) if read_headings else []
    return [piece for section in _sections(lines, headings) for piece in _short(section)]


def title(path: str, pieces: Sequence[DocumentPiece]) -> str:
    """Return a document's title: its first heading, or its file name."""
    return next((piece.trail[0] for piece in pieces if piece.trail), PurePosixPath(path).stem)


# Headings --------------------------------------------------------------------------------------------


def _markdown(lines: Sequence[str]) -> Iterator[_Heading]:
    fence = ""
    for n, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and (heading := _MARKDOWN.fullmatch(line)):
            text = heading[2].rstrip()
            without_marks = text.rstrip("#")  # `## Restart ##`; but `# C#` is about C#
            is_closed = not without_marks or without_marks[-1].isspace()
            yield _Heading(n, len(heading[1]), without_marks.rstrip() if is_closed else text)


def _underlined_headings(lines: Sequence[str]) -> Iterator[_Heading]:
    """Yield the headings of reStructuredText: the first underline character used is the outermost level."""
    levels: dict[str, int] = {}
    for n, (above, line) in enumerate(pairwise(lines)):
        below = _UNDERLINE.fullmatch(line) and len(line.rstrip()) >= len(above.rstrip())
        if below and above.strip() and not _UNDERLINE.fullmatch(above):
            yield _Heading(n, levels.setdefault(line[0], len(levels) + 1), above.strip())


def _matching(pattern: re.Pattern[str]) -> Callable[[Sequence[str]], Iterator[_Heading]]:
    """Return a reader for formats whose headings are single lines matching a pattern."""

    def read(lines: Sequence[str]) -> Iterator[_Heading]:
        for n, line in enumerate(lines):
            if match := pattern.match(line):
                yield _Heading(n, 1, " ".join(match[1].split()))

    return read


_READERS: dict[str, Callable[[Sequence[str]], Iterator[_Heading]]] = {
    ".md": _markdown,
    ".mdx": _markdown,
    ".markdown": _markdown,
    ".rst": _underlined_headings,
    ".toml": _matching(_TABLE),
    ".yaml": _matching(_YAML_KEY),
    ".yml": _matching(_YAML_KEY),
    ".sql": _matching(_STATEMENT),
}
SUFFIXES = frozenset({*_READERS, ".txt", ".py"})
"""File name suffixes of documents."""


# Sections --------------------------------------------------------------------------------------------


class _Section(NamedTuple):
    trail: tuple[str, ...]
    first: int
    lines: Sequence[str]


def _sections(lines: Sequence[str], headings: Sequence[_Heading]) -> Iterator[_Section]:
    """Yield each heading with its own lines, up to the next heading of any level."""
    starts = [*(heading.line for heading in headings), len(lines)]
    yield _Section((), 0, lines[: starts[0]])
    trail: list[_Heading] = []
    for heading, end in zip(headings, starts[1:], strict=True):
        trail = [*(item for item in trail if item.level < heading.level), heading]
        yield _Section(tuple(heading.text for heading in trail), heading.line, lines[heading.line : end])


def _short(section: _Section) -> Iterator[DocumentPiece]:
    """Yield a section in pieces that are not too long, split between paragraphs if possible."""
    first, size = 0, 0
    for n, line in enumerate(section.lines):
        size += len(line) + 1
        pause = not line.strip() and size > LONGEST // 2
        if pause or size > LONGEST:
            yield from _piece(section, first, n + 1)
            first, size = n + 1, 0
    yield from _piece(section, first, len(section.lines))


def _piece(section: _Section, start: int, end: int) -> Iterator[DocumentPiece]:
    lines = section.lines[start:end]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    blank = next((n for n, line in enumerate(lines) if line.strip()), len(lines))
    lines = lines[blank:]
    if lines:
        first = section.first + start + blank + 1
        yield DocumentPiece(section.trail, first, first + len(lines) - 1, "\n".join(lines))


# Docstrings ------------------------------------------------------------------------------------------


_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _docstrings(text: str) -> Iterator[DocumentPiece]:
    """Yield the docstrings of a Python module and of the classes and functions in it."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    lines = _LINE_END.split(text)
    left: deque[tuple[tuple[str, ...], ast.AST]] = deque([((), tree)])
    while left:
        trail, node = left.popleft()
        if isinstance(node, _Documented):
            yield from _docstring(trail, node, lines)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                left.append(((*trail, child.name), child))
            elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                left.append((trail, child))  # definitions inside of `if` and `try`


def _docstring(trail: tuple[str, ...], node: _Documented, lines: Sequence[str]) -> Iterator[DocumentPiece]:
    if not ast.get_docstring(node):
        return
    statement = node.body[0]
    first = statement.lineno if isinstance(node, ast.Module) else node.lineno
    last = statement.end_lineno or statement.lineno
    yield DocumentPiece(trail, first, last, "\n".join(lines[first - 1 : last])[:LONGEST])


REFERENCE = "reference"
"""The topic of a document that fits no other."""
_SAYS = ("type", "kind", "category")
"""Front matter fields that can name a topic."""


@dataclass(frozen=True, slots=True)
class DocumentTopic:
    """A purpose that documents have, and the rules that recognize it."""

    name: str
    title: str
    says: frozenset[str]
    """Values of front matter fields (``type: runbook``) that name it."""
    paths: re.Pattern[str]
    titles: re.Pattern[str]


@cache
def topics() -> tuple[DocumentTopic, ...]:
    """Return the topics; the first that matches a document wins."""
    written = tomllib.loads(files("clew.memory.documents").joinpath("topics.toml").read_text("utf-8"))
    return tuple(
        DocumentTopic(
            item["name"],
            item["title"],
            frozenset(item["says"]),
            re.compile("|".join(map(_path_pattern, item["paths"]))),
            re.compile(item["titles"]),
        )
        for item in written["topic"]
    )


def topic_of(path: str, front: Front, title: str) -> str:
    """Return the name of a document's topic."""
    stated = {front.get(key, "").lower() for key in _SAYS}
    for fits in (
        lambda topic: not stated.isdisjoint(topic.says),
        lambda topic: topic.paths.fullmatch(path) is not None,
        lambda topic: topic.titles.search(title) is not None,
    ):
        topic = next(filter(fits, topics()), None)
        if topic:
            return topic.name
    return REFERENCE


def title_of(name: str) -> str:
    """Return a topic's title for lists."""
    return next((topic.title for topic in topics() if topic.name == name), name)


def _path_pattern(glob: str) -> str:
    """Translate a glob to a regular expression: ``**/`` is any number of folders, ``*`` excludes slashes."""
    parts = re.split(r"(\*\*/|\*\*|\*)", glob)
    written = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    return "".join(written.get(part) or re.escape(part) for part in parts)
