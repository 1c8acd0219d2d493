"""Tests that failed and have not passed since, and the results of the last test run and the last check.

A check is a lint, type check or format check, recognised by its command and its summary line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from clew.ledger.exchange import Exchange, Reading
from clew.ledger.loop import Closed, Loop, LoopKind
from clew.ledger.outcome import Ended
from clew.ledger.shell import simple_commands, without_prefixes
from clew.ledger.testruns import LONGEST_COMMAND, FailedTest, Run, counts_in, only_shows, run_of
from clew.ledger.tool_actions import ActionKind
from clew.message import Cite
from clew.message.patterns import lazy_pattern

_SUMS_UP = 4_000
"""Characters at the end of an output that are searched for a summary; chosen by hand."""
LONGEST_VERDICT = 120
NO_ERRORS = "no errors shown"


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


@dataclass(frozen=True, slots=True)
class Failing:
    """A failing test as a loop, and the run in which it failed last."""

    loop: Loop
    runner: str
    command: str
    selects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LastRun:
    """The result of the last test run."""

    command: str
    """The part of the command line that ran them."""
    runner: str
    source: Cite
    """The tool result."""
    passed: int | None = None
    """As the runner counts them; None if it does not say."""
    failed: int = 0
    """As the runner counts them, or else the number of listed failures."""


@dataclass(slots=True)
class FailingTests:
    """Tracks tests by name from the run in which they fail to the one in which they pass."""

    open: dict[str, Failing] = field(default_factory=dict)
    ended: list[Loop] = field(default_factory=list)
    count: int = 0
    last: LastRun | None = None
    checked: LastCheck | None = None
    put_aside: dict[str, Failing] = field(default_factory=dict)
    """Tests that a person closed by hand: failing again does not reopen them, passing removes them."""
    _by_word: dict[str, set[str]] = field(init=False, default_factory=dict)
    """Names of the open tests by their last failing command and by what it selected."""
    _names: str = field(init=False, default="")
    """Names of the open tests, one per line; empty if they changed since it was built."""

    def __post_init__(self) -> None:
        for name, failing in self.open.items():
            self._put(name, failing)

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Return the tests that fail now."""
        return tuple(failing.loop for failing in self.open.values())

    def add(self, reading: Reading) -> None:
        """Read a message."""
        for exchange in reading.exchanges:
            if exchange.action.kind is ActionKind.SHELL and exchange.outcome.ended is not Ended.REFUSED:
                run = run_of(exchange.action.subject, exchange.result.text)
                if run is not None:
                    self._take(run, exchange)
                elif judged := verdict_of(exchange.action.subject, exchange.result.text):
                    self.checked = LastCheck(*judged, exchange.answered)
                elif self.checked and self._is_clean_now(self.checked, exchange):
                    self.checked = replace(self.checked, verdict=NO_ERRORS, source=exchange.answered)

    @staticmethod
    def _is_clean_now(last: LastCheck, exchange: Exchange) -> bool:
        """Return True if the last check was run again and shows no errors; many print no summary then."""
        command = exchange.action.subject
        if exchange.outcome.ended is not Ended.OK or not _CHECKS.search(command[:LONGEST_COMMAND]):
            return False
        if last.command not in _checkers(command):
            return False
        return _ERROR.search(exchange.result.text[-_SUMS_UP:]) is None

    def _take(self, run: Run, exchange: Exchange) -> None:
        """Apply a test run: close tests that pass now, open those that fail, note the totals."""
        failed = {test.name for test in run.failed}
        passed = [name for name in self._may_pass(run) if name not in failed and self._passes(run, name)]
        for name in passed:
            self.ended.append(self._remove(name).loop.ended(Closed.PASSED, exchange.answered))
        for name in [name for name in self.put_aside if name in run.passed]:
            del self.put_aside[name]
        for test in run.failed:
            self._fails(test, run, exchange.answered)
        counts = counts_in(run.runner, exchange.result.text)
        many = counts.failed if counts.failed is not None else len(run.failed)
        if many == 0 and exchange.outcome.ended is Ended.FAILED:
            self.last = None  # what failed is not known, so nothing is claimed
        else:
            self.last = LastRun(run.command, run.runner, exchange.answered, counts.passed, many)

    def _may_pass(self, run: Run) -> list[str]:
        """Return the open tests that a run may show to pass: usually a few of many."""
        if not run.failed and not run.selects:
            return list(self.open)
        covered = (run.passed & self.open.keys()) | self._by_word.get(run.command, set())
        if not run.failed:
            for chosen in run.selects:
                covered |= self._by_word.get(chosen, set()) | self._named_like(chosen.strip("./"))
        return [name for name in self.open if name in covered] if covered else []

    def _named_like(self, piece: str) -> set[str]:
        """Return the open tests whose names contain this, by one search through all names."""
        if not self._names:
            self._names = "\n".join(("", *self.open, ""))
        found: set[str] = set()
        at = self._names.find(piece) if piece else -1
        while at >= 0:
            end = self._names.find("\n", at + 1)
            found.add(self._names[self._names.rfind("\n", 0, at + 1) + 1 : end])
            at = self._names.find(piece, end)
        return found & self.open.keys()

    def _passes(self, run: Run, name: str) -> bool:
        """Return True if a run in which a test did not fail shows that it passes now."""
        failing = self.open[name]
        if run.runner != failing.runner:
            return False
        if name in run.passed or run.command == failing.command:
            return True
        return not run.failed and run.covers(name, frozenset(failing.selects))

    def _fails(self, test: FailedTest, run: Run, answered: Cite) -> None:
        if test.name in self.put_aside:
            return
        before = self.open.get(test.name)
        if before is not None:
            self._forget(test.name, before)
        place = answered._replace(start=test.start, end=test.end)
        loop = replace(before.loop, source=place) if before else self._new(test, place)
        self._put(test.name, Failing(loop, run.runner, run.command, tuple(sorted(run.selects))))

    def _put(self, name: str, failing: Failing) -> None:
        self.open[name] = failing
        self._names = ""
        for word in (failing.command, *failing.selects):
            self._by_word.setdefault(word, set()).add(name)

    def _forget(self, name: str, failing: Failing) -> None:
        """Remove a test from the index of the run in which it failed."""
        self._names = ""
        for word in {failing.command, *failing.selects}:
            self._by_word[word].discard(name)
            if not self._by_word[word]:
                del self._by_word[word]

    def _remove(self, name: str) -> Failing:
        failing = self.open.pop(name)
        self._forget(name, failing)
        return failing

    def _new(self, test: FailedTest, place: Cite) -> Loop:
        self.count += 1
        return Loop(f"f{self.count}", LoopKind.TEST, test.name, place)

    # What a person does by hand --------------------------------------------------------------------------

    def close(self, id_: str, why: str) -> Loop | None:
        """Set a test aside by hand; None if it is not one of these, or not open."""
        name = next((name for name, failing in self.open.items() if failing.loop.id == id_), None)
        if name is None:
            return None
        failing = self._remove(name)
        closed = failing.loop.closed_by_hand(why)
        self.put_aside[name] = Failing(closed, failing.runner, failing.command, failing.selects)
        return closed

    def reopen(self, id_: str) -> Loop | None:
        """Reopen a test that was set aside; None if it is not one of these."""
        name = next((name for name, failing in self.put_aside.items() if failing.loop.id == id_), None)
        if name is None:
            return None
        put_aside = self.put_aside.pop(name)
        loop = put_aside.loop.reopened()
        self._put(name, Failing(loop, put_aside.runner, put_aside.command, put_aside.selects))
        return loop


# What the patterns recognise ---------------------------------------------------------------------------

_ERROR = lazy_pattern(r"^(?![$>] ).*?(?:error|fail|warn|×|✖|✗)", re.IGNORECASE | re.MULTILINE)
"""A word of trouble, not in the command that a script runner repeats."""
_CHECKS = lazy_pattern(
    r"\b(?:lint\w*|check|typecheck|type-check|format|fmt|tsc|mypy|pyright|ruff|flake8|pylint|eslint|biome|prettier"
    r"|clippy|golangci-lint|vet|rubocop|shellcheck|stylelint|oxlint|ktlint|swiftlint)\b"
)
_VERDICT = lazy_pattern(
    r"^[ \t]*(?:✖ |× )?(?:"
    r"Found \d+ (?:errors?|warnings?|problems?|issues?)\b[^\n]*"
    r"|\d+ (?:errors?|problems?|issues?)\b[^\n]*"
    r"|Success: no issues found[^\n]*|All checks passed!?"
    r"|error: could not compile[^\n]*"
    r")[ \t]*$",
    re.MULTILINE,
)
