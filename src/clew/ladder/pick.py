"""Taking lines and names into a room: always what brings in most worth per token."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from clew.ladder.gauge import Gauge
from clew.ladder.names import Name
from clew.ladder.subjects import subjects_named
from clew.plan import Claim

NAMED = 0.2
"""Of a subject's worth, for being named; the rest is for something being said about it."""
TOLD = 0.75
"""How telling a line must be to have said something about what it names."""


@dataclass(slots=True)
class Covered:
    """What is in a digest so far."""

    named: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    """What something is said about."""

    def add(self, text: str, telling: float = 1.0) -> None:
        """Count what a text names, and as told where it says enough."""
        found = list(subjects_named(text))
        self.named.update(found)
        if telling >= TOLD:
            self.told.update(found)


@dataclass(slots=True)
class Line:
    """A line that could be kept, and what it would bring in."""

    claim: Claim
    place: tuple[int, int, int]
    """Where it stands in the conversation; what an earlier digest kept comes first, as it was."""
    gains: dict[str, float] = field(default_factory=dict)
    """What each subject it names is worth."""
    telling: float = 1.0
    """How much it says about what it names: 0 for a list, 1 for a sentence."""
    tokens: float = 1.0
    """Without the name of its turn."""

    @property
    def turn(self) -> str:
        """Return the message that it quotes."""
        return self.claim.sources[0].message

    def gain(self, covered: Covered) -> float:
        """Return the worth of what it names, or tells of, and nothing chosen so far does."""
        named, told = covered.named, covered.told
        new = said = 0.0
        for name, worth in self.gains.items():
            if name not in named:
                new += worth
            if name not in told:
                said += worth
        return NAMED * new + (1 - NAMED) * self.telling * said


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
            line = lines[i]
            cost = self._cost(line)
            now = 0.0 if i in taken else -line.gain(covered) / cost
            if now >= 0:
                continue
            if now > density and heap and now > heap[0][0]:
                heapq.heappush(heap, (now, i))  # others name part of it now
            elif self.takes(cost):
                yield line
                taken.add(i)
                covered.named.update(line.gains)
                covered.add(line.claim.text, line.telling)
                if line.turn not in self._turns:
                    self._turns.add(line.turn)
                    for j in by_turn[line.turn]:
                        heapq.heappush(heap, (-lines[j].gain(covered) / self._cost(lines[j]), j))

    def _cost(self, line: Line) -> float:
        return line.tokens if line.turn in self._turns else line.tokens + self._gauge.per_turn

    def names(self, names: Sequence[Name], worths: Mapping[str, float], covered: Covered) -> Iterator[Name]:
        """Yield the names with most worth per token of what nothing chosen so far names."""
        cost = self._gauge.name
        ranked = [
            (-worths.get(name.subject, 0.0) / cost(name.text), i)
            for i, name in enumerate(names)
            if name.subject not in covered.named
        ]
        ranked.sort()
        for worth, i in ranked:
            name = names[i]
            if worth >= 0 or name.subject in covered.named:
                continue
            if self.takes(cost(name.text) + self._cost_of_list(name.turn)):
                yield name
                self._turns.add(name.turn)
                self._lists.add(name.turn)
                covered.named.add(name.subject)
                covered.add(name.text, telling=0.0)
            elif self.is_full:
                return

    def _cost_of_list(self, turn: str) -> float:
        if turn in self._lists:
            return 0.0
        return self._gauge.per_list + (0.0 if turn in self._turns else self._gauge.per_turn)
