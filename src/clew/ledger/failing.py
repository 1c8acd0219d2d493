"""Tests that failed and have not passed since."""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.ledger.exchange import Exchange, Reading
from clew.ledger.loop import Closed, Loop, LoopKind
from clew.ledger.outcome import Ended
from clew.ledger.testruns import FailedTest, Run, run_of
from clew.ledger.tool_names import Does
from clew.message import Cite


@dataclass(frozen=True, slots=True)
class Failing:
    """A failing test as a loop, and the run in which it failed last."""

    loop: Loop
    runner: str
    command: str
    selects: tuple[str, ...]


@dataclass(slots=True)
class FailingTests:
    """Keeps tests by their names from the run that they fail in to the one that they pass in."""

    open: dict[str, Failing] = field(default_factory=dict)
    ended: list[Loop] = field(default_factory=list)
    count: int = 0

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Return the tests that fail now."""
        return tuple(failing.loop for failing in self.open.values())

    def add(self, reading: Reading) -> None:
        """Take in a message."""
        for exchange in reading.exchanges:
            if exchange.deed.does is Does.SHELL and exchange.outcome.ended is not Ended.REFUSED:
                run = run_of(exchange.deed.subject, exchange.result.text)
                if run is not None:
                    self._take(run, exchange)

    def _take(self, run: Run, exchange: Exchange) -> None:
        failed = {test.name for test in run.failed}
        for name, failing in list(self.open.items()):
            if name not in failed and _passed(run, name, failing):
                self.ended.append(failing.loop.ended(Closed.PASSED, exchange.answered))
                del self.open[name]
        for test in run.failed:
            before = self.open.get(test.name)
            loop = before.loop if before else self._new(test, exchange.answered)
            self.open[test.name] = Failing(loop, run.runner, run.command, tuple(sorted(run.selects)))

    def _new(self, test: FailedTest, answered: Cite) -> Loop:
        self.count += 1
        place = answered._replace(start=test.start, end=test.end)
        return Loop(f"f{self.count}", LoopKind.TEST, test.name, place)


def _passed(run: Run, name: str, failing: Failing) -> bool:
    """Tell whether a run in which a test did not fail shows that it passes now."""
    if run.runner != failing.runner:
        return False
    if name in run.passed or run.command == failing.command:
        return True
    return not run.failed and run.covers(name, frozenset(failing.selects))
