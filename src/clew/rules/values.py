"""What the finder returns: frozen values with a quote and the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from clew.message import Trust


class Kind(StrEnum):
    """What a rule does."""

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
    """How long a rule holds."""

    OPEN = "open"
    """Nothing was said: until it is lifted."""
    ONWARD = "from now on"
    SESSION = "this session"
    UNTIL = "until"
    """Until the event in ``Duration.words``."""
    FOR_NOW = "for now"
    TASK = "this task"
    TURN = "this turn"
    """Until the speaker's next message."""


class Force(StrEnum):
    """How far a binding sentence reaches."""

    STANDING = "standing"
    """It holds from now on: pinned until it ends."""
    DECISION = "decision"
    """A lasting choice about this work, which a later one may replace."""
    REQUEST = "request"
    """It concerns only the current step."""


class Span(NamedTuple):
    """A piece of a message: characters ``start`` to ``end`` of the text of part ``part``."""

    part: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Duration:
    """How long a rule holds, and the words that said so."""

    lasts: Lasts = Lasts.OPEN
    words: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a rule is about, in the speaker's words, in order."""

    paths: tuple[str, ...] = ()
    """Files, folders and globs."""
    tools: tuple[str, ...] = ()
    """Commands and actions: ``git push``, ``commit``, ``npm``."""
    names: tuple[str, ...] = ()
    """Identifiers of code, and text in backticks."""
    topics: tuple[str, ...] = ()
    """The other content words, in lower case."""
    duration: Duration = Duration()


class Reason(NamedTuple):
    """A cue that fired: its name, the matched words, its weight."""

    cue: str
    words: str
    weight: float


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence that binds the work: a rule, a decision or a request."""

    quote: str
    """Verbatim: the text at ``span``."""
    span: Span
    kind: Kind
    scope: Scope
    strength: Strength
    trust: Trust
    """The label of the text it was found in."""
    confidence: float
    """Between 0 and 1; see ``reasons``."""
    reasons: tuple[Reason, ...]
    lead: str = ""
    """The line that introduces the list the quote is an item of: "Please don't:" above "push"."""
    force: Force = Force.STANDING
    force_reason: str = ""
    """Why it is a standing rule, a decision or a request, in one line."""

    def __hash__(self) -> int:
        # Active rules are looked up often, and most fields follow from these two.
        return hash((self.quote, self.span))


@dataclass(frozen=True, slots=True)
class Constraint:
    """A rule in force: its id in the ledger, and its message."""

    id: str
    found: Found
    message: str = ""


class How(StrEnum):
    """How a rule ended."""

    LIFTED = "lifted"
    """The speaker withdrew it: "you can push now"."""
    SUPERSEDED = "superseded"
    """A newer rule on the same subject contradicts it: "use tabs, not spaces"."""
    EXPIRED = "expired"
    """It was provisional, and the speaker gave the go-ahead."""


@dataclass(frozen=True, slots=True)
class Retirement:
    """The end of an active rule, with the words that ended it."""

    constraint: str
    """The id of the ended rule."""
    how: How
    quote: str
    span: Span
    why: str
    """One line a person can check: which words matched what."""
    certain: bool = True
    """False if the words name no rule ("ignore that") and the most recent one was taken."""
