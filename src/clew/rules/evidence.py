"""Collect the evidence for and against a sentence being a rule."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from clew.rules.cues import Hit, Language, Phrase
from clew.rules.languages import ENGLISH, guess, is_english, is_function_word, language
from clew.rules.rule import BAN_LEAD
from clew.rules.sentences import Sentence
from clew.rules.shapes import OPENING, ORDERS, shapes
from clew.rules.words import Token, model, plain_words, tokens, words_again
from clew.rules.words import words as known_words

_BRIEFED = frozenset(("must_thing", "if_order"))
"""Cues that bind in a text that assigns the agent its role."""
_LABEL_WITHIN = 40
"""Characters within which a label may precede an order."""
_RULE_PLACES = frozenset(("rule_heading", "rule_lead"))
_TO_THE_AGENT = frozenset(("ban_you", "gate_you", "sure_you", "consent", "ask"))
"""Cues of words to the agent, which are not just pasted."""
_BANS = frozenset(("ban", "ban_you", "ban_word", "avoid"))
_REMEMBERED = 256
"""Cached headings and lead-ins: consecutive sentences share one."""
_FAINT = 1.0
"""Weight below which a cue cannot make a rule without a heavier one."""
_LEADING_ON = frozenset(("must_thing", "runs_on", "turns"))
"""Cues with a low weight that become heavy in combination with the words before them."""
_TAKING_BACK = frozenset(("lift", "lift_that", "let_go", "may"))
_MANY = 20
"""Number of phrases that need a word, from which on the word alone indicates a rule; chosen by hand."""
_BAN_WORDS = 2
"""Spaces in a short heading that its items complete."""
_BAN_REACH = 60
"""Characters after a ban in which a lead-in ends: "don't fix it, but sort by the columns …:" asks more."""
_COMPLETION = "it"
"""Appended to a lead-in to test whether it forbids what follows."""


class Surroundings(NamedTuple):
    """Where a sentence is in the text, beyond its own heading and list."""

    language: str
    """The language of the text, for sentences too short to guess."""
    document: bool = False
    """In a pasted document."""
    briefing: bool = False
    """In a long text that assigns the agent its role."""
    orders: bool = False
    """In long instructions by the system or a developer."""
    deep: bool = False
    """Far inside a user's long text, which is mostly pasted."""
    length: int = 0
    """Characters of the text."""


class Evidence(NamedTuple):
    """The cues that fire in a sentence, and its words."""

    hits: tuple[Hit, ...]
    words: tuple[Token, ...]
    under_ban: bool = False
    """The sentence is an item of a list introduced by a ban ("Please don't:")."""
    among_rules: bool = False
    """The sentence is under a heading or in a list that announces rules."""
    language: str = ENGLISH
    length: int = 0
    """Characters of the text that the sentence is in."""
    about_from: int = 0
    """Start of the part that the rule is about: "you can touch lib/ but not lib/core/"."""

    def about(self, text: str) -> str:
        """Return a sentence with everything before ``about_from`` blanked out."""
        return " " * self.about_from + text[self.about_from :]


def evidence(sentence: Sentence, surroundings: Surroundings) -> Evidence | None:
    """Return the cues that fire in a sentence; None if nothing could state or end a rule."""
    text = sentence.text
    plain = words_again(text)
    name = guess(text, plain, surroundings.language)
    tongue = language(name)
    spaced = isinstance(tongue, Language)
    over = tuple(_over(sentence, surroundings, name))
    if spaced and not (over or surroundings.briefing or _may_match(name, plain, frozenset(plain))):
        return None
    words = tuple(tokens(text))
    hits = [*tongue.hits(text, words), *over]
    hits += shapes(text, words, hits, spaced=spaced)
    cues = {hit.cue for hit in hits}
    surrounding = (
        ()
        if _is_title(text)
        else _surrounding_hits(hits, surroundings, sentence.lead, is_order=_is_order(words))
    )
    return Evidence((*hits, *surrounding), words, "ban_lead" in cues, bool(over), name, surroundings.length)


def is_silent(text: str) -> bool:
    """Return True if the words of an English text alone show that no sentence states or ends a rule.

    All words of the text are tested at once, in place of those of each sentence, heading and lead-in, so
    there are no false negatives. The text must be too short to be a briefing.
    """
    said = [*plain_words(text), _COMPLETION]
    words = frozenset(said)
    if _prefilter_words().isdisjoint(words):
        return is_english(text, words)
    heads = language(ENGLISH).heading_words
    return heads.isdisjoint(words) and is_english(text, words) and not _may_match(ENGLISH, said, words)


def may_matter(chunk: str) -> bool:
    """Return True if a text below ``LONG`` characters with this chunk has to be parsed.

    A text without such a chunk is silent.
    """
    words = plain_words(chunk)
    return not _prefilter_words().isdisjoint(words) or not is_english(chunk, words)


@cache
def _prefilter_words() -> frozenset[str]:
    """Return the words of which a non-silent English text contains at least one."""
    needs = _needs(ENGLISH)
    return language(ENGLISH).heading_words | needs.by_word.keys() | needs.by_member.keys()


def _surrounding_hits(
    hits: Sequence[Hit], surroundings: Surroundings, lead: str, *, is_order: bool
) -> Iterator[Hit]:
    """Yield the cues of the surroundings, alone and combined with the cues of a sentence.

    In a briefing orders bind, but items of an introduced list are mostly steps and choices, unless the
    introduction names a case: "When closing issues:".
    """
    cues = {hit.cue for hit in hits}
    if surroundings.document:
        yield Hit("document", 0, 0)
    if surroundings.deep and cues.isdisjoint(_TO_THE_AGENT):
        yield Hit("deep", 0, 0)
    if surroundings.briefing:
        yield Hit("briefing", 0, 0)
    listed = bool(lead) and _first_word(lead) not in known_words("evidence", "cases")
    opening = {hit.cue for hit in hits if hit.start <= OPENING}
    binding = (
        cues & _BRIEFED or "conduct" in opening or (surroundings.orders and (is_order or opening & ORDERS))
    )
    if (surroundings.briefing and binding and not listed) or ("conduct" in cues and cues & _RULE_PLACES):
        yield Hit("ordered", 0, 0)


def _first_word(text: str) -> str:
    return next(iter(plain_words(text)), "")


def _is_order(words: Sequence[Token]) -> bool:
    """Return True if a sentence opens with an order, possibly after a label: "Imports: use aliases"."""
    before = known_words("evidence", "before_orders")
    opens = True
    for token in words:
        if token.start > _LABEL_WITHIN:
            return False
        opens |= token.opens
        if opens and token.word in known_words("evidence", "orders"):
            return True
        opens = opens and token.word in before
    return False


class _Need(NamedTuple):
    """What a sentence must contain to match a phrase: all these words, and a word of each of the classes."""

    words: frozenset[str]
    classes: tuple[frozenset[str], ...] = ()
    in_order: tuple[str, ...] = ()
    """The words as they follow each other: "can you look" has both words of "you can"."""

    def is_met(self, said: Iterable[str], words: frozenset[str]) -> bool:
        """Return True if these words, said in this order, are enough."""
        if not self.words <= words or any(one.isdisjoint(words) for one in self.classes):
            return False
        left = iter(said)
        return all(word in left for word in self.in_order)


class _Needs(NamedTuple):
    """The needs of the heavy phrases of a language, indexed by distinctive words."""

    by_word: dict[str, dict[str, list[_Need]]]
    """By the most distinctive of their words, and the next one (or the same)."""
    by_member: dict[str, list[list[_Need]]]
    """Those without a distinctive word, by the members of their class."""


def _may_match(name: str, said: Sequence[str], words: frozenset[str]) -> bool:
    """Return True if a sentence has all the words of a phrase that could state or end a rule, in order."""
    by_word, by_member = _needs(name)
    for anchor in words & by_word.keys():
        by_second = by_word[anchor]
        for second in words & by_second.keys():
            if any(need.is_met(said, words) for need in by_second[second]):
                return True
    return any(
        need.is_met(said, words)
        for word in words & by_member.keys()
        for group in by_member[word]
        for need in group
    )


@cache
def _needs(name: str) -> _Needs:
    cues = model().cues
    telling = {cue for cue, row in cues.items() if row.weight >= _FAINT} | _TAKING_BACK | _LEADING_ON
    tongue = language(name)
    if not isinstance(tongue, Language):
        return _Needs({}, {})
    needs = [
        *(_Need(frozenset((negator,))) for negator in tongue.grammar.negators),
        *{_need(phrase) for phrase in tongue.all if phrase.cue in telling},
    ]
    uses = Counter[str]()
    for need in needs:
        many = math.prod(map(len, need.classes))
        uses.update(dict.fromkeys(need.words, many))
    everywhere = known_words("evidence", "everywhere")

    @cache
    def tells(word: str) -> tuple[bool, bool, bool, int, str]:
        # "never" combines with most verbs: it is cheaper to look for that one word.
        makes_rules = uses[word] >= _MANY and word not in everywhere
        return makes_rules, not is_function_word(word), word not in everywhere, len(word), word

    needs_found, by_class = _Needs({}, {}), dict[frozenset[str], list[_Need]]()
    for need in needs:
        first, second, *_ = *sorted(need.words, key=tells, reverse=True), "", ""
        if need.classes and not (first and tells(first)[0]):
            by_class.setdefault(need.classes[0], []).append(need)
        else:
            needs_found.by_word.setdefault(first, {}).setdefault(second or first, []).append(need)
    for members, group in by_class.items():
        for member in members:
            needs_found.by_member.setdefault(member, []).append(group)
    return needs_found


def _need(phrase: Phrase) -> _Need:
    entries = (*phrase.words, *phrase.tail)
    in_order = tuple(entry for entry in entries if isinstance(entry, str) and entry[0] != "-")
    words = frozenset(in_order)
    classes = [entry for entry in entries if isinstance(entry, frozenset)]
    if classes and all(map(is_function_word, words)):
        # "is frozen": most sentences have an "is", so the words of the class must be distinctive.
        return _Need(words, tuple(sorted(classes, key=len)[: 1 if words else 2]), in_order)
    return _Need(words, in_order=in_order)


def _over(sentence: Sentence, surroundings: Surroundings, name: str) -> Iterator[Hit]:
    """Yield the cues of the heading and the lead-in above a sentence."""
    if sentence.item and sentence.heading and _is_ban(sentence.heading, surroundings.language):
        yield Hit(BAN_LEAD, 0, 0)
    elif sentence.heading and _heads_rules(sentence.heading, surroundings.language):
        yield Hit("rule_heading", 0, 0)
    if sentence.lead:
        if _bans(sentence.lead, name) or _heads_bans(sentence.lead, name):
            yield Hit(BAN_LEAD, 0, 0)
        elif _heads_rules(sentence.lead, name):
            yield Hit("rule_lead", 0, 0)


@lru_cache(maxsize=_REMEMBERED)
def _heads_rules(heading: str, default: str) -> bool:
    return language(guess(heading, plain_words(heading), default)).heads_rules(heading, tokens(heading))


@lru_cache(maxsize=_REMEMBERED)
def _heads_bans(heading: str, default: str) -> bool:
    return language(guess(heading, plain_words(heading), default)).heads_bans(tokens(heading))


def _is_ban(heading: str, default: str) -> bool:
    """Return True if a heading announces prohibitions, or is a ban that its items complete: "Do not"."""
    short = heading.count(" ") < _BAN_WORDS
    return _heads_bans(heading, default) or (short and _bans(f"{heading}:", default))


@lru_cache(maxsize=_REMEMBERED)
def _bans(lead: str, name: str) -> bool:
    """Return True if a lead-in forbids what follows: "Please don't:" and "push"."""
    completed = f"{lead[:-1]} {_COMPLETION}"
    hits = language(name).hits(completed, tokens(completed))
    # "Don't touch anything else: here is what to change:" is completed by its first colon.
    return any(
        hit.cue in _BANS and ":" not in completed[hit.end :] and len(completed) - hit.end <= _BAN_REACH
        for hit in hits
    )


def _is_title(text: str) -> bool:
    """Return True if every word of a line is capitalised and no punctuation ends it: "Exit Immediately"."""
    return text.istitle() and text[-1].isalnum()
