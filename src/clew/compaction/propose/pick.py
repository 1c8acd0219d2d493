"""Taking lines and names into a room: always what brings in most worth per token."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from clew.compaction.plan import Claim
from clew.compaction.propose.gauge import Gauge
from clew.compaction.propose.names import Name
from clew.compaction.propose.subjects import subjects_named

NAMED = 0.2
"""Of a subject's worth, for being named; the rest is for something being said about it."""
TELLS = (0.02, 0.05, 0.36, 0.6, 0.75, 0.85)
"""How likely the line that names a thing first, or last, says what it is: by the line's plain words..."""
IN_PASSING = 0.5
"""...and how much of that is left for other things that the line names."""


def chance(words: int) -> float:
    """Return how likely a line with so many plain words says what it is about."""
    return TELLS[min(words, len(TELLS) - 1)]


@dataclass(slots=True)
class Covered:
    """What is in a digest so far."""

    untold: dict[str, float] = field(default_factory=dict)
    """Of all that is named: how likely nothing says yet what it is."""

    def add(self, names: Iterable[str], tells: float = 0.0) -> None:
        """Count things as named, and how likely that says what they are."""
        untold = self.untold
        for name in names:
            untold[name] = untold.get(name, 1.0) * (1 - tells)


Gain: TypeAlias = tuple[str, float, float, float]
"""What a line brings in by naming a subject.

That is its name; how likely the line says what it is; what that is worth where nothing names it yet; and
where something does, but nothing says what it is. A plain tuple, for there are tens of thousands.
"""


def gains(worths: Mapping[str, float], tells: float, about: Container[str] = ()) -> list[Gain]:
    """Return what a line brings in that names these, is about some of them and tells so likely of those."""
    passing = tells * IN_PASSING
    found = []
    for name, worth in worths.items():
        likely = tells if name in about else passing
        told = worth * (1 - NAMED) * likely
        found.append((name, likely, worth * NAMED + told, told))
    return found


@dataclass(slots=True)
class Line:
    """A line that could be kept, and what it would bring in."""

    claim: Claim
    place: tuple[int, int, int]
    """Where it stands in the conversation; what an earlier digest kept comes first, as it was."""
    gains: Sequence[Gain] = ()
    weight: float = 1.0
    """How much more it matters than others."""
    tokens: float = 1.0
    """Without the name of its turn."""
    turn: str = field(init=False)
    """The message that it quotes."""

    def __post_init__(self) -> None:
        self.turn = self.claim.sources[0].message

    def gain(self, covered: Covered) -> float:
        """Return the worth of what it names, or tells of, and nothing chosen so far does."""
        untold = covered.untold
        gain = 0.0
        for name, _, if_new, if_untold in self.gains:
            left = untold.get(name)
            gain += if_new if left is None else if_untold * left
        return gain * self.weight

    def tell(self, covered: Covered) -> None:
        """Count what it names as named, and told of as likely as it does so."""
        untold = covered.untold
        for name, tells, _, _ in self.gains:
            untold[name] = untold.get(name, 1.0) * (1 - tells)


def by_turn(claims: Iterable[Claim]) -> dict[str, list[str]]:
    """Return what claims say, by the turn that they lead to first."""
    said: dict[str, list[str]] = {}
    for claim in claims:
        said.setdefault(claim.sources[0].message, []).append(claim.text)
    return said


def is_said(claim: Claim, said: Mapping[str, Sequence[str]]) -> bool:
    """Tell whether what a claim quotes of its turn is said of that turn anyway."""
    others = said.get(claim.sources[0].message)
    return others is not None and claim.verbatim and any(claim.text in other for other in others)


class Room:
    """What is left of a room, and the turns that are named in it."""

    def __init__(self, tokens: float, gauge: Gauge) -> None:
        self.tokens = tokens
        self._gauge = gauge
        self._turns: set[str] = set()
        self._lists: set[str] = set()
        self.is_enough = True
        """Whether everything fitted so far."""

    def takes(self, tokens: float) -> bool:
        """Use up so many tokens where they are left."""
        if tokens > self.tokens:
            self.is_enough = False
            return False
        self.tokens -= tokens
        return True

    @property
    def is_full(self) -> bool:
        """Tell whether not even a short name would fit."""
        return self.tokens < 2

    def lines(self, lines: Sequence[Line], covered: Covered) -> Iterator[Line]:
        """Yield the line with most worth per token, again and again; ``covered`` grows by what they name.

        A turn is named once. So when it is, its other lines are cheaper and queue again.
        """
        by_turn: defaultdict[str, list[int]] = defaultdict(list)
        for i, line in enumerate(lines):
            by_turn[line.turn].append(i)
        heap = [(-line.gain(covered) / self._cost(line), i) for i, line in enumerate(lines)]
        heapq.heapify(heap)
        taken: set[int] = set()
        while heap and not self.is_full:
            density, i = heapq.heappop(heap)
            if i in taken:
                continue
            line = lines[i]
            cost = self._cost(line)
            now = -line.gain(covered) / cost
            if now >= 0:
                continue
            if now > density and heap and now > heap[0][0]:
                heapq.heappush(heap, (now, i))  # others name part of it now
            elif self.takes(cost):
                yield line
                taken.add(i)
                line.tell(covered)
                if line.turn not in self._turns:
                    self._turns.add(line.turn)
                    for j in by_turn[line.turn]:
                        if j not in taken:
                            heapq.heappush(heap, (-lines[j].gain(covered) / self._cost(lines[j]), j))

    def _cost(self, line: Line) -> float:
        return line.tokens if line.turn in self._turns else line.tokens + self._gauge.per_turn

    def names(self, names: Sequence[Name], worths: Mapping[str, float], covered: Covered) -> Iterator[Name]:
        """Yield the names with most worth per token of what nothing chosen so far names."""
        cost = self._gauge.name
        ranked = [
            (-worths.get(name.subject, 0.0) / cost(name.text), i)
            for i, name in enumerate(names)
            if name.subject not in covered.untold
        ]
        ranked.sort()
        for worth, i in ranked:
            name = names[i]
            if worth >= 0 or name.subject in covered.untold:
                continue
            if self.takes(cost(name.text) + self._cost_of_list(name.turn)):
                yield name
                self._turns.add(name.turn)
                self._lists.add(name.turn)
                covered.add({name.subject, *subjects_named(name.text)})
            elif self.is_full:
                return

    def _cost_of_list(self, turn: str) -> float:
        if turn in self._lists:
            return 0.0
        return self._gauge.per_list + (0.0 if turn in self._turns else self._gauge.per_turn)
