"""Score how relevant notes are to a text: by tags, exact values, and words that few notes have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log

from clew.ledger.kinds import kind_of, values_in
from clew.memory.notes.note import Note
from clew.memory.stem import stem
from clew.memory.words import stop_words, surface

TAG = 3.0
VALUE = 3.0
"""Score of a tag or an exact value (chosen by hand); a word scores the logarithm of its rarity among notes.
"""
NAMED = 4
"""Words or values that a reason lists."""


@dataclass(frozen=True, slots=True)
class Match:
    """The relevance of a note to a text."""

    note: Note
    worth: float
    reasons: tuple[str, ...]
    """Empty if it is not relevant."""


def matches(notes: Sequence[Note], text: str, tags: Iterable[str] = ()) -> list[Match]:
    """Return the relevance of each note to a text, in the notes' order."""
    said = _terms(text)
    own = {note.id: _terms(f"{note.key} {note.text} {' '.join(note.tags)}") for note in notes}
    having = Counter(term for found in own.values() for term in found)
    known = {tag.casefold() for tag in tags} | set(said.values())
    return [_match(note, _shared(own[note.id], said, having, len(notes)), known, text) for note in notes]


def _shared(
    own: Mapping[str, str], said: Mapping[str, str], having: Mapping[str, int], notes: int
) -> list[tuple[float, str]]:
    """Return the words that a note and the text share, rarest first."""
    shared = ((log(1 + notes / having[term]), word) for term, word in own.items() if term in said)
    return sorted(shared, key=lambda one: (-one[0], one[1]))


def _match(note: Note, shared: Sequence[tuple[float, str]], known: set[str], text: str) -> Match:
    tags = [tag for tag in note.tags if tag.casefold() in known]
    values = [value for value in exact_values(f"{note.key} {note.text}") if value in text]
    words = [word for _, word in shared]
    named = (("tagged", tags), ("names", values), ("shares", words))
    return Match(
        note,
        TAG * len(tags) + VALUE * len(values) + sum(rarity for rarity, _ in shared),
        tuple(f"{how} {', '.join(what[:NAMED])}" for how, what in named if what),
    )


def _terms(text: str) -> dict[str, str]:
    """Return the words of a text without stop words, by stem."""
    stop = stop_words()
    found = {stem(word): word for word in surface(text)}
    return {term: word for term, word in found.items() if term not in stop and word not in stop}


def exact_values(text: str) -> list[str]:
    """Return the paths, addresses, names and numbers in a text."""
    spelled, punctuated = values_in(text, spoken=True)
    known = [one.value for one in map(kind_of, spelled) if one]
    return list(dict.fromkeys([*known, *(one.value for one, _ in punctuated)]))
