"""How many tests passed and failed, from the summary lines of a test run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

_SUMS_UP = 4_000
"""Characters at the end of an output that are searched for a summary; chosen by hand."""


class Counts(NamedTuple):
    """Numbers of tests; None if the output does not say."""

    passed: int | None
    failed: int | None


def _lines(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


_LINES: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "pytest": _lines(r"^.*\b(?:passed|failed|errors?|no tests ran)\b.* in [\d.]+"),
        "cargo": _lines(r"^test result: .*"),
        "vitest": _lines(r"^[ \t]*Tests[ \t]+.*"),
        "jest": _lines(r"^[ \t]*Tests:[ \t]+.*"),
        "bun": _lines(r"^[ \t]*\d+ (?:pass|fail)[ \t]*$"),
        "mocha": _lines(r"^[ \t]+\d+ (?:passing|failing)\b"),
        "node": _lines(r"^[ \t]*(?:#|ℹ) (?:pass|fail) \d+"),
        "sympy": _lines(r"^=* ?tests finished: .*"),
        "unittest": _lines(r"^[ \t]*(?:Ran \d+ tests?|FAILED \(.*\))"),
    }
)
"""The summary lines of each runner; a run in several parts has several of them."""
_PASSED = re.compile(r"(\d+) (?:passed|passing|pass)\b|\bpass (\d+)")
_FAILED = re.compile(
    r"(\d+) (?:failed|failing|fail|errors?|exceptions?)\b|\bfail (\d+)|\b(?:failures|errors)=(\d+)"
)
_RAN = re.compile(r"Ran (\d+)")


def counts_in(runner: str, output: str) -> Counts:
    """Return how many tests passed and failed, by the output format of this runner."""
    lines = _LINES.get(runner)
    told = "\n".join(lines.findall(output[-_SUMS_UP:])) if lines else ""
    if not told:
        return Counts(None, None)
    failed = _sum(_FAILED, told)
    return Counts(_sum(_RAN, told) - failed if runner == "unittest" else _sum(_PASSED, told), failed)


def _sum(pattern: re.Pattern[str], text: str) -> int:
    return sum(int(match[match.lastindex or 1]) for match in pattern.finditer(text))
