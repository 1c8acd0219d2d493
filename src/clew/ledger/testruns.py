"""Read from the output of a test run which tests failed and passed, and how many."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from clew.ledger.shell import simple_commands, without_prefixes
from clew.message.patterns import lazy_pattern
from clew.message.text import blank_colours

LONGEST = 400_000
"""Characters of an output that are read (chosen by hand): the last ones, with the runner's summary."""
LONGEST_COMMAND = 4_000
"""Characters of a command line that are searched for a test runner; chosen by hand."""
MOST_FAILED = 200
"""Failed tests of one run that are listed; chosen by hand."""


class Runner(NamedTuple):
    """Output format of a test runner; ``fails`` and ``passes`` capture the test's name in group 1."""

    name: str
    sign: str
    """A substring of all its output, checked first."""
    fails: re.Pattern[str]
    passes: re.Pattern[str]
    summary: re.Pattern[str]
    """Shows that it ran to the end."""
    verdicts: tuple[str, ...] = ()
    """If given, substrings of which every line with a failed or passed test has one, checked first."""


def _lines(pattern: str) -> re.Pattern[str]:
    return lazy_pattern(pattern, re.MULTILINE)


_TIME = r"(?:[ \t]+[\[(]?[\d.]+ ?m?s[\])]?)?[ \t]*$"
RUNNERS = (
    Runner(
        "pytest",
        " in ",
        _lines(
            r"^[ \t]*(?:FAILED|ERROR) (\S+\.py(?:::[^\n]+?)?)(?: - [^\n]*)?[ \t]*$"
            r"|^[ \t]*(\S+\.py::[^\n]+?) (?:FAILED|ERROR)\b"
        ),
        _lines(r"^[ \t]*(\S+\.py::[^\n]+?) PASSED\b"),
        _lines(
            r"^[ \t]*=* ?(?:\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|warnings?"
            r"|deselected)(?:, )?)+"
            r" in [\d.]+"
        ),
        ("FAILED", "ERROR", "PASSED"),
    ),
    Runner(
        "sympy",
        "tests finished: ",
        _lines(r"^_+ (\S+\.py:\w+) _+$"),
        _lines(r"^(?!)()"),  # it does not list passed tests
        _lines(r"^=+ tests finished: "),
    ),
    Runner(
        "unittest",
        "Ran ",
        _lines(r"^[ \t]*(?:FAIL|ERROR): (\S+ \([\w.]+\))"),
        _lines(r"^[ \t]*(\w+ \([\w.]+\))(?:\n[^\n]{0,200})? \.\.\. ok$"),
        _lines(r"^[ \t]*Ran \d+ tests? in"),
    ),
    Runner(
        "go",
        "\t",
        _lines(r"^[ \t]*--- FAIL: (\S+)|^FAIL[ \t]+(\S+) \[(?:build|setup) failed\]"),
        _lines(r"^[ \t]*--- PASS: (\S+)|^ok[ \t]+(\S+)[ \t]"),
        _lines(r"^(?:ok|FAIL)[ \t]+\S+|^PASS$"),
    ),
    Runner(
        "cargo",
        "test result: ",
        _lines(r"^test (\S+) \.\.\.[ \t]+FAILED"),
        _lines(r"^test (\S+) \.\.\.[ \t]+ok"),
        _lines(r"^test result: "),
    ),
    Runner(
        "vitest",
        "Test Files",
        _lines(r"^[ \t]*FAIL[ \t]+(\S+\.\w+(?:[ \t]+>[ \t]+[^\n]+?)?)(?: \[ [^\n]*)?[ \t]*$"),
        _lines(
            r"^[ \t]*✓[ \t]+(\S+\.\w+(?:[ \t]+>[ \t]+[^\n]+?)?)(?:[ \t]+\([ \t]*\d+ tests?[ \t]*\))?" + _TIME
        ),
        _lines(r"^[ \t]*Test Files[ \t]+.*\b(?:passed|failed)\b"),
    ),
    Runner(
        "jest",
        "Test Suites:",
        _lines(r"^[ \t]*● ([^\n]+ › [^\n]+?)[ \t]*$|^[ \t]*FAIL[ \t]+(\S+\.\w+)" + _TIME),
        _lines(r"^[ \t]*PASS[ \t]+(\S+\.\w+)" + _TIME),
        _lines(r"^[ \t]*Tests:[ \t]+.*\b(?:passed|failed)\b"),
    ),
    Runner(
        "bun",
        " fail",
        _lines(r"^[ \t]*(?:\(fail\)|✗) ([^\n]+?)" + _TIME),
        _lines(r"^[ \t]*(?:\(pass\)|✓) ([^\n]+?)" + _TIME),
        _lines(r"^[ \t]*\d+ fail[ \t]*$"),
    ),
    Runner(
        "mocha",
        " passing",
        # In the failures at the end, the number precedes the suite, and the test is on the next line.
        _lines(r"^[ \t]+\d+\) (?:[^\n]+\n[ \t]{5,})?([^\s✓✔][^\n]*?):?[ \t]*$"),
        _lines(r"^[ \t]+(?:✓|✔) ([^\n]+?)" + _TIME),
        _lines(r"^[ \t]+\d+ (?:passing|failing)\b"),
    ),
    Runner(
        "node",
        " fail ",
        _lines(
            r"^[ \t]*(?:not ok \d+ - |✖ )(?!failing tests)([^\n]+?)(?: \([\d.]+ms\))?(?: #[^\n]*)?[ \t]*$"
        ),
        _lines(r"^[ \t]*(?:ok \d+ - |✔ )([^\n]+?)(?: \([\d.]+ms\))?(?: #[^\n]*)?[ \t]*$"),
        _lines(r"^[ \t]*(?:#|ℹ) fail \d+"),
    ),
)


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

    def covers(self, name: str, selected: frozenset[str]) -> bool:
        """Return True if this run included a test that ran before with these selections."""
        if any(out in name or name in out for out in self.leaves_out):
            return False
        if not self.selects or self.selects >= selected > frozenset():
            return True
        return any(chosen.strip("./") and chosen.strip("./") in name for chosen in self.selects)


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
    text, shift = _readable(output)
    match = _NAMED.search(ran.line)
    for runner in RUNNERS:
        if match and _RUNNER_OF.get(match[0], match[0]) != runner.name:
            continue  # the command names its runner, so other formats are not tried
        if runner.sign in text and runner.summary.search(text):
            if runner.verdicts and not any(map(text.__contains__, runner.verdicts)):
                return Run(runner.name, (), frozenset(), ran.line, ran.selects, ran.leaves_out)
            failed = tuple(_failed_tests(runner, text, shift))
            passed = frozenset(
                name for names in _names_matching(runner.passes, text) for name in names if name
            )
            passed -= {test.name for test in failed}
            return Run(runner.name, failed, passed, ran.line, ran.selects, ran.leaves_out)
    return None


def selected_by(command: str) -> frozenset[str]:
    """Return what a command line selects to be tested; empty for everything."""
    ran = _selection(command)
    return ran.selects if ran else frozenset()


def _readable(output: str) -> tuple[str, int]:
    """Return the output with colour codes blanked out, cut to its end if long, and the start of that cut."""
    shift = max(0, len(output) - LONGEST)
    text = output[shift:] if shift else output
    return blank_colours(text), shift


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


def _names_matching(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, ...]]:
    for match in pattern.finditer(text):
        yield tuple(_name(name)[0] for name in match.groups() if name)


def _name(shown: str) -> tuple[str, int]:
    """Return the name of a test and where it begins; of a name with blanked colour codes, its last part."""
    name = shown.strip()
    if "  " in name:
        name = name.rpartition(">")[2].strip()
    return name, shown.rindex(name)


def only_shows(words: Sequence[str]) -> bool:
    """Return True if a command of these words only prints or manages files and runs no tests."""
    return words[0].rsplit("/", 1)[-1] in _SHOWS


class _Ran(NamedTuple):
    """The command of a line that runs tests, and what it selects."""

    line: str
    selects: frozenset[str]
    leaves_out: frozenset[str] = frozenset()


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
    left_out = {word.partition("=")[2] for word in words if word.startswith(_LEAVING_OUT) and "=" in word}
    left_out |= {word for option, word in pairwise(words) if option in _LEAVING_OUT}
    by_task = words[0] in _TASK_RUNNERS
    chosen = {word for word in words if word not in left_out and _selects(word, by_task)} - _EVERYTHING
    return _Ran(line, frozenset(chosen or folder), frozenset(word.strip("./") for word in left_out))


def _selects(word: str, by_task: bool) -> bool:
    """Return True if a word selects tests: not the runner, an option, or a task like ``test:ci``."""
    if word.startswith("-") or "=" in word or word.isdigit():
        return False
    if by_task and _TASK_NAME.fullmatch(word):
        return False
    return _RUNNER_WORDS.fullmatch(word.rsplit("/", 1)[-1]) is None


_SUMS_UP = 4_000
"""Characters at the end of an output that are searched for a summary; chosen by hand."""


class Counts(NamedTuple):
    """Numbers of tests; None if the output does not say."""

    passed: int | None
    failed: int | None


def counts_in(runner: str, output: str) -> Counts:
    """Return how many tests passed and failed, by the output format of this runner."""
    if runner not in _LINES:
        return Counts(None, None)
    sign, pattern = _LINES[runner]
    lines = _readable(output)[0][-_SUMS_UP:].split("\n")
    summary = "\n".join(found[0] for line in lines if sign in line and (found := pattern.match(line)))
    if not summary:
        return Counts(None, None)
    failed = _sum(_FAILED, summary)
    if runner == "unittest":
        return Counts(_sum(_RAN, summary) - failed - _sum(_DID_NOT_PASS, summary), failed)
    return Counts(_sum(_PASSED, summary), failed)


def _sum(pattern: re.Pattern[str], text: str) -> int:
    return sum(int(match[match.lastindex or 1]) for match in pattern.finditer(text))


# What the patterns recognise ---------------------------------------------------------------------------

_RUNS_TESTS = lazy_pattern(
    r"\bbin/tests?\b|"
    r"\b(?:pytest|py\.test|unittest|tox|nox|jest|vitest|mocha|ava|cypress|playwright|rspec|phpunit|ctest|nextest|runtests|trial)\b"
    r"|\b(?:go|cargo|npm|pnpm|yarn|bun|deno|mix|swift|dotnet|zig|make|just|mise|task|gradlew?|mvn|node|rake|poetry|uv|hatch|"
    r"python3?|django-admin|manage\.py|bin/\w+|turbo|nx)\b[^|;&\n]*(?:\btests?\b|\bcheck\b|\bci\b|\bverify\b|--test\b|test_|_test)"
)
_EVERYTHING = frozenset(("./...", "...", ".", "tests", "tests/", "test", "run", "src", "src/"))
_RUNNER_WORDS = lazy_pattern(
    r"(?:py)?\.?tests?|unittest|python[\d.]*|go|cargo|npm|pnpm|yarn|bun|npx|run|jest|vitest|mocha|uv|poetry|make|mise|node|nextest|rtk"
)
_TASK_RUNNERS = frozenset(
    {"npm", "pnpm", "yarn", "bun", "mise", "make", "just", "task", "turbo", "nx", "rtk"}
)
_TASK_NAME = lazy_pattern(r"[a-z][a-z0-9:_-]*")
_SHOWS = frozenset(
    re.findall(
        r"\w+",
        """cat head tail less more bat nl tac grep egrep fgrep rg ag ack sed awk cut sort uniq wc diff echo
        printf git gh ls find fd cp mv rm mkdir touch cd pushd export source pip curl wget tee""",
    )
)
"""Programs that print text but never run tests, regardless of their arguments and output."""
_NAMED = lazy_pattern(r"\b(?:pytest|py\.test|unittest|vitest|jest|mocha|(?:go|cargo|bun)(?= test\b))")
_RUNNER_OF = {"py.test": "pytest"}
_LEAVING_OUT = ("--ignore", "--deselect", "--exclude", "--ignore-glob", "--skip", "--testPathIgnorePatterns")
_LINES: Mapping[str, tuple[str, re.Pattern[str]]] = MappingProxyType(
    {
        "pytest": (" in ", lazy_pattern(r".*\b(?:passed|failed|errors?|no tests ran)\b.* in [\d.]+")),
        "cargo": ("test result: ", lazy_pattern(r"test result: .*")),
        "vitest": ("Tests", lazy_pattern(r"[ \t]*Tests[ \t]+.*")),
        "jest": ("Tests:", lazy_pattern(r"[ \t]*Tests:[ \t]+.*")),
        "bun": (" ", lazy_pattern(r"[ \t]*\d+ (?:pass|fail)[ \t]*$")),
        "mocha": ("ing", lazy_pattern(r"[ \t]+\d+ (?:passing|failing)\b")),
        "node": (" ", lazy_pattern(r"[ \t]*(?:#|ℹ) (?:pass|fail) \d+")),
        "sympy": ("tests finished: ", lazy_pattern(r"=* ?tests finished: .*")),
        "unittest": ("", lazy_pattern(r"[ \t]*(?:Ran \d+ tests?|(?:FAILED|OK) \(.*\))")),
    }
)
"""A substring of the summary lines of each runner, and their pattern; a run in several parts has several."""
_PASSED = lazy_pattern(r"(\d+) (?:passed|passing|pass)\b|\bpass (\d+)")
_FAILED = lazy_pattern(
    r"(\d+) (?:failed|failing|fail|errors?|exceptions?)\b|\bfail (\d+)"
    r"|(?<!expected )\b(?:failures|errors)=(\d+)"
)
_RAN = lazy_pattern(r"Ran (\d+)")
_DID_NOT_PASS = lazy_pattern(r"\b(?:skipped|expected failures|unexpected successes)=(\d+)")
"""Tests that unittest counts as run and that neither passed nor failed."""
