"""Decisions and their reasons, quoted from the speaker who made them.

Precision before recall: a sentence counts if it says that something is chosen, not if it merely acts. A
sentence that the rule finder classifies as a choice about this work, not a standing rule, is a decision too;
a later choice on the same subject replaces it. Text of tools, plans and machines is never a decision.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from clew.ledger.exchange import Reading
from clew.ledger.phrases import Phrases, sentences_with
from clew.ledger.questions import last_questions
from clew.ledger.stems import stems
from clew.message import Cite, Message, Role, Text, Trust
from clew.message.patterns import AnyCasePattern, lazy_pattern
from clew.rules.active import ActiveRules
from clew.rules.find import candidates_in
from clew.rules.findings import overlapping
from clew.rules.prefilter import may_state_rule
from clew.rules.retire import retire
from clew.rules.rule import Force, Rule, RuleRef
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


class Offer(NamedTuple):
    """An option that the model offered, or its question that names several."""

    label: str
    """A letter or number; empty for a question."""
    text: str
    source: Cite


_OPTION = lazy_pattern(
    r"^[ \t]*(?:[-*][ \t]+)?\**(?:option[ \t]+|approach[ \t]+)?\(?([A-Da-d]|\d{1,2})\**[.):]\**[ \t]+"
    r"(\S[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_LAST_WORDS = 1_500
"""Characters at the end of the model's text that may offer a choice..."""
_LONGEST_ANSWER = 160
"""...and of an answer that only chooses; both by hand."""
_ORDINALS = {"first": 0, "former": 0, "second": 1, "third": 2, "fourth": 3, "last": -1, "latter": -1}
_CHOOSES = lazy_pattern(
    r"\W*(?:(?:ok|okay|yes|yeah|yep|sure|hmm|let[’']?s|please|just|so|then|i|we|i[’']d|would|say|go|do|use|take|pick"
    r"|choose|prefer|like|with|for|think)\b\W*)*(?:the\s+)?"
    r"(?:(?P<nth>first|second|third|fourth|last|latter|former)(?:\s+(?:one|option|approach|choice|way|variant))?"
    r"|(?:option|number|variant|approach|choice)\s*\#?(?P<label>[a-d]|\d{1,2})|(?P<bare>[a-d]|\d{1,2}))"
    r"(?=\W*(?:\Z|[.,;!\n]|(?:then|please|and|but|sounds?|it\s+is|looks?|is\s+fine|works?)\b))",
    re.IGNORECASE,
)
_COURTESY = lazy_pattern(
    r"\b(?:please|thanks?|ok|okay|yes|yeah|sure|then|use|prefer|rather|let[’']?s)\b", re.IGNORECASE
)
_OR = lazy_pattern(r"\bor\b", re.IGNORECASE)


def offers_in(utterance: Utterance) -> list[Offer]:
    """Return the options that a text of the model ends with: a list, or a question with "or"."""
    text = utterance.text.rstrip()
    asks = last_questions(utterance)
    if not asks or len(text) - asks[0][0] > _LAST_WORDS:
        return []
    options = [
        Offer(match[1].casefold(), match[2].strip(" *"), utterance.cite(*match.span(2)))
        for match in _OPTION.finditer(text, max(0, asks[0][0] - _LAST_WORDS))
    ]
    if len(options) > 1:
        return options
    question = next((span for span in asks if _OR.search(text, *span)), None)
    return [Offer("", text[slice(*question)], utterance.cite(*question))] if question else []


def chosen_of(answer: str, offers: Sequence[Offer]) -> Offer | None:
    """Return the option that a short answer of the user chooses; None if it does something else."""
    if not offers or len(answer) > _LONGEST_ANSWER or answer.rstrip().endswith("?"):
        return None
    question = offers[0] if not offers[0].label else None
    match = _CHOOSES.match(answer)
    if match is None:
        said = stems(_COURTESY.sub(" ", answer))
        named = question is not None and bool(said) and said < stems(question.text)
        return question if named else None
    if question is not None:
        return question if match["nth"] else None
    if match["nth"]:
        place = _ORDINALS[match["nth"].casefold()]
        return offers[place] if place < len(offers) else None
    label = (match["label"] or match["bare"]).casefold()
    return next((offer for offer in offers if offer.label == label), None)


_CHOOSE = (
    r"(?:use|go\s+with|stick\s+(?:with|to)|switch\s+(?:over\s+)?to|opt\s+for|settle\s+on|keep(?!\s+going)|adopt"
    r"|move\s+to|(?:do|take)\s+option|drop|skip|avoid|leave|defer|start\s+with|base\s+(?:it|this)\s+on"
    r"|(?:make|call|name|put)\s+it)"
)
_CORRECTION = r"""
    ^\W*(?:correction|korrektur|correcci[oó]n|rectification|correzione|correção)\b\W+\S
  | \bi\s+(?:actually\s+)?meant\s+\S
  | \b(?:is|are|should\s+be|must\s+be)\s+(?:now\s+)?[^.!?,;\n]{1,60},\s+(?:and\s+)?not\s+\S
  | \b(?:has|have|was|were)?\s*(?:moved|renamed|changed|switched)\s+(?:from\s+\S+\s+)?to\s+\S
"""
"""A correction or a change of fact: it overrides what was said before."""
_ANNOUNCED = r"""
    (?:^[\s*_\#•\-\d.)]*
      |(?<=[.!?]\s)|(?<!said)(?<!says)(?<!wrote)(?<!me)[,;)–—]\s+
      |^\W*(?:update|note|fyi|heads[\s-]?up|reminder|background|context)\W+(?:that\s+)?
      |\b(?:and|but|so|because|since|ok|okay|yes|actually|also|now|then|today|yesterday|finally
         |meeting|call|review|discussion|the\s+end)\s+)
    (?:i|we)(?:[’']ve|\s+have)?\s+(?:now\s+|also\s+|already\s+|finally\s+|just\s+|both\s+|all\s+)?
    (?:(?:decided|agreed)(?:\s+(?:today|yesterday|together|earlier))?\s+
        (?:that|on|upon|against|in\s+favou?r\s+of
          |(?:not\s+)?to(?!\s+(?:look|try|check|see|test|read|ask|open|run|dig|take|investigate|disagree)\b))\s+\S
      |settled\s+(?:on|for)\s+\S
      |(?:chose|chosen|picked|opted\s+for)\s+[^.!?\n]{1,80}?\s(?:over|instead\s+of|rather\s+than)\s+\S)
  | ^[\s*_\#•\-\d.)]*(?:final\s+|design\s+|our\s+|the\s+)?(?:decision|decided)\s*[*_]*:[*_]*\s+\S
  | ^[\s*_\#•\-\d.)]*it\s+(?:was|is|has\s+been)\s+(?:decided|agreed)\s+(?:that|to)\s+\S
"""
"""An announcement of the speaker's decision: "we decided that", not "what we decided" or "they decided"."""
_PLAIN = r"""
    \bwe(?:[’']ll|\s+will|[’']re\s+going\s+to|\s+are\s+going\s+to)\s+(?:just\s+|only\s+)?
    (?:store|host|ship|deploy|target|support|put|(?:build|write|run)\s+(?:it|this|that))
    \s+(?!up\b|together\b)\S
  | ^[\W\d]*(?:ok\w*\W+|so\W+|yes\W+|no\W+)?we(?:[’']re|\s+are)\s+
    (?:using|keeping|dropping|going\s+with|sticking\s+(?:with|to)|staying\s+(?:on|with))\s+\S
  | ^[\W\d]*(?:ok\w*\W+|so\W+|yes\W+|no\W+)?we\s+(?:use|keep|support|target|store|drop)\s+\S
  | ^\W*(?:the\s+|our\s+)?(?:team|client|customer|management|product|board)\s+(?:has\s+|have\s+)?
    (?:decided|agreed|chose|settled)\s+(?:to|on|that|against|for)\s+\S
  | ^\W*(?:please\s+|ok\w*\W+)?use\s+[^.!?,;\n]{1,60},\s+not\s+\S
"""
"""A plain statement of what is chosen: "We'll store it in Postgres.", "we keep the old API"."""
_BY_USER = AnyCasePattern(
    rf"""
    \blet[’']?s\s+(?:not\s+|just\s+|actually\s+|instead\s+)?
    (?:{_CHOOSE}\b|not\s+(?!worry)|merge|rename|remove|make|do\s+(?:it\s+in|option|an?\b|\d))
  | (?:^|\blet[’']?s\s+|\b(?:we|i)(?:[’']?ll|\s+should|\s+can)?\s+|,\s*
      |\b(?:yes|yeah|ok|okay|please|just|so|and)\s+)
    go(?:ing)?\s+with\s+\S
  | \b(?:i|we)(?:[’']d|\s+would)?\s+
    (?:prefer|like|choose|chose|pick|picked|decided|opted|want\s+to\s+(?:use|go\s+with|keep))\s+
    (?!to\s+know|you\s+to)
    (?:option|the\s+(?:first|second|third|last|idea)|\w+ing\b|\#?\d|to\s+(?:use|go|keep|have)|approach)
  | {_ANNOUNCED}
  | \bwe[’']?(?:ll|\s+will)\s+{_CHOOSE}\b
  | ^\s*(?:\d+[.)]\s*)?(?:option|approach|variant|choice)\s*\#?\s*(?:\d+|[a-d])\b
  | \b(?:do|take|use|pick|choose|prefer)\s+
    (?:option|approach|variant|number|the\s+(?:first|second|third|last)\s+(?:one|option|approach))\b
  | \buse\s+\S.{{1,60}}?\s+(?:instead\s+of|rather\s+than|over)\s
  | \binstead\s+of\s+.{{2,80}},?\s+(?:use|let[’']?s|do|we|call|make|put)\b
  | \brather\s+than\s+.{{2,80}},\s+(?:use|let[’']?s|do|we)\b
  | {_CORRECTION}
  | {_PLAIN}
    """,
    re.VERBOSE | re.MULTILINE,
)
_BY_ASSISTANT = AnyCasePattern(
    rf"""
    \b(?:
      (?:i|we)(?:[’']ve|\s+have)?\s+(?:decided|chose|chosen|opted|settled|picked|went\s+with)\b
      (?!\s+(?:if|whether))
    | (?:i[’']ll|i\s+will|we[’']ll|let[’']?s|i[’']m\s+going\s+to|i[’']m)\s+(?:\w+ly\s+)?
      (?:{_CHOOSE}|using|keeping|choosing|avoiding|skipping)\b
      [^.\n]{{3,240}}?
      \b(?:instead\s+of|rather\s+than|because|since|so\s+that|so\s+(?:we|it|the)\b|to\s+avoid|over\s+the)\b
    | going\s+with\s+(?:option|approach|the)\b
    | the\s+(?:best|right|simplest|cleanest|safest|better|correct|proper)\s+
      (?:approach|option|fix|choice|solution|design|place)\s+(?:here\s+)?
      is\s+(?:probably\s+)?to\s+(?=[^\n]{{15}})
    )
  | ^\W*(?:decision|design\s+decision|chosen\s+approach)\W*:\s*\S
    """,
    re.VERBOSE | re.MULTILINE,
)
_REASON = lazy_pattern(
    r"\b(?:because|since|so that|as it|as this|in order to|to avoid|otherwise|that way|due to|given that"
    r"|so (?:we|it|the|that))\b.*",
    re.IGNORECASE | re.DOTALL,
)
_NOT_YET = lazy_pattern(
    r"\?\s*$|^(?:if|when|should|would|could|do|does|can|what|how|why)\b"
    r"|\bor\s+(?:should|do|would)\s+(?:i|we)\b|\bif you(?:[’']d)? (?:prefer|want|like)",
    re.IGNORECASE,
)


def _alternatives(text: str) -> tuple[str, ...]:
    return tuple(text.split("|"))


_SIGNS_OF_USER = _alternatives(
    "et's|et’s|lets |o with |oing with|ption|nstead|ather than|prefer|choose|chose|pick|pproach"
    "|ecided|ecision|greed|ettled|pted for"
    "|e're |e’re |e are |e use |e keep |e support |e target |e store |e drop "
    "|'ll |’ll |we will| like |variant|choice|he first|he last| over "
    "|orrection|orrektur|orrecci|ectification|orrezione|orreção| meant |, not |, and not |ed to |ed from "
)
_SIGNS_OF_ASSISTANT = _alternatives(
    "decided|chose|opted|settled|picked|went with|ecision|oing with|nstead of|ather than|ecause"
    "|since|so that|so we|so it|so the|to avoid|over the| is to |bably to |pproach:"
)
"""Substrings of which every decision of that speaker contains at least one, as a prefilter."""
_VERBS = (
    "use go stick switch opt settle keep adopt move do take drop skip avoid leave defer start base make call"
    " name put"
)
_PLAIN_VERBS = (
    "store host ship deploy target support build write put run using keeping dropping going sticking staying"
)
_PHRASES_OF_USER = Phrases(
    ("let lets",),
    ("go going", "with"),
    ("prefer like choose chose pick picked decided opted want", "i we"),
    ("decided decision agreed settled chosen",),
    ("we well", f"{_VERBS} {_PLAIN_VERBS}"),
    ("team client customer management product board", "decided agreed chose settled"),
    ("use", "not"),
    ("option approach variant choice",),
    ("number first second third last", "do take use pick choose prefer"),
    ("over", "use"),
    ("instead rather",),
    ("correction korrektur correcci rectification correzione corre",),
    ("meant", "i"),
    ("moved renamed changed switched", "to"),
    ("not", "is are be"),
)
_PHRASES_OF_ASSISTANT = Phrases(
    ("decided chose chosen opted settled picked went decision going",),
    (
        "instead rather because since so avoid over",
        "ll will let lets m",
        f"{_VERBS} using keeping choosing avoiding skipping",
    ),
    (
        "best right simplest cleanest safest better correct proper",
        "approach option fix choice solution design place",
    ),
)
"""Words that every decision of that speaker needs; the signs alone let too many texts through."""
_SHORTEST = 10


def decisions_in(utterance: Utterance) -> list[tuple[int, int]]:
    """Return the spans of a speaker's sentences that make a decision."""
    text = utterance.text
    if utterance.speaker is USER:
        phrases, signs, pattern = _PHRASES_OF_USER, _SIGNS_OF_USER, _BY_USER
    else:
        phrases, signs, pattern = _PHRASES_OF_ASSISTANT, _SIGNS_OF_ASSISTANT, _BY_ASSISTANT
    if not phrases.may_match(text):
        return []
    return [
        (start, end)
        for start, end in sentences_with(pattern, signs, text)
        if end - start >= _SHORTEST and not _NOT_YET.search(text[start:end])
    ]


_LONGEST = 300
"""Characters of a choice (chosen by hand); a longer sentence is about other things too."""


def choices_in(utterance: Utterance) -> Iterator[Rule]:
    """Yield the user's sentences that choose something for this work without being standing rules."""
    if utterance.speaker is USER and may_state_rule(utterance.text):
        for rule in candidates_in(utterance.text, utterance.trust):
            if rule.force is Force.DECISION and len(rule.quote) <= _LONGEST:
                yield rule


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
        for utterance in reading.said:
            if utterance.speaker is PLAN:
                continue
            if utterance.speaker is USER and self.made:
                self._take_back(utterance.text)
            if utterance.speaker is not USER:
                self.offers = offers_in(utterance)
            elif self._answer(utterance):
                continue
            places = decisions_in(utterance)
            for start, end in places:
                self._note(utterance, start, end)
            self._choose(utterance, places)

    def judge(self, decided: Iterable[RuleRef]) -> None:
        """Add sentences of the user that a model calls decisions, unless they are known or were replaced."""
        new = [one for one in decided if one.source and len(one.quote) <= _LONGEST]
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

    def _answer(self, utterance: Utterance) -> bool:
        """Record an answer that chooses from what the model offered, with the option's words."""
        offers, self.offers = self.offers, []
        offer = chosen_of(utterance.text, offers)
        if offer is None:
            return False
        start = len(utterance.text) - len(utterance.text.lstrip())
        quote = utterance.text.strip()
        self.made[f"{quote.casefold()} {offer.source.message}"] = Decision(
            id=f"c{len(self.made) + 1}",
            by=DecidedBy.USER,
            quote=quote,
            source=utterance.cite(start, start + len(quote)),
            trust=utterance.trust,
            chosen=offer.text[:_LONGEST],
            offered=offer.source,
        )
        return True

    def _take_back(self, text: str) -> None:
        """Mark the user's decisions that a change of mind is about: "thinking again: remove the command"."""
        match = _CHANGED_MIND.search(text, 0, _LONGEST)
        if match is None:
            return
        start = _sentence_start(text, match.start(), 0)
        quote = text[start : start + _LONGEST].split("\n", maxsplit=1)[0].strip()
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
            start = _sentence_start(utterance.text, start, end - _LONGEST)
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


_CHANGED_MIND = lazy_pattern(
    r"\b(?:thinking again|on second thoughts?|changed (?:my|our) minds?|scrap (?:that|the)|never ?mind)\b"
    r"|^\W*(?:ok\w*\W+|no\W+|hmm+\W+)?actually\b",
    re.IGNORECASE,
)
_SUBJECT_WORD = lazy_pattern(r"(?!(?:let|make|with|that|this|should|would|have|just|then|also|into)\b)\w{3,}")
_SAME_SUBJECT = 0.4
"""Share of a decision's words from which another sentence is about the same; chosen by hand."""


def _subject_words(text: str) -> frozenset[str]:
    """Return the words of a text that may say what it is about."""
    return frozenset(_SUBJECT_WORD.findall(text.lower()))


_GOES_ON = lazy_pattern(r"(?:and|but|or|then|so|which|that)\b", re.IGNORECASE)
"""The beginning of a clause that says little without the one before it."""
_STOP = lazy_pattern(r"[.!?:;](?=\s)|\n")


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
