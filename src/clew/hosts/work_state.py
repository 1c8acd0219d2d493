"""What must stay in view of a host's session when it is compacted: rules, goal, open work, files, failures.

Everything is quoted from the transcript with its source turn, one line each, within a token budget. Only
rules of the user that the finder is sure of are included: a false rule in a host's session costs more than a
missing one, which the model can still find with ``rules`` or ``recall``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from clew.hosts.reading import HostSession
from clew.hosts.reminder import Line, WorkState, plain
from clew.ledger.goal import GoalKind
from clew.ledger.ledger import Ledger
from clew.ledger.loop import LoopKind
from clew.message import Trust
from clew.message.text import escaped
from clew.rules.rule import Kind, Lasts, MadeBy, Pin

SURE = 0.8
"""Confidence of a rule that is injected. On the labelled Claude Code, Codex and opencode sessions this and
the kinds below leave out most statements about code that only sound like rules."""
RULE_KINDS = frozenset((Kind.PROHIBITION, Kind.REQUIREMENT, Kind.LIMIT, Kind.SCOPE))
PASSING = frozenset((Lasts.TURN, Lasts.TASK))
LONGEST_RULE = 300
LONGEST_LINE = 200
MOST_OPEN = 6
MOST_FILES = 12
MOST_FAILURES = 3
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")
_BETTER_FIRST = {LoopKind.TODO: 0, LoopKind.REQUEST: 1, LoopKind.PROMISE: 2, LoopKind.TEST: 3}


@dataclass(frozen=True, slots=True)
class ByHand:
    """The user's changes to the rules of a session: added and removed ones."""

    pinned: tuple[str, ...] = ()
    taken_off: frozenset[str] = field(default_factory=frozenset)


def work_state(session: HostSession, by_hand: ByHand = ByHand()) -> WorkState:  # noqa: B008 - frozen
    """Return what must stay in view of a session."""
    ledger = session.ledger()
    run = ledger.last_run
    return WorkState(
        rules=tuple(_rule_lines(ledger, by_hand)),
        goal=_goal(ledger),
        open=tuple(_open(ledger))[:MOST_OPEN],
        files=tuple(_files(ledger, session.transcript.start.directory or ""))[:MOST_FILES],
        failures=tuple(_failures(ledger)),
        tests=flat(f"{run.command}: {run.failed} failed", LONGEST_LINE) if run else "",
    )


def is_sure(pin: Pin) -> bool:
    """Whether a rule is the user's, in force, and certain enough to be injected."""
    if not pin.is_active or pin.trust is not Trust.USER:
        return False
    if pin.made_by is MadeBy.PERSON:
        return True
    lasting = pin.scope.duration.lasts not in PASSING
    return lasting and pin.kind in RULE_KINDS and pin.confidence >= SURE and len(pin.quote) <= LONGEST_RULE


def _rule_lines(ledger: Ledger, by_hand: ByHand) -> Iterator[Line]:
    for quote in by_hand.pinned:
        yield Line("", f'"{flat(quote, LONGEST_RULE)}"')
    for pin in ledger.pins.active:
        if is_sure(pin) and plain(pin.quote) not in by_hand.taken_off | set(map(plain, by_hand.pinned)):
            ref = pin.source.message if pin.source else ""
            yield Line(ref, f'"{flat(pin.quote, LONGEST_RULE)}"')


def _goal(ledger: Ledger) -> Line | None:
    goal = ledger.goal
    if goal is None:
        return None
    kind = "the approved plan: " if goal.kind is GoalKind.PLAN else ""
    return Line(goal.source.message, f'{kind}"{flat(goal.quote, LONGEST_LINE)}"')


def _open(ledger: Ledger) -> Iterator[Line]:
    goal = ledger.goal.quote if ledger.goal else ""
    loops = [one for one in ledger.loops.open if one.kind in _BETTER_FIRST and one.text not in goal]
    for loop in sorted(loops, key=lambda one: _BETTER_FIRST[one.kind]):
        status = f" ({loop.status})" if loop.status else ""
        yield Line(loop.source.message, f"{loop.kind.value}: {flat(loop.text, LONGEST_LINE)}{status}")


def _files(ledger: Ledger, directory: str) -> Iterator[str]:
    """Yield the changed files, latest first; paths inside the project are relative to it."""
    for one in reversed(ledger.artifacts.changed):
        inside = directory and one.name.startswith(f"{directory}/")
        yield flat(one.name[len(directory) + 1 :] if inside else one.name, LONGEST_LINE)


def _failures(ledger: Ledger) -> Iterator[Line]:
    for one in [failure for failure in ledger.failures if not failure.is_mended][-MOST_FAILURES:]:
        said = " / ".join(line.strip() for line in one.lines[:2])
        source = one.sources[-1] if one.sources else one.attempts[-1]
        yield Line(source.message, flat(f"{one.subject or one.tool}: {said}", LONGEST_LINE))


def flat(text: str, most: int) -> str:
    """Return a text on one line, unable to close the reminder's fence or to control a terminal."""
    flat = " ".join(_STEERING.sub(" ", text[: most * 4]).split())
    short = flat if len(flat) <= most and len(text) <= most * 4 else f"{flat[: most - 1]}…"
    return escaped(short) if "clew" in short.lower() or not short.isascii() else short
