"""Parse instruction files (front matter, comments, code blocks, includes) and match path patterns.

``matches("src/web/app.ts", "src/**/*.{ts,tsx}")`` is true; ``includes("See @docs/style.md.")`` yields
``docs/style.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
"""Front matter: the lines between a first line ``---`` and the next one."""
_CODE_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
"""What opens or closes a code block at the start of a line; inline code in three backticks does not."""
_CODE_INDENT = 4
"""Spaces before a line of an indented code block, from where the text of the list item around it begins."""
_BULLET = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}")
"""What opens an item of a Markdown list."""
_BACKTICKS = re.compile(r"`+")
_INCLUDE = re.compile(r"(?<![\w`@./])@((?:~/|\.{0,2}/)?[\w.\-+/]*?[\w\-+])(?=[.,;:!?)\]]*(?:\s|$))")
"""``@path``, not within a word or an address; punctuation at its end is not part of the path."""
_PATHS_KEY = re.compile(r"^(?:paths|globs|applyTo):[ \t]*(.*)$", re.MULTILINE)
"""The key of the path patterns in front matter, as Claude Code, Cursor or Copilot name it."""
_YAML_COMMENT = re.compile(r"""("[^"]*"|'[^']*')|(?:(?<=\s)|^)#.*""")
"""A quoted text, or a comment: ``#`` at the start or after a space."""
_LIST_ITEM = re.compile(r"^[ \t]+-[ \t]+(.+)$|^-[ \t]+(.+)$")
"""An item of a YAML list, indented or not."""
MOST_PATTERNS = 100
"""Patterns of one file; a limit against hostile files, chosen by hand."""
MOST_EXPANSIONS = 1_000
"""Patterns that the braces of one pattern expand to; a limit against hostile files, chosen by hand."""
LONGEST_PATTERN = 400
"""Characters of one pattern; a limit against hostile files, chosen by hand."""


class Include(NamedTuple):
    """A mention of another file; ``alone`` if its line contains nothing else."""

    name: str
    line: int
    alone: bool


def split_front_matter(text: str) -> tuple[tuple[str, ...], str]:
    """Return the path patterns in a file's front matter, and the text without it."""
    front, body = front_matter(text)
    return tuple(_patterns(front))[:MOST_PATTERNS], body


def broken_front_matter(text: str) -> str:
    """Return why the paths of a rule cannot be read; empty if they can, or if it has none."""
    front, body = front_matter(text)
    if not front and body.startswith("---\n") and _PATHS_KEY.search(body):
        return "its front matter is not closed"
    key = _PATHS_KEY.search(front)
    if key is None:
        return ""
    if key[1].strip().startswith("[") and not any(line.rstrip().endswith("]") for line in _from(front, key)):
        return "the list of paths in its front matter is not closed"
    return "" if any(_patterns(front)) else "its front matter names no paths that can be read"


def front_matter(text: str) -> tuple[str, str]:
    """Return a file's front matter, empty if it has none, and the text without it."""
    match = _FRONT_MATTER.match(text)
    return (match[1], text[match.end() :]) if match else ("", text)


def _patterns(front: str) -> Iterator[str]:
    key = _PATHS_KEY.search(front)
    if key is None:
        return
    first, *lines = (
        _YAML_COMMENT.sub(lambda found: found[1] or "", line).rstrip() for line in _from(front, key)
    )
    if first.startswith("["):
        yield from _split_at_commas(_bracketed([first, *lines]))
    elif first:
        yield from _split_at_commas(first)
    for line in () if first else filter(None, lines):
        item = _LIST_ITEM.match(line)
        if item is None:
            return
        yield _unquoted(item[1] or item[2])


def _from(front: str, key: re.Match[str]) -> list[str]:
    """Return the value in the line of a key, and the lines after it."""
    return [key[1].strip(), *front[key.end() :].split("\n")[1:]]


def _bracketed(lines: Sequence[str]) -> str:
    """Return what is between brackets, which may be on several lines."""
    end = next((i for i, line in enumerate(lines) if line.endswith("]")), 0)
    return " ".join(lines[: end + 1]).removeprefix("[").removesuffix("]")


def _split_at_commas(listed: str) -> Iterator[str]:
    """Yield the patterns of a list; a comma inside braces is part of a pattern: ``*.{ts,tsx}``."""
    is_balanced = listed.count("{") == listed.count("}")
    start = depth = 0
    for i, character in enumerate(f"{listed},"):
        depth += (character == "{") - (character == "}") if is_balanced else 0
        if character == "," and depth <= 0:
            yield from filter(None, [_unquoted(listed[start:i])])
            start = i + 1


def _unquoted(value: str) -> str:
    return value.strip().strip("\"'").strip()


def without_comments(text: str) -> str:
    """Return a text without HTML comments on their own lines; comments in code blocks stay."""
    kept: list[str] = []
    inside = False  # a comment
    lines = list(_lines(text))
    last_end = max((i for i, (line, _) in enumerate(lines) if "-->" in line), default=-1)
    for i, (line, is_code) in enumerate(lines):
        # A comment that is never closed is text.
        if inside or (not is_code and line.lstrip().startswith("<!--") and i <= last_end):
            _, end, rest = line.partition("-->")
            inside = not end
            kept += [rest.strip()] if rest.strip() else []
        else:
            kept.append(line)
    return "\n".join(kept)


def includes(text: str) -> Iterator[Include]:
    """Yield the includes of a text; those inside code are ignored."""
    for number, (line, is_code) in enumerate(_lines(text)):
        if is_code or "@" not in line:
            continue
        bare = _without_code(line)
        for match in _INCLUDE.finditer(bare):
            yield Include(match[1], number, bare.strip() == f"@{match[1]}")


def _without_code(line: str) -> str:
    """Return a line with backticks in place of its inline code, which has as many before it as after it."""
    runs = [match.span() for match in _BACKTICKS.finditer(line)]
    closing: dict[int, int] = {}  # the next run of each length
    next_equal = [len(runs)] * len(runs)
    for i in range(len(runs) - 1, -1, -1):
        length = runs[i][1] - runs[i][0]
        next_equal[i] = closing.get(length, len(runs))
        closing[length] = i
    kept: list[str] = []
    i = done = 0
    while i < len(runs):
        if next_equal[i] < len(runs):
            start, (_, end) = runs[i][0], runs[next_equal[i]]
            kept += [line[done:start], "`" * (end - start)]
            i, done = next_equal[i], end
        i += 1
    return "".join([*kept, line[done:]])


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a text, each with whether it belongs to a code block."""
    fence, margin = "", 0
    items: list[int] = []  # the columns where the texts of the open list items begin
    for line in text.split("\n"):
        content = line.lstrip(" \t")
        column = len(line[: len(line) - len(content)].expandtabs(_CODE_INDENT))
        if fence:
            mark = _CODE_FENCE.match(content) if column < margin + _CODE_INDENT else None
            closes = mark and mark[1].startswith(fence) and not content.strip(" `~")
            fence = "" if closes else fence
            yield line, True
            continue
        while items and content and column < items[-1]:
            items.pop()
        margin = items[-1] if items else 0
        if column >= margin + _CODE_INDENT:
            yield line, True
            continue
        if bullet := _BULLET.match(content):
            margin = column + bullet.end()
            items.append(margin)
            content = content[bullet.end() :]
        mark = _CODE_FENCE.match(content)
        fence = mark[1] if mark else ""
        yield line, bool(mark)


def matches(path: str, pattern: str) -> bool:
    """Return True if a relative path matches a pattern; a pattern without a slash matches in any folder."""
    if not pattern or len(pattern) > LONGEST_PATTERN:
        return False
    return any(_components_match(path.split("/"), _segments(expanded)) for expanded in expand_braces(pattern))


def expand_braces(pattern: str) -> Iterator[str]:
    """Yield a pattern with its braces expanded, at most ``MOST_EXPANSIONS`` results."""
    waiting = [pattern]
    for _ in range(MOST_EXPANSIONS):
        if not waiting:
            return
        text = waiting.pop()
        close = text.find("}")
        start = text.rfind("{", 0, close) if close >= 0 else -1
        if start < 0:
            yield text
            continue
        choices = text[start + 1 : close].split(",")
        waiting += [f"{text[:start]}{choice}{text[close + 1 :]}" for choice in reversed(choices)]


def _segments(pattern: str) -> list[str]:
    """Return the components of a pattern; one that begins in any folder begins with ``**``."""
    plain = pattern.removeprefix("./").removeprefix("/")
    segments = [segment for segment in plain.split("/") if segment]
    if plain.endswith("/"):
        segments.append("**")
    return segments if "/" in pattern else ["**", *segments]


def _components_match(parts: Sequence[str], segments: Sequence[str]) -> bool:
    """Match component by component; ``**`` matches any number of them."""
    reached = {0}  # numbers of components that the segments so far can have consumed
    for segment in segments:
        if segment == "**":
            reached = set(range(min(reached), len(parts) + 1)) if reached else set()
        else:
            reached = {n + 1 for n in reached if n < len(parts) and fnmatchcase(parts[n], segment)}
    return len(parts) in reached
