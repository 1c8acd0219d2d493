"""The output formats of test runners: how each names failed and passed tests, and how it sums up.

``RUNNERS`` has one ``Runner`` of patterns for each of pytest, unittest, go, cargo, vitest, jest and so on;
``testruns`` tries them on the output of a command that runs tests. ``counts_in`` reads the totals:
``counts_in("pytest", "=== 1 failed, 41 passed in 2.1s ===")`` is ``Counts(passed=41, failed=1)``. To support
another runner, add a ``Runner``, and its summary lines to ``_SUMMARY_LINES``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from clew.message.text import blank_colours, lazy_pattern

LONGEST_OUTPUT = 400_000
"""Characters of an output that are read (chosen by hand): the last ones, with the runner's summary."""
_LONGEST_SUMMARY = 4_000
"""Characters at the end of an output that are searched for a summary; chosen by hand."""


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


class Counts(NamedTuple):
    """Numbers of tests; None if the output does not say."""

    passed: int | None
    failed: int | None


def counts_in(runner: str, output: str) -> Counts:
    """Return how many tests passed and failed, by the output format of this runner."""
    if runner not in _SUMMARY_LINES:
        return Counts(None, None)
    sign, pattern = _SUMMARY_LINES[runner]
    lines = readable(output)[0][-_LONGEST_SUMMARY:].split("\n")
    summary = "\n".join(found[0] for line in lines if sign in line and (found := pattern.match(line)))
    if not summary:
        return Counts(None, None)
    failed = _sum(_FAILED, summary)
    if runner == "unittest":
        return Counts(_sum(_RAN, summary) - failed - _sum(_DID_NOT_PASS, summary), failed)
    return Counts(_sum(_PASSED, summary), failed)


def _sum(pattern: re.Pattern[str], text: str) -> int:
    return sum(int(match[match.lastindex or 1]) for match in pattern.finditer(text))


def readable(output: str) -> tuple[str, int]:
    """Return the output with colour codes blanked out, cut to its end if long, and the start of that cut."""
    shift = max(0, len(output) - LONGEST_OUTPUT)
    text = output[shift:] if shift else output
    return blank_colours(text), shift


def _lines(pattern: str) -> re.Pattern[str]:
    return lazy_pattern(pattern, re.MULTILINE)


_TIME = r"(?:[ \t]+[\[(]?[\d.]+ ?m?s[\])]?)?[ \t]*$"
"""The time that a test took, at the end of its line: "(12 ms)"."""
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

_SUMMARY_LINES: Mapping[str, tuple[str, re.Pattern[str]]] = MappingProxyType(
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
"""A number of passed tests: "41 passed", "pass 3"."""
_FAILED = lazy_pattern(
    r"(\d+) (?:failed|failing|fail|errors?|exceptions?)\b|\bfail (\d+)"
    r"|(?<!expected )\b(?:failures|errors)=(\d+)"
)
"""A number of failed tests: "1 failed", "errors=2"."""
_RAN = lazy_pattern(r"Ran (\d+)")
"""The number of tests that unittest ran."""
_DID_NOT_PASS = lazy_pattern(r"\b(?:skipped|expected failures|unexpected successes)=(\d+)")
"""Tests that unittest counts as run and that neither passed nor failed."""
