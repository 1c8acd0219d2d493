"""The lines worth keeping of a span: those that name what will be needed again, and say what it is.

Every distinct value has one most telling line. Lines are ranked by the worth of the values they would bring
in that nothing chosen so far names, per token, and taken until the room is used up. What an earlier digest
kept competes on the same terms, so old facts thin out as new ones come.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from clew.ladder.focus import Focus
from clew.ladder.gauge import Gauge
from clew.ladder.labels import trust_at
from clew.ladder.worth import IN_FOCUS, worth
from clew.ledger.kinds import KNOWN_WORDS, WORD
from clew.ledger.values import Value, Values
from clew.message import Cite, Item, Message, words
from clew.plan import Claim, ClaimKind


@dataclass(slots=True)
class Line:
    """A line that could be kept, and what it would bring in."""

    claim: Claim
    place: tuple[int, int, int]
    """Where it stands in the conversation; what an earlier digest kept comes first, as it was."""
    gains: dict[str, float] = field(default_factory=dict)
    """What each value it was found for is worth."""
    tokens: float = 1.0
    """With the name of its turn."""

    def density(self, covered: set[str]) -> float:
        """Return the worth, per token, of what it names and nothing chosen so far does."""
        return sum([gain for name, gain in self.gains.items() if name not in covered]) / self.tokens


class Facts:
    """The lines of a span that could be kept."""

    def __init__(self, values: Values, focus: Focus) -> None:
        """Judge lines by these values, and by what a person says matters."""
        self._values = values
        self._focus = focus
        self._length = 1 + max((value.last_index for value in values), default=0)
        self._per_turn = 0.0
        self.lines: list[Line] = []
        self.left_out = False
        """Whether the last choice had no room for a line that is worth something."""

    def add_earlier(self, claims: Iterable[Claim]) -> None:
        """Take in what an earlier digest kept, judged anew."""
        for number, claim in enumerate(claims):
            known = filter(None, map(self._values.get, names(claim.text)))
            self.lines.append(Line(claim, (-1, 0, number), {one.text: self._worth(one) for one in known}))

    def add_new(self, span: Sequence[Item], original: Callable[[str], Message | None]) -> None:
        """Take in the most telling lines of a span's values, quoted from what was really said."""
        places = {item.id: i for i, item in enumerate(span)}
        found: dict[Cite, Line | None] = {}
        for value in self._values:
            cite = value.telling
            if cite.message not in places:
                continue
            if cite not in found:
                claim = _quoted(original(cite.message), cite)
                place = (places[cite.message], cite.part, cite.start)
                found[cite] = Line(claim, place) if claim else None
            line = found[cite]
            if line is not None:
                line.gains[value.text] = self._worth(value)
        self.lines += filter(None, found.values())

    def _worth(self, value: Value) -> float:
        return worth(value, self._length) * (IN_FOCUS if self._focus.meets(value.text) else 1.0)

    def weigh(self, gauge: Gauge) -> None:
        """Estimate what each line takes, and raise the worth of those that matter to a person."""
        self._per_turn = gauge.per_turn
        for line in self.lines:
            line.tokens = gauge.line(line.claim) + gauge.per_turn
            if self._focus.meets(line.claim.text):
                line.gains = {name: gain * IN_FOCUS for name, gain in line.gains.items()}

    def cost(self, lines: Sequence[Line]) -> float:
        """Return what lines take together; those of one turn share its name."""
        turns = len({line.claim.sources[0].message for line in lines})
        return sum(line.tokens for line in lines) - self._per_turn * (len(lines) - turns)

    def best(self, covered: set[str], room: float) -> Iterator[Line]:
        """Yield the line with most worth per token, again and again; ``covered`` grows by what they name."""
        heap = [(-line.density(covered), i) for i, line in enumerate(self.lines)]
        heapq.heapify(heap)
        turns: set[str] = set()
        self.left_out = False
        while heap:
            density, i = heapq.heappop(heap)
            line = self.lines[i]
            turn = line.claim.sources[0].message
            tokens = line.tokens - (self._per_turn if turn in turns else 0)
            now = -line.density(covered)
            if now >= 0:
                continue
            if tokens > room:
                self.left_out = True
                if room < self._per_turn:
                    return  # nothing fits any more
                continue
            if now > density and heap and now > heap[0][0]:
                heapq.heappush(heap, (now, i))  # others name part of it now: it must queue again
                continue
            yield line
            turns.add(turn)
            room -= tokens
            covered.update(line.gains)
            covered.update(names(line.claim.text))


def names(text: str) -> Iterator[str]:
    """Yield the exact values that a text names."""
    return (known.value for word in WORD.findall(text) if (known := KNOWN_WORDS[word]))


def _quoted(message: Message | None, cite: Cite) -> Claim | None:
    """Return the words at a place as a claim; None where there are none, or there is no such place."""
    trust = trust_at(message, cite) if message is not None else None
    if message is None or trust is None:
        return None
    text = words(message.parts[cite.part])[cite.start : cite.end].strip()
    return Claim("", ClaimKind.FACT, text, (cite,), trust, verbatim=True) if text else None
