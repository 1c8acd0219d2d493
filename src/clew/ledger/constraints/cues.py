"""Finds the phrases by which people lay down rules, wherever their place in the clause lets them count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from clew.ledger.constraints.tokens import CODE, PATH, QUOTE, Token

NOTHING = "nothing"
"""The cue of words that merely contain a cue; it never fires."""

_GAP_WORDS = 5
_CLAUSE_WORDS = 10
_LONG_CLAUSE = 40
_FIRST_WORDS = 6
_CLAUSE_STARTS = "\n,;:.!?，、；：。！？（("
_NOUNS = frozenset((CODE, PATH, QUOTE))


class Place(Enum):
    """Where in a clause a phrase counts."""

    FIRST = "first"
    """It opens the sentence, at most behind connectives: "and please no emojis"."""
    START = "start"
    """It opens a clause, at most behind a connective: "..., but never push"."""
    FREE = "free"
    """Anywhere, unless a subject stands right before it: "don't push", not "we don't push"."""
    ANYWHERE = "anywhere"
    END = "end"
    """It closes a clause: "blocking issues only"."""


class Hit(NamedTuple):
    """A cue that fired, and the words that made it fire: ``text[start:end]`` of the sentence."""

    cue: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Phrase:
    """One phrase of a cue, and where it counts. A word ``-ing`` stands for any word that ends so."""

    cue: str
    words: tuple[str, ...]
    tail: tuple[str, ...]
    """The words behind its gap, where it has one."""
    place: Place
    unless_next: frozenset[str] = frozenset()
    """Words right behind it that make it mean something else."""
    unless_after: frozenset[str] = frozenset()
    """Words right before it that make it mean something else: "how to keep"."""
    goes_on: bool = False
    """It counts only where a word of the same clause follows: "no mocks", not "no, leave it"."""

    def fits(self, before: Token | None, behind: Token | None) -> bool:
        """Tell whether the phrase counts between these words of its clause."""
        if before is not None and before.word in self.unless_after:
            return False
        if behind is None:
            return not self.goes_on
        return not any(_is(behind.word, entry) for entry in self.unless_next)


def _is(word: str, entry: str) -> bool:
    if entry[0] == "-":
        return word.endswith(entry[1:]) and not word.endswith("ss") and len(word) > len(entry)
    return word == entry


class Node:
    """A place in the tree of phrases: those that end here, and the words that lead on."""

    __slots__ = ("endings", "leads", "phrases")

    def __init__(self) -> None:
        self.phrases: list[Phrase] = []
        self.leads: dict[str, Node] = {}
        self.endings: list[tuple[str, Node]] = []
        """Leads that stand for any word with an ending."""

    def along(self, words: Sequence[Token], i: int) -> Iterator[tuple[Phrase, int]]:
        """Yield the phrases whose first words stand from ``i`` on, each with the index behind them."""
        for phrase in self.phrases:
            yield phrase, i
        if i == len(words):
            return
        word = words[i].word
        if word in self.leads:
            yield from self.leads[word].along(words, i + 1)
        for ending, node in self.endings:
            if _is(word, ending):
                yield from node.along(words, i + 1)

    def all(self) -> Iterator[Phrase]:
        """Yield every phrase of the tree."""
        yield from self.phrases
        for node in (*self.leads.values(), *(node for _, node in self.endings)):
            yield from node.all()


def tree(phrases: Iterable[Phrase]) -> Node:
    """Return the tree in which phrases are found word by word."""
    root = Node()
    for phrase in phrases:
        node = root
        for word in phrase.words:
            if word[0] == "-":
                node.endings.append((word, Node()))
                node = node.endings[-1][1]
            else:
                node = node.leads.setdefault(word, Node())
        node.phrases.append(phrase)
    return root


@dataclass(frozen=True, slots=True)
class Grammar:
    """The little grammar of a language that the cues lean on: sets of words."""

    headings: frozenset[str] = frozenset()
    """Words by which a heading announces rules."""
    connectives: frozenset[str] = frozenset()
    """Words that may stand before the verb of a command."""
    coordinators: frozenset[str] = frozenset()
    """Connectives that carry the subject of the clause on: "we use it but don't change it"."""
    adverbs: frozenset[str] = frozenset()
    """Words between a subject and its verb: "they truly don't"."""
    subjects: frozenset[str] = frozenset()
    """Words that make what follows a statement."""
    statements: frozenset[str] = frozenset()
    """Words that make the clause they stand in a statement: pronouns, "would"."""
    dependents: frozenset[str] = frozenset()
    """Words that make a clause they open a statement: "to", "if", "because"."""
    imperatives: frozenset[str] = frozenset()
    negators: frozenset[str] = frozenset()
    """An imperative that opens a clause and one of these later in it make a ban: "fass das nicht an"."""


@dataclass(frozen=True, slots=True)
class Language:
    """The cues of a language that writes spaces."""

    phrases: Node
    grammar: Grammar

    def hits(self, text: str, words: Sequence[Token]) -> Iterator[Hit]:
        """Yield the cues of a sentence from left to right."""
        del text  # the words are enough here
        for i, token in enumerate(words):
            if token.word in self.phrases.leads:
                for phrase, behind in self.phrases.along(words, i):
                    if end := self._end(phrase, words, i, behind):
                        yield Hit(phrase.cue, token.start, words[end - 1].end)
            if token.word in self.grammar.imperatives and self._opens(words, i):
                yield from self._negated(words, i)

    def heads_rules(self, text: str, words: Sequence[Token]) -> bool:
        """Tell whether a heading or lead-in announces rules."""
        del text
        return any(token.word in self.grammar.headings for token in words)

    def _end(self, phrase: Phrase, words: Sequence[Token], i: int, behind: int) -> int:
        """Return the index behind a phrase whose first words stand at ``i``, or 0 where it does not count."""
        end = _tail(phrase.tail, words, behind) if phrase.tail else behind
        if not end or not self._stands(phrase.place, words, i, end):
            return 0
        before = words[i - 1] if i and not words[i].opens else None
        after = words[end] if end < len(words) and not words[end].opens else None
        return end if phrase.fits(before, after) else 0

    def _stands(self, place: Place, words: Sequence[Token], i: int, end: int) -> bool:
        match place:
            case Place.ANYWHERE:
                return True
            case Place.END:
                return end == len(words) or words[end].opens
            case Place.START:
                return self._opens(words, i)
            case Place.FIRST:
                return i <= _FIRST_WORDS and all(words[k].word in self.grammar.connectives for k in range(i))
            case Place.FREE:
                return self._commands(words, i)

    def _opens(self, words: Sequence[Token], i: int) -> bool:
        return words[i].opens or (words[i - 1].word in self.grammar.connectives and self._commands(words, i))

    def _commands(self, words: Sequence[Token], i: int) -> bool:
        """Tell whether a verb at ``i`` is a command, not part of a statement about somebody."""
        k = i
        while not words[k].opens and words[k - 1].word in self.grammar.adverbs:
            k -= 1
        if words[k].opens:
            return True
        before = words[k - 1].word
        if before in self.grammar.coordinators:
            return not self._is_statement(words, k - 1)
        return not self._is_subject(before)

    def _is_statement(self, words: Sequence[Token], end: int) -> bool:
        """Tell whether the clause that goes up to ``end`` speaks of somebody rather than to somebody."""
        for k in range(end, max(-1, end - _LONG_CLAUSE), -1):
            if words[k].word in self.grammar.statements:
                return True
            if words[k].opens:
                return words[k].word in self.grammar.dependents
        return False

    def _is_subject(self, word: str) -> bool:
        """Tell pronouns, names of things and plural nouns, after which a verb tells rather than commands."""
        if word in self.grammar.subjects or word in _NOUNS:
            return True
        return len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "'s"))

    def _negated(self, words: Sequence[Token], i: int) -> Iterator[Hit]:
        """Yield the ban of a clause that opens with an imperative and is negated later."""
        for token in words[i + 1 : i + _CLAUSE_WORDS]:
            if token.opens:
                return
            if token.word in self.grammar.negators:
                yield Hit("ban", words[i].start, token.end)
                return


def _are(words: Sequence[Token], start: int, entries: tuple[str, ...]) -> bool:
    return all(
        _is(token.word, entry)
        for token, entry in zip(words[start : start + len(entries)], entries, strict=True)
    )


def _tail(tail: tuple[str, ...], words: Sequence[Token], begin: int) -> int:
    """Return the index behind ``tail`` where it stands after one to five words of the same clause, else 0."""
    for k in range(begin, min(begin + _GAP_WORDS, len(words) - len(tail)) + 1):
        if k > begin and _are(words, k, tail):
            return k + len(tail)
        if k < len(words) and words[k].opens:
            return 0
    return 0


@dataclass(frozen=True, slots=True)
class UnspacedLanguage:
    """The cues of a language that writes no spaces: found in the text itself, the longest first."""

    pattern: re.Pattern[str]
    phrases: Mapping[str, tuple[Phrase, ...]]
    headings: tuple[str, ...]

    def hits(self, text: str, words: Sequence[Token]) -> Iterator[Hit]:
        """Yield the cues of a sentence from left to right; they do not overlap."""
        del words  # a "word" would be a whole clause here
        for match in self.pattern.finditer(text):
            start, end = match.span()
            opens = _opens_clause(text, start)
            for phrase in self.phrases[match.group()]:
                spoilt = any(text.startswith(entry, end) for entry in phrase.unless_next)
                if not spoilt and phrase.cue != NOTHING and (opens or phrase.place is not Place.START):
                    yield Hit(phrase.cue, start, end)

    def heads_rules(self, text: str, words: Sequence[Token]) -> bool:
        """Tell whether a heading or lead-in announces rules."""
        del words
        return any(heading in text for heading in self.headings)


def _opens_clause(text: str, start: int) -> bool:
    """Tell whether nothing of the same clause stands before a place."""
    before = start - 1
    while before >= 0 and text[before].isspace():
        before -= 1
    return before < 0 or text[before] in _CLAUSE_STARTS
