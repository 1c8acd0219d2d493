"""Compare the subjects of two sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from clew.rules.languages import is_function_word
from clew.rules.tables import table, words
from clew.rules.tokens import Token
from clew.rules.values import Scope

_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]+")
_WORD = re.compile(r"[^\W_]+")
_PLURALS = (("ies", "y"), ("s", ""))
_TENSES = (("ing", ""), ("ed", ""))
_LONGEST_ENDING = 4
_SHORTEST_BORROWED = 4
_NEGATED_WITHIN = 3
ENOUGH = 0.5
"""Share of the shorter sentence's subject that must be shared; chosen by hand."""
_ENOUGH_APART = 0.67
"""The same if each sentence also names something the other does not."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a sentence is about: paths, and stems of its content words."""

    paths: frozenset[str]
    words: frozenset[str]

    def likeness(self, other: Subject) -> float:
        """Return the share of the shorter subject that is in the other, 0 if their paths differ."""
        if self.paths and other.paths:
            return 1.0 if _overlap(self.paths, other.paths) else 0.0
        shared = self.words & other.words
        if not shared:
            return 0.0
        return len(shared) / min(len(self.words), len(other.words))

    def closeness(self, other: Subject) -> float:
        """Return the share of both subjects that is common, to choose between similar rules."""
        return len(self.words & other.words) / max(1, len(self.words | other.words))

    def matches(self, other: Subject) -> bool:
        """Return True if two sentences are about the same subject."""
        apart = bool(self.words - other.words and other.words - self.words) and not (
            self.paths and other.paths
        )
        return self.likeness(other) >= (_ENOUGH_APART if apart else ENOUGH)


def subject_of(text: str, tokens: Sequence[Token], scope: Scope) -> Subject:
    """Return what a sentence is about."""
    paths = frozenset(path.strip("/*.").lower() for path in scope.paths)
    return Subject(paths, frozenset(_stems(text, tokens, scope)))


def _stems(text: str, tokens: Sequence[Token], scope: Scope) -> Iterator[str]:
    elsewhere = {
        word for told in (*scope.paths, scope.duration.words) for word in _WORD.findall(told.lower())
    }
    for token in tokens:
        word = token.word
        # Without spaces a "word" is a whole clause; its character pairs are added below.
        is_word = len(word) > 1 and word[0].isalnum() and not _UNSPACED.match(word)
        if is_word and word not in elsewhere and not _says_nothing(word):
            yield _stem(word)
    for name in scope.names:
        yield name.lower()
    for run in _UNSPACED.findall(_noise_runs().sub(" ", text)):
        yield from (run[i : i + 2] for i in range(len(run) - 1))


def _says_nothing(word: str) -> bool:
    return is_function_word(word) or word in words("subject", "noise") or word in words("subject", "light")


def _stem(word: str) -> str:
    """Return a word without irrelevant endings, mapped to one word per group of synonyms."""
    if word in _synonyms():
        return _synonyms()[word]
    word = _without(_without(_as_borrowed(word), _PLURALS), _TENSES)
    for whole in (word, f"{word}e"):  # "merging" and "merge"
        if whole in _synonyms():
            return _synonyms()[whole]
    if len(word) > 3 and (word[-1] == word[-2] or word[-1] == "e"):  # "running"
        word = word[:-1]
    return _synonyms().get(word, word)


def _without(word: str, endings: Iterable[tuple[str, str]]) -> str:
    for ending, instead in endings:
        if word.endswith(ending) and len(word) - len(ending) > 2 and not word.endswith("ss"):
            return word[: len(word) - len(ending)] + instead
    return word


def _as_borrowed(word: str) -> str:
    """Return the English root of a borrowed verb: "mergen", "mergear"."""
    for size in range(1, min(_LONGEST_ENDING, len(word) - _SHORTEST_BORROWED) + 1):
        root, ending = word[:-size], word[-size:]
        if ending in words("subject", "borrowed_endings"):
            for known in (root, root[:-1] if root[-1] == root[-2] else root):  # "committen"
                if len(known) >= _SHORTEST_BORROWED and known in words("scope", "tools"):
                    return known
    return word


@cache
def _noise_runs() -> re.Pattern[str]:
    """Return the pattern of empty words in a text without spaces, longest first."""
    return re.compile("|".join(sorted(words("subject", "noise_runs"), key=len, reverse=True)))


@cache
def _synonyms() -> dict[str, str]:
    lines = table("words")["subject"]["same"].strip().split("\n")
    return {word: line.split()[0] for line in lines for word in line.split()}


def _overlap(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    return any(a == b or a.startswith(f"{b}/") or b.startswith(f"{a}/") for a in ours for b in theirs)


@dataclass(frozen=True, slots=True)
class Choice:
    """The values of one group of alternatives that a sentence is for and against, and its other subject."""

    group: int
    chosen: frozenset[str]
    refused: frozenset[str]
    beside: frozenset[str]


def choices(tokens: Sequence[Token], subject: Subject) -> Iterator[Choice]:
    """Yield what a sentence chooses from each group of alternatives it names."""
    for number, (about, values) in enumerate(_groups()):
        chosen: set[str] = set()
        refused: set[str] = set()
        for i, token in enumerate(tokens):
            if token.word in values:
                before = {earlier.word for earlier in tokens[max(0, i - _NEGATED_WITHIN) : i]}
                against = before & words("subject", "negating")
                (refused if against else chosen).add(values[token.word])
        if chosen or refused:
            beside = subject.words - {_stem(word) for word in (*about, *values)}
            yield Choice(number, frozenset(chosen), frozenset(refused), beside)


@cache
def _groups() -> tuple[tuple[frozenset[str], dict[str, str]], ...]:
    """Return each group of alternatives: its topic words, and its spellings with their values."""
    return tuple(
        (
            frozenset(group["about"].split()),
            {word: line.split("|")[0] for line in group["values"].split() for word in line.split("|")},
        )
        for group in table("alternatives")["groups"]
    )
