"""From what a summariser wrote to claims: every one cites what was shown, and none says more than it may.

A summariser writes prose. It does not decide what the user said, whom to believe, or where a line comes from:
sources are looked up, labels follow from them, and the user's words are taken only word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from clew.ladder.summary.parse import Told
from clew.ladder.written import Outline
from clew.message import Cite, Item, Origin, Role, Text, Trust, lowest, words
from clew.plan import Claim, ClaimKind
from clew.tokens import TokenCounter

LONGEST_CLAIM = 1_200
"""Characters; what is longer ends with the last sentence, or else the last word, before that."""
MOST_SOURCES = 12
"""Messages: a claim that cites more leads nowhere."""
MOST_PLACES = 10_000
"""Where a quote is looked for in a text that repeats itself."""
CLAIM_TOKENS = 6
"""What a claim costs beyond its words."""
QUOTES_ONLY = (ClaimKind.GOAL, ClaimKind.USER)
STEERING = (ClaimKind.DECISION, ClaimKind.OPEN, ClaimKind.NEXT)
"""What the next assistant acts on: it must rest on what the user or the assistant said."""
BY_WORTH = (
    ClaimKind.NEXT,
    ClaimKind.OPEN,
    ClaimKind.DECISION,
    ClaimKind.FINDING,
    ClaimKind.ERROR,
    ClaimKind.REPORT,
    ClaimKind.FACT,
    ClaimKind.ARTIFACT,
    ClaimKind.USER,
    ClaimKind.GOAL,
)
"""Which kinds stay where there is no room for all: last those that code keeps as well."""

_NAME = re.compile(r"\w[\w.:-]*")
# Of scripts that put spaces between words: there a quote may not begin or end inside one.
_LETTER = re.compile(r"[0-9A-Za-z_À-ɏͰ-ԯ]")
_LETTERS = re.compile(rf"{_LETTER.pattern}+")
# What nobody sees and no word needs. Joiners belong to some scripts and to emoji; ours has nothing to join.
_UNSEEN = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    r"\u3164\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    r"|(?<![^\x00-\u024f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\u024f])"
)
_SENTENCE_END = re.compile(r"[.!?…。！？](?=\s|$)|\n")


@dataclass(frozen=True, slots=True)
class Place:
    """What a part says, how far it may be believed, and whether a person typed it."""

    cite: Cite
    text: str
    spaced: str
    """The text with one space between any two words."""
    trust: Trust
    typed: bool


@dataclass(frozen=True, slots=True)
class Source:
    """What a name in an answer stands for."""

    cites: tuple[Cite, ...]
    trust: Trust
    """The lowest of them."""
    places: tuple[Place, ...] = ()
    """What a message says, for quotes to be found in."""
    claims: tuple[Claim, ...] = ()
    """What an earlier digest says under this name."""


# What may be cited -----------------------------------------------------------------------------------


def sources_of(outline: Outline) -> dict[str, Source]:
    """Return all that can be cited: messages of the span, lines of an earlier digest, and their turns."""
    earlier = outline.earlier
    found = {item.id: _message_source(item) for item in outline.span if not earlier or item.id != earlier.id}
    turns: dict[str, list[Claim]] = {}
    for claim in earlier.claims if earlier else ():
        found[claim.id] = Source(claim.sources, claim.trust, claims=(claim,))
        for name in dict.fromkeys(cite.message for cite in claim.sources):
            turns.setdefault(name, []).append(claim)
    for name, claims in turns.items():
        found.setdefault(name, _turn_source(name, claims))
    return {name: source for name, source in found.items() if source.cites}


def _message_source(item: Item) -> Source:
    message = item.message
    spoken = message.role is Role.USER and message.origin is Origin.SPOKEN
    places = tuple(
        Place(
            Cite(item.id, i),
            text,
            _spaced(text),
            part.trust,
            typed=spoken and isinstance(part, Text) and part.trust >= Trust.USER,
        )
        for i, part in enumerate(message.parts)
        if (text := words(part))
    )
    return Source(tuple(place.cite for place in places), lowest(place.trust for place in places), places)


def _turn_source(name: str, claims: Sequence[Claim]) -> Source:
    cites = dict.fromkeys(cite for claim in claims for cite in claim.sources if cite.message == name)
    return Source(tuple(cites), lowest(claim.trust for claim in claims), claims=tuple(claims))


def _named(names: Iterable[str], sources: Mapping[str, Source]) -> list[Source]:
    """Return what names stand for, each once; names that nothing was shown under stand for nothing."""
    tokens = (token for given in names for token in _tokens(given, sources))
    return list({name: sources[name] for name in tokens if name in sources}.values())


def _tokens(given: str, sources: Mapping[str, Source]) -> Iterator[str]:
    for token in [given] if given in sources else _NAME.findall(given):
        name = token.rstrip(".:-")
        # "m3-m5" names two, where there is no message of that name.
        yield from [name] if name in sources else name.split("-")


# One claim -------------------------------------------------------------------------------------------


def claims_of(told: Iterable[Told], sources: Mapping[str, Source]) -> Iterator[Claim]:
    """Yield the claims that may stand, of those that a summariser wrote."""
    for one in told:
        named = _named(one.sources, sources)
        if 0 < len(named) <= MOST_SOURCES:
            claim = _carried(one, named) or _claim(one._replace(text=_cut(one.text)), named)
            if claim is not None:
                yield claim


def _carried(told: Told, named: Iterable[Source]) -> Claim | None:
    """Return the earlier claim that is repeated word for word, as it was."""
    earlier = (claim for source in named for claim in source.claims)
    same = (claim for claim in earlier if gist(claim.text) == gist(told.text))
    return next((claim._replace(id="") for claim in same), None)


def _claim(told: Told, named: Sequence[Source]) -> Claim | None:
    for source in named:
        exact = _exact_place(told, source)
        if exact is not None:
            alone = told.kind in QUOTES_ONLY  # nobody but the user vouches for the user's words
            return _quote(told.kind, exact, [] if alone else [one for one in named if one is not source])
    return None if told.kind in QUOTES_ONLY else _in_own_words(told, named)


def _exact_place(told: Told, source: Source) -> Place | None:
    """Return where a text stands word for word, as it is written there; the user's only where typed."""
    for place in source.places:
        span = _span(told.text, place) if place.typed or told.kind not in QUOTES_ONLY else None
        if span is not None:
            start, end = span
            return replace(place, cite=place.cite._replace(start=start, end=end), text=place.text[start:end])
    return None


def _span(text: str, place: Place) -> tuple[int, int] | None:
    """Return from where to where a text stands in what a part says, however it is spaced."""
    wanted = _spaced(text)
    at = place.spaced.find(wanted)
    for _ in range(MOST_PLACES):
        if at < 0:
            break
        end = at + len(wanted)
        inside = _is_inside_word(place.spaced, at)
        if not (inside or _is_inside_word(place.spaced, end)):
            return _unspaced(place, at), _unspaced(place, end - 1) + 1
        at = place.spaced.find(wanted, _word_end(place.spaced, at) if inside else at + 1)
    return None


def _word_end(text: str, at: int) -> int:
    """Return where the word ends that a place is inside of."""
    run = _LETTERS.match(text, at)
    return run.end() if run else at + 1


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _unspaced(place: Place, at: int) -> int:
    """Return where in the text the sign is that stands here in its evenly spaced form."""
    number = place.spaced.count(" ", 0, at)
    word = next(islice(re.finditer(r"\S+", place.text), number, None))
    return word.start() + at - (place.spaced.rfind(" ", 0, at) + 1)


def _is_inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and bool(_LETTER.match(text[at - 1]) and _LETTER.match(text[at]))


def _quote(kind: ClaimKind, exact: Place, others: Sequence[Source]) -> Claim:
    trust = lowest((exact.trust, *(source.trust for source in others)))
    cites = (exact.cite, *(cite for source in others for cite in source.cites))
    return Claim("", _kind(kind, trust), exact.text, cites, trust, verbatim=True)


def _in_own_words(told: Told, named: Sequence[Source]) -> Claim:
    """Return a paraphrase: at best a model speaks, and a decision of the user's is told as a fact.

    Signs that are not seen go: in a quote they are the source's, here only a reader could be fooled by them.
    """
    trust = lowest(source.trust for source in named)
    decided = told.kind is ClaimKind.DECISION and trust > Trust.ASSISTANT
    kind = ClaimKind.FACT if decided else _kind(told.kind, trust)
    cites = tuple(cite for source in named for cite in source.cites)
    return Claim("", kind, _UNSEEN.sub("", told.text), cites, min(trust, Trust.ASSISTANT))


def _kind(kind: ClaimKind, trust: Trust) -> ClaimKind:
    """Return what a claim may be: what rests on tools and machine text is a fact, whatever it says."""
    return ClaimKind.FACT if kind in STEERING and trust < Trust.ASSISTANT else kind


def _cut(text: str) -> str:
    if len(text) <= LONGEST_CLAIM:
        return text
    head = text[:LONGEST_CLAIM]
    ends = [found.end() for found in _SENTENCE_END.finditer(head)]
    at = ends[-1] if ends else head.rfind(" ")
    return head[: at if at > 0 else LONGEST_CLAIM].strip()


# All of them -----------------------------------------------------------------------------------------


def settled(claims: Iterable[Claim]) -> Iterator[Claim]:
    """Yield the claims about a portion that others follow: what it left open may be done by now."""
    for claim in claims:
        if claim.kind is ClaimKind.OPEN:
            yield claim._replace(kind=ClaimKind.FACT)
        elif claim.kind is not ClaimKind.NEXT:
            yield claim


def distinct(claims: Iterable[Claim], known: Iterable[str]) -> list[Claim]:
    """Return claims without those that say again what is known or was claimed before."""
    said = set(map(gist, known))
    found = []
    for claim in claims:
        if gist(claim.text) not in said:
            said.add(gist(claim.text))
            found.append(claim)
    return found


def fitted(claims: Sequence[Claim], room_tokens: int, counter: TokenCounter) -> tuple[Claim, ...]:
    """Return the claims that fit, in their order: by the worth of their kinds, then the latest."""
    costs = [counter.count_text(claim.text) + CLAIM_TOKENS for claim in claims]
    chosen = set()
    for i in sorted(range(len(claims)), key=lambda i: (BY_WORTH.index(claims[i].kind), -i)):
        if costs[i] <= room_tokens:
            chosen.add(i)
            room_tokens -= costs[i]
    return tuple(claim for i, claim in enumerate(claims) if i in chosen)


def gist(text: str) -> str:
    """Return what makes two texts the same: their words."""
    return " ".join(text.casefold().split())
