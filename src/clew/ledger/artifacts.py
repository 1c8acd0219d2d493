"""Artifacts: the files, commands and URLs that tool calls touched, and the last action on each.

After a successful ``Edit`` of ``src/a.py``, ``artifacts.changed`` has an ``Artifact`` for it with action
``MODIFIED``, the number of changes, and the first and last call. Only successful calls change the state of a
file or URL; a command is recorded either way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from clew.ledger.exchange import Exchange, Reading
from clew.ledger.outcome import Ended
from clew.ledger.shell import CHANGES, Action, Touch, normal_path
from clew.ledger.tool_actions import ActionKind, touches
from clew.message import Cite
from clew.message.text import lazy_pattern

MOST_UNCHANGED = 8_000
"""Commands, URLs and unchanged files kept (chosen by hand); above that the oldest are dropped. Changed
files stay."""
_KEPT_WHEN_FULL = 6_000
"""How many of them are left then, so that dropping is rare. Chosen by hand."""
_LONGEST_COMMAND = 400
"""Characters of a command line that are kept; chosen by hand."""


class ArtifactKind(StrEnum):
    """What was touched."""

    FILE = "file"
    COMMAND = "command"
    URL = "url"


@dataclass(frozen=True, slots=True)
class Artifact:
    """Something that calls touched."""

    kind: ArtifactKind
    name: str
    """The path, the URL, or the command line, cut if very long."""
    action: Action
    """The last action on it."""
    count: int
    """Number of actions on it."""
    first: Cite
    last: Cite
    changes: int = 0
    """Of a file: how often it was created, modified, deleted or moved."""
    last_change: Cite | None = None
    created: bool = False
    """It was created in this session."""
    moved_to: str = ""
    named_by: Cite | None = None
    """Of a file: the result that names it, if the call does not."""
    ended: Ended | None = None
    """Of a command: how it ended last."""
    exit_code: int | None = None

    @property
    def sources(self) -> tuple[Cite, ...]:
        """Return the places that show it: its last change or else its last use, and what names it."""
        shown = self.last_change or self.last
        return (shown, self.named_by) if self.named_by else (shown,)

    @property
    def changed(self) -> bool:
        """Whether the session changed it."""
        return self.changes > 0

    @property
    def exists(self) -> bool:
        """Whether it still exists, as far as the session shows."""
        return self.action not in (Action.DELETED, Action.MOVED)


class ArtifactKey(NamedTuple):
    """Identifies an artifact."""

    kind: ArtifactKind
    name: str


@dataclass(slots=True)
class Artifacts:
    """Tracks what calls touched."""

    held: dict[ArtifactKey, Artifact] = field(default_factory=dict)
    """In the order in which they were last touched."""
    stashed: list[Artifact] = field(default_factory=list)
    """The changed files that the last ``git stash`` put away."""
    _changed: int = field(init=False, default=0)
    _by_name: dict[str, list[str]] = field(init=False, default_factory=dict)
    """Paths of the files by last component."""

    def __post_init__(self) -> None:
        self._index()

    @property
    def files(self) -> tuple[Artifact, ...]:
        """Return the files, in the order in which they were last touched."""
        return self._of(ArtifactKind.FILE)

    @property
    def changed(self) -> tuple[Artifact, ...]:
        """Return the files that the session created, modified, deleted or moved."""
        return tuple(artifact for artifact in self.files if artifact.changed)

    @property
    def commands(self) -> tuple[Artifact, ...]:
        """Return the command lines."""
        return self._of(ArtifactKind.COMMAND)

    @property
    def urls(self) -> tuple[Artifact, ...]:
        """Return the URLs that were fetched."""
        return self._of(ArtifactKind.URL)

    def _of(self, kind: ArtifactKind) -> tuple[Artifact, ...]:
        return tuple(artifact for artifact in self.held.values() if artifact.kind is kind)

    def add(self, reading: Reading) -> dict[str, Cite]:
        """Read the results in a message; return the files they changed, each with its last such call."""
        changed: dict[str, Cite] = {}
        for exchange in reading.exchanges:
            if exchange.action.kind is ActionKind.SHELL and exchange.action.subject:
                self._ran(exchange)
            if exchange.outcome.ended is Ended.OK:
                for touch in touches(exchange.action, exchange.result.text):
                    changed |= dict.fromkeys(self._apply_touch(touch, exchange.asked), exchange.asked)
                    if not exchange.action.subject:
                        self._name(touch, exchange.answered)
            elif removed_before_failing(exchange):
                for touch in touches(exchange.action, exchange.result.text):
                    if touch.action is Action.DELETED:
                        self._apply_touch(touch, exchange.asked)
        if len(self.held) - self._changed > MOST_UNCHANGED:
            self._forget()
        return changed

    def _name(self, touch: Touch, by: Cite) -> None:
        """Record that a result names a file that its call does not name."""
        key = ArtifactKey(ArtifactKind.FILE, self._file_name(touch.name))
        if key in self.held:
            self.held[key] = replace(self.held[key], named_by=by)

    def _ran(self, exchange: Exchange) -> None:
        """Record that a command was run, unless the person refused it."""
        if exchange.outcome.ended is Ended.REFUSED:
            return
        name = exchange.action.subject.strip()[:_LONGEST_COMMAND]
        key = ArtifactKey(ArtifactKind.COMMAND, name)
        before = self.held.pop(key, None)
        ended, code = exchange.outcome
        self.held[key] = Artifact(
            ArtifactKind.COMMAND,
            name,
            Action.RAN,
            before.count + 1 if before else 1,
            before.first if before else exchange.asked,
            exchange.asked,
            ended=ended,
            exit_code=code,
        )

    def _apply_touch(self, touch: Touch, cite: Cite) -> list[str]:
        """Record what a call did to a file or URL; return the names of the changed files."""
        if touch.action is Action.FETCHED:
            self._touch(ArtifactKind.URL, touch.name, touch.action, cite)
            return []
        if touch.action in _UNDOING:
            self._undo(touch)
            return []
        name = self._file_name(touch.name)
        action = touch.action
        if action is Action.WRITTEN:
            before = self.held.get(ArtifactKey(ArtifactKind.FILE, name))
            action = Action.MODIFIED if before is not None and before.exists else Action.CREATED
        for path in self._inside(name) if action in (Action.DELETED, Action.MOVED) else ():
            self._apply_to_file_inside(path, touch, name, cite)
        artifact = self._touch(ArtifactKind.FILE, name, action, cite)
        if action is not Action.MOVED or not touch.to:
            return [name] if action in CHANGES else []
        target = self._file_name(touch.to)
        self.held[ArtifactKey(ArtifactKind.FILE, name)] = replace(artifact, moved_to=target)
        known_artifact = self.held.get(ArtifactKey(ArtifactKind.FILE, target))
        touch_action = (
            Action.MODIFIED if known_artifact is not None and known_artifact.exists else Action.CREATED
        )
        self._touch(ArtifactKind.FILE, target, touch_action, cite)
        return [name, target]

    def _apply_to_file_inside(self, path: str, touch: Touch, folder: str, cite: Cite) -> None:
        """Record what deleting or moving a folder did to a file in it; one only read is just gone."""
        key = ArtifactKey(ArtifactKind.FILE, path)
        if touch.action is Action.MOVED and touch.to:
            self._apply_touch(Touch(Action.MOVED, path, f"{touch.to.rstrip('/')}{path[len(folder) :]}"), cite)
        elif self.held[key].changed:
            self._touch(ArtifactKind.FILE, path, Action.DELETED, cite)
        else:
            self.held[key] = replace(self.held[key], action=Action.DELETED)

    def _undo(self, touch: Touch) -> None:
        """Record that files are as they were in the last commit, or as before a stash."""
        name = self._file_name(touch.name)
        if touch.action is Action.FOLDER:
            key = ArtifactKey(ArtifactKind.FILE, name)
            if key in self.held and not self.held[key].exists:
                del self.held[key]  # a folder that was deleted is there again
                self._index()
            return
        if touch.action is Action.UNSTASHED:
            put_back, self.stashed = self.stashed, []
            self.held |= {ArtifactKey(one.kind, one.name): one for one in put_back}
        else:
            undone = [one for one in self.changed if _is_in(one.name, name) and not self._stays(one)]
            for one in undone:
                as_before = replace(one, action=Action.READ, changes=0, last_change=None, moved_to="")
                self.held[ArtifactKey(one.kind, one.name)] = as_before
            if touch.action is Action.STASHED:
                self.stashed = undone
        self._index()

    def _stays(self, file: Artifact) -> bool:
        """Return True if a change outlives its undoing: git does not know the file, or has committed it."""
        is_committed = any(
            command.last.number > file.first.number and command.ended is Ended.OK
            for command in self.commands
            if _COMMITS.search(command.name)
        )
        return is_committed or (file.created and file.exists)

    def _inside(self, folder: str) -> list[str]:
        """Return the known files in a folder that a call deletes or moves."""
        if ArtifactKey(ArtifactKind.FILE, folder) in self.held:
            return []
        return [one.name for one in self.files if one.exists and one.name.startswith(f"{folder}/")]

    def _touch(self, kind: ArtifactKind, name: str, action: Action, cite: Cite) -> Artifact:
        """Record one more action on an artifact; return its new state."""
        key = ArtifactKey(kind, name)
        before = self.held.pop(key, None)
        changes = action in CHANGES
        if before is None and kind is ArtifactKind.FILE:
            self._by_name.setdefault(_last(name), []).append(name)
        if changes and not (before and before.changes):
            self._changed += 1
        after = self.held[key] = Artifact(
            kind,
            name,
            action,
            before.count + 1 if before else 1,
            before.first if before else cite,
            cite,
            before.changes + changes if before else int(changes),
            cite if changes else before.last_change if before else None,
            action is Action.CREATED or (before is not None and before.created),
            named_by=before.named_by if before and not changes else None,
        )
        return after

    def _file_name(self, path: str) -> str:
        """Return the canonical name of a file: ``src/a.py`` is ``/repo/src/a.py`` if only that matches."""
        name = normal_path(path)
        if ArtifactKey(ArtifactKind.FILE, name) in self.held:
            return name
        alike = self._by_name.get(_last(name), ())
        fits = [known for known in alike if _is_tail(known, name) or _is_tail(name, known)]
        if len(fits) != 1:
            return name
        if len(fits[0]) < len(name):
            self._rename(fits[0], name)
            return name
        return fits[0]

    def _rename(self, old: str, new: str) -> None:
        """Use a file's full path from now on."""
        artifact = self.held.pop(ArtifactKey(ArtifactKind.FILE, old))
        self.held[ArtifactKey(ArtifactKind.FILE, new)] = replace(artifact, name=new)
        names = self._by_name[_last(new)]
        names[names.index(old)] = new

    def _forget(self) -> None:
        """Drop the unchanged artifacts that were touched longest ago."""
        unchanged = [key for key, artifact in self.held.items() if not artifact.changed]
        # Artifacts touched only once go before the rest.
        for key in sorted(unchanged, key=lambda key: self.held[key].count > 1)[
            : len(unchanged) - _KEPT_WHEN_FULL
        ]:
            del self.held[key]
        self._index()

    def _index(self) -> None:
        self._by_name = {}
        for artifact in self.files:
            self._by_name.setdefault(_last(artifact.name), []).append(artifact.name)
        self._changed = sum(artifact.changed for artifact in self.held.values())


def removed_before_failing(exchange: Exchange) -> bool:
    """Return True if a failed command line removed files first, and something else in it failed."""
    if exchange.action.kind is not ActionKind.SHELL or not exchange.outcome.exit_code:
        return False
    return bool(_REMOVES_FIRST.search(exchange.action.subject)) and not _COULD_NOT.search(
        exchange.result.text
    )


def _is_in(path: str, folder: str) -> bool:
    """Return True if a path is this file, in this folder, or anywhere if the folder is "."."""
    return folder in (".", path) or path.startswith(f"{folder.rstrip('/')}/")


def _last(path: str) -> str:
    """Return the last component of a path with slashes or backslashes."""
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def _is_tail(tail: str, path: str) -> bool:
    """Return True if a relative path of several components is the end of a full path."""
    relative, full = tail.replace("\\", "/"), path.replace("\\", "/")
    return "/" in relative and not relative.startswith(("/", "~", "../")) and full.endswith("/" + relative)


# What the patterns recognise ---------------------------------------------------------------------------

_UNDOING = frozenset({Action.RESTORED, Action.STASHED, Action.UNSTASHED, Action.FOLDER})
"""Actions that take back what was recorded of files."""
_COMMITS = lazy_pattern(r"\bgit\b[^|;&\n]{0,60}\bcommit\b")
"""A command that commits."""
_REMOVES_FIRST = lazy_pattern(r"\brm\b[^;&|\n]*[;\n]")
"""A removal that is followed by another command whether or not it succeeds: "rm -f a; ls a"."""
_COULD_NOT = lazy_pattern(r"^(?:\S*sh: )?(?:line \d+: )?(?:rm|cd): ", re.MULTILINE)
"""A removal, or the change of folder before it, that failed."""
