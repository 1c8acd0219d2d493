"""A folder of documents as a search source: found by questions, quoted with exact references.

``update_index(root, index)`` indexes what changed in a folder since the last time, ``search_documents`` finds
passages and ``read_passage`` opens one. ``docs/ops.md#Restart:12-30`` is lines 12 to 30 of a file, under its
heading *Restart*.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

from clew.errors import NotFound
from clew.memory.documents.manifest import Document, File, Manifest, document_in, files_of, read_text
from clew.memory.documents.split import (
    DocumentPiece,
    front_matter,
    split_document,
    stated_date,
    stated_status,
    title,
    topic_of,
)
from clew.memory.index import FOLDER, Embedder, Entry, EntryKind, Filters, Index, Mark
from clew.memory.search import Query, SearchHit, search
from clew.memory.terms import analyse
from clew.message import Trust
from clew.secrets import mask

LAST_SECOND = 253_402_300_799
"""The end of the year 9999; a file that was touched with milliseconds for seconds has a later time."""
AT_ONCE = 500
"""Entries per index transaction."""


@dataclass(frozen=True, slots=True)
class IndexUpdate:
    """The result of an update."""

    manifest: Manifest
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    """Files that are not indexed, each with the reason."""

    @property
    def is_nothing(self) -> bool:
        """Whether the folder is unchanged."""
        return not (self.added or self.changed or self.gone)


def update_index(index: Index, workspace: str, root: Path, manifest: Manifest) -> IndexUpdate:
    """Index new and changed documents, remove deleted ones; return the new manifest to store.

    An interrupted update is repeated by the next one. If the manifest belongs to another index, everything is
    read again.
    """
    _, mark = index.stats(workspace, (), manifest.session)
    known = manifest.documents if mark.seq == manifest.generation else {}
    documents_by_name: dict[str, Document] = {}
    fresh: list[tuple[Document, list[Entry]]] = []
    left_out: list[tuple[str, str]] = []
    for file in files_of(root):
        old = known.get(file.path)
        if file.left_out:
            left_out.append((file.path, file.left_out))
        elif old and (old.size, old.modified_ns) == (file.size, file.modified_ns):
            documents_by_name[file.path] = old
        elif (text := read_text(root, file.path)) is not None:
            document, entries = _read(manifest.session, file, text)
            documents_by_name[file.path] = document
            if old is None or old.hash != document.hash:
                fresh.append((document, entries))
        else:
            left_out.append((file.path, "not text, or unreadable"))
    removed_names = [path for path in manifest.documents if path not in documents_by_name]
    names = [document.path for document, _ in fresh]
    update = IndexUpdate(
        replace(manifest, documents=documents_by_name),
        tuple(path for path in names if path not in manifest.documents),
        tuple(path for path in names if path in manifest.documents),
        tuple(removed_names),
        tuple(left_out),
    )
    if update.is_nothing and known == documents_by_name:
        return update
    return _write(index, workspace, update, manifest, fresh)


def _write(
    index: Index,
    workspace: str,
    update: IndexUpdate,
    old: Manifest,
    fresh: list[tuple[Document, list[Entry]]],
) -> IndexUpdate:
    """Write an update to the index; return it with the next generation of the manifest."""
    now = replace(update.manifest, generation=max(0, old.generation) + 1)
    stale = [*update.gone, *update.changed]
    refs = [ref for path in stale for ref in old.documents[path].refs]
    if refs:
        index.forget(workspace, now.session, refs)
    entries = [entry for _, entries in fresh for entry in entries]
    for start in range(0, len(entries), AT_ONCE):
        index.add(workspace, [analyse(entry) for entry in entries[start : start + AT_ONCE]])
    index.add(workspace, [], {now.session: Mark(now.generation, len(now.documents))})
    return replace(update, manifest=now)


# One document ----------------------------------------------------------------------------------------


def _read(session: str, file: File, text: str) -> tuple[Document, list[Entry]]:
    """Split a document into entries for the index; return it with them."""
    front, lines = front_matter(text.splitlines())
    pieces = [piece for piece in split_document(file.path, text) if piece.last > lines]
    name = front.get("title") or title(file.path, pieces)
    topic = topic_of(file.path, front, name)
    changed = stated_date(front) or datetime.fromtimestamp(min(file.modified_ns / 1e9, LAST_SECOND), UTC)
    time = changed.isoformat(timespec="seconds")
    entries = [_entry(session, file.path, topic, time, piece) for piece in pieces]
    document = Document(
        path=file.path,
        title=name,
        topic=topic,
        status=front.get("status") or stated_status(file.path, text.splitlines()[lines:]),
        hash=_hash(text),
        size=file.size,
        modified_ns=file.modified_ns,
        time=time,
        refs=tuple(entry.ref for entry in entries),
    )
    return document, entries


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _entry(session: str, path: str, topic: str, time: str, piece: DocumentPiece) -> Entry:
    """Return an index entry for a piece, with the headings above it, which its own text does not contain."""
    above = " > ".join(piece.trail[:-1])
    text = mask(f"{above}\n{piece.text}" if above else piece.text).text
    return Entry(
        ref=piece.ref(path),
        kind=EntryKind.DOCUMENT,
        session=session,
        time=time,
        role=topic,
        trust=Trust.SEMI_TRUSTED,
        text=text,
        files=(path,),
    )


# Matches a reference such as docs/ops.md#Restart:12-30.
_REF = re.compile(r"(?P<path>.+?)#(?P<heading>.*?)(?::(?P<first>\d{1,9})-(?P<last>\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class DocumentPassage:
    """The text behind a reference, as the file has it now."""

    ref: str
    text: str
    is_fresh: bool
    """The file is unchanged since it was indexed."""


def search_documents(
    index: Index,
    workspace: str,
    query: Query,
    folders: Sequence[Manifest] = (),
    *,
    topics: Sequence[str] = (),
    embedder: Embedder | None = None,
) -> list[SearchHit]:
    """Return the pieces of documents that answer a question best, each with its exact reference."""
    filters = Filters(
        kinds=(EntryKind.DOCUMENT,),
        sessions=tuple(folder.session for folder in folders),
        roles=tuple(topics),
        files=query.filters.files,
        after=query.filters.after,
        before=query.filters.before,
    )
    index_query = Query(text=query.text, at=query.at, filters=filters, limit=query.limit)
    hits = search(index, workspace, index_query, embedder)
    # Neighbours of a hit are often from another document: drop hits without a word of the question.
    return [hit for hit in hits if hit.why.exact or hit.why.terms or hit.why.meaning]


def document_state(entry: Entry, home: Path) -> str:
    """Return what is wrong with the document of an index entry: outdated, changed or deleted; "" if nothing.

    ``home`` is where the manifests are.
    """
    if entry.kind is not EntryKind.DOCUMENT or not entry.files:
        return ""
    root, path = entry.session.removeprefix(FOLDER), entry.files[0]
    document = document_in(home, root, path)
    state = f"marked as {document.status.lower()}" if document and document.is_outdated else ""
    if not Path(root, path).exists():
        return "deleted since it was indexed"
    changed = document and not _is_fresh(Path(root), document)
    return ", ".join(filter(None, [state, "changed since it was indexed" if changed else ""]))


def _is_fresh(root: Path, document: Document) -> bool:
    """Return True if a file has the text that was indexed; it is read only if its size or time changed."""
    try:
        state = (root / document.path).lstat()
    except OSError:
        return False
    if (state.st_size, state.st_mtime_ns) == (document.size, document.modified_ns):
        return True
    text = read_text(root, document.path)
    return text is not None and _hash(text) == document.hash


def _section(parts: re.Match[str], text: str) -> tuple[int, int]:
    """Return the first and the last line under a heading, the headings below it included."""
    pieces = split_document(parts["path"], text)
    wanted = parts["heading"].casefold()
    places = [(piece.first, piece.last) for piece in pieces if wanted in map(str.casefold, piece.trail)]
    if not places:
        known = ", ".join(dict.fromkeys(name for piece in pieces for name in piece.trail))
        advice = f"its headings are: {known}" if known else "it has no headings"
        raise NotFound(f"{parts['path']} has no heading {parts['heading']!r}", advice)
    return min(places)[0], max(places)[1]


def read_passage(manifest: Manifest, ref: str) -> DocumentPassage:
    """Return the text at a reference of a folder, or of a whole document by its path; secrets masked."""
    parts = _REF.fullmatch(ref)
    if ref in manifest.documents:
        parts = None
    document = manifest.documents.get(parts["path"] if parts else ref)
    if document is None:
        raise NotFound(
            f"there is no document {ref!r} in {manifest.root}",
            "run `clew knowledge list` to see the documents",
        )
    root = Path(manifest.root)
    text = read_text(root, document.path)
    if text is None:
        raise NotFound(f"{document.path} is gone", "run `clew knowledge index` to remove it from the index")
    lines = text.splitlines()
    if parts:
        first, last = (parts["first"], parts["last"]) if parts["first"] else _section(parts, text)
        lines = lines[int(first) - 1 : int(last)]
    return DocumentPassage(ref, mask("\n".join(lines)).text, _is_fresh(root, document))
