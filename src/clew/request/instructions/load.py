"""Load the active instruction files: found by scope, read within limits, each with its hash.

One pure function over a file system: equal files and equal touched paths give equal instructions. Files are
read when a session starts and when it compacts; an edit in between takes effect then.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from clew.message import Trust
from clew.request.instructions.files import FileKind, Files
from clew.request.instructions.glob import matches
from clew.request.instructions.include import Limits, Reader
from clew.request.instructions.places import SCOPE_TRUST, Roots, Scope, folders_touched, why_not, within
from clew.request.instructions.text import parted
from clew.secrets import mask

NAMES = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "CLEW.md")
"""Names of instruction files, in the order in which those of one folder are loaded."""
INSTEAD = {"AGENTS.md": "AGENTS.override.md"}
"""A file that replaces another one of the same folder if present."""
PROJECT_RULES, OTHER_RULES = ".claude/rules", "rules"
MOST_FOLDERS = 200
"""Limits against huge trees, chosen by hand."""
MOST_RULES = 200
_DEEPEST_RULES = 5


@dataclass(frozen=True, slots=True)
class Instruction:
    """An active instruction file."""

    id: str
    """Its scope and its path below its root: ``project:AGENTS.md``."""
    path: str
    scope: Scope
    text: str
    """As the model reads it: without comments, with includes, secrets masked."""
    sha256: str
    """Of the file's own bytes."""
    includes: tuple[tuple[str, str], ...] = ()
    """The included files, each with its hash."""
    patterns: tuple[str, ...] = ()
    """The paths that it applies to; empty if it applies to everything in its scope."""

    @property
    def trust(self) -> Trust:
        """Return the trust that its scope gives it."""
        return SCOPE_TRUST[self.scope]

    @property
    def label(self) -> str:
        """Return its name as shown to the model and to people."""
        return f"{self.id.partition(':')[2]} ({self.scope.value})"


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that did not become an instruction, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """The active instructions, widest scope first, and the refused files."""

    instructions: tuple[Instruction, ...] = ()
    refused: tuple[Refused, ...] = ()

    def get(self, id_: str) -> Instruction | None:
        """Return an instruction by id."""
        return next((one for one in self.instructions if one.id == id_), None)


def load(files: Files, roots: Roots, touched: Sequence[str] = (), limits: Limits | None = None) -> Loaded:
    """Return the instructions that are active when these paths were touched.

    Files of the user, the organization and the project are always active; those of a folder, and rules with
    path patterns, once a path there was touched (see ``ledger.artifacts.files``).
    """
    loading = _Loading(files, roots, limits or Limits())
    for scope, root in roots.all():
        if scope is Scope.PROJECT and not roots.trusted:
            loading.refuse_all(root, "the user has not marked this project as trusted")
            continue
        loading.folder(root, root, scope)
        loading.rules(root, scope, touched)
    if roots.project is not None and roots.trusted:
        for folder in folders_touched(touched, roots.project)[:MOST_FOLDERS]:
            loading.folder(folder, roots.project, Scope.FOLDER)
    return Loaded(tuple(loading.found), tuple(dict.fromkeys(loading.refused)))


@dataclass(slots=True)
class _Loading:
    """The state of one ``load`` call."""

    files: Files
    roots: Roots
    limits: Limits
    found: list[Instruction] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    """Hashes: two files with the same content count as one instruction."""
    bytes_taken: int = 0

    def refuse_all(self, root: str, why: str) -> None:
        """Refuse every instruction file of a root."""
        self.refused += [Refused(path, why) for path in self._present(root)]

    def folder(self, folder: str, root: str, scope: Scope) -> None:
        """Load the instruction files of one folder."""
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
        """Load the rules of a root: those without patterns, and those whose paths were touched."""
        folder = posixpath.join(root, PROJECT_RULES if scope is Scope.PROJECT else OTHER_RULES)
        base = self.roots.project or root  # patterns in the user's own rules also apply to the project
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
