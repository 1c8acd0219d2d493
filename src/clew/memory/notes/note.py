"""``Note`` and its parts: text, author, trust, scope, status and history.

A note goes from proposed (or quarantined) to approved, and ends retired (replaced by a newer one) or
forgotten.
"""

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
        """Return the name with spaces: ``user preference``."""
        return self.value.replace("_", " ")


class NoteScope(StrEnum):
    """Where a note applies, from the widest to the narrowest."""

    GLOBAL = "global"
    WORKSPACE = "workspace"
    SESSION = "session"


class Priority(IntEnum):
    """How important it is to show a note."""

    LOW = 1
    NORMAL = 2
    HIGH = 3


class NoteStatus(StrEnum):
    """The state of a note."""

    PROPOSED = "proposed"
    """Proposed by an agent; pending a person's approval."""
    APPROVED = "approved"
    QUARANTINED = "quarantined"
    """Derived from untrusted text; a person must review it first."""
    RETIRED = "retired"
    """Replaced by a newer note on the same key."""
    FORGOTTEN = "forgotten"


WAITING = (NoteStatus.PROPOSED, NoteStatus.QUARANTINED)
"""A person has to decide."""
LIVE = (NoteStatus.APPROVED, *WAITING)


class Author(StrEnum):
    """Who created a note."""

    PERSON = "person"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class NoteSource:
    """Where a note comes from."""

    author: Author
    session: str = ""
    """The session it was made in, if any."""
    messages: tuple[str, ...] = ()
    """The messages of that session that it is based on."""


BY_A_PERSON = NoteSource(Author.PERSON)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A note before it is stored."""

    key: str
    """Its subject. A newer note with the same key, scope and category replaces an older one."""
    text: str
    category: Category = Category.USER_PREFERENCE
    scope: NoteScope = NoteScope.WORKSPACE
    tags: tuple[str, ...] = ()
    priority: Priority = Priority.NORMAL
    trust: Trust = Trust.USER
    """The lowest trust of its sources."""
    source: NoteSource = BY_A_PERSON
    expires: str | None = None
    """Time (ISO 8601, UTC) from which it no longer applies."""


@dataclass(frozen=True, slots=True)
class NoteChange:
    """A change of a note."""

    seq: int
    """The number of its event in the note's log."""
    time: str
    does: str
    """``add``, ``approve``, ``reject``, ``forget`` or ``retire``."""
    by: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Draft):
    """A stored note with its status and history."""

    id: str
    """The scope's first letter and the number of its event: ``w3`` is a workspace note."""
    status: NoteStatus
    why: str = ""
    """The reason for this status, if any."""
    created: str
    used: str | None = None
    """When a model was last shown it."""
    uses: int = 0
    replaces: tuple[str, ...] = ()
    replaced_by: str = ""
    history: tuple[NoteChange, ...] = ()
    """All changes, oldest first; showing it is counted in ``uses``."""

    def expired(self, at: str) -> bool:
        """Return True if it no longer applies."""
        return self.expires is not None and self.expires <= at

    @property
    def slot(self) -> tuple[str, NoteScope, Category]:
        """Return the key of which only one live note per status can exist."""
        return plain_key(self.key), self.scope, self.category


def plain_key(key: str) -> str:
    """Return a key normalized for comparison: case, width, spaces, dashes."""
    flat = unicodedata.normalize("NFKC", key).casefold()
    return " ".join(flat.replace("-", " ").replace("_", " ").split())
