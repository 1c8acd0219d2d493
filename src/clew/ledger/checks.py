"""Tests that failed and have not passed since, and the results of the last test run and the last check.

``FailingTests`` reads every shell call: a test run opens a loop for each failed test and closes those that
pass now; ``ruff check`` with "Found 3 errors." becomes the last check. A check is a lint, type check or
format check, recognised by its command and its summary line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from clew.ledger.baseline import FAILED_BEFORE, Baseline
from clew.ledger.command_line import simple_commands, without_prefixes
from clew.ledger.exchange import Exchange, Reading
from clew.ledger.loop import Closed, Loop, LoopKind
from clew.ledger.outcome import Ended
from clew.ledger.runner_formats import counts_in
from clew.ledger.testruns import LONGEST_COMMAND, FailedTest, Run, broke_off, hooked_by, only_shows, run_of
from clew.ledger.tool_actions import ActionKind
from clew.message import Cite
from clew.message.text import lazy_pattern

_SUMS_UP = 4_000
"""Characters at the end of an output that are searched for a summary; chosen by hand."""
LONGEST_VERDICT = 120
"""Characters of a summary line that are kept; chosen by hand."""
NO_ERRORS = "no errors shown"
"""The verdict of a check that prints no summary when all is well."""


@dataclass(frozen=True, slots=True)
class LastCheck:
    """The result of the last check."""

    command: str
    """The parts of the command line that ran checks."""
    verdict: str
    """The summary line; empty if it is not clear how the check ended."""
    source: Cite
    """The tool result."""


def verdict_of(command: str, output: str) -> tuple[str, str] | None:
    """Return the checking commands of a command line and the worst of their summary lines; None if none."""
    checkers = _checkers(command)
    verdict = _worst_verdict(output) if checkers else ""
    return (_JOINED.join(checkers), verdict) if verdict else None


_JOINED = " && "


def _checkers(command: str) -> list[str]:
    """Return the commands of a line that check something."""
    if not _CHECKS.search(command[:LONGEST_COMMAND]):
        return []
    found: list[str] = []
    for simple in simple_commands(command):
        words = without_prefixes(simple.words)
        line = " ".join(simple.words)
        if words and not only_shows(words) and _CHECKS.search(line):
            found.append(line)
    return found


def _does_only(command: str, checkers: list[str]) -> bool:
    """Return True if a line does nothing else that may fail, so that its exit code is that of the checks."""
    lines = (" ".join(simple.words) for simple in simple_commands(command))
    return all(line in checkers or line.startswith("cd ") for line in lines)


def _worst_verdict(output: str) -> str:
    """Return the summary line that reports most: errors before warnings, and the last of equal ones."""
    worst, verdict = (-1, 0), ""
    for match in _VERDICT.finditer(output[-_SUMS_UP:]):
        line = match[0].strip()
        if (bad := _badness(line)) >= worst:
            worst, verdict = bad, line
    return verdict[:LONGEST_VERDICT]


def _badness(verdict: str) -> tuple[int, int]:
    """Return how bad a verdict is: what it counts, and how many of them; (0, 0) if nothing was found."""
    if verdict.startswith("error"):
        return 2, 1
    count = int(number[0]) if (number := _NUMBER.search(verdict)) and "no issues" not in verdict else 0
    return (1 if "warning" in verdict and "error" not in verdict else 2, count) if count else (0, 0)


def _may_be(checkers: list[str], last: LastCheck) -> bool:
    """Return True if these commands may check the same as the last check: "lint:fix" after "lint"."""
    kinds = {kind for line in checkers for kind in _CHECKS.findall(line)}
    return not kinds.isdisjoint(_CHECKS.findall(last.command))


_NUMBER = lazy_pattern(r"\d{1,9}")


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
    baseline: Baseline = field(default_factory=Baseline)
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
                if self.baseline.ran(exchange):
                    self._failed_before(run)
                    continue
                if run is not None:
                    self._take(run, exchange)
                elif self.last and exchange.outcome.ended is Ended.FAILED:
                    is_over = broke_off(exchange.action.subject, exchange.result.text)
                    self.last = None if is_over else self.last  # it is not the last, whose result is unknown
                self._note_check(exchange, tested=run is not None)
            elif exchange.action.kind is not ActionKind.SHELL:
                self.baseline.ran(exchange)

    def _failed_before(self, run: Run | None) -> None:
        """Note which tests fail without the changes; the run says nothing else about the work."""
        failed = [test.name for test in run.failed] if run else []
        self.baseline.note(failed)
        for name in failed:
            if failing := self.open.get(name):
                self.open[name] = replace(failing, loop=replace(failing.loop, status=FAILED_BEFORE))

    def _note_check(self, exchange: Exchange, tested: bool) -> None:
        """Note the result of a check; if it is not clear, nothing is claimed about it any more."""
        command, output = exchange.action.subject, exchange.result.text
        checkers = _checkers(command)
        if not checkers:
            hooked = "" if tested else hooked_by(command)
            if hooked and (verdict := _worst_verdict(output)):
                self.checked = LastCheck(hooked, verdict, exchange.answered)
            return
        last, verdict = (
            self.checked,
            "" if tested else _worst_verdict(output),
        )  # test runners print such lines too
        failed = exchange.outcome.ended is Ended.FAILED
        if verdict and not (failed and _badness(verdict) == (0, 0)):
            self.checked = LastCheck(_JOINED.join(checkers), verdict, exchange.answered)
        elif failed and not tested and _does_only(command, checkers):
            code = exchange.outcome.exit_code
            verdict = f"failed with exit code {code}" if code else "failed"
            self.checked = LastCheck(_JOINED.join(checkers), verdict, exchange.answered)
        elif last and self._is_clean_now(last, exchange, tested):
            self.checked = replace(last, verdict=NO_ERRORS, source=exchange.answered)
        elif verdict or (last and _may_be(checkers, last)):
            self.checked = LastCheck(last.command if last else _JOINED.join(checkers), "", exchange.answered)

    @staticmethod
    def _is_clean_now(last: LastCheck, exchange: Exchange, tested: bool) -> bool:
        """Return True if the last check was run again and shows no errors; many print no summary then."""
        command = exchange.action.subject
        if exchange.outcome.ended is not Ended.OK or not {*_checkers(command)} >= {*_checkers(last.command)}:
            return False
        if tested:  # the words of the output may be those of the tests, but a failed check would end the line
            return all(simple.then in ("&&", "") for simple in simple_commands(command))
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
        chosen_by = run.selects | run.filters - {""}
        if not run.failed and not chosen_by:
            return list(self.open)
        covered = (run.passed & self.open.keys()) | self._by_word.get(run.command, set())
        if not run.failed:
            for chosen in chosen_by:
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
        self._put(test.name, Failing(loop, run.runner, run.command, tuple(sorted(run.selects | run.filters))))

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
        status = FAILED_BEFORE if test.name in self.baseline.failing else ""
        return Loop(f"f{self.count}", LoopKind.TEST, test.name, place, status)

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
"""A command that may check: "ruff check", "npm run lint"."""
_VERDICT = lazy_pattern(
    r"^[ \t]*(?:✖ |× )?(?:"
    r"Found \d+ (?:errors?|warnings?|problems?|issues?)\b[^\n]*"
    r"|\d+ (?:errors?|problems?|issues?)\b[^\n]*"
    r"|Success: no issues found[^\n]*|All checks passed!?"
    r"|error: could not compile[^\n]*"
    r")[ \t]*$",
    re.MULTILINE,
)
"""The summary line of a check: "Found 3 errors.", "All checks passed!"."""
