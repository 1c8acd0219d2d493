"""The manifest of a folder's documents, stored next to the index so that only changed files are re-read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

VERSION = 1
"""Version of the file and of how documents are split; another version means that all are read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document as it was when it was read."""

    path: str
    """Relative to the root of the folder, with slashes."""
    title: str
    topic: str
    status: str
    """``status`` in its front matter: active, deprecated, superseded …; empty if missing."""
    hash: str
    size: int
    modified_ns: int
    time: str
    """Time of the last change, ISO 8601, UTC."""
    refs: tuple[str, ...]
    """Its pieces in the index."""

    @property
    def is_outdated(self) -> bool:
        """Whether its own front matter says that it no longer applies."""
        return self.status.lower() in (
            "deprecated",
            "superseded",
            "obsolete",
            "archived",
            "rejected",
            "outdated",
        )


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
        return f"knowledge:{self.root}"


def manifest_path(home: Path, root: Path) -> Path:
    """Return the file of a folder's manifest."""
    name = blake2b(str(root).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return home / "knowledge" / f"{name}.json"


def read_manifest(path: Path, root: str) -> Manifest:
    """Return the manifest in a file; an empty one if the file is missing or unreadable."""
    try:
        written: Any = json.loads(path.read_text("utf-8"))
        generation = written["generation"] if written["version"] == VERSION else -1  # matches no index
        return Manifest(written["root"], generation, _documents(written))
    except (OSError, ValueError, KeyError, TypeError):
        return Manifest(root)


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest atomically, readable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    listed = [asdict(one) for one in manifest.documents.values()]
    written = {
        "version": VERSION,
        "root": manifest.root,
        "generation": manifest.generation,
        "documents": listed,
    }
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.touch(0o600)
    fresh.write_text(json.dumps(written, ensure_ascii=False), "utf-8", errors="surrogateescape")
    fresh.replace(path)


def manifests(home: Path) -> list[Manifest]:
    """Return the manifests of all folders, sorted by root."""
    found = (read_manifest(path, "") for path in sorted((home / "knowledge").glob("*.json")))
    return sorted((one for one in found if one.root), key=lambda one: one.root)


def _documents(written: Any) -> dict[str, Document]:  # noqa: ANN401 - JSON enters here
    read = (Document(**{**one, "refs": tuple(one["refs"])}) for one in written["documents"])
    return {one.path: one for one in read}
