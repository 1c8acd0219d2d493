"""The search index of a history: protocols of the index and of an embedder, and the values they take.

An ``Entry`` is what can be found (``m12`` and its text), ``Analysed`` the entry prepared for search,
``Wanted`` what is looked for (terms, a phrase, days, a vector), ``Filters`` what a hit must be.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from clew.errors import MissingExtra
from clew.message import Trust
from clew.settings import encoder_folder

FOLDER = "knowledge:"
"""Before the root of an indexed folder of documents: the name that groups its pieces."""
SHIPPED_MODEL = "clew-static-1"
"""The embedder that ships with clew; the default if numpy is installed and no encoder is set."""

_HASHED_BYTES = 64 << 10
"""Bytes at both ends of a model that are hashed: all of it, some 100 MB, would delay every start."""


def encoder_name(folder: Path) -> str:
    """Return the name of the sentence encoder in a folder: vectors of two names are never compared.

    Folders of two encoders are often named alike (``onnx``), so the name ends with a hash of the model.
    """
    digest = sha256()
    for path in sorted(folder.glob("model.onnx*")):  # large models keep their weights in a second file
        digest.update(f"{path.name} {path.stat().st_size}".encode())
        with path.open("rb") as file:
            digest.update(file.read(_HASHED_BYTES))
            file.seek(max(0, path.stat().st_size - _HASHED_BYTES))
            digest.update(file.read(_HASHED_BYTES))
    return f"sentence/{folder.resolve().name}-{digest.hexdigest()[:8]}"


def default_model() -> str:
    """Return the embedder of an index for which none is named; empty if there is none."""
    if folder := encoder_folder():
        return encoder_name(folder)
    return SHIPPED_MODEL if find_spec("numpy") else ""


def index_model(model: str | None) -> str:
    """Return the embedder of an index that is opened with ``model``; raise ``MissingExtra`` without numpy."""
    model = default_model() if model is None else model
    if model and find_spec("numpy") is None:
        raise MissingExtra("clew[embeddings]")
    return model


class EntryKind(StrEnum):
    """The kind of an index entry."""

    TURN = "turn"
    DIGEST = "digest"
    NOTE = "note"
    ARTIFACT = "artifact"
    DOCUMENT = "document"


class Entry(NamedTuple):
    """Something that can be found: a turn, a digest, a note, a piece of an output or of a document.

    A tuple, because hundreds are created for every search.
    """

    ref: str
    """Its reference: ``m12`` for a message, ``d3.4`` for a line of a digest, ``w3`` for a note, a path.
    Unique in its session together with ``start``."""
    session: str
    """The session; for a document, which belongs to none, the name that groups its pieces."""
    time: str
    """ISO 8601, UTC: when it was written. Words like ``yesterday`` in it are relative to this time."""
    role: str
    trust: Trust
    text: str
    kind: EntryKind = EntryKind.TURN
    files: tuple[str, ...] = ()
    speaker: str = ""
    """The speaker's name if known; a question that names a speaker prefers what they said."""
    start: int = 0
    """Offset of the text in what ``ref`` names: long texts are split into several entries."""
    seq: int = 0
    """Sequence number of its event in the session's log; 0 if it is not from a log."""
    sources: tuple[str, ...] = ()
    """What it was derived from: for a line of a digest and for a note, the messages."""


class Analysed(NamedTuple):
    """An entry with its text prepared for search."""

    entry: Entry
    terms: str
    """Every word, stemmed, in order, separated by spaces."""
    length: int
    """How many of them are content words."""
    traits: int
    """Features of the text that ranking uses, as bits."""
    days: tuple[str, ...]
    """The days, months and years that it mentions or was written in: ``d20240131 m202401 y2024``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a hit must be. An empty field allows anything; within a field any one value is enough."""

    sessions: tuple[str, ...] = ()
    kinds: tuple[EntryKind, ...] = ()
    roles: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    trust: Trust = Trust.UNTRUSTED
    """The lowest trust label allowed."""
    after: str = ""
    """ISO 8601: not before this time."""
    before: str = ""
    """ISO 8601: before this time."""


ANYTHING = Filters()


class Mark(NamedTuple):
    """How far a session's log has been indexed."""

    seq: int = 0
    """The last event that was indexed."""
    messages: int = 0
    """The number of messages up to it."""


class IndexRow(NamedTuple):
    """An entry as stored in the index."""

    key: int
    place: int
    """Its position among the entries of its kind in its session, counted from 0."""
    analysed: Analysed
    vector: bytes = b""
    """Its embedding, as ``Embedder.embed`` returned it; empty if it has none by the requested model."""

    @property
    def entry(self) -> Entry:
        """Return the entry."""
        return self.analysed.entry


@dataclass(frozen=True, slots=True)
class IndexStats:
    """Term frequencies in a workspace."""

    entries: int
    mean_length: float
    having: Mapping[str, int]
    """For each requested term, the number of entries that contain it; above a bound, an estimate."""
    near: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For terms that no entry contains, similarly spelled terms that some contain; only on request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to search for: one of the fields, or terms within days."""

    terms: tuple[tuple[str, float], ...] = ()
    """Any of these terms; an entry scores the sum of the weights of those it contains."""
    phrase: tuple[str, ...] = ()
    """These terms next to each other."""
    last_is_prefix: bool = False
    """The last term of the phrase may be a prefix."""
    refs: tuple[str, ...] = ()
    """Entries with these references, in the sessions of the filters."""
    days: tuple[str, ...] = ()
    """Entries with any of these day, month or year terms."""
    vector: bytes = b""
    """Entries near this embedding."""


class Index(Protocol):
    """A search index over the entries of workspaces.

    It returns candidates; ranking is done by its caller. A workspace is never visible from another.
    """

    def add(
        self, workspace: str, entries: Sequence[Analysed], marks: Mapping[str, Mark] | None = None
    ) -> None:
        """Add entries, all or none; an entry with the same session, ref and start is replaced.

        ``marks`` records in the same transaction how far each session's log has been indexed.
        """

    def forget(self, workspace: str, session: str, refs: Collection[str]) -> None:
        """Remove entries. Removing a digest removes its lines too: ``d3.4`` with ``d3``."""

    def stats(
        self, workspace: str, terms: Collection[str], session: str = "", *, spelling: bool = False
    ) -> tuple[IndexStats, Mark]:
        """Return the frequencies of the terms, and how far the session's log is indexed.

        With ``spelling``, similar terms are returned for those that no entry contains.
        """

    def marks(self, workspace: str) -> dict[str, Mark]:
        """Return how far the log of each session is indexed, by session."""

    def folders(self, workspace: str) -> list[str]:
        """Return the roots of the indexed folders of documents."""

    def find(self, workspace: str, wanted: Wanted, filters: Filters, limit: int) -> list[int]:
        """Return the keys of matching entries, best first."""

    def rows(self, workspace: str, keys: Collection[int], around: int = 0) -> list[IndexRow]:
        """Return these rows and, with ``around``, that many neighbours on both sides of each."""


@runtime_checkable
class VectorIndex(Protocol):
    """The part of an index that stores embeddings."""

    @property
    def model(self) -> str:
        """Return the name of the embedder whose vectors are searched; empty for none."""

    def lacking(self, model: str, limit: int) -> list[tuple[int, str]]:
        """Return keys and texts without an embedding by this model, oldest first.

        Repeated calls look at new entries only.
        """

    def put(self, model: str, vectors: Mapping[int, bytes]) -> None:
        """Store embeddings; they replace those of another model."""

    def progress(self, model: str) -> tuple[int, int]:
        """Return how many entries have an embedding by this model, and how many there are."""


@runtime_checkable
class Searchable(Protocol):
    """A store that brings its own search index. clew's own stores are known to ``Memory``."""

    def open_index(self, workspace: str, model: str | None) -> Index:
        """Open the index of a workspace; ``model`` names the embedder, None ``default_model()``, "" none."""


class Embedder(Protocol):
    """Turns texts into vectors that are near each other if the meanings are."""

    @property
    def name(self) -> str:
        """Return the name of the model. Vectors of different models are never compared."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one unit vector per text, each component times 127 as a signed byte."""
