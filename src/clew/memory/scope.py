"""What a search covers: which sessions, and what the model does not already see.

A session's project is recorded in its log (``about``: ``project``): the folder with ``.git`` it ran in, or
that folder itself. Sessions without a recorded project share the workspace's unnamed project. A search of a
project covers the indexed folders of documents inside it, around it, and of no project.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from clew.log import ABOUT
from clew.log.protocol import Ctx, Store
from clew.log.transfer import OWN
from clew.memory.index import FOLDER, Entry, EntryKind
from clew.memory.indexing import text_of
from clew.message import Item, Origin
from clew.secrets import mask


class SearchScope(StrEnum):
    """The scope of a search."""

    SESSION = "this_session"
    PROJECT = "this_project"
    EVERYWHERE = "everywhere"


class _KnownProject(NamedTuple):
    seq: int
    project: str


class Projects:
    """The projects of a workspace's sessions; reads only what changed."""

    def __init__(self, store: Store, workspace: str) -> None:
        self._store = store
        self._workspace = workspace
        self._known: dict[str, _KnownProject] = {}
        self._is_in_repository: dict[str, bool] = {}
        """Of the folders of documents that were looked at."""

    def of(self, session: str) -> str:
        """Return the project of a session; empty if none is recorded."""
        self._read()
        known_project = self._known.get(session)
        return known_project.project if known_project else ""

    def sessions(
        self, projects: Collection[str], session: str, folders: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Return the sessions of some projects, ``session``, clew's own, and the folders in scope.

        ``folders`` are the roots of all indexed folders. Empty if everything is in scope.
        """
        self._read()
        covered = [f"{FOLDER}{root}" for root in folders if self._covers(projects, root)]
        mine = [
            name
            for name, known in self._known.items()
            if known.project in projects or name.startswith(OWN) or name == session
        ]
        if len(covered) == len(folders) and len(mine) == len(self._known):
            return ()
        return tuple(dict.fromkeys((session, *mine, *covered)))

    def heads(self) -> dict[str, int]:
        """Return the number of the last event of each session, oldest session first."""
        self._read()
        return {name: known.seq for name, known in self._known.items()}

    def has_others(self, projects: Collection[str] | None, session: str) -> bool:
        """Whether there are sessions besides this one and clew's own, of some projects or of any."""
        self._read()
        return any(
            name != session and not name.startswith(OWN) and (projects is None or known.project in projects)
            for name, known in self._known.items()
        )

    def _covers(self, projects: Collection[str], folder: str) -> bool:
        """Whether a search of these projects covers an indexed folder."""
        root = Path(folder)
        near = [Path(project).resolve() for project in filter(None, projects)]
        if any(root.is_relative_to(path) or path.is_relative_to(root) for path in near):
            return True
        if folder not in self._is_in_repository:
            self._is_in_repository[folder] = _repository(Path(folder)) is not None
        elsewhere = {known.project for known in self._known.values() if known.project} - {*projects}
        return not self._is_in_repository[folder] and not any(
            root.is_relative_to(Path(project).resolve()) for project in elsewhere
        )

    def _read(self) -> None:
        for info in self._store.sessions(self._workspace):
            known_project = self._known.get(info.session, _KnownProject(0, ""))
            if info.head.seq == known_project.seq:
                continue
            project = known_project.project
            ctx = Ctx(workspace=self._workspace, session=info.session)
            for stored in self._store.read(ctx, known_project.seq, info.head.seq, [ABOUT.name]):
                named = stored.event.body.get("project")
                project = named if isinstance(named, str) else project
            self._known[info.session] = _KnownProject(info.head.seq, project)


def project_at(folder: str | Path) -> str:
    """Return the project of a folder: the nearest folder above it with ``.git``, or the folder itself.

    It is recorded and shown, so a secret in the path is masked, in the same way every time.
    """
    start = Path(folder).expanduser().absolute()
    return mask(str(_repository(start) or start)).text


def _repository(folder: Path) -> Path | None:
    return next((path for path in (folder, *folder.parents) if (path / ".git").exists()), None)


class InView:
    """Called with an index entry, returns whether the view shows all of it."""

    def __init__(self, session: str, view: Iterable[Item]) -> None:
        self._session = session
        self._texts: dict[str, str] = {}
        self._digests = ""
        for item in view:
            text = text_of(item.message)
            if item.message.origin is Origin.SUMMARY:
                self._digests += f"\n{text}"
            else:
                self._texts[item.id] = text

    @cached_property
    def _all_text(self) -> str:
        return "\n".join((self._digests, *self._texts.values()))

    def holds(self, words: str) -> bool:
        """Return True if the view contains this text."""
        return words in self._all_text

    def __call__(self, entry: Entry) -> bool:
        """Return True if the view shows an entry: the message verbatim, or a digest with the line."""
        if entry.session != self._session:
            return False
        if entry.kind is EntryKind.DIGEST:
            return entry.text in self._digests
        text = self._texts.get(entry.ref, "")
        return text.startswith(entry.text, entry.start) or (bool(text) and entry.text in text)
