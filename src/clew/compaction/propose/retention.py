"""How likely a subject is needed again, as learnt from real sessions and what they turned out to need.

The model is a table of points in ``retention.toml``: those of what a subject is, who named it, how often and
how recently are added up and taken as log-odds. ``bench/retention_fit.py`` makes the table; the hand-written
ranking of ``worth`` stands beside it and takes its place where there is no table.
"""

from __future__ import annotations

import math
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any, TypeAlias

from clew.compaction.propose.company import Company
from clew.compaction.propose.subjects import Subject
from clew.compaction.propose.worth import worth
from clew.ledger.kinds import ValueKind
from clew.ledger.passages import Voice

Ranking: TypeAlias = Callable[[Subject, Company], float]
"""What a subject is worth among all that a session names; only the order and the ratios count."""

TABLE = "retention.toml"
VERSION = 2
VOICES = (Voice.USER, Voice.ASSISTANT, Voice.CALL, Voice.BODY, Voice.RESULT, Voice.MACHINE, Voice.SYSTEM)
EDGES: Mapping[str, Sequence[float]] = {
    "count": (1, 2, 4, 8),
    "mentions": (2, 3, 5, 8, 13, 30),
    "age_messages": (3, 6, 12, 25, 50, 100, 200),
    "age_share": (0.03, 0.08, 0.15, 0.25, 0.4, 0.6, 0.8),
    "first_share": (0.02, 0.1, 0.3, 0.5, 0.7, 0.9),
    "spread": (0.001, 0.1, 0.3, 0.6),
    "length": (6, 9, 13, 18, 25, 40),
    "crowd_first": (2, 4, 8, 16, 32, 64, 128, 256),
    "crowd_last": (2, 4, 8, 16, 32, 64, 128, 256),
    "kin_share": (0.02, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 0.95),
    "kin_recent": (0.1, 0.3, 0.5, 0.7, 0.85, 0.95),
}
"""Where the steps of the table lie: a list of points has one more."""
_MOST_COUNTED = 10_000
"""Counts of which the points are remembered."""


@dataclass(frozen=True, slots=True)
class Table:
    """Points, by what they are given for."""

    start: float
    form: Mapping[str, float]
    named_by: Sequence[Sequence[float]]
    """By voice, then by the step of the count."""
    steps: Mapping[str, Sequence[float]]
    in_error: float

    _counted: Mapping[tuple[int, ...], float] = field(init=False, repr=False, compare=False)
    """By the counts of all voices, most of which many subjects share."""
    _ladders: Sequence[tuple[Sequence[float], Sequence[float]]] = field(init=False, repr=False)
    """The edges and the points of each list of steps, in the order in which a company measures."""

    def __post_init__(self) -> None:
        ladders = [(EDGES[name], self.steps[name]) for name in _MEASURED]
        object.__setattr__(self, "_counted", _Counted(self.named_by, self.steps["mentions"]))
        object.__setattr__(self, "_ladders", ladders)

    def __call__(self, subject: Subject, company: Company) -> float:
        """Return the chance that a subject is needed again."""
        points = self.start + self.form.get(form_of(subject.kind, subject.text), 0.0)
        points += self._counted[subject.counts]
        if subject.in_error:
            points += self.in_error
        for (edges, row), value in zip(self._ladders, company.of(subject), strict=True):
            points += row[bisect_right(edges, value)]
        return 1.0 / (1.0 + math.exp(-points))


class _Counted(dict[tuple[int, ...], float]):
    """Remembers the points that counts give: each for its voice, and their sum."""

    def __init__(self, named_by: Sequence[Sequence[float]], mentions: Sequence[float]) -> None:
        super().__init__()
        self._rows = (*named_by, mentions)

    def __missing__(self, counts: tuple[int, ...]) -> float:
        if len(self) >= _MOST_COUNTED:
            self.clear()
        places = steps_of(counts)
        found = self[counts] = sum(row[place] for row, place in zip(self._rows, places, strict=True))
        return found


def steps_of(counts: Sequence[int]) -> list[int]:
    """Return the steps of the count of each voice, and that of all of them."""
    return [
        *(bisect_right(EDGES["count"], count) for count in counts),
        bisect_right(EDGES["mentions"], sum(counts)),
    ]


_MEASURED = [name for name in EDGES if name not in ("count", "mentions")]
"""In the order of ``Company.of``."""


def form_of(kind: ValueKind, text: str) -> str:
    """Return the form of a subject: its kind, and of the common kinds how it is written."""
    if kind is ValueKind.IDENTIFIER:
        return _identifier(text)
    if kind is ValueKind.PATH:
        if "/" not in text.strip("/"):
            return "path of one component"
        return "path of a file" if "." in text.rsplit("/", 1)[-1] else "path of a folder"
    if kind is ValueKind.NUMBER:
        return "whole number" if text.isdigit() else "decimal number" if "." in text else "amount"
    return kind.value


def _identifier(text: str) -> str:
    if "-" in text:
        return "flag" if text[0] == "-" else "kebab-case name"
    if "." in text:
        return "address" if "@" in text else "dotted name"
    if "_" in text:
        return "snake_case name"
    return "camelCase name" if text[0].islower() else "PascalCase name"


def features(subject: Subject, company: Company) -> Iterator[tuple[str, str | int]]:
    """Yield what the table gives points for, by the name of the list and the place in it."""
    yield "form", form_of(subject.kind, subject.text)
    counted = (*(f"named_by.{voice.name.lower()}" for voice in VOICES), "mentions")
    yield from zip(counted, steps_of(subject.counts), strict=True)
    for name, value in zip(_MEASURED, company.of(subject), strict=True):
        yield name, bisect_right(EDGES[name], value)
    yield "in_error", int(subject.in_error)


@lru_cache(maxsize=1)
def ranking() -> Ranking:
    """Return the learnt ranking; the hand-written one where there is no table of this version."""
    place = files("clew.compaction.propose") / TABLE
    if not place.is_file():
        return worth
    written = tomllib.loads(place.read_text(encoding="utf-8"))
    return table_of(written) if written.get("version") == VERSION else worth


def table_of(written: Mapping[str, Any]) -> Table:
    """Return the table that was written so."""
    named_by = [written["named_by"][voice.name.lower()] for voice in VOICES]
    steps = {name: written[name] for name in EDGES if name != "count"}
    return Table(written["start"], written["form"], named_by, steps, written["in_error"])
