"""The files of a folder that can be documents, and the manifest of those already indexed.

The manifest is stored next to the index, so that only changed files are read again.
"""

from __future__ import annotations

import codecs
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import repeat
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from clew.memory.documents.split import OUTDATED, SUFFIXES
from clew.memory.index import FOLDER

VERSION = 3
"""Version of the file and of how documents are split; another version means that all are read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document as it was when it was read."""

    path: str
    """Relative to the root of the folder, with slashes."""
    title: str
    topic: str
    status: str
    """``status`` in its front matter (active, deprecated, superseded …), or what its first lines say if it no
    longer applies ("Superseded by …"); empty if missing."""
    hash: str
    size: int
    modified_ns: int
    time: str
    """Time of the last change, ISO 8601, UTC: as its front matter states it, else that of its file."""
    refs: tuple[str, ...]
    """Its pieces in the index."""

    @property
    def is_outdated(self) -> bool:
        """Whether the document itself says that it no longer applies."""
        first, *_ = (*self.status.lower().split(), "")
        return first.strip(".,:;") in OUTDATED


@dataclass(frozen=True, slots=True)
class Manifest:
    """The documents of one folder."""

    root: str
    generation: int = 0
    """How often it was written. The index stores the same number; if they differ, everything is read again.
    """
    documents: Mapping[str, Document] = field(default_factory=dict)

    @property
    def session(self) -> str:
        """Return the name under which the folder's pieces are stored in the index."""
        return f"{FOLDER}{self.root}"


def manifest_path(home: Path, root: Path) -> Path:
    """Return the file of a folder's manifest."""
    name = blake2b(str(root).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return home / "knowledge" / f"{name}.json"


def read_manifest(path: Path, root: str) -> Manifest:
    """Return the manifest in a file; an empty one if the file is missing or unreadable."""
    try:
        written: Any = json.loads(path.read_text("utf-8", errors="surrogateescape"))
        generation = written["generation"] if written["version"] == VERSION else -1  # matches no index
        return Manifest(written["root"], generation, _documents(written))
    except (OSError, ValueError, KeyError, TypeError):
        return Manifest(root)


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest atomically, readable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    listed = [asdict(document) for document in manifest.documents.values()]
    written = {
        "version": VERSION,
        "root": manifest.root,
        "generation": manifest.generation,
        "documents": listed,
    }
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.touch(0o600)
    temporary.write_text(json.dumps(written, ensure_ascii=False), "utf-8", errors="surrogateescape")
    temporary.replace(path)


def document_in(home: Path, root: str, path: str) -> Document | None:
    """Return a document as it was when its folder was last indexed; None if the manifest does not list it."""
    file = manifest_path(home, Path(root))
    try:
        written_ns = file.stat().st_mtime_ns
    except OSError:
        return None
    return _read_once(file, root, written_ns).documents.get(path)


@lru_cache(maxsize=16)
def _read_once(file: Path, root: str, _written_ns: int) -> Manifest:
    return read_manifest(file, root)


def manifests(home: Path) -> list[Manifest]:
    """Return the manifests of all folders, sorted by root."""
    read = (read_manifest(path, "") for path in sorted((home / "knowledge").glob("*.json")))
    return sorted((manifest for manifest in read if manifest.root), key=lambda item: item.root)


def _documents(written: Any) -> dict[str, Document]:  # noqa: ANN401 - JSON enters here
    documents = (Document(**{**item, "refs": tuple(item["refs"])}) for item in written["documents"])
    return {item.path: item for item in documents}


LARGEST = 1_000_000
"""Most bytes of a document; a larger file is data and is not indexed (chosen by hand)."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Do not follow a link, and do not block on a pipe."""
_SKIPPED_FOLDERS = frozenset(
    {"node_modules", "__pycache__", "venv", "site-packages", "dist", "build", "target"}
)
_HIDDEN_BUT_READ = frozenset({".claude", ".cursor", ".github"})


class File(NamedTuple):
    """A file and its state on disk."""

    path: str
    """Relative to the root, with slashes."""
    size: int = 0
    modified_ns: int = 0
    left_out: str = ""
    """Why it cannot be a document; empty if it can."""


def files_of(root: Path) -> Iterator[File]:
    """Yield the files of a folder, in order, also those that cannot be documents; links are never followed.

    Hidden folders and those of packages and build outputs are not entered. A path that is not valid Unicode
    is left out: the index cannot store references to it.
    """
    for folder, folders, files in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if _is_entered(name))
        for name in sorted(files):
            path = Path(folder, name)
            relative = path.relative_to(root).as_posix()
            try:
                state = path.lstat()
            except OSError:  # deleted since the folder was listed
                continue
            yield File(relative, state.st_size, state.st_mtime_ns, _why_left_out(relative, state))


def _why_left_out(path: str, state: os.stat_result) -> str:
    suffix = PurePosixPath(path).suffix.lower()
    if stat.S_ISLNK(state.st_mode):
        return "links are not followed"
    if any("\ud800" <= character <= "\udfff" for character in path):
        return "its name is not Unicode"
    if suffix not in SUFFIXES:
        return f"{suffix} files are not read" if suffix else "files without a suffix are not read"
    return f"larger than {LARGEST // 1_000_000} MB" if state.st_size > LARGEST else ""


def _is_entered(name: str) -> bool:
    hidden = name.startswith(".") and name not in _HIDDEN_BUT_READ
    return not hidden and name not in _SKIPPED_FOLDERS


def read_text(root: Path, path: str) -> str | None:
    """Return a document's text, in UTF-8, UTF-16 or Windows-1252 (so Latin-1 too); None if there is none.

    There is none of a file that is binary, unreadable, too large or a link.
    """
    file = root / path
    try:
        if not file.parent.resolve().is_relative_to(root.resolve()):
            return None
        with os.fdopen(os.open(file, os.O_RDONLY | _NO_LINK), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                return None
            data = opened.read(LARGEST + 1)
    except OSError:
        return None
    if len(data) > LARGEST:
        return None
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return None if b"\0" in data else _decoded(data)


def _decoded(data: bytes) -> str:
    """Return text in UTF-8 with a few broken characters, or else in the encoding of Western Windows."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    sound = sum(map(str.__gt__, text, repeat("\x7f"))) - broken if broken else 0
    return data.decode("cp1252", "replace") if broken > sound else text
