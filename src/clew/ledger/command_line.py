"""Split a command line of a shell into its commands, without running it.

``cd src && pytest -q > out.txt`` has two commands: ``cd src``, and ``pytest -q`` with the output file
``out.txt``. Quotes, redirections and here-documents are understood; variables and substitutions are left as
they are. ``shell`` reads from it which files a command touches; test runs, attempts and digests read it too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from clew.message.text import lazy_pattern

LONGEST = 20_000
"""Characters of a command line that are parsed (chosen by hand); here-documents are skipped and do not
count."""


@dataclass(slots=True)
class Simple:
    """One command of a line: its words, the files it writes by redirection, and its here-documents."""

    words: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    document: str = ""
    then: str = ""
    """The operator before the next command; empty for the last."""


def simple_commands(line: str) -> Iterable[Simple]:
    """Return the commands of a line in order: ``a && b > c`` has two; here-documents have none."""
    if len(line) <= LONGEST and not _SYNTAX.search(line):
        return [Simple(line.split())] if line and not line.isspace() else []
    return _parse(line)


def _parse(line: str) -> list[Simple]:
    """Return the commands of a line with quotes, operators or here-documents."""
    found: list[Simple] = []
    command = opened = Simple()
    tags: list[str] = []
    redirected = ""
    at = 0
    while at < min(len(line), LONGEST):
        match = _TOKEN.match(line, at)
        if match is None:
            break
        at = match.end()
        match match.lastgroup:
            case "word":
                _add_word(command, _unquote(match[0]), redirected)
                redirected = ""
            case "redirect":
                redirected = "" if match[0][-1] in "12-" else match[0]
            case "tag" | "heredoc":
                tags.append(match["tag"])
                opened = command
            case "end":
                if match[0] == "\n" and tags:
                    begun, at = at, _after_documents(line, at, tags)
                    opened.document = line[begun : min(at, begun + LONGEST)]
                if command.words or command.outputs:
                    command.then = match[0]
                    found.append(command)
                command = Simple()
            case _:
                pass
    if command.words or command.outputs:
        found.append(command)
    return found


def _add_word(command: Simple, word: str, redirected: str) -> None:
    """Add a word to a command; after ``>`` it is an output file, after ``<`` an input file, not kept."""
    if ">" in redirected:
        command.outputs.append(word)
    elif not redirected:
        command.words.append(word)


def _after_documents(line: str, at: int, tags: list[str]) -> int:
    """Return the end of the here-documents that begin here."""
    while tags:
        closing = re.compile(rf"^\t*{re.escape(tags.pop(0))}[ \t]*$", re.MULTILINE).search(line, at)
        if closing is None:
            tags.clear()
            return len(line)
        at = closing.end()
    return at


def _unquote(word: str) -> str:
    if "'" not in word and '"' not in word and "\\" not in word:
        return word
    return _QUOTED.sub(lambda quoted: quoted[1] or quoted[2] or quoted[3] or "", word)


def without_prefixes(words: list[str]) -> list[str]:
    """Return the words of a command starting at its program."""
    at = 0
    while at < len(words) and (words[at] in _PREFIXES or _ASSIGNMENT.match(words[at])):
        at += 1
    return words[at:]


# What the patterns recognise ------------------------------------------------------------------------------

_TOKEN = lazy_pattern(
    r"""
    (?P<blank>[ \t\r]+|\\\n|(?:(?<=\s)|(?<=\A))\#[^\n]*)
  | (?P<heredoc><<-?[ \t]*(?P<mark>['"]?)(?P<tag>\w+)(?P=mark))
  | (?P<herestring><<<)
  | (?P<redirect>(?:[12]|&)?>>?\|?(?:&[12-])?|<)
  | (?P<end>&&|\|\||[;|&\n()])
  | (?P<word>(?:[^\s'"\\;|&<>()]|\\.|'[^']*'|"(?:\\.|[^"\\])*")+)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
"""One token of a command line; the names of the groups say what it is."""
_SYNTAX = lazy_pattern(r"[\n'\"\\;|&<>()#]")
"""Characters that a line of plain words does not contain."""
_QUOTED = lazy_pattern(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|\\(.)", re.DOTALL)
"""A quoted piece of a word, or an escaped character."""
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_]\w*=")
"""An assignment before a program: ``CI=1 npm test``."""
_PREFIXES = frozenset(
    ("sudo", "env", "time", "nohup", "command", "exec", "xargs", "then", "do", "else", "!", "{")
)
"""Words before a program that do not change what it does."""
