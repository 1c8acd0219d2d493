"""What a failed call attempted: the command of a line that is to blame, and whether it only reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from clew.ledger.shell import Simple, simple_commands, without_prefixes
from clew.ledger.tool_names import Does
from clew.ledger.tools import Deed

LONGEST_SUBJECT = 300
_WORDS_THAT_TELL = 2
_OPTION_VALUE = re.compile(r"-|\d+$|.*=")
_SETTING_UP = frozenset(("cd", "export", "source", "set", "echo", "sleep"))
_RUN_PROGRAMS = frozenset(("uv", "poetry", "pdm", "hatch", "rye", "pipenv"))
_STARTERS = _RUN_PROGRAMS | {"npx", "bunx", "timeout", "rtk"}
"""Programs that start another program and return its exit code."""
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*")
_LOOKS = frozenset(
    (
        *(
            "ls",
            "cat",
            "head",
            "tail",
            "less",
            "more",
            "grep",
            "egrep",
            "fgrep",
            "rg",
            "ag",
            "find",
            "fd",
            "which",
        ),
        *(
            "whereis",
            "type",
            "stat",
            "file",
            "wc",
            "tree",
            "du",
            "df",
            "readlink",
            "realpath",
            "test",
            "[",
            "pwd",
        ),
        *("printenv", "jq", "awk", "diff", "cmp", "man"),
    )
)
"""Programs that only read."""
_LOOKS_BY_WORDS = frozenset(("git log", "git show", "git diff", "git status", "git grep", "sed -n"))
_TRIES_OUT = frozenset(("--help", "--version", "--dry-run"))
_LOOKING = frozenset((Does.READ, Does.SEARCH))
_NAMES_PROGRAM = re.compile(r"\s*(?:[\w/.-]*sh: )?(?:line \d+: )?(?:\d+: )?([\w./-]+): ")
_SAID_BY_GIT = re.compile(r"\s*(?:fatal|error|hint): ")


class Attempt(NamedTuple):
    """What a call tried to do."""

    signature: str
    """Calls with the same signature attempt the same thing."""
    subject: str
    """How a person would name it."""


class _Pipeline(NamedTuple):
    """The first command of a pipeline, and the operator after the last one."""

    head: Simple
    then: str


def signatures(done: Deed) -> list[str]:
    """Return the signatures of a call: calls that share one attempt the same thing.

    A command line has one for each of its pipelines that must have succeeded if the call did: those followed
    by ``&&``, the last one, and the first one, whose exit code a semicolon hides.
    """
    if done.does is not Does.SHELL:
        return [_of_tool(done)]
    found: list[str] = []
    for pipeline in _pipelines(done.subject):
        words = _telling_words(pipeline.head)
        if words and (not found or pipeline.then in ("&&", "")):
            found.append("$ " + " ".join(words))
    return found


def attempt(done: Deed, said: Sequence[str]) -> Attempt | None:
    """Return which part of a failed call is to blame, judging by the error lines; None if nothing is."""
    if done.does is not Does.SHELL:
        return Attempt(_of_tool(done), _subject(done))
    pipelines = [one for one in _pipelines(done.subject) if _telling_words(one.head)]
    if not pipelines:
        return None
    named = _named(pipelines, said)
    to_blame = (named or pipelines[-1]).head
    whole = len(pipelines) == 1 or (named is None and _is_one_chain(done.subject, pipelines))
    subject = _subject(done) if whole else " ".join(to_blame.words)
    return Attempt("$ " + " ".join(_telling_words(to_blame)), subject[:LONGEST_SUBJECT])


def only_looks(done: Deed) -> bool:
    """Return True if a call only reads: its failure merely says that something is missing."""
    if done.does is not Does.SHELL:
        return done.does in _LOOKING
    commands = [without_prefixes(simple.words) for simple in simple_commands(done.subject)]
    programs = [words for words in commands if words and words[0] not in _SETTING_UP]
    return bool(programs) and all(map(_looks, programs))


def _looks(words: list[str]) -> bool:
    program = words[0].rsplit("/", 1)[-1]
    return (
        program in _LOOKS
        or " ".join((program, *words[1:2])) in _LOOKS_BY_WORDS
        or not _TRIES_OUT.isdisjoint(words[1:])
    )


def _of_tool(done: Deed) -> str:
    if done.does is Does.SEARCH:
        return f"{done.tool}\n{json.dumps(done.given)[:LONGEST_SUBJECT]}"  # each search is its own attempt
    return f"{done.tool}\n{done.title[:LONGEST_SUBJECT]}" if done.subject else done.tool


def _subject(done: Deed) -> str:
    if done.title or done.does is not Does.SEARCH:
        return done.title[:LONGEST_SUBJECT]
    told = (value for value in done.given.values() if isinstance(value, str) and value.strip())
    return " ".join(told)[:LONGEST_SUBJECT]


def _pipelines(line: str) -> Iterator[_Pipeline]:
    head: Simple | None = None
    for simple in simple_commands(line):
        head = head or simple
        if simple.then != "|":
            yield _Pipeline(head, simple.then)
            head = None
    if head is not None:
        yield _Pipeline(head, "")


def _is_one_chain(line: str, pipelines: list[_Pipeline]) -> bool:
    """Return True if a command is one line whose parts run only if the one before them succeeded."""
    return "\n" not in line.strip() and all(one.then == "&&" for one in pipelines[:-1])


def _named(pipelines: list[_Pipeline], said: Sequence[str]) -> _Pipeline | None:
    """Return the command that an output line names as the failed one."""
    by_program = {_program(one.head): one for one in reversed(pipelines)}
    for line in said:
        named = _NAMES_PROGRAM.match(line)
        if named and (found := by_program.get(named[1].rsplit("/", 1)[-1])):
            return found
        if _SAID_BY_GIT.match(line) and "git" in by_program:
            return by_program["git"]
    return None


def _program(simple: Simple) -> str:
    words = without_prefixes(simple.words)
    return words[0].rsplit("/", 1)[-1] if words else ""


def _telling_words(simple: Simple) -> list[str]:
    """Return program and first operands of a command without its launcher; [] if it only sets up."""
    words = without_prefixes(simple.words)
    if words[1:2] == ["-m"] and _PYTHON.fullmatch(words[0]):
        words = words[2:]
    plain = [word for word in words if not _OPTION_VALUE.match(word)]
    if not plain or plain[0] in _SETTING_UP:
        return []
    if plain[:2] == ["git", "commit"]:
        return plain[:2]  # the message differs from one attempt to the next
    while len(plain) > 1 and plain[0] in _STARTERS:
        plain = plain[2:] if plain[1] == "run" and plain[0] in _RUN_PROGRAMS else plain[1:]
    return [plain[0].rsplit("/", 1)[-1], *plain[1 : _WORDS_THAT_TELL + 1]] if plain else []
