"""Collect the evidence for and against a sentence being a rule: the cues that fire in it and around it.

In: a sentence and where it is in its text. Out: ``Evidence``, or None if nothing in it could state or end a
rule. "Never push to main" under "Rules:" has the cues ``ban`` ("never push") and ``rule_heading``.
``find.py`` adds up their weights, ``force.py`` decides by their names how far the sentence reaches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from clew.rules.cues import Hit, Language
from clew.rules.languages import ENGLISH, guess, language
from clew.rules.prefilter import COMPLETION, may_match
from clew.rules.rule import BAN_LEAD
from clew.rules.sentences import Sentence
from clew.rules.shapes import OPENING, ORDERS, shapes
from clew.rules.words import Token, plain_words, tokens, words_again
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
_BAN_WORDS = 2
"""Spaces in a short heading that its items complete."""
_BAN_REACH = 60
"""Characters after a ban in which a lead-in ends: "don't fix it, but sort by the columns …:" asks more."""


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
    if spaced and not (over or surroundings.briefing or may_match(name, plain, frozenset(plain))):
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
    completed = f"{lead[:-1]} {COMPLETION}"
    hits = language(name).hits(completed, tokens(completed))
    # "Don't touch anything else: here is what to change:" is completed by its first colon.
    return any(
        hit.cue in _BANS and ":" not in completed[hit.end :] and len(completed) - hit.end <= _BAN_REACH
        for hit in hits
    )


def _is_title(text: str) -> bool:
    """Return True if every word of a line is capitalised and no punctuation ends it: "Exit Immediately"."""
    return text.istitle() and text[-1].isalnum()
