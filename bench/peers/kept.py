"""What peers made of cases, kept on disk: a measurement that was broken off goes on where it stopped."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from peers.catalogue import HERE, OWN, REPOSITORY, Peer, environments
from peers.run import Result

APART = ("evals", "cli", "inspector", "chat")
"""Rooms of clew's that have no part in a compaction."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The results of one peer, a file for each case."""

    folder: Path

    @classmethod
    def of(cls, peer: Peer, versions: dict[str, str]) -> Kept:
        """Return those of a peer at these versions of its packages, driven by its adapter as it is now."""
        mark = hashlib.sha256(json.dumps([versions, source_mark(peer)]).encode()).hexdigest()[:12]
        return cls(environments() / "measured" / peer.name / mark)

    def read(self, case: str) -> dict[str, Result]:
        """Return the results for a case by the id of the job."""
        path = self._path(case)
        if not path.exists():
            return {}
        rows: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))
        return {row["id"]: Result(**{**row, "shown": tuple(row["shown"])}) for row in rows}

    def write(self, case: str, results: dict[str, Result]) -> None:
        """Keep the results for a case."""
        self.folder.mkdir(parents=True, exist_ok=True)
        rows = json.dumps([asdict(result) for result in results.values()]).encode()
        part = self._path(case).with_suffix(".part")
        part.write_bytes(gzip.compress(rows, 3))
        part.replace(self._path(case))

    def _path(self, case: str) -> Path:
        return self.folder / f"{case}.json.gz"


@cache
def source_mark(peer: Peer) -> str:
    """Return a mark of everything that drives a peer; of clew, everything that compacts."""
    files = [*sorted((HERE / "peerkit").glob("*.py")), peer.adapter]
    if peer.folder == OWN:
        source = REPOSITORY / "src" / "clew"
        every = sorted(source.rglob("*.py"))
        files += [path for path in every if path.relative_to(source).parts[0] not in APART]
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()
