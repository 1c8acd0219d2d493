"""Load the active instruction files with their includes, found by scope and read within limits.

A project's AGENTS.md is the instruction ``project:AGENTS.md``; a line ``@docs/style.md`` in it is replaced by
that file. Equal files and equal touched paths give equal instructions. Files are read when a session starts
and when it compacts; an edit in between takes effect then.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from clew.compaction.verify.wording import changes_text_direction, has_invisible_characters
from clew.message import Trust
from clew.request.instructions.files import (
    SCOPE_TRUST,
    FileKind,
    FileSource,
    InstructionScope,
    Roots,
    components_below,
    folders_touched,
    is_inside,
    why_not,
)
from clew.request.instructions.parse import (
    broken_front_matter,
    includes,
    matches,
    split_front_matter,
    without_comments,
)
from clew.secrets import mask


@dataclass(frozen=True, slots=True)
class LoadLimits:
    """How much may be read. The defaults were chosen by hand."""

    one_file: int = 64 * 1024
    """Bytes of one file; a larger file is refused as a whole, because half a rule is a wrong rule."""
    total: int = 256 * 1024
    """Bytes of all active instructions together."""
    depth: int = 4
    """Longest chain of includes."""
    includes: int = 50
    """Includes of one instruction file in total."""


class Refused(NamedTuple):
    """A file that did not become an instruction, and why."""

    path: str
    why: str


@dataclass(slots=True)
class FileReader:
    """Reads one instruction file of a root, with everything it includes."""

    files: FileSource
    root: str
    home: str | None
    limits: LoadLimits
    bytes_allowed: int
    """Bytes that may still be read."""
    loaded: frozenset[str] = frozenset()
    """The instructions that apply anyway: an include of one of them adds nothing."""
    hashes: dict[str, str] = field(default_factory=dict)
    """The SHA-256 of each file that was read, by path."""
    included: dict[str, str] = field(default_factory=dict)
    """Of those, the files that were included."""
    refused: list[Refused] = field(default_factory=list)
    taken: int = 0
    """Bytes read so far."""

    def raw(self, path: str) -> str | None:
        """Return the text of a file; if it may not be used, record the reason and return None."""
        text, why = self._read(path)
        if why:
            self._refuse(path, why)
        return None if why else text

    def _read(self, path: str) -> tuple[str, str]:
        """Return the text of a file and an empty string, or no text and why it may not be used."""
        size = self.files.size(path)
        if size > self.limits.one_file:
            return "", f"it has {size:,} bytes; the limit is {self.limits.one_file:,}"
        if self.taken + size > self.bytes_allowed:
            return "", f"with it the instructions would exceed {self.limits.total:,} bytes"
        content = self.files.read(path, self.limits.one_file + 1)
        if content is None or len(content) > self.limits.one_file:
            return "", "it cannot be read, or it grew during reading"
        try:
            text = content.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            return "", "it is not UTF-8 text"
        if hides_text(text):
            return "", "it contains invisible characters"
        self.taken += len(content)
        self.hashes[path] = hashlib.sha256(content).hexdigest()
        return text, ""

    def expanded(self, path: str, body: str, chain: Sequence[str] = ()) -> str:
        """Return the text of a file without comments and with its includes; ``chain`` lists its includers.

        An include on a line of its own is replaced in place; one inside a sentence is appended to the text.
        """
        chain = (*chain, path)
        plain = without_comments(body)
        lines = plain.split("\n")
        appended: list[str] = []
        for include in list(includes(plain)):
            text = self._include(include.name, chain)
            if text is None:
                continue
            if include.alone:
                lines[include.line] = text
            else:
                appended.append(text)
        return "\n".join([*lines, *appended])

    def _include(self, name: str, chain: Sequence[str]) -> str | None:
        path = self._resolve(name, chain[-1])
        if why := self._why_not(path, chain):
            if _looks_like_path(name):
                self._refuse(path, why)
            return None
        if path in self.included or path in self.loaded:
            return None  # the model reads it already
        raw = self.raw(path)
        if raw is None:
            return None
        self.included[path] = self.hashes[path]
        return self.expanded(path, split_front_matter(raw)[1], chain).strip()

    def _resolve(self, name: str, includer: str) -> str:
        if name.startswith("~/"):
            return posixpath.normpath(posixpath.join(self.home or "/nowhere", name[2:]))
        return posixpath.normpath(posixpath.join(posixpath.dirname(includer), name))

    def _why_not(self, path: str, chain: Sequence[str]) -> str:
        if path in chain:
            cycle = " → ".join(self._short(item) for item in (*chain[chain.index(path) :], path))
            return f"it includes itself: {cycle}"
        if why := why_not(path, self.root, self.files):
            return why
        if len(chain) > self.limits.depth:
            steps = " → ".join(self._short(item) for item in (*chain, path))
            return f"include chain of {len(chain)}, the limit is {self.limits.depth}: {steps}"
        if len(self.included) >= self.limits.includes:
            return f"{self.limits.includes} files are included already"
        return ""

    def _short(self, path: str) -> str:
        return "/".join(components_below(path, self.root))

    def _refuse(self, path: str, why: str) -> None:
        self.refused.append(Refused(path, why))


def hides_text(text: str) -> bool:
    """Return True if a person does not see all of a text, or not in the order in which a model reads it."""
    return has_invisible_characters(text) or changes_text_direction(text)


def _looks_like_path(name: str) -> bool:
    """Return True if the writer probably meant a file: ``@docs/a.md``, but not ``@alice``."""
    return "/" in name or "." in name


NAMES = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "CLEW.md")
"""Names of instruction files, in the order in which those of one folder are loaded."""
OVERRIDES = {"AGENTS.md": "AGENTS.override.md"}
"""A file that replaces another one of the same folder if present."""
PROJECT_RULES, OTHER_RULES = ".claude/rules", "rules"
"""The folder of rules below a project, and below any other root."""
MOST_FOLDERS = 200
"""Touched folders that are searched; a limit against huge trees, chosen by hand."""
MOST_RULES = 200
"""Rules of one root; a limit against huge trees, chosen by hand."""
_DEEPEST_RULES = 5
"""How deep folders of rules may be nested, chosen by hand."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """An active instruction file."""

    id: str
    """Its scope and its path below its root: ``project:AGENTS.md``.

    If its scope has several roots, the whole path: ``global:~/.codex/AGENTS.md``.
    """
    path: str
    scope: InstructionScope
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
class LoadedInstructions:
    """The active instructions, widest scope first, and the refused files."""

    instructions: tuple[Instruction, ...] = ()
    refused: tuple[Refused, ...] = ()

    def get(self, id_: str) -> Instruction | None:
        """Return an instruction by id."""
        return next((instruction for instruction in self.instructions if instruction.id == id_), None)


def load(
    files: FileSource, roots: Roots, touched: Sequence[str] = (), limits: LoadLimits | None = None
) -> LoadedInstructions:
    """Return the instructions that are active when these paths were touched.

    Files of the user, the organization and the project are always active; those of a folder, and rules with
    path patterns, once a path there was touched (see ``ledger.artifacts.files``).
    """
    loading = _Loading(files, roots, limits or LoadLimits())
    for scope, root in roots.all():
        if scope is InstructionScope.PROJECT and not roots.trusted:
            loading.refuse_project(root, "the user has not marked this project as trusted")
            continue
        loading.folder(root, root, scope)
        loading.rules(root, scope, touched)
    if roots.project is not None and roots.trusted:
        folders = folders_touched(touched, roots.project)
        for folder in folders[:MOST_FOLDERS]:
            loading.folder(folder, roots.project, InstructionScope.FOLDER)
        if left := folders[MOST_FOLDERS:]:
            why = f"it and {len(left) - 1:,} more touched folders exceed the limit of {MOST_FOLDERS}"
            loading.refused.append(Refused(left[0], why))
    return LoadedInstructions(tuple(loading.found), tuple(dict.fromkeys(loading.refused)))


@dataclass(slots=True)
class _Loading:
    """The state of one ``load`` call."""

    files: FileSource
    roots: Roots
    limits: LoadLimits
    found: list[Instruction] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    seen: set[tuple[str, ...]] = field(default_factory=set)
    """The hashes of each file and of its includes: equal files with equal includes are one instruction."""
    bytes_taken: int = 0
    """Bytes of the active instructions so far."""

    def refuse_project(self, root: str, why: str) -> None:
        """Refuse the instruction files and rules of a project; its folders are not searched."""
        rules = islice(self._rule_files(posixpath.join(root, PROJECT_RULES)), MOST_RULES)
        self.refused += [Refused(path, why) for path in (*self._present(root), *rules)]

    def folder(self, folder: str, root: str, scope: InstructionScope) -> None:
        """Load the instruction files of one folder."""
        for path in self._present(folder):
            self._load_file(path, root, scope)

    def _present(self, folder: str) -> Iterator[str]:
        """Yield the instruction files of one folder; an override in place of its file."""
        for name in NAMES:
            override = posixpath.join(folder, OVERRIDES.get(name, name))
            path = posixpath.join(folder, name)
            for candidate in dict.fromkeys((override, path)):
                if self.files.kind(candidate) is not FileKind.MISSING:
                    yield candidate
                    break

    def rules(self, root: str, scope: InstructionScope, touched: Sequence[str]) -> None:
        """Load the rules of a root: those without patterns, and those whose paths were touched."""
        folder = posixpath.join(root, PROJECT_RULES if scope is InstructionScope.PROJECT else OTHER_RULES)
        base = self.roots.project or root  # patterns in the user's own rules also apply to the project
        relative = [_relative(path, base) for path in touched]
        if self.roots.project is not None:  # without a project, a touched path may be anywhere
            relative = [path for path in relative if not is_inside(path, "..")]
        paths = list(self._rule_files(folder))
        for path in paths[:MOST_RULES]:
            self._load_file(path, root, scope, is_rule=True, touched=relative)
        if left := paths[MOST_RULES:]:
            why = f"it and {len(left) - 1:,} more rules exceed the limit of {MOST_RULES}"
            self.refused.append(Refused(left[0], why))

    def _rule_files(self, folder: str, depth: int = 0) -> Iterator[str]:
        kind = self.files.kind(folder)
        if kind is FileKind.LINK:
            self.refused.append(Refused(folder, f"{posixpath.basename(folder)} is a symbolic link"))
        if kind is not FileKind.FOLDER:
            return
        if depth > _DEEPEST_RULES:
            self.refused.append(Refused(folder, f"it is nested more than {_DEEPEST_RULES} folders deep"))
            return
        for name in self.files.listed(folder):
            path = posixpath.join(folder, name)
            if name.endswith(".md"):
                yield path
            else:
                yield from self._rule_files(path, depth + 1)

    def _load_file(
        self,
        path: str,
        root: str,
        scope: InstructionScope,
        *,
        is_rule: bool = False,
        touched: Sequence[str] = (),
    ) -> None:
        """Add one file to the instructions; a rule only if its patterns match a touched path."""
        if why := why_not(path, root, self.files):
            self.refused.append(Refused(path, why))
            return
        reader = FileReader(
            self.files,
            root,
            self.roots.home,
            self.limits,
            self.limits.total - self.bytes_taken,
            frozenset(instruction.path for instruction in self.found),
        )
        raw = reader.raw(path)
        if raw is None:
            self.refused += reader.refused
            return
        if is_rule and (why := broken_front_matter(raw)):
            self.refused.append(Refused(path, why))
            return
        patterns, body = split_front_matter(raw) if is_rule else ((), raw)
        if patterns and not any(
            matches(touched_path, pattern) for touched_path in touched for pattern in patterns
        ):
            return
        digest = reader.hashes[path]
        text = mask(reader.expanded(path, body).strip()).text
        hashes = (digest, *reader.included.values())
        if hashes in self.seen:
            return
        self.refused += reader.refused
        self.seen.add(hashes)
        self.bytes_taken += reader.taken
        if text:
            name = f"{scope.value}:{self._name(path, root, scope)}"
            included = tuple(reader.included.items())
            self.found.append(Instruction(name, path, scope, text, digest, included, patterns))

    def _name(self, path: str, root: str, scope: InstructionScope) -> str:
        """Return the path below the root, or the whole one if other roots of the scope may hold the same."""
        if len({other for of, other in self.roots.all() if of is scope}) <= 1:
            return "/".join(components_below(path, root))
        home = self.roots.home
        return f"~/{posixpath.relpath(path, home)}" if home and is_inside(path, home) else path


def _relative(path: str, root: str) -> str:
    full = posixpath.normpath(posixpath.join(root, path.replace("\\", "/")))
    return posixpath.relpath(full, root)
