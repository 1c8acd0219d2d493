"""What a tool call attempts: two calls that attempt the same thing share a signature.

The signature of a command is its program with its first operands, however it was started:
``uv run pytest a.py`` and ``python -m pytest -x a.py`` are both ``$ pytest a.py``. That of another tool is
its name and its file. A script has a second, looser one without the files it is given. ``failures`` uses
signatures to recognise that what failed is tried again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from clew.ledger.command_line import Simple, simple_commands, without_prefixes
from clew.ledger.tool_actions import ActionKind, ToolAction
from clew.message.text import lazy_pattern

LONGEST_SUBJECT = 300
"""Characters of what a person would call an attempt; chosen by hand."""
_KEY_OPERANDS = 2
"""Operands in the signature of a command."""


class Attempt(NamedTuple):
    """What a call tried to do."""

    signature: str
    """Calls with the same signature attempt the same thing."""
    subject: str
    """How a person would name it."""
    script: str = ""
    """The script that it runs, with its subcommand."""


class _Pipeline(NamedTuple):
    """The first command of a pipeline, and the operator after the last one."""

    head: Simple
    then: str


def signatures(action: ToolAction) -> list[str]:
    """Return the signatures of a call: calls that share one attempt the same thing.

    A command line has one for each of its pipelines that must have succeeded if the call did: those followed
    by ``&&``, and the last one. The first one counts too, although a semicolon hides its exit code: agents
    often write ``make all; echo done``. Nothing is known about either side of ``||``.
    """
    if action.kind is not ActionKind.SHELL:
        return [_of_tool(action)]
    return ["$ " + " ".join(_key_words(head)) for head in _succeeded(action)]


def scripts_run(action: ToolAction) -> list[str]:
    """Return the scripts that must have succeeded if a call did, as ``script_of`` names them."""
    if action.kind is not ActionKind.SHELL:
        return []
    return [script for head in _succeeded(action) if (script := _script(head))]


def _succeeded(action: ToolAction) -> Iterator[Simple]:
    """Yield the commands of a line that must have succeeded if the call did."""
    before, is_first = "", True
    for pipeline in _pipelines(_line(action)):
        if _key_words(pipeline.head):
            counts = is_first or pipeline.then in ("&&", "")
            if counts and "||" not in (before, pipeline.then):
                yield pipeline.head
            is_first = False
        before = pipeline.then


def _line(action: ToolAction) -> str:
    """Return a command line as a Unix shell writes it; of ``bash -lc "make"``, what it runs."""
    line = action.subject
    if "powershell" in action.tool.lower() or _WINDOWS.match(line):
        line = line.removeprefix("& ").replace("\\", "/")
    wrapped = _IN_SHELL.fullmatch(line)
    return wrapped["line"] if wrapped else line


def _script(simple: Simple) -> str:
    """Return the name of the script that a command runs, with its subcommand; "" if it runs none.

    ``python manage.py migrate`` and ``manage.py test`` do different things, ``check.sh a`` and ``check.sh b``
    too; ``check.sh a.txt`` and ``check.sh *.md`` do the same to different files.
    """
    words = _plain_words(simple)
    at = 1 if words and _INTERPRETER.match(words[0].rsplit("/", 1)[-1]) else 0
    name = words[at].rsplit("/", 1)[-1] if len(words) > at else ""
    if not _SCRIPT.match(name):
        return ""
    return " ".join((name, *(word for word in words[at + 1 : at + 2] if _SUBCOMMAND.match(word))))


def attempt(action: ToolAction, output_lines: Sequence[str]) -> Attempt | None:
    """Return which part of a failed call is to blame, judging by the error lines; None if nothing is."""
    if action.kind is not ActionKind.SHELL:
        return Attempt(_of_tool(action), _subject(action))
    line = _line(action)
    pipelines = [candidate for candidate in _pipelines(line) if _key_words(candidate.head)]
    if not pipelines:
        return None
    pipeline = _pipeline_named_in(pipelines, output_lines)
    to_blame = (pipeline or pipelines[-1]).head
    whole = len(pipelines) == 1 or (pipeline is None and _is_one_chain(line, pipelines))
    subject = _subject(action) if whole else " ".join(to_blame.words)
    signature = "$ " + " ".join(_key_words(to_blame))
    return Attempt(signature, subject[:LONGEST_SUBJECT], _script(to_blame))


def only_looks(action: ToolAction) -> bool:
    """Return True if a call only reads: its failure merely says that something is missing."""
    if action.kind is not ActionKind.SHELL:
        return action.kind in _LOOKING
    commands = [without_prefixes(simple.words) for simple in simple_commands(action.subject)]
    programs = [words for words in commands if words and words[0] not in _SETTING_UP]
    return bool(programs) and all(map(_looks, programs))


def _looks(words: list[str]) -> bool:
    program = words[0].rsplit("/", 1)[-1]
    return (
        program in _LOOKS
        or " ".join((program, *words[1:2])) in _LOOKS_BY_WORDS
        or not _TRIES_OUT.isdisjoint(words[1:])
    )


def _of_tool(action: ToolAction) -> str:
    if action.kind is ActionKind.SEARCH:  # each search is its own attempt
        return f"{action.tool}\n{json.dumps(action.arguments)[:LONGEST_SUBJECT]}"
    return f"{action.tool}\n{action.title[:LONGEST_SUBJECT]}" if action.subject else action.tool


def _subject(action: ToolAction) -> str:
    if action.title or action.kind is not ActionKind.SEARCH:
        return action.title[:LONGEST_SUBJECT]
    texts = (value for value in action.arguments.values() if isinstance(value, str) and value.strip())
    return " ".join(texts)[:LONGEST_SUBJECT]


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
    return "\n" not in line.strip() and all(pipeline.then == "&&" for pipeline in pipelines[:-1])


def _pipeline_named_in(pipelines: list[_Pipeline], output_lines: Sequence[str]) -> _Pipeline | None:
    """Return the command that an output line names as the failed one."""
    by_program = {_program(candidate.head): candidate for candidate in reversed(pipelines)}
    for line in output_lines:
        match = _NAMES_PROGRAM.match(line)
        if match and (pipeline := by_program.get(match[1].rsplit("/", 1)[-1])):
            return pipeline
        if _SAID_BY_GIT.match(line) and "git" in by_program:
            return by_program["git"]
        for candidate in pipelines:
            if (script := _script(candidate.head).partition(" ")[0]) and script in line:
                return candidate
    return None


def _program(simple: Simple) -> str:
    words = without_prefixes(simple.words)
    return words[0].rsplit("/", 1)[-1] if words else ""


def _key_words(simple: Simple) -> list[str]:
    """Return program and first operands of a command without its launchers; [] if it only sets up."""
    plain = _plain_words(simple)
    if not plain or plain[0] in _SETTING_UP:
        return []
    if plain[:2] == ["git", "commit"]:
        return plain[:2]  # the message differs from one attempt to the next
    return [plain[0].rsplit("/", 1)[-1], *plain[1 : _KEY_OPERANDS + 1]]


def _plain_words(simple: Simple) -> list[str]:
    """Return the words of a command without launchers, options, numbers and assignments."""
    words = _without_launchers(without_prefixes(simple.words))
    if words[1:2] == ["-m"] and _PYTHON.fullmatch(words[0]):
        words = words[2:]
    return [word for word in words if not _VARIES.match(word)]


def _without_launchers(words: list[str]) -> list[str]:
    """Return a command without ``timeout 60s``, ``uv run`` and the like before its program."""
    if " ".join(words[:2]) in _EXECUTES:
        return words[words.index("--") + 1 if "--" in words else 2 :]
    while words and words[0] in _LAUNCHERS:
        at = _first_plain(words, 1)
        if words[0] in _RUN_PROGRAMS and words[at : at + 1] == ["run"]:
            at = _first_plain(words, at + 1)
        elif at == len(words):
            return words
        words = words[at:]
    return words


def _first_plain(words: list[str], at: int) -> int:
    """Return the index of the first word from here on that is no option and no value of one."""
    while at < len(words) and _VARIES.match(words[at]):
        at += 1
    return at


def names_to_change(line: str, name: str) -> bool:
    """Return True if a command line names a file other than as what a program runs: ``python a.py``."""
    if name not in line:
        return False
    named = len(re.findall(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", line))
    run = sum(name in _program_and_first_operand(simple) for simple in simple_commands(line))
    return named > run


def _program_and_first_operand(simple: Simple) -> list[str]:
    return [word.rsplit("/", 1)[-1] for word in _key_words(simple)[:2]]


# What the patterns recognise ---------------------------------------------------------------------------

_WINDOWS = lazy_pattern(r"& ['\"]|['\"]?[A-Za-z]:\\")
"""How a command line of PowerShell begins that names its program: "& 'C:\\Git\\bin\\bash.exe'"."""
_IN_SHELL = lazy_pattern(
    r"""(?:'[^']*/|"[^"]*/|\S*/)?(?:ba|z)?sh(?:\.exe)?['"]?\s+-l?c\s+(["'])(?P<line>(?:(?!\1).)*)\1\s*""",
    re.DOTALL,
)
"""A shell that runs one command line: "bash -lc 'make all'"."""
_VARIES = lazy_pattern(r"-|\d+(?:\.\d+)?[smhd]?$|.*=")
"""Words that differ between attempts at one thing: options, numbers, durations, assignments."""
_SETTING_UP = frozenset(("cd", "export", "source", "set", "echo", "sleep"))
"""Programs that prepare what comes after them and attempt nothing."""
_RUN_PROGRAMS = frozenset(("uv", "poetry", "pdm", "hatch", "rye", "pipenv"))
"""Package managers that start a program with ``run``: ``uv run pytest``."""
_LAUNCHERS = _RUN_PROGRAMS | {"npx", "bunx", "timeout", "rtk"}
"""Programs that start another program and return its exit code."""
_EXECUTES = frozenset(("mise exec", "mise x", "bundle exec", "npm exec", "pnpm exec", "yarn exec"))
"""The same, by the first two words."""
_PYTHON = lazy_pattern(r"(?:.*/)?python[\d.]*")
"""A Python interpreter: "/usr/bin/python3.11"."""
_LOOKS = frozenset(
    """
    ls cat head tail less more grep egrep fgrep rg ag find fd which whereis type stat file wc tree du df
    readlink realpath test [ pwd printenv jq awk diff cmp man
    """.split()  # noqa: SIM905  # as a literal it takes a line for each word
)
"""Programs that only read."""
_LOOKS_BY_WORDS = frozenset(("git log", "git show", "git diff", "git status", "git grep", "sed -n"))
"""Commands that only read, by their first two words."""
_TRIES_OUT = frozenset(("--help", "--version", "--dry-run"))
"""Options with which a program changes nothing."""
_LOOKING = frozenset((ActionKind.READ, ActionKind.SEARCH))
"""Kinds of calls that only read."""
_NAMES_PROGRAM = lazy_pattern(r"\s*(?:[\w/.-]*sh: )?(?:line \d+: )?(?:\d+: )?([\w./-]+): ")
"""A line of an output that names the failed program: "bash: line 1: make: command not found"."""
_SCRIPT = lazy_pattern(r"[\w@+-][\w.@+-]*\.(?:py|sh|bash|ps1|js|mjs|cjs|ts|rb|pl|php|lua|bat|cmd)$")
"""The file of a script: "check.sh"."""
_INTERPRETER = lazy_pattern(
    r"(?:python[\d.]*|pypy3?|node|deno|bun|tsx|ts-node|ruby|perl|php|lua|bash|sh|zsh|pwsh|powershell)$"
)
"""A program that runs scripts: "python3", "node"."""
_SUBCOMMAND = lazy_pattern(r"[A-Za-z][A-Za-z:-]*$")
"""A subcommand of a script: "migrate"."""
_SAID_BY_GIT = lazy_pattern(r"\s*(?:fatal|error|hint): ")
"""A line that only git prints so: "fatal: not a git repository"."""
