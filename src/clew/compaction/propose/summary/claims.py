"""Parse a summariser's answer, and turn it into claims that say no more than their sources allow.

A summariser writes prose. It does not decide what the user said, what to trust, or where a line comes from:
sources are looked up, labels follow from them, and the user is quoted only word for word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from clew.compaction.plan import Claim, ClaimKind
from clew.compaction.propose.brief import Outline
from clew.message import Cite, Item, Json, JsonObject, Origin, Role, Text, Trust, lowest, words
from clew.tokens import TokenCounter

LONGEST_ANSWER = 400_000
"""Characters that are parsed."""
MOST_CLAIMS = 1_000
MOST_BROKEN = 1_000
"""Unreadable objects after which parsing stops: each costs its length."""
DEEPEST = 4
"""Levels of wrapping around the claims that are followed."""

_OBJECT = re.compile(r'\{(?=\s*")')
_DECODER = json.JSONDecoder(strict=False)
_THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_KINDS = {kind.value: kind for kind in ClaimKind if kind is not ClaimKind.INSTRUCTION}  # quoted by code only


class WrittenClaim(NamedTuple):
    """A claim as the summariser wrote it."""

    kind: ClaimKind
    text: str
    sources: tuple[str, ...]
    """As given."""


def read_answer(text: str) -> list[WrittenClaim] | None:
    """Return the claims of an answer; None if it has no list of claims, not even an empty one."""
    claims: list[WrittenClaim] = []
    is_list = False
    for value in _objects(_THINKING.sub("", text[:LONGEST_ANSWER])):
        is_list = is_list or isinstance(value.get("claims"), list)
        claims += (claim for one in _claim_objects(value) if (claim := _read_claim(one)))
    return claims[:MOST_CLAIMS] if claims or is_list else None


def _objects(text: str) -> Iterator[JsonObject]:
    """Yield the JSON objects in a text; of a truncated or broken one those inside it."""
    broken = end = 0
    for start in _OBJECT.finditer(text):
        if start.start() < end:
            continue  # inside an object already read
        try:
            value, end = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            broken += 1
            if broken == MOST_BROKEN:
                return
        else:
            yield value


def _claim_objects(value: Json, depth: int = 0) -> Iterator[JsonObject]:
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        yield value
    elif isinstance(value, dict | list) and depth < DEEPEST:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _claim_objects(inner, depth + 1)


def _read_claim(value: JsonObject) -> WrittenClaim | None:
    text = _UNWRITABLE.sub("", str(value["text"])).strip()
    kind = _KINDS.get(str(value.get("kind")).strip().lower(), ClaimKind.FACT)
    sources = tuple(_names(value.get("sources", value.get("source"))))
    return WrittenClaim(kind, text, sources) if text else None


def _names(value: Json) -> Iterator[str]:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str):
            yield one
        elif isinstance(one, int) and not isinstance(one, bool):
            yield f"m{one}"


LONGEST_CLAIM = 1_200
"""Characters; a longer claim is cut after its last whole sentence, or else word."""
MOST_SOURCES = 12
"""Messages: a claim that cites more is of no use for looking it up."""
MOST_PLACES = 10_000
"""Positions tried for a quote in a repetitive text; a bound on time."""
CLAIM_TOKENS = 6
"""Tokens of a claim beyond its text."""
QUOTES_ONLY = (ClaimKind.GOAL, ClaimKind.USER)
STEERING = (ClaimKind.DECISION, ClaimKind.OPEN, ClaimKind.NEXT)
"""Kinds the next assistant acts on: they must cite the user or the assistant."""
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
"""The order in which kinds are kept if there is not room for all; last those that code adds as well."""

_NAME = re.compile(r"\w[\w.:-]*")
# In scripts with spaces between words, a quote may not begin or end inside a word.
_LETTER = re.compile(r"[0-9A-Za-z_À-ɏͰ-ԯ]")
_LETTERS = re.compile(rf"{_LETTER.pattern}+")
# Invisible characters that no word needs. Joiners belong to some scripts and to emoji.
_UNSEEN = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    r"\u3164\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    r"|(?<![^\x00-\u024f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\u024f])"
)
_SENTENCE_END = re.compile(r"[.!?…。！？](?=\s|$)|\n")


@dataclass(frozen=True, slots=True)
class Place:
    """A part's text, its trust label, and whether a person typed it."""

    cite: Cite
    text: str
    spaced: str
    """The text with single spaces between words."""
    trust: Trust
    typed: bool


@dataclass(frozen=True, slots=True)
class Source:
    """What a cited name refers to."""

    cites: tuple[Cite, ...]
    trust: Trust
    """The lowest label among its parts."""
    places: tuple[Place, ...] = ()
    """The message's parts, to find quotes in."""
    claims: tuple[Claim, ...] = ()
    """The claims of an earlier digest under this name."""


# Citable sources ------------------------------------------------------------------------------------


def sources_of(outline: Outline) -> dict[str, Source]:
    """Return everything citable: messages of the span, lines of an earlier digest, and their turns."""
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


def _sources_named(names: Iterable[str], sources: Mapping[str, Source]) -> list[Source]:
    """Return what the names refer to, without repetition; unknown names are ignored."""
    tokens = (token for given in names for token in _tokens(given, sources))
    return list({name: sources[name] for name in tokens if name in sources}.values())


def _tokens(given: str, sources: Mapping[str, Source]) -> Iterator[str]:
    for token in [given] if given in sources else _NAME.findall(given):
        name = token.rstrip(".:-")
        # "m3-m5" means two messages, unless one has that name.
        yield from [name] if name in sources else name.split("-")


# One claim -------------------------------------------------------------------------------------------


def claims_of(claims: Iterable[WrittenClaim], sources: Mapping[str, Source]) -> Iterator[Claim]:
    """Yield the acceptable claims among those a summariser wrote."""
    for written in claims:
        cited_sources = _sources_named(written.sources, sources)
        if 0 < len(cited_sources) <= MOST_SOURCES:
            claim = _repeated_claim(written, cited_sources) or _claim(
                written._replace(text=_cut(written.text)), cited_sources
            )
            if claim is not None:
                yield claim


def _repeated_claim(written: WrittenClaim, sources: Iterable[Source]) -> Claim | None:
    """Return the earlier claim that is repeated word for word."""
    earlier = (claim for source in sources for claim in source.claims)
    same = (claim for claim in earlier if gist(claim.text) == gist(written.text))
    return next((claim._replace(id="") for claim in same), None)


def _claim(claim: WrittenClaim, sources: Sequence[Source]) -> Claim | None:
    for source in sources:
        exact = _exact_place(claim, source)
        if exact is not None:
            alone = claim.kind in QUOTES_ONLY  # only the user's own message can prove the user's words
            return _quote(
                claim.kind,
                exact,
                [] if alone else [other_source for other_source in sources if other_source is not source],
            )
    return None if claim.kind in QUOTES_ONLY else _in_own_words(claim, sources)


def _exact_place(claim: WrittenClaim, source: Source) -> Place | None:
    """Return where a text occurs word for word; for the user's words only where a person typed them."""
    for place in source.places:
        span = _span(claim.text, place) if place.typed or claim.kind not in QUOTES_ONLY else None
        if span is not None:
            start, end = span
            return replace(place, cite=place.cite._replace(start=start, end=end), text=place.text[start:end])
    return None


def _span(text: str, place: Place) -> tuple[int, int] | None:
    """Return the offsets of a text in a part, with any spacing."""
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
    """Return the end of the word that contains a position."""
    run = _LETTERS.match(text, at)
    return run.end() if run else at + 1


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _unspaced(place: Place, at: int) -> int:
    """Return the offset in the text that corresponds to an offset in its single-spaced form."""
    number = place.spaced.count(" ", 0, at)
    word = next(islice(re.finditer(r"\S+", place.text), number, None))
    return word.start() + at - (place.spaced.rfind(" ", 0, at) + 1)


def _is_inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and bool(_LETTER.match(text[at - 1]) and _LETTER.match(text[at]))


def _quote(kind: ClaimKind, exact: Place, others: Sequence[Source]) -> Claim:
    trust = lowest((exact.trust, *(source.trust for source in others)))
    cites = (exact.cite, *(cite for source in others for cite in source.cites))
    return Claim("", _kind(kind, trust), exact.text, cites, trust, verbatim=True)


def _in_own_words(claim: WrittenClaim, sources: Sequence[Source]) -> Claim:
    """Return a paraphrase: labelled as a model's words at best; a decision of the user becomes a fact.

    Invisible characters are removed: in a quote they belong to the source, here they could only mislead.
    """
    trust = lowest(source.trust for source in sources)
    decided = claim.kind is ClaimKind.DECISION and trust > Trust.ASSISTANT
    kind = ClaimKind.FACT if decided else _kind(claim.kind, trust)
    cites = tuple(cite for source in sources for cite in source.cites)
    return Claim("", kind, _UNSEEN.sub("", claim.text), cites, min(trust, Trust.ASSISTANT))


def _kind(kind: ClaimKind, trust: Trust) -> ClaimKind:
    """Return the kind a claim may have: based on tools or machine text, it is a fact."""
    return ClaimKind.FACT if kind in STEERING and trust < Trust.ASSISTANT else kind


def _cut(text: str) -> str:
    if len(text) <= LONGEST_CLAIM:
        return text
    head = text[:LONGEST_CLAIM]
    ends = [match.end() for match in _SENTENCE_END.finditer(head)]
    at = ends[-1] if ends else head.rfind(" ")
    return head[: at if at > 0 else LONGEST_CLAIM].strip()


# All of them -----------------------------------------------------------------------------------------


def without_open_steps(claims: Iterable[Claim]) -> Iterator[Claim]:
    """Yield the claims of a portion that is not the last: its open items may have been closed since."""
    for claim in claims:
        if claim.kind is ClaimKind.OPEN:
            yield claim._replace(kind=ClaimKind.FACT)
        elif claim.kind is not ClaimKind.NEXT:
            yield claim


def distinct(claims: Iterable[Claim], known: Iterable[str]) -> list[Claim]:
    """Return claims without those that repeat known texts or each other."""
    said = set(map(gist, known))
    kept_claims = []
    for claim in claims:
        if gist(claim.text) not in said:
            said.add(gist(claim.text))
            kept_claims.append(claim)
    return kept_claims


def claims_that_fit(claims: Sequence[Claim], room_tokens: int, counter: TokenCounter) -> tuple[Claim, ...]:
    """Return the claims that fit, in order: by kind, then the latest."""
    costs = [counter.count_text(claim.text) + CLAIM_TOKENS for claim in claims]
    chosen = set()
    for i in sorted(range(len(claims)), key=lambda i: (BY_WORTH.index(claims[i].kind), -i)):
        if costs[i] <= room_tokens:
            chosen.add(i)
            room_tokens -= costs[i]
    return tuple(claim for i, claim in enumerate(claims) if i in chosen)


def gist(text: str) -> str:
    """Return the words of a text, for comparison."""
    return " ".join(text.casefold().split())
