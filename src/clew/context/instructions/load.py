"""Instruction files in force: found by their scope, read within limits, each with its hash.

One pure function over a file system: the same files and the same touched paths give the same instructions.
A file is read when a session starts and when it compacts; what somebody edits in between counts from then.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from clew.context.instructions.files import FileKind, Files
from clew.context.instructions.glob import matches
from clew.context.instructions.include import Limits, Reader
from clew.context.instructions.places import SCOPE_TRUST, Roots, Scope, folders_touched, why_not, within
from clew.context.instructions.text import parted
from clew.message import Trust
from clew.secrets import mask

NAMES = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "CLEW.md")
"""What instruction files are called, in the order in which those of one folder are given."""
INSTEAD = {"AGENTS.md": "AGENTS.override.md"}
PROJECT_RULES, OTHER_RULES = ".claude/rules", "rules"
MOST_FOLDERS = 200
MOST_RULES = 200
_DEEPEST_RULES = 5


@dataclass(frozen=True, slots=True)
class Instruction:
    """A file that is in force."""

    id: str
    """Its scope and its path below its root: ``project:AGENTS.md``."""
    path: str
    scope: Scope
    text: str
    """As the model reads it: comments left out, includes put in, secrets masked."""
    sha256: str
    """Of the file's own bytes."""
    includes: tuple[tuple[str, str], ...] = ()
    """What it includes, each with its hash."""
    patterns: tuple[str, ...] = ()
    """The paths that it is about; none for one that is about everything in its scope."""

    @property
    def trust(self) -> Trust:
        """Return whose word it is."""
        return SCOPE_TRUST[self.scope]

    @property
    def label(self) -> str:
        """Return its name as the model and people read it."""
        return f"{self.id.partition(':')[2]} ({self.scope.value})"


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that did not become an instruction, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """What is in force, the widest scope first, and what was refused."""

    instructions: tuple[Instruction, ...] = ()
    refused: tuple[Refused, ...] = ()

    def get(self, id_: str) -> Instruction | None:
        """Return an instruction by its id."""
        return next((one for one in self.instructions if one.id == id_), None)


def load(files: Files, roots: Roots, touched: Sequence[str] = (), limits: Limits | None = None) -> Loaded:
    """Return the instructions in force where these paths were touched.

    Files of the person, the organization and the project are always in force; those of a folder, and rules
    with path patterns, once something there was touched: ``ledger.artifacts.files`` tells what was.
    """
    loading = _Loading(files, roots, limits or Limits())
    for scope, root in roots.all():
        if scope is Scope.PROJECT and not roots.trusted:
            loading.refuse_all(root, "nobody said that this project is to be trusted")
            continue
        loading.folder(root, root, scope)
        loading.rules(root, scope, touched)
    if roots.project is not None and roots.trusted:
        for folder in folders_touched(touched, roots.project)[:MOST_FOLDERS]:
            loading.folder(folder, roots.project, Scope.FOLDER)
    return Loaded(tuple(loading.found), tuple(dict.fromkeys(loading.refused)))


@dataclass(slots=True)
class _Loading:
    """A search on its way."""

    files: Files
    roots: Roots
    limits: Limits
    found: list[Instruction] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    """Hashes: two names for one text are one instruction."""
    bytes_taken: int = 0

    def refuse_all(self, root: str, why: str) -> None:
        """Refuse whatever of a root would be in force."""
        self.refused += [Refused(path, why) for path in self._present(root)]

    def folder(self, folder: str, root: str, scope: Scope) -> None:
        """Take in the instruction files of one folder."""
        for path in self._present(folder):
            self._take(path, root, scope)

    def _present(self, folder: str) -> Iterator[str]:
        for name in NAMES:
            instead = posixpath.join(folder, INSTEAD.get(name, name))
            path = posixpath.join(folder, name)
            for candidate in dict.fromkeys((instead, path)):
                if self.files.kind(candidate) is not FileKind.MISSING:
                    yield candidate
                    break

    def rules(self, root: str, scope: Scope, touched: Sequence[str]) -> None:
        """Take in the rules of a root: those without patterns, and those whose paths were touched."""
        folder = posixpath.join(root, PROJECT_RULES if scope is Scope.PROJECT else OTHER_RULES)
        base = self.roots.project or root  # patterns of a person's own rules are about the project too
        relative = [_relative(path, base) for path in touched]
        for path in list(self._rule_files(folder))[:MOST_RULES]:
            self._take(path, root, scope, relative)

    def _rule_files(self, folder: str, depth: int = 0) -> Iterator[str]:
        if depth > _DEEPEST_RULES or self.files.kind(folder) is not FileKind.FOLDER:
            return
        for name in self.files.listed(folder):
            path = posixpath.join(folder, name)
            if name.endswith(".md"):
                yield path
            else:
                yield from self._rule_files(path, depth + 1)

    def _take(self, path: str, root: str, scope: Scope, touched: Sequence[str] | None = None) -> None:
        if why := why_not(path, root, self.files):
            self.refused.append(Refused(path, why))
            return
        reader = Reader(self.files, root, self.roots.home, self.limits, self.limits.in_all - self.bytes_taken)
        raw = reader.raw(path)
        if raw is None:
            self.refused += [Refused(*one) for one in reader.refused]
            return
        patterns, body = parted(raw) if touched is not None else ((), raw)
        if patterns and not any(matches(one, pattern) for one in touched or () for pattern in patterns):
            return
        digest = reader.hashes[path]
        if digest in self.seen:
            return
        text = mask(reader.expanded(path, body).strip()).text
        self.refused += [Refused(*one) for one in reader.refused]
        self.seen.add(digest)
        self.bytes_taken += reader.taken
        if text:
            name = f"{scope.value}:{'/'.join(within(path, root))}"
            included = tuple(reader.included.items())
            self.found.append(Instruction(name, path, scope, text, digest, included, patterns))


def _relative(path: str, root: str) -> str:
    full = posixpath.normpath(posixpath.join(root, path.replace("\\", "/")))
    return posixpath.relpath(full, root)
