"""Reading instruction files and what they include: not too deep, not in circles, not too much."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from clew.context.instructions.files import Files
from clew.context.instructions.places import why_not, within
from clew.context.instructions.text import includes, parted, without_comments
from clew.verify.hidden import directs, is_unseen


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be read."""

    one_file: int = 64 * 1024
    """Bytes of one file; a larger one is refused whole, since half a rule is a wrong rule."""
    in_all: int = 256 * 1024
    """Bytes of all that is in force."""
    depth: int = 4
    """How many includes may lead from an instruction file to a text."""
    includes: int = 50
    """Of one instruction file, all in all."""


class Refusal(NamedTuple):
    """A file that was not read, and why."""

    path: str
    why: str


@dataclass(slots=True)
class Reader:
    """Reads one instruction file of a root, with all that it includes."""

    files: Files
    root: str
    home: str | None
    limits: Limits
    room: int
    """Bytes that may still be taken."""
    hashes: dict[str, str] = field(default_factory=dict)
    """The SHA-256 of each file that was read, by its path."""
    included: dict[str, str] = field(default_factory=dict)
    """Of those, the files that were put in."""
    refused: list[Refusal] = field(default_factory=list)
    taken: int = 0

    def raw(self, path: str) -> str | None:
        """Return the text of a file; None, with the reason on record, where it may not be used."""
        text, why = self._read(path)
        if why:
            self._refuse(path, why)
        return None if why else text

    def _read(self, path: str) -> tuple[str, str]:
        """Return the text of a file, and why it may not be used; one of them is empty."""
        size = self.files.size(path)
        if size > self.limits.one_file:
            return "", f"it has {size:,} bytes, and {self.limits.one_file:,} are allowed"
        if self.taken + size > self.room:
            return "", f"with it all instructions would have more than {self.limits.in_all:,} bytes"
        content = self.files.read(path, self.limits.one_file + 1)
        if content is None or len(content) > self.limits.one_file:
            return "", "it cannot be read, or grew while it was"
        try:
            text = content.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            return "", "it is not UTF-8 text"
        if is_unseen(text) or directs(text):
            return "", "it holds characters that nobody can see"
        self.taken += len(content)
        self.hashes[path] = hashlib.sha256(content).hexdigest()
        return text, ""

    def expanded(self, path: str, body: str, chain: Sequence[str] = ()) -> str:
        """Return a text without comments and with what it includes.

        An include on a line of its own is put in its place; one within a sentence, behind the text.
        """
        chain = (*chain, path)
        plain = without_comments(body)
        lines = plain.split("\n")
        behind: list[str] = []
        for one in list(includes(plain)):
            text = self._included(one.name, chain)
            if text is None:
                continue
            if one.alone:
                lines[one.line] = text
            else:
                behind.append(text)
        return "\n".join([*lines, *behind])

    def _included(self, name: str, chain: Sequence[str]) -> str | None:
        path = self._resolved(name, chain[-1])
        if why := self._why_not(path, chain):
            if _looks_like_path(name):
                self._refuse(path, why)
            return None
        if path in self.included:
            return None  # it stands there already
        raw = self.raw(path)
        if raw is None:
            return None
        self.included[path] = self.hashes[path]
        return self.expanded(path, parted(raw)[1], chain).strip()

    def _resolved(self, name: str, includer: str) -> str:
        if name.startswith("~/"):
            return posixpath.normpath(posixpath.join(self.home or "/nowhere", name[2:]))
        return posixpath.normpath(posixpath.join(posixpath.dirname(includer), name))

    def _why_not(self, path: str, chain: Sequence[str]) -> str:
        if path in chain:
            circle = " → ".join(self._short(one) for one in (*chain[chain.index(path) :], path))
            return f"it includes itself: {circle}"
        if why := why_not(path, self.root, self.files):
            return why
        if len(chain) > self.limits.depth:
            led = " → ".join(self._short(one) for one in (*chain, path))
            return f"{len(chain)} includes lead to it, and {self.limits.depth} are allowed: {led}"
        if len(self.included) >= self.limits.includes:
            return f"{self.limits.includes} files are included already"
        return ""

    def _short(self, path: str) -> str:
        return "/".join(within(path, self.root))

    def _refuse(self, path: str, why: str) -> None:
        self.refused.append(Refusal(path, why))


def _looks_like_path(name: str) -> bool:
    """Tell whether somebody who wrote this meant a file: ``@docs/a.md``, and not ``@alice``."""
    return "/" in name or "." in name
