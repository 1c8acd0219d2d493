"""What may be kept, by whom, and who must look at it first."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from clew.errors import InputError
from clew.memory.notes.note import LIVE, WAITING, Author, Category, Draft, Note, Status
from clew.memory.notes.origin import Stem
from clew.message import Trust
from clew.secrets import mask

KEY_CHARACTERS = 80
KEY_WORDS = 6
"""Words of a note that make its key, where none is given."""
NOTE_CHARACTERS = 1_000
"""Of one note's text: what is longer is a document, and a note can say where that lies."""
TAGS = 8
TAG_CHARACTERS = 40
SOURCES = 20
WAITING_AT_MOST = 200
"""Proposals of one log that wait: an agent that was talked into it cannot bury the true ones."""

AUTHORITY = {
    Category.ORGANIZATION_POLICY: 3,
    Category.PROJECT_CONVENTION: 2,
    Category.USER_PREFERENCE: 1,
}
"""Who outranks whom on one key. The other categories have no order among them."""
_NEEDS = {Category.ORGANIZATION_POLICY: Trust.DEVELOPER}
"""The least that somebody must be to set a note of this category; a user, where nothing is said."""
_NOT_THE_AGENTS = frozenset({Category.ORGANIZATION_POLICY, Category.APPROVAL_RECORD})
"""What an agent that proposes it would give itself: leave to do something."""

# Control characters, marks that turn text around, and characters that have no shape at all: a person who
# approves a note must see all of it. Joiners stay, scripts and emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def key_of(text: str) -> str:
    """Return a key for a note that was given none: its first words, a secret among them masked whole."""
    first = mask(text).text.split()[:KEY_WORDS]
    while len(first) > 1 and len(" ".join(first)) > KEY_CHARACTERS:
        first.pop()
    return " ".join(first)[:KEY_CHARACTERS].strip(" .,;:")


class Ruling(NamedTuple):
    """The status that a new note begins with, and why."""

    status: Status
    why: str


def require_keepable(draft: Draft) -> None:
    """Refuse what cannot be a note, whoever wants it kept."""
    sizes = (
        ("the key", draft.key, KEY_CHARACTERS),
        ("the text", draft.text, NOTE_CHARACTERS),
        *(("a tag", tag, TAG_CHARACTERS) for tag in draft.tags),
        *(("a source", message, KEY_CHARACTERS) for message in draft.source.messages),
    )
    for what, text, most in sizes:
        if not text.strip():
            raise InputError(f"{what} of a note is empty")
        if len(text) > most:
            raise InputError(f"{what} has {len(text):,} characters", f"a note takes at most {most:,}")
        if found := _UNSEEN.search(text):
            raise InputError(f"{what} holds the character U+{ord(found[0]):04X}, which nobody can see")
    if "\n" in draft.key or any("\n" in tag for tag in draft.tags):
        raise InputError("a key or a tag has more than one line")
    for what, count, most in (
        ("tags", len(draft.tags), TAGS),
        ("sources", len(draft.source.messages), SOURCES),
    ):
        if count > most:
            raise InputError(f"a note has {count} {what}", f"it takes at most {most}")


def ruling(draft: Draft, stem: Stem | None = None) -> Ruling:
    """Return the status a draft begins with; ``InputError`` where its author may not set it at all."""
    if draft.source.author is Author.PERSON:
        require_authority(draft.category, draft.trust)
        return Ruling(Status.APPROVED, "")
    if stem is not None:
        return Ruling(Status.QUARANTINED, str(stem))
    if draft.trust <= Trust.SEMI_TRUSTED:
        return Ruling(Status.QUARANTINED, f"it rests on {draft.trust.label} text")
    if draft.category in _NOT_THE_AGENTS:
        return Ruling(Status.QUARANTINED, f"an agent wants to set an {draft.category.label}")
    return Ruling(Status.PROPOSED, "it waits for a person")


def require_authority(category: Category, trust: Trust) -> None:
    """Refuse somebody who may not set notes of a category."""
    needed = _NEEDS.get(category, Trust.USER)
    if trust < needed:
        raise InputError(
            f"a note of trust {trust.label!r} cannot be an approved {category.label}",
            f"that takes {needed.label!r} at the least",
        )


def require_room(notes: Iterable[Note], status: Status) -> None:
    """Refuse one more proposal where too many wait already."""
    if status in WAITING and sum(note.status in WAITING for note in notes) >= WAITING_AT_MOST:
        raise InputError(f"{WAITING_AT_MOST} proposals wait already", "a person must look at those first")


_BEFORE = {"approve": WAITING, "reject": WAITING, "forget": (*LIVE, Status.RETIRED)}


def require_change(note: Note, does: str, trust: Trust) -> None:
    """Refuse a change that this note cannot undergo, or that this somebody may not make."""
    if note.status not in _BEFORE[does]:
        raise InputError(f"cannot {does} {note.id}, which is {note.status}", "see `clew notes list --all`")
    if does == "approve" or note.status is Status.APPROVED:
        require_authority(note.category, trust)
    elif trust < Trust.USER:
        raise InputError(f"{trust.label} text cannot {does} a note", "a person must")
