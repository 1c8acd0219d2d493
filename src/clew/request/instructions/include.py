"""Read instruction files with their includes, with limits on depth, cycles and size."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from clew.compaction.verify.hidden import directs, is_unseen
from clew.request.instructions.files import Files
from clew.request.instructions.places import why_not, within
from clew.request.instructions.text import includes, parted, without_comments


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be read. The defaults were chosen by hand."""

    one_file: int = 64 * 1024
    """Bytes of one file; a larger file is refused as a whole, because half a rule is a wrong rule."""
    in_all: int = 256 * 1024
    """Bytes of all active instructions together."""
    depth: int = 4
    """Longest chain of includes."""
    includes: int = 50
    """Includes of one instruction file in total."""


class Refusal(NamedTuple):
    """A file that was not read, and why."""

    path: str
    why: str


@dataclass(slots=True)
class Reader:
    """Reads one instruction file of a root, with everything it includes."""

    files: Files
    root: str
    home: str | None
    limits: Limits
    room: int
    """Bytes that may still be read."""
    hashes: dict[str, str] = field(default_factory=dict)
    """The SHA-256 of each file that was read, by path."""
    included: dict[str, str] = field(default_factory=dict)
    """Of those, the files that were included."""
    refused: list[Refusal] = field(default_factory=list)
    taken: int = 0

    def raw(self, path: str) -> str | None:
        """Return the text of a file; if it may not be used, record the reason and return None."""
        text, why = self._read(path)
        if why:
            self._refuse(path, why)
        return None if why else text

    def _read(self, path: str) -> tuple[str, str]:
        """Return the text of a file and why it may not be used; one of the two is empty."""
        size = self.files.size(path)
        if size > self.limits.one_file:
            return "", f"it has {size:,} bytes; the limit is {self.limits.one_file:,}"
        if self.taken + size > self.room:
            return "", f"with it the instructions would exceed {self.limits.in_all:,} bytes"
        content = self.files.read(path, self.limits.one_file + 1)
        if content is None or len(content) > self.limits.one_file:
            return "", "it cannot be read, or it grew during reading"
        try:
            text = content.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            return "", "it is not UTF-8 text"
        if is_unseen(text) or directs(text):
            return "", "it contains invisible characters"
        self.taken += len(content)
        self.hashes[path] = hashlib.sha256(content).hexdigest()
        return text, ""

    def expanded(self, path: str, body: str, chain: Sequence[str] = ()) -> str:
        """Return a text without comments and with its includes.

        An include on a line of its own is replaced in place; one inside a sentence is appended to the text.
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
            return None  # already included
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
            return f"include chain of {len(chain)}, the limit is {self.limits.depth}: {led}"
        if len(self.included) >= self.limits.includes:
            return f"{self.limits.includes} files are included already"
        return ""

    def _short(self, path: str) -> str:
        return "/".join(within(path, self.root))

    def _refuse(self, path: str, why: str) -> None:
        self.refused.append(Refusal(path, why))


def _looks_like_path(name: str) -> bool:
    """Return True if the writer probably meant a file: ``@docs/a.md``, but not ``@alice``."""
    return "/" in name or "." in name
