"""Find secrets in a text by the rules of ``rules.toml``."""

from __future__ import annotations

from typing import NamedTuple

from clew.secrets.sieve import candidates

MASK = "[secret:"
"""The start of a mask."""


class Found(NamedTuple):
    """A secret in a text."""

    rule: str
    start: int
    end: int


class _Place(NamedTuple):
    start: int
    end: int
    rank: int
    rule: str


def find(text: str) -> list[Found]:
    """Return the secrets in a text, in order, without overlaps.

    If several rules match overlapping spans, the spans become one secret, named by the most specific rule.
    """
    found: list[_Place] = []
    for at, (rank, rule) in candidates(text):
        span = rule.span(text, at)
        if span and MASK not in text[span[0] : span[1]]:
            found.append(_Place(*span, rank, rule.id))
    return [Found(place.rule, place.start, place.end) for place in _joined(sorted(found))]


def _joined(places: list[_Place]) -> list[_Place]:
    joined: list[_Place] = []
    for place in places:
        last = joined[-1] if joined else None
        if last is None or place.start >= last.end:
            joined.append(place)
            continue
        named = min(last, place, key=lambda one: one.rank)
        joined[-1] = _Place(last.start, max(last.end, place.end), named.rank, named.rule)
    return joined
