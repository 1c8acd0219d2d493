"""The session files under a path, and the labels next to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from clew.errors import InputError
from clew.transcripts import detect, open_source
from clew_evals.asking import read_labels
from clew_evals.needs import Labels

LABELS = Path("_labels", "user_constraints.jsonl")
_SUB_AGENTS = "agent-"
"""Claude Code writes the conversations of sub-agents next to the session that started them."""


class SessionFile(NamedTuple):
    """A file (or a folder that is one session) and the set it belongs to."""

    path: Path
    set: str


def session_files(paths: Iterable[Path]) -> list[SessionFile]:
    """Return every file under these paths that clew reads, each once, in the order of their names."""
    result: dict[Path, SessionFile] = {}
    for path in paths:
        for item in _under(path) if path.is_dir() else (path,):
            if item not in result and (item == path or _is_session(item)):
                result[item] = SessionFile(item, item.parent.name)
    return list(result.values())


def _under(folder: Path) -> Iterator[Path]:
    if _is_session(folder):
        yield folder
        return
    for child in sorted(folder.iterdir()):
        if child.is_dir():
            yield from _under(child)
        elif child.is_file() and not child.name.startswith(_SUB_AGENTS):
            yield child


def _is_session(path: Path) -> bool:
    try:
        detect(open_source(path))
    except InputError:
        return False
    return True


def labels_near(paths: Sequence[Path]) -> Labels:
    """Return the labels next to the first of these paths, or above it; none if there are none."""
    for path in paths[:1]:
        for folder in (path, *path.resolve().parents[:3]):
            if (folder / LABELS).is_file():
                return read_labels(folder / LABELS)
    return {}
