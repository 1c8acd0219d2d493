"""What of a span is worth keeping: lines that name what will be needed again and say what it is, and names.

Every subject has a line that says what it is. Lines are taken by the worth of what they would bring in, per
token, until their room is used up; the rest of the room goes to names alone, each under the turn that names
it. What an earlier digest kept competes on the same terms, so old facts thin out as new ones come.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from clew.compaction.plan import Claim
from clew.compaction.propose.gauge import Gauge
from clew.compaction.propose.names import Name, is_names, listed, shown_name
from clew.compaction.propose.pick import Covered, Line, Room, chance, gains, is_said
from clew.compaction.propose.quote import last_line, plain_words, quoted
from clew.compaction.propose.situation import Scene
from clew.compaction.propose.subjects import Subject, faces, subjects_named
from clew.compaction.propose.worth import IN_FOCUS
from clew.ledger.values import Value
from clew.message import Cite, Item, Trust

LINES_SHARE = 0.7
"""Of the room for facts, for lines; the rest is for names alone."""
WORTH_A_SECOND_LOOK = 0.01
"""Of the room for facts: more than this that is left by the names goes to lines after all."""
SAYS_ENOUGH = 2
"""Plain words of a line that says something about what it names."""
MOST_LINES = 3
"""Lines among which one or more are taken to tell of a subject, if it is one of the best..."""
TOKENS_PER_BEST = 60
"""...of which there are as many as the room has this many tokens: half of what is needed is among few."""
SHOWN_TELLS = 0.5
"""How likely a recent message that stays as it is says what the things are that it names."""
TOKENS_PER_LINE = 16
"""Of the room: so many subjects are told of in lines; of what is worth less there is only room for names."""
FEWEST_CANDIDATES, MOST_CANDIDATES = 200, 1_500
TOKENS_PER_CANDIDATE = 5
"""Of the room: more subjects than it could hold names of are not looked at."""
AROUND_A_NAME = 8
"""Characters by which a name is longer in a digest, for what stands around it."""


class _Quote(NamedTuple):
    """A line that could be kept to tell of a subject."""

    face: Value
    cite: Cite
    claim: Claim
    words: int
    """Plain ones."""
    introduces: bool
    """Whether the subject is named here first, or last."""


class Facts:
    """What of a span could be kept: lines, and names alone."""

    def __init__(self, scene: Scene, span: Sequence[Item], earlier: Iterable[Claim], room: int) -> None:
        """Gather what is worth most of what the span names and recent messages do not."""
        self._scene = scene
        whole = {item.id for item in scene.view[scene.first + len(span) :]}
        self._places = {
            item.id: i for i, item in enumerate(scene.view[scene.first :]) if item.id not in whole
        }
        self._stock = scene.stock(earlier)
        self._worths = self._stock.worths
        self._shown = [key for key, one in self._stock.known.items() if one.last_message in whole]
        self.lines: list[Line] = []
        self._nameable: dict[str, _Quote] = {}
        self._add_earlier(self._stock.earlier)
        self._add_new(self._stock.known, room)
        self.left_out = False
        """Whether the last choice had no room for something that is worth something."""

    def _add_earlier(self, claims: Iterable[Claim]) -> None:
        """Take in what an earlier digest kept, judged anew."""
        for number, claim in enumerate(claims):
            tells = 0.0 if is_names(claim) else chance(plain_words(claim.text))
            self.lines.append(Line(claim, (-1, number, 0), gains(self._worths_in(claim), tells)))

    def _worths_in(self, claim: Claim) -> dict[str, float]:
        worth = self._worths.get
        return {name: found for name in subjects_named(claim.text) if (found := worth(name))}

    def _add_new(self, known: dict[str, Subject], room: int) -> None:
        """Take in what is worth most: lines that tell of it, as they were really said, and names."""
        worths, focus = self._worths, self._scene.focus
        most = min(max(FEWEST_CANDIDATES, room // TOKENS_PER_CANDIDATE), MOST_CANDIDATES)
        best = heapq.nlargest(most, worths, key=lambda key: worths[key] / (AROUND_A_NAME + len(key)))
        quotes: dict[Cite, tuple[_Quote, list[str]]] = {}
        for rank, key in enumerate(best):
            found = self._quotes(known[key], MOST_LINES if rank * TOKENS_PER_BEST < room else 1)
            is_lined = rank * TOKENS_PER_LINE < room or (focus and focus.meets(key))
            for one in found if is_lined else ():
                _, about = quotes.setdefault(one.claim.sources[0], (one, []))
                if one.introduces:
                    about.append(key)
            if found:
                self._nameable[key] = found[0]
        for one, about in quotes.values():
            named = self._worths_in(one.claim)
            for key in about:  # what is escaped in its line is not found there
                named[key] = worths[key]
            self.lines.append(Line(one.claim, self._place(one.cite), gains(named, chance(one.words), about)))

    def _place(self, cite: Cite) -> tuple[int, int, int]:
        return (self._places[cite.message], cite.part, cite.start)

    def _quotes(self, subject: Subject, most: int) -> list[_Quote]:
        """Return the lines that are quoted for a subject; where none says much, one that says little."""
        found: list[_Quote] = []
        scarce: list[_Quote] = []
        seen: set[Cite] = set()
        for face, cite, introduces in self._cites(subject):
            if cite.message not in self._places or cite in seen:
                continue
            seen.add(cite)
            claim = self._quote(face, cite)
            if claim is None:
                continue
            words = plain_words(claim.text)
            said = found if words >= SAYS_ENOUGH else scarce
            said.append(_Quote(face, cite, claim, words, introduces))
            if len(found) == most:
                break
        return found or scarce[:1]

    def _quote(self, face: Value, cite: Cite) -> Claim | None:
        """Return the words around a value; none of what an edit has taken out."""
        claim = quoted(self._scene.original(cite.message), cite, face.text, self._stock.root)
        is_out = claim and self._stock.replaced.holds(claim.text, self._places[cite.message])
        return None if is_out else claim

    def _cites(self, subject: Subject) -> Iterator[tuple[Value, Cite, bool]]:
        """Yield where a subject is named first, and last, and where most is said about it.

        Where a thing is introduced says best what it is, and where it was named last, how it stands.
        """
        named_by = faces(subject)
        if len(named_by) == 1:
            first = last = named_by[0]
        else:
            first = min(named_by, key=attrgetter("first_index"))
            last = max(named_by, key=attrgetter("last_index"))
        yield first, first.first, True
        yield last, last_line(self._scene.original(last.last_message), last.last, last.text), True
        for one in named_by:
            yield one, one.telling, False

    def _names(self, covered: Covered) -> Iterator[Name]:
        """Yield the names of what is not named yet, as far as it can be named by itself."""
        for key, one in self._nameable.items():
            message = None if key in covered.untold else self._scene.original(one.cite.message)
            text = shown_name(one.face, one.cite.quote(message)) if message else ""
            if text:
                trust = min(one.claim.trust, Trust.ASSISTANT)
                yield Name(key, text, one.cite, trust, self._place(one.cite))

    def weigh(self, gauge: Gauge) -> None:
        """Estimate what each line takes, and raise the worth of those that matter to a person."""
        self._gauge = gauge
        focus = self._scene.focus
        for line in self.lines:
            line.tokens = gauge.line(line.claim)
            if focus and focus.meets(line.claim.text):
                line.weight = IN_FOCUS

    def best(
        self, covered: Covered, tokens: float, said: Mapping[str, Sequence[str]]
    ) -> tuple[list[Claim], float]:
        """Return what is worth most, in the order of the conversation, and the tokens that it takes.

        Nothing that is ``said`` of its turn anyway.
        """
        covered.add(self._shown, SHOWN_TELLS)
        room = Room(tokens * LINES_SHARE, self._gauge)
        new = [line for line in self.lines if not is_said(line.claim, said)]
        lines = list(room.lines(new, covered))
        room.tokens += tokens * (1 - LINES_SHARE) - self._misjudged(lines)
        names = list(room.names(list(self._names(covered)), self._worths, covered))
        if room.tokens > tokens * WORTH_A_SECOND_LOOK:  # there were not as many names as there was room for
            taken = set(map(id, lines))
            room.is_enough = True
            lines += room.lines([line for line in new if id(line) not in taken], covered)
        self.left_out = not room.is_enough
        placed = [*((line.place, line.claim) for line in lines), *listed(names)]
        placed.sort(key=lambda one: (one[0][0], not one[1].verbatim, one[0]))
        return [claim for _, claim in placed], tokens - room.tokens

    def _misjudged(self, lines: Sequence[Line]) -> float:
        """Return the tokens that lines take beyond what was estimated."""
        error = self._gauge.error([line.claim for line in lines]) if lines else 1.0
        return (error - 1.0) * sum(line.tokens for line in lines)
