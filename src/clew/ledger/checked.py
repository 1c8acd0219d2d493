"""How the code was judged last: by a linter, a type checker, a formatter, by the line that sums it up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clew.ledger.shell import simple_commands, without_prefixes
from clew.ledger.testruns import LONGEST_COMMAND, only_shows
from clew.message import Cite

_SUMS_UP = 4_000
"""Characters at the end of an output in which checkers sum up."""
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
    """How the code was judged last."""

    command: str
    """The part of the command line that judged."""
    verdict: str
    """The line in which it sums up."""
    source: Cite
    """The result that tells."""


def verdict_of(command: str, output: str) -> tuple[str, str] | None:
    """Return what of a command line checks the code, and how that sums up; None where nothing does."""
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
