"""The result of the last lint, type check or format check, from its summary line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clew.ledger.shell import simple_commands, without_prefixes
from clew.ledger.testruns import LONGEST_COMMAND, only_shows
from clew.message import Cite

_SUMS_UP = 4_000
"""Characters at the end of an output that are searched for a summary; chosen by hand."""
LONGEST_VERDICT = 120
_CHECKS = re.compile(
    r"\b(?:lint\w*|check|typecheck|type-check|format|fmt|tsc|mypy|pyright|ruff|flake8|pylint|eslint|biome|prettier"
    r"|clippy|golangci-lint|vet|rubocop|shellcheck|stylelint|oxlint|ktlint|swiftlint)\b"
)
_VERDICT = re.compile(
    r"^[ \t]*(?:✖ |× )?(?:"
    r"Found \d+ (?:errors?|warnings?|problems?|issues?)\b[^\n]*"
    r"|\d+ (?:errors?|problems?|issues?)\b[^\n]*"
    r"|Success: no issues found[^\n]*|All checks passed!?"
    r"|error: could not compile[^\n]*"
    r")[ \t]*$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class LastCheck:
    """The result of the last check."""

    command: str
    """The part of the command line that ran the check."""
    verdict: str
    """The summary line."""
    source: Cite
    """The tool result."""


def verdict_of(command: str, output: str) -> tuple[str, str] | None:
    """Return the checking command of a command line and its summary line; None if there is none."""
    if not _CHECKS.search(command[:LONGEST_COMMAND]):
        return None
    found = [match[0].strip() for match in _VERDICT.finditer(output[-_SUMS_UP:])]
    checker = next(_checkers(command), None) if found else None
    return (checker, found[-1][:LONGEST_VERDICT]) if checker else None


def _checkers(command: str) -> Iterator[str]:
    for simple in simple_commands(command):
        words = without_prefixes(simple.words)
        line = " ".join(simple.words)
        if words and not only_shows(words) and _CHECKS.search(line):
            yield line
