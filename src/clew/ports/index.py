"""What clew asks of a search index and of an embedder, and the values it asks with."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol, runtime_checkable

from clew.message import Trust

SHIPPED_MODEL = "clew-static-1"
"""The embedder that comes with clew and is used where numpy is installed, unless another is given."""


class EntryKind(StrEnum):
    """What an entry of the index is."""

    TURN = "turn"
    DIGEST = "digest"
    NOTE = "note"
    ARTIFACT = "artifact"
    DOCUMENT = "document"


class Entry(NamedTuple):
    """Something that can be found: a turn, a digest, a note, a piece of an output or of a document.

    A tuple, because hundreds are made for every search.
    """

    ref: str
    """What it is called: ``m12`` for a message, ``d3.4`` for a line of a digest, ``w3`` for a note, a path.

    Unique in its session with ``start``."""
    session: str
    """The session, or for what belongs to none (a document), whatever holds its neighbours together."""
    time: str
    """ISO 8601, UTC: when it was said or written. Words like ``yesterday`` in it are counted from here."""
    role: str
    trust: Trust
    text: str
    kind: EntryKind = EntryKind.TURN
    files: tuple[str, ...] = ()
    speaker: str = ""
    """The speaker's name where one is known; a question that names them means what they said."""
    start: int = 0
    """Where the text begins in what ``ref`` names: long texts are several entries."""
    seq: int = 0
    """Where the event that tells it stands in its session's log; 0 for what is in no log."""
    sources: tuple[str, ...] = ()
    """What it was derived from: for a line of a digest and for a note, the messages."""


class Analysed(NamedTuple):
    """An entry as an index keeps it: with its words in the form that questions look for."""

    entry: Entry
    terms: str
    """Every word, stemmed, in order, parted by blanks."""
    length: int
    """How many of them carry meaning."""
    traits: int
    """What the ranking wants to know of the text, as bits."""
    days: tuple[str, ...]
    """Marks of the days, months and years that it speaks of or was said in: ``d20240131 m202401 y2024``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a hit must be. Nothing given means anything goes; within a field any one will do."""

    sessions: tuple[str, ...] = ()
    kinds: tuple[EntryKind, ...] = ()
    roles: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    trust: Trust = Trust.UNTRUSTED
    """The lowest label that will do."""
    after: str = ""
    """ISO 8601: not before this time."""
    before: str = ""
    """ISO 8601: before this time."""


ANYTHING = Filters()


class Mark(NamedTuple):
    """How far a session's log has been read."""

    seq: int = 0
    """The last event that was read."""
    messages: int = 0
    """How many messages there were up to it."""


class Row(NamedTuple):
    """An entry as it lies in the index."""

    key: int
    place: int
    """Its place among the entries of its kind in its session, counted from 0."""
    analysed: Analysed
    vector: bytes = b""
    """Its embedding, as ``Embedder.embed`` gave it; empty while it has none of the model asked for."""

    @property
    def entry(self) -> Entry:
        """Return the entry."""
        return self.analysed.entry


@dataclass(frozen=True, slots=True)
class Stats:
    """How common words are in a workspace."""

    entries: int
    mean_length: float
    having: Mapping[str, int]
    """For each term asked about, how many entries have it; counted up to a bound."""
    near: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For terms that no entry has, those spelled almost the same that some have; only if asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to look for: one of the fields, or terms within days."""

    terms: tuple[tuple[str, float], ...] = ()
    """Any of these terms; an entry is worth the sum of the weights of those it has."""
    phrase: tuple[str, ...] = ()
    """These terms next to each other."""
    beginning: bool = False
    """The last term of the phrase may be the beginning of a word."""
    refs: tuple[str, ...] = ()
    """What is called so, in the sessions of the filters."""
    days: tuple[str, ...] = ()
    """Any of these marks of a day, a month, a year."""
    vector: bytes = b""
    """Near this embedding."""


class Index(Protocol):
    """A search index over the entries of workspaces.

    It finds candidates and hands out what was put in; what they are worth is decided above it. Nothing of
    one workspace is ever seen from another.
    """

    def add(
        self, workspace: str, entries: Sequence[Analysed], marks: Mapping[str, Mark] | None = None
    ) -> None:
        """Put entries in, all or none; one that is there already (session, ref, start) is replaced.

        ``marks`` notes in the same breath how far each session's log has been read.
        """

    def forget(self, workspace: str, session: str, refs: Collection[str]) -> None:
        """Take entries out. With a digest go its lines: ``d3.4`` with ``d3``."""

    def stats(
        self, workspace: str, terms: Collection[str], session: str = "", *, spelling: bool = False
    ) -> tuple[Stats, Mark]:
        """Return how common the terms are, and how far the session's log is in here.

        With ``spelling``, similar terms are returned for those that no entry has.
        """

    def find(self, workspace: str, wanted: Wanted, filters: Filters, limit: int) -> list[int]:
        """Return the keys of what matches, the most promising first."""

    def rows(self, workspace: str, keys: Collection[int], around: int = 0) -> list[Row]:
        """Return these rows and, with ``around``, that many neighbours on both sides of each."""


@runtime_checkable
class VectorIndex(Protocol):
    """The part of an index that keeps embeddings."""

    @property
    def model(self) -> str:
        """Return the name of the embedder whose vectors are searched; empty for none."""

    def lacking(self, model: str, limit: int) -> list[tuple[int, str]]:
        """Return keys and texts that have no embedding by this model, oldest first.

        Asked again and again it costs what is new.
        """

    def put(self, model: str, vectors: Mapping[int, bytes]) -> None:
        """Keep embeddings. Those by another model are replaced."""

    def progress(self, model: str) -> tuple[int, int]:
        """Return how many entries have an embedding by this model, and how many there are."""


class Embedder(Protocol):
    """Turns texts into vectors that are near each other where the meanings are."""

    @property
    def name(self) -> str:
        """Return the name of the model: vectors of two names are never compared."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one vector per text: of unit length, each number times 127 as a signed byte."""
