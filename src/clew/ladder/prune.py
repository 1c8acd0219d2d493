"""The gentlest rung: show less of what something later repeats or outdates, until enough is freed."""

from __future__ import annotations

from itertools import chain

from clew.ladder.rules import ALONE, RULES, steps_of
from clew.ladder.stubs import Page, Stubs
from clew.plan import Shrink

WORTH_TOKENS = 40
"""A stub costs about twenty tokens; what frees less than this is left alone."""


def prune(page: Page, stop: int, excess_tokens: int) -> list[Shrink]:
    """Propose smaller forms of messages before index ``stop`` until so many tokens are freed."""
    stubs = Stubs(page)
    steps = steps_of(page.view)
    old = [step for step in steps if step.result.message < stop]
    freed = 0
    for stub in chain(*(rule(page, steps) for rule in RULES), *(rule(page, old) for rule in ALONE)):
        # Counting rounds each message by itself: a token for each may be lost.
        if freed >= excess_tokens + len(stubs):
            break
        if stub.place.message < stop:
            freed += stubs.take(stub.place, stub.text, stub.reason, WORTH_TOKENS, stub.instead)
    return stubs.shrinks()
