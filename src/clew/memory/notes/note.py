"""A note: what somebody wanted kept, who that was, how far it may be believed, and what became of it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from clew.message import Trust


class Category(StrEnum):
    """What a note is about."""

    USER_PREFERENCE = "user_preference"
    ORGANIZATION_POLICY = "organization_policy"
    PROJECT_CONVENTION = "project_convention"
    SESSION_STATE = "session_state"
    WORKFLOW_STATE = "workflow_state"
    ARTIFACT_REFERENCE = "artifact_reference"
    LONG_TERM_SUMMARY = "long_term_summary"
    APPROVAL_RECORD = "approval_record"
    CONNECTOR_STATE = "connector_state"

    @property
    def label(self) -> str:
        """Return the name as people write it: ``user preference``."""
        return self.value.replace("_", " ")


class Scope(StrEnum):
    """Where a note holds, from the widest to the narrowest."""

    GLOBAL = "global"
    WORKSPACE = "workspace"
    SESSION = "session"


class Priority(IntEnum):
    """How much a note wants to be seen."""

    LOW = 1
    NORMAL = 2
    HIGH = 3


class Status(StrEnum):
    """What became of a note."""

    PROPOSED = "proposed"
    """An agent wants it kept; it waits for a person."""
    APPROVED = "approved"
    QUARANTINED = "quarantined"
    """It stems from text that nobody vouches for; a person must look at it first."""
    RETIRED = "retired"
    """A newer note on the same key took its place."""
    FORGOTTEN = "forgotten"


WAITING = (Status.PROPOSED, Status.QUARANTINED)
LIVE = (Status.APPROVED, *WAITING)


class Author(StrEnum):
    """Who wants a note kept."""

    PERSON = "person"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a note comes from."""

    author: Author
    session: str = ""
    """The session it was made in, where there was one."""
    messages: tuple[str, ...] = ()
    """The messages of that session that it rests on."""


BY_A_PERSON = Source(Author.PERSON)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What somebody wants kept."""

    key: str
    """What it is about. A newer note on the same key, scope and category takes the place of an older."""
    text: str
    category: Category = Category.USER_PREFERENCE
    scope: Scope = Scope.WORKSPACE
    tags: tuple[str, ...] = ()
    priority: Priority = Priority.NORMAL
    trust: Trust = Trust.USER
    """The lowest label of what it rests on."""
    source: Source = BY_A_PERSON
    expires: str | None = None
    """ISO 8601, UTC: from then on it no longer holds."""


@dataclass(frozen=True, slots=True)
class Change:
    """Something that was done to a note."""

    seq: int
    """The event that tells of it, in the note's log."""
    time: str
    does: str
    """``add``, ``approve``, ``reject``, ``forget`` or ``retire``."""
    by: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Draft):
    """What was kept of a draft, and what became of it."""

    id: str
    """The scope's first letter and the place of its event: ``w3`` is the workspace's."""
    status: Status
    why: str = ""
    """Why it has this status, where that needs saying."""
    created: str
    used: str | None = None
    """When a model was last shown it."""
    uses: int = 0
    replaces: tuple[str, ...] = ()
    replaced_by: str = ""
    history: tuple[Change, ...] = ()
    """All that was ever done to it, oldest first; being shown is counted above."""

    def expired(self, at: str) -> bool:
        """Tell whether its time is over."""
        return self.expires is not None and self.expires <= at

    @property
    def slot(self) -> tuple[str, Scope, Category]:
        """Return the place that only one note of a status can have."""
        return plain_key(self.key), self.scope, self.category


def plain_key(key: str) -> str:
    """Return a key without the differences that people do not mean: case, width, blanks, dashes."""
    flat = unicodedata.normalize("NFKC", key).casefold()
    return " ".join(flat.replace("-", " ").replace("_", " ").split())
