"""The phrases of a language, and the tree in which they are matched word by word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from clew.rules.tokens import Token


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


@dataclass(frozen=True, slots=True)
class Phrase:
    """One phrase of a cue, and where it counts. A word ``-ing`` matches any word with that ending."""

    cue: str
    words: tuple[Entry, ...]
    tail: tuple[Entry, ...]
    """The words after its gap, if it has one."""
    place: Place
    far: bool = False
    """The gap may be long and cross clauses: "show me the diff, all of it, before you push"."""
    unless_next: frozenset[str] = frozenset()
    """Words directly after it that change its meaning."""
    unless_after: frozenset[str] = frozenset()
    """Words directly before it that change its meaning: "how to keep"."""
    goes_on: bool = False
    """It counts only if a word of the same clause follows: "no mocks", not "no, leave it"."""
    tail_words: frozenset[str] = field(init=False, repr=False, compare=False)
    """The literal words of the tail, required for a match."""

    def __post_init__(self) -> None:
        words = frozenset(entry for entry in self.tail if isinstance(entry, str) and entry[0] != "-")
        object.__setattr__(self, "tail_words", words)

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
    """A node of the phrase tree: the phrases that end here, and the words that continue."""

    __slots__ = ("_led", "leads", "phrases", "wide")

    def __init__(self) -> None:
        self.phrases: list[Phrase] = []
        self.leads: dict[str, Node] = {}
        self.wide: list[tuple[Entry, Node]] = []
        """Edges for endings and word classes."""
        self._led: dict[str, tuple[Node, ...]] = {}
        """Cache of ``after``."""

    def along(self, words: Sequence[Token], i: int, fillers: frozenset[str]) -> Iterator[tuple[Phrase, int]]:
        """Yield the phrases whose first words start at ``i``, each with the index after them.

        Fillers may occur between the words of a phrase: "I really don't want".
        """
        for phrase in self.phrases:
            yield phrase, i
        if not (self.leads or self.wide):
            return
        while i < len(words):
            word = words[i].word
            for node in self.after(word):
                yield from node.along(words, i + 1, fillers)
            if word not in fillers or words[i].opens:
                return
            i += 1

    def after(self, word: str) -> tuple[Node, ...]:
        """Return the successors for a word; the tree must be complete."""
        found = self._led.get(word)
        if found is None:
            if len(self._led) >= _REMEMBERED:
                self._led.clear()
            plain = (self.leads[word],) if word in self.leads else ()
            wide = (node for entry, node in self.wide if is_entry(word, entry))
            found = self._led[word] = (*plain, *wide)
        return found

    def all(self) -> Iterator[Phrase]:
        """Yield every phrase of the tree."""
        yield from self.phrases
        for node in (*self.leads.values(), *(node for _, node in self.wide)):
            yield from node.all()


def tree(phrases: Iterable[Phrase]) -> Node:
    """Build the tree in which phrases are matched word by word."""
    root = Node()
    for phrase in phrases:
        node = root
        for entry in phrase.words:
            node = _lead(node, entry)
        node.phrases.append(phrase)
    return root


def _lead(node: Node, entry: Entry) -> Node:
    """Return the successor for an entry, creating it if needed."""
    if isinstance(entry, str) and entry[0] != "-":
        return node.leads.setdefault(entry, Node())
    for known, onward in node.wide:
        if known == entry:
            return onward
    node.wide.append((entry, Node()))
    return node.wide[-1][1]
