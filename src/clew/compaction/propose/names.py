"""Names alone, under the turn that names them: less than a line says, and far more of them fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clew.compaction.plan import Claim, ClaimKind
from clew.compaction.plan.digest import ALSO
from clew.compaction.propose.subjects import path_key
from clew.ledger.kinds import ValueKind
from clew.ledger.values import Value
from clew.message import Cite, Trust

MOST_IN_A_CLAIM = 8
_BETWEEN = ", "
_PLAIN = re.compile(r"[\w./@+:#$%~-]*[\w/]")
"""What is written so is read as one value wherever it stands."""
_END_OF_PATH = re.compile(r"\w[\w.@+-]*\w/\w[\w.@+-]*\w")
"""The end of a path that is read as one: no piece of an expression with slashes in it."""
_NUMBER_BEFORE = re.compile(r"\d[.,] ?\Z")
"""What a number stands behind that is the rest of one: ``62. 11.100``."""
_OF_PATHS = frozenset("_.@+%$#~-/\\")


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a subject, and where it stands."""

    subject: str
    text: str
    cite: Cite
    trust: Trust
    place: tuple[int, int, int]
    """Where it stands in the conversation."""

    @property
    def turn(self) -> str:
        """Return the message that names it."""
        return self.cite.message


def is_names(claim: Claim) -> bool:
    """Tell whether a claim is a list of names."""
    return claim.kind is ClaimKind.FACT and not claim.verbatim and claim.text.startswith(ALSO)


def shown_name(value: Value, line: str) -> str:
    """Return how a value is listed: a path by its last two components, as long as that is one file.

    Nothing where it does not stand by itself in its line: a piece of something longer names nothing.
    """
    text = value.text
    if not _PLAIN.fullmatch(text):
        return ""
    if value.kind not in (ValueKind.PATH, ValueKind.FILE):
        return text if any(True for _ in _places(text, line)) else ""
    end = path_key(text)
    if _END_OF_PATH.fullmatch(end) and _is_one_file(end, line):
        return end
    return text if _is_one_file(text, line) else ""


def _places(text: str, line: str) -> Iterator[int]:
    """Yield where a text stands in a line with nothing joined to it."""
    at = line.find(text)
    while at >= 0:
        end = at + len(text)
        before, after = line[at - 1 : at], line[end : end + 2]
        goes_on = after[:1] in ".," and after[1:].isdigit()
        begun = text[0].isdigit() and _NUMBER_BEFORE.search(line, max(0, at - 3), at)
        if not (_is_wordly(before) or _is_wordly(after) or goes_on or begun):
            yield at
        at = line.find(text, at + 1)


def _is_one_file(path: str, line: str) -> bool:
    """Tell whether a path, or the end of one, can mean only one file that a line names."""
    folders = set()
    for at in _places(path, line):
        if not path.endswith("/") and _goes_on(line[at + len(path) : at + len(path) + 2]):
            continue
        start = at
        while start and (line[start - 1].isalnum() or line[start - 1] in _OF_PATHS):
            start -= 1
        if start == at or line[at - 1] == "/":
            folders.add(line[start:at])
    return len(folders) == 1


def _is_wordly(signs: str) -> bool:
    return signs[:1].isalnum() or signs[:1] == "_"


def _goes_on(signs: str) -> bool:
    """Tell whether what follows a path belongs to it."""
    return signs[:1] == "-" or (signs[:1] == "." and _is_wordly(signs[1:]))


def listed(names: Iterable[Name]) -> Iterator[tuple[tuple[int, int, int], Claim]]:
    """Yield claims that list names, those of one turn together, each with the place of its last name."""
    by_turn: dict[tuple[str, Trust], list[Name]] = {}
    for name in sorted(names, key=lambda name: name.place):
        by_turn.setdefault((name.cite.message, name.trust), []).append(name)
    for (_, trust), held in by_turn.items():
        for i in range(0, len(held), MOST_IN_A_CLAIM):
            few = held[i : i + MOST_IN_A_CLAIM]
            text = ALSO + _BETWEEN.join(name.text for name in few)
            sources = tuple(name.cite for name in few)
            yield few[-1].place, Claim("", ClaimKind.FACT, text, sources, trust)
