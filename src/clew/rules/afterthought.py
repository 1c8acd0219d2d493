"""Relate a sentence to the one before it: it may withdraw it, or borrow its verb."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from clew.rules.cues import Hit
from clew.rules.evidence import Evidence
from clew.rules.model import model
from clew.rules.scope import scope_of
from clew.rules.sentences import Sentence
from clew.rules.subject import choices, subject_of
from clew.rules.tables import table, words
from clew.rules.tokens import Token, tokens

_SHORT_WORDS = 10


def joint_of(text: str, before: Sentence, sentence: Sentence) -> str:
    """Return the text between two adjacent sentences; empty if there is another one between them."""
    joint = text[before.end - 1 : sentence.start]
    return joint if joint[1:].strip() in ("", ";") else ""


def withdraws(sentence: Sentence) -> bool:
    """Return True if a sentence only withdraws the one before it: "Wait, no, keep that."."""
    return unsaid_from(tokens(sentence.text)) == 0


def unsaid_from(said: Sequence[Token]) -> int | None:
    """Return the index of words that withdraw all before them and add nothing: "wait no, keep that"."""
    for i, token in enumerate(said):
        phrases = _withdrawals().get(token.word, ()) if token.opens else ()
        for phrase in phrases:
            rest = [other.word for other in said[i:]]
            if rest[: len(phrase)] == phrase and words("unsaid", "kept").issuperset(rest[len(phrase) :]):
                return i
    return None


@cache
def _withdrawals() -> dict[str, list[list[str]]]:
    """Return the withdrawing phrases by their first word."""
    phrases: dict[str, list[list[str]]] = {}
    for line in table("words")["unsaid"]["withdrawals"].strip().split("\n"):
        for phrase in line.split(", "):
            phrases.setdefault(phrase.split()[0], []).append(phrase.split())
    return phrases


def borrows(sentence: Sentence, before: Sentence, seen: Evidence) -> bool:
    """Return True if a sentence after a semicolon uses the verb of the rule before it.

    "Answer in Spanish; code and commits in English": without its own verb it chooses among the same
    alternatives as the rule.
    """
    if not model().is_rule(hit.cue for hit in seen.hits) or sentence.text.endswith("?"):
        return False
    said = tokens(sentence.text)
    telling = words("evidence", "telling") | words("leave", "told")
    if len(said) > _SHORT_WORDS or not telling.isdisjoint(token.word for token in said):
        return False
    return not set(_chosen(before.text, seen.words)).isdisjoint(_chosen(sentence.text, said))


def with_borrowed_verb(sentence: Sentence, seen: Evidence | None) -> Evidence:
    """Return the evidence of a sentence plus the verb it borrows."""
    alone = seen or Evidence((), tuple(tokens(sentence.text)))
    return alone._replace(hits=(*alone.hits, Hit("borrowed", 0, len(sentence.text))))


def _chosen(text: str, said: Sequence[Token]) -> Iterator[int]:
    """Yield the groups of alternatives that a sentence chooses from."""
    subject = subject_of(text, said, scope_of(text, said, ()))
    yield from (choice.group for choice in choices(said, subject) if choice.chosen)
