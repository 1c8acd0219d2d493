"""Recognise test runs without the changes of the session, and the tests that fail there, too.

``git stash && pytest -q; git stash pop`` says nothing about the work: tests that fail in it failed before.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from clew.ledger.command_line import simple_commands, without_prefixes
from clew.ledger.exchange import Exchange
from clew.ledger.testruns import may_run_tests, only_shows
from clew.ledger.tool_actions import CHANGING, ActionKind

FAILED_BEFORE = "failed before the changes, too"
"""Status of a failing test that is no fault of the work."""
MOST_TESTS = 200
"""Tests failing without the changes that are remembered: as many as of one run."""
_NOTHING_PUT_AWAY = "No local changes to save"
"""What ``git stash`` says if there is nothing to put away."""


@dataclass(slots=True)
class Baseline:
    """Whether the changes are put away, and which tests fail without them."""

    is_aside: bool = False
    """Whether ``git stash`` put the changes away and nothing has brought them back."""
    failing: list[str] = field(default_factory=list)

    def ran(self, exchange: Exchange) -> bool:
        """Read a call; return True if it ran tests while the changes were put away."""
        if exchange.action.kind in CHANGING:
            self.is_aside = False  # work goes on, so what was put away is not this work
        if exchange.action.kind is not ActionKind.SHELL:
            return False
        command = exchange.action.subject
        if not self.is_aside and "stash" not in command:
            return False
        ran_without = False
        for simple in simple_commands(command):
            words = without_prefixes(simple.words)
            if words[:2] == ["git", "stash"]:
                self.is_aside = self._puts_away(words[2:], exchange.result.text)
            elif words and self.is_aside and not only_shows(words):
                ran_without = ran_without or may_run_tests(" ".join(simple.words))
        return ran_without

    def _puts_away(self, words: list[str], output: str) -> bool:
        if words[:1] in (["list"], ["show"]):
            return self.is_aside
        puts_away = not words or words[0] in ("push", "save") or words[0].startswith("-")
        return puts_away and _NOTHING_PUT_AWAY not in output

    def note(self, failed: Collection[str]) -> None:
        """Remember tests that fail without the changes."""
        self.failing = [*(one for one in self.failing if one not in failed), *failed][-MOST_TESTS:]
