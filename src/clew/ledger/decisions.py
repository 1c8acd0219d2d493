"""Decisions and their reasons, quoted from the speaker who made them.

"Let's use Postgres because we know it." becomes a ``Decision`` by the user with its reason. Which sentences
make one is decided in ``decision_phrases``, and by the rule finder for choices about this work that are no
standing rules; a short answer to offered options, or in the form of a tool, is read in ``offers``. A later
choice on the same subject replaces an earlier one. Other text of tools, plans and machines is no decision.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from clew.ledger.decision_phrases import LONGEST_CHOICE, choices_in, decisions_in
from clew.ledger.exchange import Reading
from clew.ledger.offers import Offer, answers_in, chosen_of, offers_in
from clew.message import Cite, Message, Role, Text, Trust
from clew.message.text import lazy_pattern
from clew.rules.active import ActiveRules
from clew.rules.find import candidates_in
from clew.rules.findings import overlapping
from clew.rules.prefilter import may_state_rule
from clew.rules.retire import retire
from clew.rules.rule import Rule, RuleRef
from clew.rules.speech import PLAN, USER, Utterance


class DecidedBy(StrEnum):
    """Who decided."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Decision:
    """A choice made by the user or the model."""

    id: str
    by: DecidedBy
    quote: str
    source: Cite
    trust: Trust
    reason: str = ""
    """The part of the quote that gives the reason; empty if none was given."""
    replaced_by: str = ""
    """The words of a later choice on the same subject."""
    chosen: str = ""
    """If the user answered a choice that the model offered: the option's words, or else the question."""
    offered: Cite | None = None
    """Where the model offered it."""


def _message(utterance: Utterance) -> Message:
    return Message(Role.USER, (Text(utterance.text, trust=utterance.trust),))


@dataclass(slots=True)
class Decisions:
    """The decisions, in order."""

    made: dict[str, Decision] = field(default_factory=dict)
    """By casefolded quote, so that a repeated decision is kept once."""
    offers: list[Offer] = field(default_factory=list)
    """The options that the model's last text offers; the user's next words may choose one."""
    _choices: ActiveRules | None = field(init=False, default=None)
    """The user's current decisions in the form that ``retire`` compares; built from ``made`` when needed."""

    @property
    def all(self) -> tuple[Decision, ...]:
        """Return every decision, oldest first, including replaced ones."""
        return tuple(self.made.values())

    @property
    def current(self) -> tuple[Decision, ...]:
        """Return the decisions that no later one replaced, oldest first."""
        return tuple(decision for decision in self.made.values() if not decision.replaced_by)

    def add(self, reading: Reading) -> None:
        """Read a message."""
        for exchange in reading.exchanges:
            for answer in answers_in(exchange):
                if len(answer.text) <= LONGEST_CHOICE:
                    self._chose(answer.text, answer.source, Trust.UNTRUSTED, answer.question, exchange.asked)
        for utterance in reading.said:
            if utterance.speaker is not PLAN:
                self._hear(utterance)
        if reading.calls:
            self.offers = []  # the model went on without waiting for an answer

    def _hear(self, utterance: Utterance) -> None:
        """Read a text of the user or the model."""
        if utterance.speaker is USER and self.made:
            self._take_back(utterance.text)
        if utterance.speaker is not USER:
            self.offers = offers_in(utterance)
        elif self._answer(utterance):
            return
        places = decisions_in(utterance)
        for start, end in places:
            self._note(utterance, start, end)
        self._choose(utterance, places)

    def _answer(self, utterance: Utterance) -> bool:
        """Record an answer that chooses from what the model offered, with the option's words."""
        offers, self.offers = self.offers, []
        offer = chosen_of(utterance.text, offers)
        if offer is None:
            return False
        start = len(utterance.text) - len(utterance.text.lstrip())
        quote = utterance.text.strip()
        source = utterance.cite(start, start + len(quote))
        self._chose(quote, source, utterance.trust, offer.text, offer.source)
        return True

    def _chose(self, quote: str, source: Cite, trust: Trust, chosen: str, offered: Cite) -> None:
        """Record an answer with the option or question that it chooses from."""
        self.made[f"{quote.casefold()} {source.message} {source.start}"] = Decision(
            id=f"c{len(self.made) + 1}",
            by=DecidedBy.USER,
            quote=quote,
            source=source,
            trust=trust,
            chosen=chosen[:LONGEST_CHOICE],
            offered=offered,
        )

    def judge(self, decided: Iterable[RuleRef]) -> None:
        """Add sentences of the user that a model calls decisions, unless they are known or were replaced."""
        new = [one for one in decided if one.source and len(one.quote) <= LONGEST_CHOICE]
        for quote, source in new:
            assert source is not None
            own = {key: one for key, one in self.made.items() if one.by is DecidedBy.USER}
            if not overlapping(source, [one.source for one in own.values()]):
                self._choose_between(Decision("", DecidedBy.USER, quote, source, Trust.USER), own)
        if new:
            self.made = dict(sorted(self.made.items(), key=lambda one: _place(one[1])))

    def _choose_between(self, new: Decision, known: Mapping[str, Decision]) -> None:
        """Add a decision; the earlier ones that its words replace end, and it ends by words said since."""
        rule = _as_rule(new)
        for key, one in known.items():
            earlier, later = (one, new) if _place(one) < _place(new) else (new, one)
            if one.replaced_by or new.replaced_by or not _replaces(later, earlier):
                continue
            if one is earlier:
                self.made[key] = replace(one, replaced_by=new.quote)
                if self._choices is not None:
                    self._choices.drop(key)
            else:
                new = replace(new, replaced_by=one.quote)
        if self.made.setdefault(new.quote.casefold(), new) is new:
            self.made[new.quote.casefold()] = replace(new, id=f"c{len(self.made)}")
            if rule and self._choices is not None and not new.replaced_by:
                self._choices.put(rule)

    def _take_back(self, text: str) -> None:
        """Mark the user's decisions that a change of mind is about: "thinking again: remove the command"."""
        match = _CHANGED_MIND.search(text, 0, LONGEST_CHOICE)
        if match is None:
            return
        start = _sentence_start(text, match.start(), 0)
        quote = text[start : start + LONGEST_CHOICE].split("\n", maxsplit=1)[0].strip()
        said = _subject_words(quote)
        for key, decision in list(self.made.items()):
            if decision.by is not DecidedBy.USER or decision.replaced_by:
                continue
            own = _subject_words(decision.quote)
            shared = len(own & said)
            # All of its words: a decision that is confirmed or made more precise.
            if max(2, len(own) * _SAME_SUBJECT) <= shared < len(own):
                self.made[key] = replace(decision, replaced_by=quote)
                if self._choices is not None:
                    self._choices.drop(key)

    def _choose(self, utterance: Utterance, places: list[tuple[int, int]]) -> None:
        """Add the user's choices, and mark those that they replace."""
        if utterance.speaker is not USER or not may_state_rule(utterance.text):
            return
        if self.made and (choices := self._current_choices()):
            for end in retire(choices, _message(utterance)):
                self.made[end.rule] = replace(self.made[end.rule], replaced_by=end.quote)
                choices.drop(end.rule)
        for rule in choices_in(utterance):
            _, start, stop = rule.span
            if not any(begin < stop and start < end for begin, end in places):
                self._note(utterance, start, stop)

    def _current_choices(self) -> ActiveRules:
        """Return the user's current decisions that bind, by their words."""
        if self._choices is None:
            self._choices = ActiveRules(filter(None, map(_as_rule, self.current)))
        return self._choices

    def _note(self, utterance: Utterance, start: int, end: int) -> None:
        """Record a decision, quoted from its sentence, unless the same words were recorded before."""
        if _GOES_ON.match(utterance.text, start):
            start = _sentence_start(utterance.text, start, end - LONGEST_CHOICE)
        quote = utterance.text[start:end]
        if quote.casefold() in self.made:
            return
        reason = _REASON.search(quote)
        self.made[quote.casefold()] = Decision(
            id=f"c{len(self.made) + 1}",
            by=DecidedBy(utterance.speaker.value),
            quote=quote,
            source=utterance.cite(start, end),
            trust=utterance.trust,
            reason=reason[0] if reason else "",
        )
        if self._choices is not None and (choice := _as_rule(self.made[quote.casefold()])):
            self._choices.put(choice)


_SAME_SUBJECT = 0.4
"""Share of a decision's words from which another sentence is about the same; chosen by hand."""


def _subject_words(text: str) -> frozenset[str]:
    """Return the words of a text that may say what it is about."""
    return frozenset(_SUBJECT_WORD.findall(text.lower()))


def _sentence_start(text: str, at: int, earliest: int) -> int:
    """Return where the sentence around a place begins; the place itself if that is before ``earliest``."""
    earliest = max(0, earliest)
    stops = [match.end() for match in _STOP.finditer(text, earliest, at)]
    if not stops and earliest > 0:
        return at
    start = stops[-1] if stops else 0
    return start + len(text[start:at]) - len(text[start:at].lstrip(" \t-*•"))


def _place(decision: Decision) -> tuple[int, int, int]:
    return decision.source.number, decision.source.part, decision.source.start


def _replaces(later: Decision, earlier: Decision) -> bool:
    """Whether the words of a decision end an earlier one."""
    rule = _as_rule(earlier)
    message = Message(Role.USER, (Text(later.quote, trust=later.trust),))
    return rule is not None and any(end.certain for end in retire(ActiveRules([rule]), message))


def _as_rule(decision: Decision) -> Rule | None:
    """Parse a decision of the user again for ``retire``; None if it binds nothing."""
    if decision.by is not DecidedBy.USER:
        return None
    rules = candidates_in(decision.quote, decision.trust)
    return replace(rules[0], id=decision.quote.casefold()) if rules else None


# What the patterns recognise ---------------------------------------------------------------------------

_REASON = lazy_pattern(
    r"\b(?:because|since|so that|as it|as this|in order to|to avoid|otherwise|that way|due to|given that"
    r"|so (?:we|it|the|that))\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""The reason in a decision: "because we know it"."""
_CHANGED_MIND = lazy_pattern(
    r"\b(?:thinking again|on second thoughts?|changed (?:my|our) minds?|scrap (?:that|the)|never ?mind)\b"
    r"|^\W*(?:ok\w*\W+|no\W+|hmm+\W+)?actually\b",
    re.IGNORECASE,
)
"""A change of mind: "thinking again", "actually"."""
_SUBJECT_WORD = lazy_pattern(r"(?!(?:let|make|with|that|this|should|would|have|just|then|also|into)\b)\w{3,}")
"""A word that may say what a sentence is about."""
_GOES_ON = lazy_pattern(r"(?:and|but|or|then|so|which|that)\b", re.IGNORECASE)
"""The beginning of a clause that says little without the one before it."""
_STOP = lazy_pattern(r"[.!?:;](?=\s)|\n")
"""The end of a sentence or line."""
