"""Search the documents, and read the text behind a reference from the file itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clew.errors import NotFound
from clew.memory.index.protocol import Embedder, EntryKind, Filters, Index
from clew.memory.search import Hit, Query, search
from clew.request.knowledge.documents import Manifest
from clew.request.knowledge.folder import read_text
from clew.secrets import mask

_REF = re.compile(r"(?P<path>.+?)#(?P<heading>.*):(?P<first>\d+)-(?P<last>\d+)")


@dataclass(frozen=True, slots=True)
class Passage:
    """The text behind a reference, as the file has it now."""

    ref: str
    text: str
    is_fresh: bool
    """The file is unchanged since it was indexed."""


def look_up(
    index: Index,
    workspace: str,
    query: Query,
    folders: Sequence[Manifest] = (),
    *,
    topics: Sequence[str] = (),
    embedder: Embedder | None = None,
) -> list[Hit]:
    """Return the pieces of documents that answer a question best, each with its exact reference."""
    filters = Filters(
        kinds=(EntryKind.DOCUMENT,),
        sessions=tuple(folder.session for folder in folders),
        roles=tuple(topics),
        files=query.filters.files,
        after=query.filters.after,
        before=query.filters.before,
    )
    asked = Query(text=query.text, at=query.at, filters=filters, limit=query.limit)
    hits = search(index, workspace, asked, embedder)
    # Neighbours of a hit are often from another document: drop hits without a word of the question.
    return [hit for hit in hits if hit.why.exact or hit.why.terms or hit.why.meaning]


def passage(manifest: Manifest, ref: str) -> Passage:
    """Return the text at a reference of a folder, secrets masked."""
    parts = _REF.fullmatch(ref)
    document = manifest.documents.get(parts["path"]) if parts else None
    if parts is None or document is None:
        raise NotFound(
            f"there is no document {ref!r} in {manifest.root}",
            "run `clew knowledge list` to see the documents",
        )
    root = Path(manifest.root)
    text = read_text(root, document.path)
    if text is None:
        raise NotFound(f"{document.path} is gone", "run `clew knowledge index` to remove it from the index")
    lines = text.splitlines()[int(parts["first"]) - 1 : int(parts["last"])]
    state = (root / document.path).lstat()
    fresh = (state.st_size, state.st_mtime_ns) == (document.size, document.modified_ns)
    return Passage(ref, mask("\n".join(lines)).text, fresh)
