"""What of the hits can be an answer: a question is none to itself, nor is what only stands beside one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clew.memory.search import Hit
from clew.memory.words import stop_words, terms

MEANS = 0.4
"""How near in meaning something is that has none of the words."""
RIDES = 0.5
"""Of the share of the words that the hit beside it has, what a neighbour needs to stand on its own."""
SPARE = 10
"""Hits to look at beyond those wanted, because some are no answers."""
ADDS_NOTHING = 0.1
"""Of the words of a question, those that may be new where it only asks the same again."""
_ASKS = re.compile(
    r"\W*(?:let me |i'll |i will )?"
    r"(?:what|which|who|whom|whose|where|when|why|how|did|do|does|is|are|was|were|can|could|should|would|"
    r"remind|tell|find|show|recall|search|look|check)\b|.*[?？]\W*\Z",
    re.IGNORECASE | re.DOTALL,
)
_LOOKING = frozenset(terms("let look search find check recall remember remind tell show ll"))
"""Words that say that something is looked for, not what."""
_MESSAGE = re.compile(r"m(\d{1,18})")


def answers(query: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Return the hits that may answer a query, best first.

    What asks the same is left out, and what has nothing of the query but its neighbourhood. A neighbour with
    little of its own rides on the hit beside it: it comes behind what stands on its own.
    """
    asked = frozenset(_telling(query))
    real = [hit for hit in hits if has_something(hit) and not is_echo(asked, hit)]
    shares = {place: hit.why.share for hit in hits if (place := _place(hit))}
    riding = [hit for hit in real if _rides(hit, shares)]
    return [*(hit for hit in real if hit not in riding), *riding][:limit]


def has_something(hit: Hit) -> bool:
    """Tell whether a hit has anything of the question in it."""
    why = hit.why
    return bool(why.exact or why.share > 0 or why.date) or (why.meaning or 0.0) >= MEANS


def is_echo(asked: frozenset[str], hit: Hit) -> bool:
    """Tell whether a hit only asks what is asked now: the question itself, or the same in earlier words."""
    text = hit.entry.text
    if not _ASKS.match(text):
        return False
    words = set(_telling(text)) - _LOOKING
    return len(words - asked) <= ADDS_NOTHING * len(words)


def _rides(hit: Hit, shares: dict[tuple[str, int], float]) -> bool:
    place = _place(hit)
    if place is None or hit.why.exact:
        return False
    session, number = place
    beside = max(shares.get((session, number - 1), 0.0), shares.get((session, number + 1), 0.0))
    return hit.why.share < RIDES * beside


def _place(hit: Hit) -> tuple[str, int] | None:
    found = _MESSAGE.fullmatch(hit.entry.ref)
    return (hit.entry.session, int(found[1])) if found else None


def _telling(text: str) -> list[str]:
    stop = stop_words()
    return [term for term in terms(text[:2_000]) if term not in stop]
