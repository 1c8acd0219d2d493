"""Update the index from a folder, at the cost of what changed in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

from clew.memory.index.protocol import Entry, EntryKind, Index, Mark
from clew.memory.words import analyse
from clew.message import Trust
from clew.request.knowledge.documents import Document, Manifest
from clew.request.knowledge.folder import File, files_of, read_text
from clew.request.knowledge.front import front_matter
from clew.request.knowledge.pieces import Piece, pieces, title
from clew.request.knowledge.topics import topic_of
from clew.secrets import mask

AT_ONCE = 500
"""Entries per index transaction."""


@dataclass(frozen=True, slots=True)
class Update:
    """The result of an update."""

    manifest: Manifest
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether the folder is unchanged."""
        return not (self.added or self.changed or self.gone)


def update(index: Index, workspace: str, root: Path, manifest: Manifest) -> Update:
    """Index new and changed documents, remove deleted ones; return the new manifest to store.

    An interrupted update is repeated by the next one. If the manifest does not belong to the index,
    everything
    is read again.
    """
    _, mark = index.stats(workspace, (), manifest.session)
    known = manifest.documents if mark.seq == manifest.generation else {}
    there: dict[str, Document] = {}
    fresh: list[tuple[Document, list[Entry]]] = []
    for file in files_of(root):
        old = known.get(file.path)
        if old and (old.size, old.modified_ns) == (file.size, file.modified_ns):
            there[file.path] = old
        elif (text := read_text(root, file.path)) is not None:
            document, entries = _read(manifest.session, file, text)
            there[file.path] = document
            if old is None or old.hash != document.hash:
                fresh.append((document, entries))
    gone = [path for path in manifest.documents if path not in there]
    names = [document.path for document, _ in fresh]
    done = Update(
        replace(manifest, documents=there),
        tuple(path for path in names if path not in manifest.documents),
        tuple(path for path in names if path in manifest.documents),
        tuple(gone),
    )
    return done if done.is_nothing and known == there else _written(index, workspace, done, manifest, fresh)


def _written(
    index: Index, workspace: str, done: Update, old: Manifest, fresh: list[tuple[Document, list[Entry]]]
) -> Update:
    now = replace(done.manifest, generation=max(0, old.generation) + 1)
    stale = [*done.gone, *done.changed]
    refs = [ref for path in stale for ref in old.documents[path].refs]
    if refs:
        index.forget(workspace, now.session, refs)
    entries = [entry for _, found in fresh for entry in found]
    for start in range(0, len(entries), AT_ONCE):
        index.add(workspace, [analyse(entry) for entry in entries[start : start + AT_ONCE]])
    index.add(workspace, [], {now.session: Mark(now.generation, len(now.documents))})
    return replace(done, manifest=now)


# One document ----------------------------------------------------------------------------------------


def _read(session: str, file: File, text: str) -> tuple[Document, list[Entry]]:
    front, lines = front_matter(text.splitlines())
    found = [piece for piece in pieces(file.path, text) if piece.last > lines]
    name = front.get("title") or title(file.path, found)
    topic = topic_of(file.path, front, name)
    time = datetime.fromtimestamp(file.modified_ns / 1e9, UTC).isoformat(timespec="seconds")
    entries = [_entry(session, file.path, topic, time, piece) for piece in found]
    document = Document(
        path=file.path,
        title=name,
        topic=topic,
        status=front.get("status", ""),
        hash=blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest(),
        size=file.size,
        modified_ns=file.modified_ns,
        time=time,
        refs=tuple(entry.ref for entry in entries),
    )
    return document, entries


def _entry(session: str, path: str, topic: str, time: str, piece: Piece) -> Entry:
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
