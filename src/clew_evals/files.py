"""The session files under a path, and the sentences in them that people labelled as rules or decisions."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from clew.errors import InputError
from clew.transcripts import detect, open_source

LABELS = Path("_labels", "user_constraints.jsonl")
"""Where labels lie, seen from the folder of the sessions or one above it."""
_SUB_AGENTS = "agent-"
"""Claude Code writes the conversations of sub-agents next to the session that started them."""


class SessionFile(NamedTuple):
    """A file (or a folder that is one session) and the set it belongs to."""

    path: Path
    set: str


class Label(NamedTuple):
    """A sentence of the user's that people read and found to be a rule or a decision."""

    text: str
    is_decision: bool


Labels: TypeAlias = Mapping[str, Sequence[Label]]
"""By ``session_name`` of the session's file."""


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


def read_labels(path: Path) -> Labels:
    """Read labelled sentences: JSON lines with ``file``, ``label`` and ``text``."""
    result: defaultdict[str, list[Label]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        result[session_name(Path(row["file"]))].append(Label(row["text"], row["label"] == "decision"))
    return dict(result)


def session_name(path: Path) -> str:
    """Return the name by which labels know a file: its own, without ``.zst`` or ``.gz``."""
    return path.name.removesuffix(".zst").removesuffix(".gz")
