"""The peers that can be run: what each is called, where it is installed, and which of its passes is meant."""

from __future__ import annotations

import os
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
OWN = "clew"
"""The folder whose adapter runs in the interpreter at hand: clew is installed there already."""


@dataclass(frozen=True, slots=True)
class Peer:
    """One way to compact that somebody ships."""

    name: str
    folder: str
    """Where its adapter and requirements are; peers that share a folder share an environment."""
    variant: str
    about: str
    python: str = "3.11"

    @property
    def adapter(self) -> Path:
        """Return the script that drives it."""
        return HERE / self.folder / "adapter.py"

    @property
    def requirements(self) -> Path:
        """Return the file with its pinned packages."""
        return HERE / self.folder / "requirements.txt"

    def interpreter(self, folder: Path) -> Path:
        """Return the Python of its environment, there or not."""
        return Path(sys.executable) if self.folder == OWN else folder / self.folder / "bin" / "python"


def environments() -> Path:
    """Return the folder of the environments: ``BENCH_ENVS``, or ``.bench-envs`` in the repository."""
    return Path(os.environ.get("BENCH_ENVS") or REPOSITORY / ".bench-envs").resolve()


def read_peers(path: Path = HERE / "peers.toml") -> dict[str, Peer]:
    """Return the peers by name, in the order of the file."""
    return {name: Peer(name, **told) for name, told in tomllib.loads(path.read_text("utf-8")).items()}
