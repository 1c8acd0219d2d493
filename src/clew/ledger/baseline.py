"""Recognise test runs without the changes of the session, and the tests that fail there, too.

``git stash && pytest -q; git stash pop`` says nothing about the work: tests that fail in it failed before.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from clew.ledger.command_line import simple_commands, without_prefixes
from clew.ledger.exchange import Exchange
from clew.ledger.outcome import Ended
from clew.ledger.testruns import may_run_tests, only_shows
from clew.ledger.tool_actions import CHANGING, ActionKind
from clew.message.text import lazy_pattern

FAILED_BEFORE = "failed before the changes, too"
"""Status of a failing test that is no fault of the work."""
MOST_TESTS = 200
"""Tests failing without the changes that are remembered: as many as of one run."""
_PUT_NOTHING_AWAY = lazy_pattern(
    r"^(?:fatal: |No local changes to save|You do not have the initial commit yet)", re.MULTILINE
)
"""What ``git stash`` says if it fails, or if there is nothing to put away. Of a line with other commands, the
exit code is not its own."""
_WITH_VALUE = ("-C", "-c", "--git-dir", "--work-tree")
"""Options of ``git`` before its command that are followed by a value."""


@dataclass(slots=True)
class Baseline:
    """Whether the changes are put away, and which tests fail without them."""

    is_aside: bool = False
    """Whether ``git stash`` put the changes away and nothing has brought them back."""
    failing: list[str] = field(default_factory=list)

    def ran(self, exchange: Exchange) -> bool:
        """Read a call; return True if it ran tests while the changes were put away."""
        if exchange.outcome.ended is Ended.REFUSED:
            return False
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
            stash = _stash_words(words)
            if stash is not None:
                failed = not simple.then and exchange.outcome.ended is Ended.FAILED
                self.is_aside = self._is_aside_after(stash, exchange.result.text, failed=failed)
            elif words and self.is_aside and not only_shows(words):
                ran_without = ran_without or may_run_tests(" ".join(simple.words))
        return ran_without

    def _is_aside_after(self, words: list[str], output: str, *, failed: bool) -> bool:
        """Return whether the changes are put away after ``git stash`` with these words."""
        puts_away = not words or words[0] in ("push", "save") or words[0].startswith("-")
        if words[:1] in (["list"], ["show"]) or (puts_away and (failed or _PUT_NOTHING_AWAY.search(output))):
            return self.is_aside
        return puts_away

    def note(self, failed: Collection[str]) -> None:
        """Remember tests that fail without the changes."""
        self.failing = [*(one for one in self.failing if one not in failed), *failed][-MOST_TESTS:]


def _stash_words(words: list[str]) -> list[str] | None:
    """Return the words behind ``git stash``; None for another command."""
    if words[:1] != ["git"]:
        return None
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _WITH_VALUE else 1
    return words[at + 1 :] if words[at : at + 1] == ["stash"] else None
