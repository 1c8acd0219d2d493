"""``Note`` and its parts (text, author, trust, scope, status), and the rules for what may be stored.

A note goes from proposed (or quarantined) to approved, and ends retired (replaced by a newer one) or
forgotten. The rules say who may store a note, and what needs review first.

An agent names the sources of a note, but a manipulated agent names what it was told to name. So the note's
text is searched in all that the agent was shown, also before a compaction: a run of words or an exact value
that occurs in tool output or a web page, and in nothing the user said, marks it as copied. Paraphrases are
not detected; they still need a person's approval.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from itertools import chain
from typing import NamedTuple

from clew.compaction.plan.render import parse_digest
from clew.errors import InputError
from clew.ledger.kinds import kind_of, values_in
from clew.memory.question import occurs_in
from clew.memory.terms import surface
from clew.message import Item, Origin, Text, ToolResult, Trust, words
from clew.secrets import mask


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


RUN = 6
"""Words in a row that do not repeat by chance (chosen by hand)."""
SHORTEST = 3
"""Shorter runs are too common to prove anything."""
# Soft hyphen, zero-width characters and joiners, for str.translate: they are removed.
_INVISIBLE = dict.fromkeys([0xAD, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF])


class UntrustedSource(NamedTuple):
    """Untrusted text that a note was copied from."""

    message: str
    trust: Trust
    words: str
    """The copied words; empty if the message was cited."""

    def __str__(self) -> str:
        if not self.words:
            return f"it is based on {self.message}, which is {self.trust.label}"
        return f"“{self.words}” occurs in {self.message}, which is {self.trust.label}"


class NotePassage(NamedTuple):
    """Text of one trust."""

    message: str
    trust: Trust
    text: str


def untrusted_source(
    texts: Iterable[str], cited: Collection[str], items: Iterable[Item]
) -> UntrustedSource | None:
    """Return the untrusted text that one of these texts was copied from; None if there is none."""
    lines = [_plain(text) for text in texts]
    copied = _Copied([value for line in lines for value in note_values(line)], [*chain(*map(_runs, lines))])
    doubtful, vouched = list[NotePassage](), list[str]()
    for passage in (passage for item in items for passage in passages_of(item)):
        if passage.trust <= Trust.SEMI_TRUSTED and passage.message in cited:
            return UntrustedSource(passage.message, passage.trust, "")
        if passage.trust <= Trust.SEMI_TRUSTED or passage.trust >= Trust.USER:
            text = _plain(passage.text)
            if copied.possibly_in(text):
                if passage.trust >= Trust.USER:
                    vouched.append(text)
                else:
                    doubtful.append(passage._replace(text=text))
    return _by_value(copied.values, doubtful, vouched) or _by_run(copied.runs, doubtful, vouched)


class _Copied:
    """The values and the runs of words of a note, to look for in a whole session."""

    def __init__(self, values: list[str], runs: list[str]) -> None:
        self.values, self.runs = values, runs
        longest_first = (sorted(run.split(), key=len, reverse=True) for run in dict.fromkeys(runs))
        self._words = [*dict.fromkeys(map(tuple, longest_first))]

    def possibly_in(self, text: str) -> bool:
        """Return True if a text contains a value, or all words of a run: a quick first test."""
        if any(value in text for value in self.values):
            return True
        low = text.lower()
        return any(all(word in low for word in words) for words in self._words)


def passages_of(item: Item) -> Iterator[NotePassage]:
    """Yield the texts of a message with their trust; a digest line by line."""
    id_, message = item
    digest = parse_digest(message.text) if message.origin is Origin.SUMMARY else None
    if digest is not None:
        yield from (NotePassage(id_, pin.trust, pin.quote) for pin in digest.pins)
        for claim in digest.claims:
            yield NotePassage(id_, Trust.UNTRUSTED if claim.untrusted else Trust.ASSISTANT, claim.text)
        return
    for part in message.parts:
        if isinstance(part, Text | ToolResult):
            yield NotePassage(id_, part.trust, words(part))


def _by_value(values: list[str], doubtful: list[NotePassage], vouched: list[str]) -> UntrustedSource | None:
    """Return the untrusted passage with a value of the note (a path, a number) that the user never said."""
    for value in values:
        # As a whole: a user who said "40960" did not say "4096".
        if any(value in text and occurs_in(value, text) for text in vouched):
            continue
        for passage in doubtful:
            if value in passage.text:
                return UntrustedSource(passage.message, passage.trust, value)
    return None


def _by_run(runs: list[str], doubtful: list[NotePassage], vouched: list[str]) -> UntrustedSource | None:
    """Return the untrusted passage with a run of words of the note that the user never said."""
    own = [_flat(text) for text in vouched] if runs else []
    borrowed = [run for run in runs if not any(run in text for text in own)]
    for passage in doubtful if borrowed else ():
        flat = _flat(passage.text)
        for run in borrowed:
            if run in flat:
                return UntrustedSource(passage.message, passage.trust, run.strip())
    return None


def _runs(text: str) -> Iterator[str]:
    """Yield all runs of ``RUN`` words; the whole text if it is shorter."""
    spoken = list(surface(text))
    length = min(RUN, len(spoken))
    if length >= SHORTEST:
        yield from (f" {' '.join(spoken[i : i + length])} " for i in range(len(spoken) - length + 1))


def _plain(text: str) -> str:
    """Return normalized text without invisible characters, which a page may use to disguise words."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_INVISIBLE)


def _flat(text: str) -> str:
    return f" {' '.join(surface(text))} "


def note_values(text: str) -> list[str]:
    """Return the paths, addresses, names and numbers in a text."""
    spelled, punctuated = values_in(text, spoken=True)
    known = [known.value for known in map(kind_of, spelled) if known]
    return list(dict.fromkeys([*known, *(known.value for known, _ in punctuated)]))


KEY_CHARACTERS = 80
"""Most characters of a key: it is one line of a listing."""
KEY_WORDS = 6
"""Words of a note that make its key if none is given."""
NOTE_CHARACTERS = 1_000
"""Most characters of a note (chosen by hand). Longer text belongs in a document that a note can point to."""
TAGS = 8
TAG_CHARACTERS = 40
SOURCES = 20
"""Most tags of a note, characters of a tag, and messages that a note names as its sources; chosen by hand."""
WAITING_AT_MOST = 200
"""Most pending proposals of one log, so that a manipulated agent cannot bury the real ones."""

AUTHORITY = {Category.ORGANIZATION_POLICY: 3, Category.PROJECT_CONVENTION: 2, Category.USER_PREFERENCE: 1}
"""Rank of categories on one key. Categories not listed have no order."""
_NEEDS = {Category.ORGANIZATION_POLICY: Trust.DEVELOPER}
"""The least trust needed to set a note of a category; USER if not listed."""
_NOT_THE_AGENTS = frozenset({Category.ORGANIZATION_POLICY, Category.APPROVAL_RECORD})
"""Categories that would let an agent give itself permission."""

# Control characters, direction marks and invisible characters: a person who approves a note must see all
# of it. Joiners are allowed, because scripts and emoji need them. A carriage return is allowed only at the
# end of a line: elsewhere a terminal overwrites what stands before it.
_UNSEEN = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def key_of(text: str) -> str:
    """Return a key for a note without one: its first words, with secrets masked."""
    first = mask(text).text.split()[:KEY_WORDS]
    while len(first) > 1 and len(" ".join(first)) > KEY_CHARACTERS:
        first.pop()
    return " ".join(first)[:KEY_CHARACTERS].strip(" .,;:")


class Ruling(NamedTuple):
    """The status that a new note starts with, and why."""

    status: NoteStatus
    why: str


def require_keepable(draft: Draft) -> None:
    """Raise ``InputError`` for text that cannot be a note, whoever the author is."""
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
        if match := _UNSEEN.search(text):
            raise InputError(f"{what} contains the invisible character U+{ord(match[0]):04X}")
    if "\n" in draft.key or any("\n" in tag for tag in draft.tags):
        raise InputError("a key or a tag has more than one line")
    for what, count, most in (
        ("tags", len(draft.tags), TAGS),
        ("sources", len(draft.source.messages), SOURCES),
    ):
        if count > most:
            raise InputError(f"a note has {count} {what}", f"it takes at most {most}")


def ruling(draft: Draft, copied_from: UntrustedSource | None = None) -> Ruling:
    """Return the status a draft starts with; raise ``InputError`` if its author may not set it at all."""
    if draft.source.author is Author.PERSON:
        require_authority(draft.category, draft.trust)
        return Ruling(NoteStatus.APPROVED, "")
    if copied_from is not None:
        return Ruling(NoteStatus.QUARANTINED, str(copied_from))
    if draft.trust <= Trust.SEMI_TRUSTED:
        return Ruling(NoteStatus.QUARANTINED, f"it is based on {draft.trust.label} text")
    if draft.category in _NOT_THE_AGENTS:
        return Ruling(NoteStatus.QUARANTINED, f"an agent proposed an {draft.category.label}")
    return Ruling(NoteStatus.PROPOSED, "pending approval")


def require_authority(category: Category, trust: Trust) -> None:
    """Raise ``InputError`` if this trust may not set notes of a category."""
    needed = _NEEDS.get(category, Trust.USER)
    if trust < needed:
        raise InputError(
            f"a note of trust {trust.label!r} cannot be an approved {category.label}",
            f"it needs at least {needed.label!r}",
        )


def require_room(notes: Iterable[Note], status: NoteStatus) -> None:
    """Raise ``InputError`` for one more proposal if too many are pending."""
    if status in WAITING and sum(note.status in WAITING for note in notes) >= WAITING_AT_MOST:
        raise InputError(f"{WAITING_AT_MOST} proposals are pending", "a person must review them first")


_BEFORE = {"approve": WAITING, "reject": WAITING, "forget": (*LIVE, NoteStatus.RETIRED)}


def require_change(note: Note, does: str, trust: Trust) -> None:
    """Raise ``InputError`` for a change that the note's status or the caller's trust does not allow."""
    if note.status not in _BEFORE[does]:
        raise InputError(f"cannot {does} {note.id}, which is {note.status}", "see `clew notes list --all`")
    if does == "approve" or note.status is NoteStatus.APPROVED:
        require_authority(note.category, trust)
    elif trust < Trust.USER:
        raise InputError(f"{trust.label} text cannot {does} a note", "ask a person to do it")
