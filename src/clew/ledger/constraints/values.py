"""What the finder returns: frozen values that quote the speaker and say why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from clew.message import Trust


class Kind(StrEnum):
    """What a constraint does."""

    PROHIBITION = "prohibition"
    REQUIREMENT = "requirement"
    LIMIT = "limit"
    PREFERENCE = "preference"
    SCOPE = "scope"
    """It restricts the work to something: these files, this database, the report."""
    PERMISSION = "permission"


class Strength(StrEnum):
    """How binding the speaker made it."""

    MUST = "must"
    SHOULD = "should"
    MAY = "may"


class Lasts(StrEnum):
    """How long a constraint holds."""

    OPEN = "open"
    """Nothing was said: until it is lifted."""
    ONWARD = "from now on"
    SESSION = "this session"
    UNTIL = "until"
    """Until what ``Duration.words`` names."""
    FOR_NOW = "for now"
    TASK = "this task"
    TURN = "this turn"
    """Until the speaker speaks again."""


class Force(StrEnum):
    """How far a binding sentence reaches."""

    STANDING = "standing"
    """It holds from now on: pinned until it ends."""
    DECISION = "decision"
    """A lasting choice about this work, which a later one may replace."""
    REQUEST = "request"
    """It concerns what is to be done now."""


class Span(NamedTuple):
    """A piece of a message: characters ``start`` to ``end`` of the text of part ``part``."""

    part: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Duration:
    """How long, and the words that said so."""

    lasts: Lasts = Lasts.OPEN
    words: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a constraint is about. Everything is as the speaker wrote it, in order."""

    paths: tuple[str, ...] = ()
    """Files, folders and globs."""
    tools: tuple[str, ...] = ()
    """Commands and actions: ``git push``, ``commit``, ``npm``."""
    names: tuple[str, ...] = ()
    """Identifiers of code, and what stands in backticks."""
    topics: tuple[str, ...] = ()
    """The other words that carry meaning, in lower case."""
    duration: Duration = Duration()


class Reason(NamedTuple):
    """A cue that fired: its name, the words that made it fire, what it is worth."""

    cue: str
    words: str
    weight: float


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence that lays down how the work is to be done."""

    quote: str
    """Verbatim: the text at ``span``."""
    span: Span
    kind: Kind
    scope: Scope
    strength: Strength
    trust: Trust
    """The label of the text it was found in."""
    confidence: float
    """Between 0 and 1; see ``reasons`` for what made it."""
    reasons: tuple[Reason, ...]
    lead: str = ""
    """The line that introduces the list the quote is an item of: "Please don't:" over "push"."""
    force: Force = Force.STANDING
    force_reason: str = ""
    """What makes it a standing rule, a decision or a request, in one line."""

    def __hash__(self) -> int:
        # Active constraints are looked up again and again, and most fields follow from these two.
        return hash((self.quote, self.span))


@dataclass(frozen=True, slots=True)
class Constraint:
    """A found constraint that somebody keeps: its id in their ledger, and the message it stands in."""

    id: str
    found: Found
    message: str = ""


class How(StrEnum):
    """How a constraint ended."""

    LIFTED = "lifted"
    """The speaker took it back: "you can push now"."""
    SUPERSEDED = "superseded"
    """A newer rule on the same matter contradicts it: "use tabs, not spaces"."""
    EXPIRED = "expired"
    """It was for the time being, and the speaker said to go ahead."""


@dataclass(frozen=True, slots=True)
class Retirement:
    """The end of an active constraint, with the words that ended it."""

    constraint: str
    """The id of the constraint that is no longer active."""
    how: How
    quote: str
    span: Span
    why: str
    """One line a person can check: what was matched with what."""
    certain: bool = True
    """False where the words name no rule ("ignore that") and the most recent one was taken."""
