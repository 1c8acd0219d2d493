"""The lines worth keeping of a span: those that name what will be needed again, and say what it is.

Every distinct value has one most telling line. Lines are ranked by the worth of the values they would bring
in that nothing chosen so far names, per token, and taken until the room is used up. What an earlier digest
kept competes on the same terms, so old facts thin out as new ones come.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from clew.compact.worth import worth
from clew.ledger.kinds import WORD
from clew.ledger.values import Value, Values
from clew.message import Cite, Item, Trust
from clew.plan import Claim
from clew.tokens import TokenCounter

OVERHEAD_TOKENS = 3
"""What a line costs beyond its words: its sign, its break, its share of the turn's name."""


@dataclass(slots=True)
class Line:
    """A line that could be kept, and what it would bring in."""

    text: str
    sources: tuple[Cite, ...]
    trust: Trust
    gains: dict[str, float] = field(default_factory=dict)
    """What each value it was found for is worth."""
    tokens: int = 0

    def gain(self, covered: Iterable[str]) -> float:
        """Return the worth of what it names and nothing chosen so far does."""
        return sum(self.gains[name] for name in self.gains.keys() - covered)


def choose_lines(
    span: Sequence[Item],
    earlier: Iterable[Claim],
    values: Values,
    room_tokens: int,
    counter: TokenCounter,
    told: Iterable[str] = (),
) -> list[Line]:
    """Return the lines to keep, in the order of the conversation; ``told`` is what the view says anyway."""
    covered = {word for text in told for word in WORD.findall(text)}
    lines = [*_kept_before(earlier, values), *_new_lines(span, values)]
    for line in lines:
        line.tokens = counter.count_text(line.text) + OVERHEAD_TOKENS
    return _in_order(_best(lines, covered, room_tokens), span)


def _best(lines: Sequence[Line], covered: set[str], room_tokens: int) -> list[Line]:
    """Take the line with most gain per token again and again, as long as there is room."""
    heap = [(-line.gain(covered) / line.tokens, i) for i, line in enumerate(lines)]
    heapq.heapify(heap)
    chosen: list[Line] = []
    while heap and room_tokens > 0:
        density, i = heapq.heappop(heap)
        line = lines[i]
        now = -line.gain(covered) / line.tokens
        if now >= 0 or line.tokens > room_tokens:
            continue
        if now > density and heap and now > heap[0][0]:
            heapq.heappush(heap, (now, i))  # others name part of it now: it must queue again
            continue
        chosen.append(line)
        room_tokens -= line.tokens
        covered.update(line.gains)
        covered.update(WORD.findall(line.text))
    return chosen


def _new_lines(span: Sequence[Item], values: Values) -> list[Line]:
    """Return the most telling lines of the span's values, each with the values it tells about."""
    items = {item.id: item for item in span}
    found: dict[Cite, Line] = {}
    length = _length(values)
    for value in values:
        cite = value.telling
        item = items.get(cite.message)
        gain = worth(value, length) if item else 0.0
        if item is None or gain <= 0:
            continue
        line = found.get(cite)
        if line is None:
            text = cite.quote(item.message).strip()
            line = found[cite] = Line(text, (cite,), item.message.parts[cite.part].trust)
        line.gains[value.text] = gain
    return list(found.values())


def _kept_before(claims: Iterable[Claim], values: Values) -> list[Line]:
    """Return what an earlier digest kept, judged anew."""
    length = _length(values)
    lines = []
    for claim in claims:
        named = (values.get(word) for word in WORD.findall(claim.text))
        gains: Mapping[str, float] = {value.text: worth(value, length) for value in named if value}
        lines.append(Line(claim.text, claim.sources, claim.trust, dict(gains)))
    return lines


def _length(values: Iterable[Value]) -> int:
    return 1 + max((value.last_index for value in values), default=0)


def _in_order(lines: Sequence[Line], span: Sequence[Item]) -> list[Line]:
    """Sort lines as the conversation had them; those of earlier digests come first, as they were."""
    index = {item.id: i for i, item in enumerate(span)}

    def place(pair: tuple[int, Line]) -> tuple[int, int, int, int]:
        number, line = pair
        cite = line.sources[0]
        return index.get(cite.message, -1), cite.part, cite.start, number

    return [line for _, line in sorted(enumerate(lines), key=place)]
