"""Loads the store's SQL from .sql files."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from clew.log import digest

_HEADER = re.compile(r"^-- (\w+): .*$", re.MULTILINE)


@cache
def statements(file: str = "statements.sql", package: str = "clew.log.store") -> dict[str, str]:
    """Return every statement of a file by its name."""
    text = files(package).joinpath(file).read_text(encoding="utf-8")
    _, *pieces = _HEADER.split(text)
    return {name: sql.strip() for name, sql in zip(pieces[::2], pieces[1::2], strict=True)}


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step of the schema."""

    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """Return the hash of its text: a released migration never changes."""
        return digest(self.text.encode())

    def steps(self) -> Iterator[str]:
        """Return the hash of its text: a released migration never changes."""
        step = ""
        for line in self.text.splitlines(keepends=True):
            step += line
            if sqlite3.complete_statement(step):
                yield step
                step = ""


@cache
def migrations() -> tuple[Migration, ...]:
    """Return every migration, oldest first."""
    found = []
    for file in files("clew.log.store").joinpath("migrations").iterdir():
        if file.name.endswith(".sql"):
            number, _, name = file.name.removesuffix(".sql").partition("_")
            found.append(Migration(int(number), name, file.read_text(encoding="utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.version))
