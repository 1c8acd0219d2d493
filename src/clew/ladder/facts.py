"""What of a span is worth keeping: lines that name what will be needed again and say what it is, and names.

Every subject has a line that says what it is. Lines are taken by the worth of what they would bring in, per
token, until their room is used up; the rest of the room goes to names alone, each under the turn that names
it. What an earlier digest kept competes on the same terms, so old facts thin out as new ones come.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from clew.ladder.company import Company
from clew.ladder.gauge import Gauge
from clew.ladder.names import Name, is_names, listed, shown_name
from clew.ladder.pick import Covered, Line, Room
from clew.ladder.quote import plain_words, quoted
from clew.ladder.retention import ranking
from clew.ladder.situation import Scene
from clew.ladder.subjects import Subject, faces, root_of, subjects, subjects_named
from clew.ladder.tail import water_level
from clew.ladder.worth import IN_FOCUS
from clew.ledger.kinds import WORD, ValueKind
from clew.ledger.values import Value
from clew.message import Cite, Item, Trust
from clew.plan import Claim

LINES_SHARE = 0.75
"""Of the room for facts, for lines; the rest is for names alone."""
ENOUGH_WORDS = 4
"""Plain words of a line that says something about what it names..."""
SAYS_ENOUGH = 3
"""...and of one that is quoted for where it stands."""
FEWEST_CANDIDATES, MOST_CANDIDATES = 200, 1_500
TOKENS_PER_CANDIDATE = 2
"""Of the room: more subjects than it could hold names of are not looked at."""
MOST_RATED = 10_000
"""Values up to which all that a session ever named is rated; beyond, only what can still be quoted."""
AROUND_A_NAME = 8
"""Characters by which a name is longer in a digest, for what stands around it."""


class Facts:
    """What of a span could be kept: lines, and names alone."""

    def __init__(self, scene: Scene, span: Sequence[Item], earlier: Iterable[Claim], room: int) -> None:
        """Gather what is worth most of what the span names, and what recent messages no longer show."""
        self._scene = scene
        whole = _shown_whole(scene, scene.first + len(span))
        self._places = {
            item.id: i for i, item in enumerate(scene.view[scene.first :]) if item.id not in whole
        }
        earlier = list(earlier)
        values = _within_reach(scene, earlier)
        known = subjects(values)
        self._worths = _worths(scene, known, values, whole)
        self._root = root_of(value.text for value in values if value.kind is ValueKind.PATH)
        self.lines: list[Line] = []
        self._nameable: dict[str, tuple[Value, Cite, tuple[int, int, int], Trust]] = {}
        self._add_earlier(earlier)
        self._add_new(known, min(max(FEWEST_CANDIDATES, room // TOKENS_PER_CANDIDATE), MOST_CANDIDATES))
        self.left_out = False
        """Whether the last choice had no room for something that is worth something."""

    def _add_earlier(self, claims: Iterable[Claim]) -> None:
        """Take in what an earlier digest kept, judged anew."""
        for number, claim in enumerate(claims):
            self.lines.append(Line(claim, (-1, number, 0), self._gains(claim.text), _telling(claim)))

    def _gains(self, text: str) -> dict[str, float]:
        worths = self._worths
        return {name: worths[name] for name in subjects_named(text) if name in worths}

    def _add_new(self, known: dict[str, Subject], most: int) -> None:
        """Take in the most telling lines of what is worth most, quoted from what was really said."""
        worths, places = self._worths, self._places
        best = heapq.nlargest(most, worths, key=lambda key: worths[key] / (AROUND_A_NAME + len(key)))
        quotes: set[Cite] = set()
        for key in best:
            told = self._told(known[key]) if worths[key] > 0 else None
            if told is None:
                continue
            face, cite, claim = told
            place = (places[cite.message], cite.part, cite.start)
            self._nameable[key] = (face, cite, place, claim.trust)
            if claim.sources[0] not in quotes:
                quotes.add(claim.sources[0])
                gains = {key: worths[key], **self._gains(claim.text)}
                self.lines.append(Line(claim, place, gains, _telling(claim)))

    def _told(self, subject: Subject) -> tuple[Value, Cite, Claim] | None:
        """Return the line that is quoted for a subject: where it was named first, or last, if that says much.

        Where a thing is introduced says best what it is, and where it was named last, how it stands. Where
        neither says much, the most telling line may.
        """
        named_by = faces(subject)
        first = min(named_by, key=attrgetter("first_index"))
        last = max(named_by, key=attrgetter("last_index"))
        tellings = ((one, one.telling) for one in named_by)
        scarce = None
        for face, cite in dict.fromkeys(((first, first.first), (last, last.last), *tellings)):
            if cite.message not in self._places:
                continue
            claim = quoted(self._scene.original(cite.message), cite, face.text, self._root)
            if claim is not None and plain_words(claim.text) >= SAYS_ENOUGH:
                return face, cite, claim
            if claim is not None and scarce is None:
                scarce = face, cite, claim
        return scarce

    def _names(self, covered: Covered) -> Iterator[Name]:
        """Yield the names of what is not named yet, as far as it can be named by itself."""
        for key, (face, cite, place, trust) in self._nameable.items():
            message = None if key in covered.named else self._scene.original(cite.message)
            text = shown_name(face, cite.quote(message)) if message else ""
            if text:
                yield Name(key, text, cite, min(trust, Trust.ASSISTANT), place)

    def weigh(self, gauge: Gauge) -> None:
        """Estimate what each line takes, and raise the worth of those that matter to a person."""
        self._gauge = gauge
        focus = self._scene.focus
        for line in self.lines:
            line.tokens = gauge.line(line.claim)
            if focus and focus.meets(line.claim.text):
                line.gains = {name: gain * IN_FOCUS for name, gain in line.gains.items()}

    def best(self, covered: Covered, tokens: float) -> tuple[list[Claim], float]:
        """Return what is worth most, in the order of the conversation, and the tokens that it takes."""
        room = Room(tokens * LINES_SHARE, self._gauge)
        lines = list(room.lines(self.lines, covered))
        room.tokens += tokens * (1 - LINES_SHARE)
        names = list(room.names(list(self._names(covered)), self._worths, covered))
        self.left_out = not room.is_enough
        placed = [*((line.place, line.claim) for line in lines), *listed(names)]
        placed.sort(key=lambda one: (one[0][0], not one[1].verbatim, one[0]))
        return [claim for _, claim in placed], tokens - room.tokens


def _shown_whole(scene: Scene, stop: int) -> set[str]:
    """Return the ids of the recent messages that are small enough to be shown whole."""
    sizes = scene.sizes[stop:]
    level = water_level(sizes, scene.tail_room)
    return {item.id for item, size in zip(scene.view[stop:], sizes, strict=True) if size <= level}


def _within_reach(scene: Scene, earlier: Iterable[Claim]) -> list[Value]:
    """Return the values to rate: all of them, or in a very long session those that a line here can name.

    What was named last in a message that left the view, and is in no line of the earlier digest, has
    nothing left to be quoted from.
    """
    values = list(scene.now.values)
    if len(values) <= MOST_RATED:
        return values
    shown = {item.id for item in scene.view}
    kept = {name for claim in earlier for name in WORD.findall(claim.text)}
    return [value for value in values if value.last_message in shown or value.text in kept]


def _worths(
    scene: Scene, known: dict[str, Subject], values: Sequence[Value], whole: set[str]
) -> dict[str, float]:
    """Return what each subject is worth that no message shows which stays as it is."""
    worth = scene.now.ranking or ranking()
    company = Company(values)
    focus = scene.focus
    found = {}
    for key, one in known.items():
        named_by = [one] if isinstance(one, Value) else one.faces
        if not any(value.last_message in whole for value in named_by):
            found[key] = worth(one, company) * (IN_FOCUS if focus and focus.meets(key) else 1.0)
    return found


def _telling(claim: Claim) -> float:
    return 0.0 if is_names(claim) else min(1.0, plain_words(claim.text) / ENOUGH_WORDS)
