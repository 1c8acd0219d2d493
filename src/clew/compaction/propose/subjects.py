"""What values are about: one file may be named by several paths, and one line names several things."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import add
from typing import TypeAlias

from clew.ledger.kinds import KNOWN_WORDS, WORD, ValueKind, pieces_of
from clew.ledger.values import Value

ROOT_SHARE = 0.6
"""Of the full paths, those that must lie in a folder for it to be where the session works."""
SHALLOWEST_ROOT = 2
_REMEMBERED = 100_000
SHORTEST_NAME = 6
"""Characters of a name inside a dotted one from which it is a name of its own."""


class Joined:
    """Several values that mean one thing, counted together."""

    __slots__ = (
        "counts",
        "faces",
        "first_index",
        "first_message",
        "in_error",
        "kind",
        "last_index",
        "last_message",
        "pieces",
        "text",
    )

    def __init__(self, text: str, first: Value) -> None:
        self.text = text
        self.pieces = pieces_of(text)
        self.kind = first.kind
        self.counts = first.counts
        self.first_index, self.last_index = first.first_index, first.last_index
        self.first_message, self.last_message = first.first_message, first.last_message
        self.in_error = first.in_error
        self.faces = [first]

    def add(self, value: Value) -> None:
        """Count one more value as this."""
        self.counts = tuple(map(add, self.counts, value.counts))
        if value.first_index < self.first_index:
            self.first_index, self.first_message = value.first_index, value.first_message
        if value.last_index > self.last_index:
            self.last_index, self.last_message = value.last_index, value.last_message
        self.in_error = self.in_error or value.in_error
        self.faces.append(value)


Subject: TypeAlias = Value | Joined


def faces(subject: Subject) -> list[Value]:
    """Return the values that name it, the shortest first."""
    if isinstance(subject, Value):
        return [subject]
    return sorted(subject.faces, key=lambda value: len(value.text))


def subjects(values: Iterable[Value]) -> dict[str, Subject]:
    """Return what values are about, by what it is called.

    Paths with the same end are one thing; a dotted name is about the names of code that it joins.
    """
    found: dict[str, Subject] = {}
    for value in values:
        for key in _about(value):
            known = found.get(key)
            if known is None:
                found[key] = value if key == value.text else Joined(key, value)
            elif isinstance(known, Joined):
                known.add(value)
            else:
                found[key] = joined = Joined(key, known)
                joined.add(value)
    return found


def _about(value: Value) -> Sequence[str]:
    """Return what a value is about: of most, the value itself."""
    text = value.text
    if value.kind is ValueKind.PATH:
        return (path_key(text),)
    if value.kind is ValueKind.IDENTIFIER and "." in text and "@" not in text:
        return members(text) or (text,)
    return (text,)


def members(dotted: str) -> tuple[str, ...]:
    """Return the names of code in a dotted name: ``NewReader`` of ``strings.NewReader``."""
    return tuple(
        name
        for name in dict.fromkeys(dotted.split("."))
        if len(name) >= SHORTEST_NAME and (known := KNOWN_WORDS[name]) and known.kind is ValueKind.IDENTIFIER
    )


def path_key(path: str) -> str:
    """Return what a path is known by: its last two components."""
    if "\\" in path:
        path = path.replace("\\", "/")
    pieces = path.rstrip("/").rsplit("/", 2)
    return "/".join(pieces[-2:]) if len(pieces) > 2 and pieces[-2] not in (".", "..", "~") else path


class _Named(dict[str, tuple[str, ...]]):
    """Remembers what words name; forgets all of them when they are too many."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(self) >= _REMEMBERED:
            self.clear()
        known = KNOWN_WORDS[word]
        found = self[word] = _named_by(*known) if known else ()
        return found


def _named_by(kind: ValueKind, value: str) -> tuple[str, ...]:
    if kind is ValueKind.PATH:
        return path_key(value), value.rsplit("/", 1)[-1]
    if kind is ValueKind.IDENTIFIER and "." in value:
        return (value, *members(value))
    return (value,)


_NAMED = _Named()


def subjects_named(text: str) -> list[str]:
    """Return what a text names: values by what they are about, file names in paths, names in dotted ones."""
    return [name for word in WORD.findall(text) for name in _NAMED[word]]


def root_of(paths: Iterable[str]) -> str:
    """Return the folder that most full paths lie in, with a slash at its end; nothing where there is none."""
    split = [path.split("/")[1:-1] for path in paths if path.startswith("/")]
    least = ROOT_SHARE * len(split)
    root: list[str] = []
    while split:
        depth = len(root)
        split = [folders for folders in split if len(folders) > depth]
        counted = Counter(folders[depth] for folders in split)
        folder, count = max(counted.items(), key=lambda one: one[1], default=("", 0))
        if not folder or count < least:
            break
        split = [folders for folders in split if folders[depth] == folder]
        root.append(folder)
    return f"/{'/'.join(root)}/" if len(root) >= SHALLOWEST_ROOT else ""
