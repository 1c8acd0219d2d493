"""Parts a sentence that lays down several rules, so that each can be kept and lifted by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.ledger.constraints.evidence import Evidence, Surroundings, evidence
from clew.ledger.constraints.model import model
from clew.ledger.constraints.scope import scope_of
from clew.ledger.constraints.sentences import Sentence
from clew.ledger.constraints.subject import subject_of

_COMMAS = ",;，；、"
_JOINT = re.compile(
    rf"(?:[{_COMMAS}]\s*|\s+)"
    r"(?:(?:and|but|also|then|plus|et|mais|und|aber|y|pero|e|ma|mas|en|maar|i|ale|и|но)\s+)?\Z"
)
_LONGEST = 600
"""Sentences longer than this stay whole: they are lists without punctuation, or no sentences."""
_HEAVY = 3.0
"""A rule of its own begins with a cue worth at least this much."""


def rules_apart(
    sentence: Sentence, seen: Evidence, around: Surroundings
) -> Iterator[tuple[Sentence, Evidence]]:
    """Yield a sentence as it is, or each of its clauses where every one of them is a rule about something."""
    # "don't fix it, just look" is one remark.
    whole = len(sentence.text) > _LONGEST or any(hit.cue == "for_turn" for hit in seen.hits)
    cuts = () if whole else _cuts(sentence.text, seen)
    for cut in cuts:
        first = _piece(sentence, 0, cut, around)
        rest = _piece(sentence, cut, len(sentence.text), around)
        if first is not None and rest is not None and not _is_case(first[1]):
            yield first
            yield from rules_apart(*rest, around)
            return
    yield sentence, seen


def _is_case(seen: Evidence) -> bool:
    """Tell whether a clause only says when the next one holds: "if anything is unclear, stop and ask"."""
    return any(hit.cue == "if" and hit.start == 0 for hit in seen.hits)


def _cuts(text: str, seen: Evidence) -> Iterator[int]:
    """Yield where a clause with a rule of its own may begin: a heavy cue behind a comma or a conjunction."""
    cues = model().cues
    for hit in seen.hits:
        cue = cues[hit.cue]
        if hit.start and cue.kind is not None and cue.weight >= _HEAVY:
            joint = _JOINT.search(text, 0, hit.start)
            if joint is not None and joint.group().strip():
                yield joint.start() + (text[joint.start()] in _COMMAS)


def _piece(
    sentence: Sentence, begin: int, end: int, around: Surroundings
) -> tuple[Sentence, Evidence] | None:
    """Return a part of a sentence if it is a rule by itself and names what it is about."""
    raw = sentence.text[begin:end]
    begin += len(raw) - len(raw.lstrip())
    text = raw.strip().rstrip(_COMMAS)
    piece = sentence._replace(start=sentence.start + begin, end=sentence.start + begin + len(text), text=text)
    seen = evidence(piece, around)
    if seen is None or not model().is_rule(hit.cue for hit in seen.hits):
        return None
    scope = scope_of(text, seen.words, seen.hits)
    return (piece, seen) if scope.paths or subject_of(text, seen.words, scope).words else None
