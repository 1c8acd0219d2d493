"""Read from a command and its output which tests ran, and which of them failed and passed.

``run_of("cd api && pytest -x tests/", output)`` returns a ``Run``: the runner, the failed tests with their
positions in the output, the passed ones that it lists, and which tests the command selected. ``checks``
tracks failing tests with it, ``failures`` recognises that a failed run passes now. The output formats of
the runners are in ``runner_formats``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from clew.ledger.command_line import simple_commands, without_prefixes
from clew.ledger.runner_formats import RUNNERS, Runner, counts_in, readable
from clew.message.text import lazy_pattern

LONGEST_COMMAND = 4_000
"""Characters of a command line that are searched for a test runner; chosen by hand."""
MOST_FAILED = 200
"""Failed tests of one run that are listed; chosen by hand."""


class FailedTest(NamedTuple):
    """A failed test and its position in the output."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Run:
    """The result of one test run."""

    runner: str
    failed: tuple[FailedTest, ...]
    passed: frozenset[str]
    """Only tests that the output lists individually."""
    command: str
    """The part of the command line that ran the tests, without pipes after it."""
    selects: frozenset[str]
    """The tests, files or folders named on the command line; empty for all of them."""
    leaves_out: frozenset[str] = frozenset()
    """Those that it named to be excluded."""
    filters: frozenset[str] = frozenset()
    """Expressions that choose among the selected tests: "one" in "pytest tests -k one"."""

    def covers(self, name: str, selected: frozenset[str]) -> bool:
        """Return True if this run included a test that ran before with these selections and filters."""
        if any(out in name or name in out for out in self.leaves_out):
            return False
        if any("::" in chosen and chosen.removeprefix("./") in name for chosen in self.selects):
            return True
        if not self.filters <= selected and not all(_is_named(text, name) for text in self.filters):
            return False
        if not self.selects or self.selects >= selected - self.filters > frozenset():
            return True
        return any(chosen.strip("./") and chosen.strip("./") in name for chosen in self.selects)


def _is_named(expression: str, name: str) -> bool:
    """Return True if a filter that is a name, and no expression, chooses a test by its name."""
    return _PLAIN.fullmatch(expression) is not None and expression in name


def run_of(command: str, output: str) -> Run | None:
    """Return the result of a test run; None if the command ran no tests, or not to the end.

    A hook of ``git commit`` or ``git push`` may run tests too.
    """
    ran = _selection(command) if _RUNS_TESTS.search(command[:LONGEST_COMMAND]) else None
    if ran is not None:
        return _run(ran, output)
    hooked = hooked_by(command)
    run = _run(_Ran(hooked, frozenset((hooked,))), output) if hooked else None  # which tests is not known
    is_sure = run is not None and (run.failed or counts_in(run.runner, output).passed is not None)
    return run if is_sure else None


def may_run_tests(line: str) -> bool:
    """Return True if one command of a line is written like one that runs tests."""
    return _RUNS_TESTS.search(line[:LONGEST_COMMAND]) is not None


def broke_off(command: str, output: str) -> bool:
    """Return True if a failed command ran tests, itself or in a hook of git, and shows no result of them.

    Of a hook it is known only if a script runner printed its command: "$ bun test src/".
    """
    if hooked_by(command):
        return any(map(may_run_tests, _ECHOED.findall(output[:LONGEST_COMMAND])))
    ran = _selection(command) if _RUNS_TESTS.search(command[:LONGEST_COMMAND]) else None
    return ran is not None and _NAMED_RUNNER.search(ran.line) is not None


_RUNS_HOOKS = lazy_pattern(r"\bgit\b[^|;&\n]{0,80}?\b(commit|push)\b")


def hooked_by(command: str) -> str:
    """Return the command of a line that runs git's hooks, such as "git commit"; empty if none does."""
    if not _RUNS_HOOKS.search(command[:LONGEST_COMMAND]):
        return ""
    for simple in simple_commands(command):
        words = without_prefixes(simple.words)
        if words and words[0] == "git" and (verb := next((w for w in words if w in ("commit", "push")), "")):
            return f"git {verb}"
    return ""


def _run(ran: _Ran, output: str) -> Run | None:
    text, shift = readable(output)
    named = _NAMED_RUNNER.search(ran.line)
    for runner in RUNNERS:
        if named and _RUNNER_OF.get(named[0], named[0]) != runner.name:
            continue  # the command names its runner, so other formats are not tried
        if runner.sign in text and runner.summary.search(text):
            failed, passed = _results(runner, text, shift)
            filters = ran.filters
            if not filters and _LEFT_OUT.search(text, max(0, len(text) - _LAST_LINES)):
                filters = frozenset(("",))  # a setting of the runner chooses, it is not known how
            return Run(runner.name, failed, passed, ran.line, ran.selects, ran.leaves_out, filters)
    return None


def selected_by(command: str) -> frozenset[str]:
    """Return what a command line selects to be tested; empty for everything."""
    ran = _selection(command)
    return ran.selects | ran.filters if ran else frozenset()


def only_shows(words: Sequence[str]) -> bool:
    """Return True if a command of these words only prints or manages files and runs no tests."""
    return words[0].rsplit("/", 1)[-1] in _SHOWS


# The output ----------------------------------------------------------------------------------------------


def _results(runner: Runner, text: str, shift: int) -> tuple[tuple[FailedTest, ...], frozenset[str]]:
    """Return the tests that an output lists as failed and as passed; positions are moved by ``shift``."""
    if runner.verdicts and not any(map(text.__contains__, runner.verdicts)):
        return (), frozenset()
    failed = tuple(_failed_tests(runner, text, shift))
    passed = frozenset(_passed_tests(runner, text))
    return failed, passed - {test.name for test in failed}


def _failed_tests(runner: Runner, text: str, shift: int) -> Iterator[FailedTest]:
    named: set[str] = set()
    for match in runner.fails.finditer(text):
        group = next(number for number, name in enumerate(match.groups(), start=1) if name)
        name, at = _name(match[group])
        if name not in named:
            named.add(name)
            start = shift + match.start(group) + at
            yield FailedTest(name, start, start + len(name))
        if len(named) >= MOST_FAILED:
            return


def _passed_tests(runner: Runner, text: str) -> Iterator[str]:
    for match in runner.passes.finditer(text):
        for shown in filter(None, match.groups()):
            if name := _name(shown)[0]:
                yield name


def _name(shown: str) -> tuple[str, int]:
    """Return the name of a test and where it begins; of a name with blanked colour codes, its last part."""
    name = shown.strip()
    if "  " in name:
        name = name.rpartition(">")[2].strip()
    return name, shown.rindex(name)


# The command line ----------------------------------------------------------------------------------------


class _Ran(NamedTuple):
    """The command of a line that runs tests, and what it selects."""

    line: str
    selects: frozenset[str]
    leaves_out: frozenset[str] = frozenset()
    filters: frozenset[str] = frozenset()


def _selection(command: str) -> _Ran | None:
    """Return the part of a command line that runs tests; None if all its commands only show something."""
    shown = False
    folder: set[str] = set()
    for simple in simple_commands(command):
        line = " ".join(simple.words)
        words = without_prefixes(simple.words)
        if len(words) == 2 and words[0] == "cd":
            folder = {words[1]} if words[1][0].isalnum() else set()  # part of the path of the tests
        elif words and only_shows(words):
            shown = True
        elif _RUNS_TESTS.search(line):
            return _ran(" && ".join((*(f"cd {name}" for name in folder), line)), simple.words, folder)
    return None if shown else _Ran(command, frozenset())


def _ran(line: str, words: Sequence[str], folder: set[str]) -> _Ran:
    """Return which tests a command selects: ``pytest a.py --ignore b.py`` selects a.py, leaves out b.py."""
    left_out = {word.partition("=")[2] for word in words if word.startswith(_LEAVING_OUT) and "=" in word}
    left_out |= {word for option, word in pairwise(words) if option in _LEAVING_OUT}
    filters = set(_filters_of(words))
    by_task = words[0] in _TASK_RUNNERS
    unread = left_out | filters
    chosen = {word for word in words if word not in unread and _selects(word, by_task)} - _EVERYTHING
    out = frozenset(word.strip("./") for word in left_out)
    return _Ran(line, frozenset(chosen or folder), out, frozenset(text.strip("^$") for text in filters))


def _filters_of(words: Sequence[str]) -> Iterator[str]:
    """Yield the expressions that choose among tests: ``pytest -k one`` has "one"."""
    is_marker = False  # "-m" names a marker for pytest and, before that, a module for Python
    for option, word in pairwise((*words, "")):
        name, is_joined, value = option.partition("=")
        if name in _FILTERING or (name == "-m" and is_marker):
            yield value if is_joined else word
        is_marker = is_marker or "pytest" in option


def _selects(word: str, by_task: bool) -> bool:
    """Return True if a word selects tests: not the runner, an option, or a task like ``test:ci``."""
    if word.startswith("-") or "=" in word or word.isdigit():
        return False
    if by_task and _TASK_NAME.fullmatch(word):
        return False
    return _RUNNER_WORDS.fullmatch(word.rsplit("/", 1)[-1]) is None


# What the patterns recognise ---------------------------------------------------------------------------

_RUNS_TESTS = lazy_pattern(
    r"\bbin/tests?\b|"
    r"\b(?:pytest|py\.test|unittest|tox|nox|jest|vitest|mocha|ava|cypress|playwright|rspec|phpunit|ctest|nextest|runtests|trial)\b"
    r"|\b(?:go|cargo|npm|pnpm|yarn|bun|deno|mix|swift|dotnet|zig|make|just|mise|task|gradlew?|mvn|node|rake|poetry|uv|hatch|"
    r"python3?|django-admin|manage\.py|bin/\w+|turbo|nx)\b[^|;&\n]*(?:\btests?\b|\bcheck\b|\bci\b|\bverify\b|--test\b|test_|_test)"
)
"""A command that may run tests: "pytest", "npm run test", "make check"."""
_EVERYTHING = frozenset(("./...", "...", ".", "tests", "tests/", "test", "run", "src", "src/"))
"""Words of a command line that select all tests, or are part of a subcommand."""
_RUNNER_WORDS = lazy_pattern(
    r"(?:py)?\.?tests?|unittest|python[\d.]*|go|cargo|npm|pnpm|yarn|bun|npx|run|jest|vitest|mocha|uv|poetry|make|mise|node|nextest|rtk"
)
"""Words of a command line that start the tests, and select none."""
_TASK_RUNNERS = frozenset(
    {"npm", "pnpm", "yarn", "bun", "mise", "make", "just", "task", "turbo", "nx", "rtk"}
)
"""Programs whose words may be names of tasks: "npm run test:ci"."""
_TASK_NAME = lazy_pattern(r"[a-z][a-z0-9:_-]*")
"""The name of a task: "test:ci"."""
_SHOWS = frozenset(
    re.findall(
        r"\w+",
        """cat head tail less more bat nl tac grep egrep fgrep rg ag ack sed awk cut sort uniq wc diff echo
        printf git gh ls find fd cp mv rm mkdir touch cd pushd export source pip curl wget tee""",
    )
)
"""Programs that print text but never run tests, regardless of their arguments and output."""
_NAMED_RUNNER = lazy_pattern(r"\b(?:pytest|py\.test|unittest|vitest|jest|mocha|(?:go|cargo|bun)(?= test\b))")
"""A runner that a command names: "go" in "go test ./..."."""
_RUNNER_OF = {"py.test": "pytest"}
"""Runners that have another name on the command line."""
_FILTERING = frozenset(
    ("-k", "-t", "-g", "-run", "--run", "--grep", "--filter", "--testNamePattern", "--test-name-pattern")
)
"""Options that choose among the tests by an expression."""
_ECHOED = lazy_pattern(r"^[$>] (.+)$", re.MULTILINE)
"""A command that a script runner prints before its output."""
_PLAIN = lazy_pattern(r"[\w./:\[\]-]+")
"""A filter that is a name: "test_one", not "one and not two"."""
_LEFT_OUT = lazy_pattern(r"\b[1-9]\d* (?:deselected|filtered out)\b")
"""What runners say if they did not run all of the tests that were selected."""
_LAST_LINES = 400
"""Characters at the end of an output where the runner counts; chosen by hand."""
_LEAVING_OUT = ("--ignore", "--deselect", "--exclude", "--ignore-glob", "--skip", "--testPathIgnorePatterns")
"""Options that exclude tests."""
