"""Match the phrases of a language in a sentence, at the positions in a clause where they count.

In: the words of a sentence. Out: a ``Hit`` for each cue, with the words that matched: "please never push" has
a hit of the cue ``ban`` on "never push". Phrases are kept in a tree and matched word by word; "don't push"
counts, "we don't push" does not, because a subject makes it a statement. ``languages.py`` builds the trees
from the tables; ``evidence.py`` asks for the hits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from clew.rules.words import CODE, PATH, QUOTE, Token


class Place(Enum):
    """Where in a clause a phrase counts."""

    FIRST = "first"
    """At the start of the sentence, possibly after connectives: "and please no emojis"."""
    START = "start"
    """At the start of a clause, possibly after a connective: "..., but never push"."""
    FREE = "free"
    """Anywhere, unless a subject directly precedes it: "don't push", not "we don't push"."""
    ANYWHERE = "anywhere"
    END = "end"
    """At the end of a clause: "blocking issues only"."""


_REMEMBERED = 10_000
"""Words whose successors a node caches."""
_NO_ENDING = ("ss", "ias", "us")
"""Words with these endings do not have the ending "-s": "pass", "alias", "focus"."""
Entry = str | frozenset[str]
"""A word of a phrase: itself, an ending ("-ing"), or a class of words."""


class Phrase(NamedTuple):
    """One phrase of a cue, and where it counts. A word ``-ing`` matches any word with that ending."""

    cue: str
    words: tuple[Entry, ...]
    tail: tuple[Entry, ...]
    """The words after its gap, if it has one."""
    tail_words: frozenset[str]
    """The literal words of the tail, required for a match."""
    place: Place
    far: bool
    """The gap may be long and cross clauses: "show me the diff, all of it, before you push"."""
    unless_next: frozenset[str]
    """Words directly after it that change its meaning."""
    unless_after: frozenset[str]
    """Words directly before it that change its meaning: "how to keep"."""
    goes_on: bool
    """It counts only if a word of the same clause follows: "no mocks", not "no, leave it"."""

    def fits(self, before: Token | None, behind: Token | None) -> bool:
        """Return True if the phrase counts between these words of its clause."""
        if before is not None and before.word in self.unless_after:
            return False
        if behind is None:
            return not self.goes_on
        return not any(is_entry(behind.word, entry) for entry in self.unless_next)


def is_entry(word: str, entry: Entry) -> bool:
    """Return True if a word matches an entry of a phrase."""
    if isinstance(entry, frozenset):
        return word in entry
    if entry[0] == "-":
        return word.endswith(entry[1:]) and not word.endswith(_NO_ENDING) and len(word) > len(entry)
    return word == entry


class Node:
    """A node of the phrase tree: the phrases that end here, and the words that continue.

    Its successors are created when a text first reaches it, because most are never reached.
    """

    __slots__ = ("_depth", "_pending", "_plain", "_successors", "_wide", "phrases")

    def __init__(self, depth: int = 0) -> None:
        self.phrases: list[Phrase] = []
        self._depth = depth
        self._pending: list[Phrase] = []
        """Longer phrases that are not yet in a successor."""
        self._plain: dict[str, Node] = {}
        self._wide: list[tuple[Entry, Node]] = []
        """Successors for endings and word classes."""
        self._successors: dict[str, tuple[Node, ...]] = {}
        """Cache of ``after``."""

    def put(self, phrase: Phrase) -> None:
        """Add a phrase whose first words lead here, before the node is first used."""
        (self.phrases if len(phrase.words) == self._depth else self._pending).append(phrase)

    def along(self, words: Sequence[Token], i: int, fillers: frozenset[str]) -> Iterator[tuple[Phrase, int]]:
        """Yield the phrases whose first words start at ``i``, each with the index after them.

        Fillers may occur between the words of a phrase: "I really don't want".
        """
        for phrase in self.phrases:
            yield phrase, i
        if not (self._pending or self._plain or self._wide):
            return
        while i < len(words):
            word = words[i].word
            for node in self.after(word):
                yield from node.along(words, i + 1, fillers)
            if word not in fillers or words[i].opens:
                return
            i += 1

    def after(self, word: str) -> tuple[Node, ...]:
        """Return the successors for a word."""
        if self._pending:
            self._expand()
        nodes = self._successors.get(word)
        if nodes is None:
            if len(self._successors) >= _REMEMBERED:
                self._successors.clear()
            plain = (self._plain[word],) if word in self._plain else ()
            wide = (node for entry, node in self._wide if is_entry(word, entry))
            nodes = self._successors[word] = (*plain, *wide)
        return nodes

    def _expand(self) -> None:
        wide: dict[Entry, Node] = {}
        for phrase in self._pending:
            entry = phrase.words[self._depth]
            if isinstance(entry, str) and entry[0] != "-":
                node = self._plain.get(entry) or self._plain.setdefault(entry, Node(self._depth + 1))
            else:
                node = wide.get(entry) or wide.setdefault(entry, Node(self._depth + 1))
            node.put(phrase)
        self._wide = list(wide.items())
        self._pending = []


def tree(phrases: Iterable[Phrase]) -> Node:
    """Return the tree in which phrases are matched word by word."""
    root = Node()
    for phrase in phrases:
        root.put(phrase)
    return root


NOTHING = "nothing"
"""The cue of phrases that contain a cue's words without its meaning; it never fires."""

# Words, chosen by hand:
_GAP_WORDS = 5
"""The most in the gap of a phrase: "ask me (about it) before"..."""
_LONG_GAP_WORDS = 30
"""...and in one that may cross clauses."""
_CLAUSE_WORDS = 10
"""How far after its imperative a clause may be negated: "fass die Datei bitte nicht an"."""
_LONG_CLAUSE = 40
"""How far back the start of a clause is looked for: a bound on time."""
_FIRST_WORDS = 6
"""The most connectives before a phrase that opens a sentence."""
_CLAUSE_STARTS = "\n,;:.!?，、；：。！？（("
_NOUNS = frozenset((CODE, PATH, QUOTE))
_PLURAL_NEGATIONS = frozenset(("don't", "dont", "do"))
"""Negations that cannot follow one thing: of a file one would say "doesn't"."""
_ADDRESSED = frozenset(("you", "we", "u"))


class Hit(NamedTuple):
    """A cue that fired, and the words that matched: ``text[start:end]`` of the sentence."""

    cue: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Grammar:
    """Word sets of a language that decide whether a phrase is a command."""

    headings: frozenset[str] = frozenset()
    """Words in headings that announce rules."""
    ban_headings: frozenset[str] = frozenset()
    """Those of them that announce prohibitions."""
    both_headings: frozenset[str] = frozenset()
    """Words in headings that announce prohibitions and requirements: "Dos and don'ts"."""
    connectives: frozenset[str] = frozenset()
    """Words that may precede the verb of a command."""
    coordinators: frozenset[str] = frozenset()
    """Connectives that continue the subject of the clause: "we use it but don't change it"."""
    fillers: frozenset[str] = frozenset()
    """Words that may occur inside a phrase without changing it: "I really don't want"."""
    adverbs: frozenset[str] = frozenset()
    """Words between a subject and its verb: "they truly don't"."""
    subjects: frozenset[str] = frozenset()
    """Words that make the following verb a statement."""
    statements: frozenset[str] = frozenset()
    """Words that make their clause a statement: pronouns, "would"."""
    requests: frozenset[str] = frozenset()
    """Words that make a clause a request if a pronoun follows: "can you ... and keep it"."""
    orders: frozenset[str] = frozenset()
    """Verbs that make the clause they open an order: "move it and don't ..."."""
    dependents: frozenset[str] = frozenset()
    """Words that make the clause they open a statement: "to", "if", "because"."""
    imperatives: frozenset[str] = frozenset()
    negators: frozenset[str] = frozenset()
    """An imperative that opens a clause and one of these later in it form a ban: "fass das nicht an"."""


@dataclass(frozen=True, slots=True)
class Language:
    """The cues of a language written with spaces."""

    phrases: Node
    openers: Node
    """Phrases that count only at the start of the sentence."""
    grammar: Grammar
    all: tuple[Phrase, ...]

    def hits(self, text: str, words: Sequence[Token]) -> Iterator[Hit]:
        """Yield the cues of a sentence from left to right."""
        del text  # only the words are needed
        present = {token.word for token in words}
        opening = True
        for i, token in enumerate(words):
            nodes = self.phrases.after(token.word)
            if opening:
                nodes = (*self.openers.after(token.word), *nodes)
                opening = token.word in self.grammar.connectives
            if nodes:
                yield from self._hits_at(nodes, words, i, present)
            if token.word in self.grammar.imperatives and self._opens(words, i):
                yield from self._late_negations(words, i)

    def _hits_at(self, nodes: Iterable[Node], words: Sequence[Token], i: int, present: set[str]) -> list[Hit]:
        """Return the cues whose phrase starts at ``i``, except those inside a ``NOTHING`` phrase."""
        hits: list[Hit] = []
        contained = -1
        for node in nodes:
            for phrase, behind in node.along(words, i + 1, self.grammar.fillers):
                if phrase.tail_words <= present and (end := self._end(phrase, words, i, behind)):
                    hits.append(Hit(phrase.cue, words[i].start, words[end - 1].end))
                    if phrase.cue == NOTHING:
                        contained = max(contained, hits[-1].end)
        return hits if contained < 0 else [hit for hit in hits if hit.end > contained]

    def heads_rules(self, text: str, words: Sequence[Token]) -> bool:
        """Return True if a heading or lead-in announces rules."""
        del text
        return any(token.word in self.grammar.headings for token in words)

    def heads_bans(self, words: Sequence[Token]) -> bool:
        """Return True if a heading announces prohibitions and nothing else."""
        said = {token.word for token in words}
        return not said.isdisjoint(self.grammar.ban_headings) and said.isdisjoint(self.grammar.both_headings)

    @property
    def heading_words(self) -> frozenset[str]:
        """Return the words in headings that announce rules."""
        return self.grammar.headings

    def _end(self, phrase: Phrase, words: Sequence[Token], i: int, behind: int) -> int:
        """Return the index after a phrase that starts at ``i``, or 0 if it does not count there."""
        end = _tail(phrase, words, behind) if phrase.tail else behind
        if not end or not self._is_at(phrase.place, words, i, end):
            return 0
        before = words[i - 1] if i and not words[i].opens else None
        after = words[end] if end < len(words) and not words[end].opens else None
        return end if phrase.fits(before, after) else 0

    def _is_at(self, place: Place, words: Sequence[Token], i: int, end: int) -> bool:
        """Return True if the words from ``i`` to ``end`` are at a place where a phrase counts."""
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
        """Return True if a word opens a clause, perhaps after a connective."""
        return words[i].opens or (words[i - 1].word in self.grammar.connectives and self._commands(words, i))

    def _commands(self, words: Sequence[Token], i: int) -> bool:
        """Return True if a verb at ``i`` is a command, not part of a statement."""
        k = i
        while not words[k].opens and words[k - 1].word in self.grammar.adverbs:
            k -= 1
        if words[k].opens:
            return True
        before = words[k - 1].word
        if before in _NOUNS and words[i].word in _PLURAL_NEGATIONS:
            return True  # "as in notes.md don't": a statement about the file would say "doesn't"
        if before in self.grammar.coordinators:
            return not self._is_statement(words, k - 1)
        return not self._is_subject(before)

    def _is_statement(self, words: Sequence[Token], end: int) -> bool:
        """Return True if the clause up to ``end`` is a statement rather than addressed to the agent."""
        about_somebody = False
        for k in range(end, max(-1, end - _LONG_CLAUSE), -1):
            if words[k].word in self.grammar.requests and words[k + 1].word in _ADDRESSED:
                return False
            about_somebody |= words[k].word in self.grammar.statements
            if words[k].opens:
                if words[k].word in self.grammar.orders:
                    return False
                return about_somebody or words[k].word in self.grammar.dependents
        return about_somebody

    def _is_subject(self, word: str) -> bool:
        """Return True for pronouns, names and plural nouns: a verb after them is not a command."""
        if word in self.grammar.subjects or word in _NOUNS:
            return True
        return len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "'s"))

    def _late_negations(self, words: Sequence[Token], i: int) -> Iterator[Hit]:
        """Yield the ban of a clause that opens with an imperative and is negated later."""
        for token in words[i + 1 : i + _CLAUSE_WORDS]:
            if token.opens:
                return
            if token.word in self.grammar.negators:
                yield Hit("ban", words[i].start, token.end)
                return


def _tail(phrase: Phrase, words: Sequence[Token], begin: int) -> int:
    """Return the index after the tail of a phrase if it follows its gap, else 0.

    The gap has at least one word, and ends with the clause unless the phrase is ``far``.
    """
    tail, far = phrase.tail, phrase.far
    if not far and begin < len(words) and words[begin].opens:
        return 0
    first, size = tail[0], len(tail)
    for k in range(begin + 1, min(begin + (_LONG_GAP_WORDS if far else _GAP_WORDS), len(words) - size) + 1):
        if is_entry(words[k].word, first) and _all_match(words, k + 1, tail[1:]):
            return k + size
        if not far and words[k].opens:
            return 0
    return 0


def _all_match(words: Sequence[Token], start: int, entries: tuple[Entry, ...]) -> bool:
    return all(is_entry(words[start + n].word, entry) for n, entry in enumerate(entries))


@dataclass(frozen=True, slots=True)
class UnspacedLanguage:
    """The cues of a language written without spaces, matched in the text, longest first."""

    pattern: re.Pattern[str]
    phrases: Mapping[str, tuple[Phrase, ...]]
    headings: tuple[str, ...]
    variants: Mapping[int, int]
    """Characters that are replaced by others, one for one."""

    def hits(self, text: str, words: Sequence[Token]) -> Iterator[Hit]:
        """Yield the cues of a sentence from left to right, without overlaps."""
        del words  # here a "word" would be a whole clause
        text = text.translate(self.variants)
        for match in self.pattern.finditer(text):
            start, end = match.span()
            opens = _opens_clause(text, start)
            for phrase in self.phrases[match.group()]:
                spoilt = any(text.startswith(entry, end) for entry in phrase.unless_next)
                if not spoilt and phrase.cue != NOTHING and (opens or phrase.place is not Place.START):
                    yield Hit(phrase.cue, start, end)

    def heads_rules(self, text: str, words: Sequence[Token]) -> bool:
        """Return True if a heading or lead-in announces rules."""
        del words
        written = text.translate(self.variants)
        return any(heading in written for heading in self.headings)

    def heads_bans(self, words: Sequence[Token]) -> bool:
        """Return False: headings of prohibitions are not known for these languages."""
        del words
        return False

    @property
    def heading_words(self) -> frozenset[str]:
        """Return the words in headings that announce rules."""
        return frozenset(self.headings)


def _opens_clause(text: str, start: int) -> bool:
    """Return True if a position is at the start of its clause."""
    before = start - 1
    while before >= 0 and text[before].isspace():
        before -= 1
    return before < 0 or text[before] in _CLAUSE_STARTS
