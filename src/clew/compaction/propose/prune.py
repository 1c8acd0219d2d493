"""The gentlest rung: shrink what something later repeats or outdates, until enough is freed."""

from __future__ import annotations

from itertools import chain

from clew.compaction.plan import Shrink
from clew.compaction.propose.rules import ALONE, RULES, steps_of
from clew.compaction.propose.stubs import Page, Stubs

WORTH_TOKENS = 40
"""A stub costs about 20 tokens; a part that frees less than this stays as it is."""


def prune(page: Page, stop: int, excess_tokens: int) -> list[Shrink]:
    """Propose smaller forms of messages before index ``stop`` until this many tokens are freed."""
    stubs = Stubs(page)
    steps = steps_of(page.view)
    old = [step for step in steps if step.result.message < stop]
    freed = 0
    for stub in chain(*(rule(page, steps) for rule in RULES), *(rule(page, old) for rule in ALONE)):
        # Counts are rounded per message, so up to one token per message may be missing.
        if freed >= excess_tokens + len(stubs):
            break
        if stub.place.message < stop:
            freed += stubs.take(stub.place, stub.text, stub.reason, WORTH_TOKENS, stub.instead)
    return stubs.shrinks()
