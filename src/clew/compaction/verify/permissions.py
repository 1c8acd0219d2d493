"""Whether a text, if the next assistant believed it, would allow something or end a rule of the user.

A digest that says "the user approved the push" undoes the rule "never push". So no claim may give permission
unless it quotes a whole sentence of a speaker (``grounding.py``). Three ways are recognised: the words of a
grant ("has the user's go-ahead"), a sentence that the rule finder reads as one, and a text that mentions what
a rule forbids without forbidding it ("push to main").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from clew.compaction.plan import RuleQuote
from clew.compaction.verify.assertions import FEWEST_WORDS, content, occurs, things
from clew.compaction.verify.reversals import NEGATION
from clew.compaction.verify.wording import plain
from clew.message import Role, Trust, text_message
from clew.rules import Rule, find_candidates, retire
from clew.rules.active import ActiveRules
from clew.rules.find import rule_sentences

_PERSON = (
    r"(?:users?|customers?|humans?|maintainers?|owners?|boss|managers?|stakeholders?|reviewers?|clients?|"
    r"operators?|benutzer\w*|nutzer\w*|kunde\w*|utilisateurs?|usuarios?|utenti?|käyttäjä)"
)
_ADVERB = (
    r"(?:(?:has|have|had|did|does|now|also|just|already|then|later|since|finally|here\w*|\w+ly)\s+){0,3}"
)
_GRANT = (
    r"(?:allow\w*|permit\w*|approv\w*|authori[sz]\w*|grant\w*|agree\w*|consent\w*|okay\w*|ok'?d|lift\w*|waiv\w*|"
    r"revok\w*|sign(?:s|ed)\s+off|green-?\s?lit|green-?\s?light\w*|cleared|erlaubt\w*|genehmigt\w*|autoris\w*)"
)
_LEAVE = (
    r"(?:approval|permission|consent|blessing|go-?ahead|authori[sz]ation|sign-?off|leave\s+to|green\s+light)"
)
_RULE = r"(?:restrictions?|prohibitions?|bans?|rules?|embargo|guardrails?|safeguards?|constraints?|freeze)"
_GRANTS = re.compile(
    rf"\b{_PERSON}\s+{_ADVERB}{_GRANT}\b"
    rf"|\b(?:with|has|have|had|got|gave|given|received|obtained|granted)\s+(?:\S+\s+){{0,3}}?{_LEAVE}\b"
    rf"|\b{_LEAVE}\s+(?:\S+\s+){{0,3}}?(?:was|is|has\s+been|were|are)\s+(?:now\s+)?(?:given|granted|obtained|there)\b"
    rf"|\b{_RULE}\s+(?:\S+\s+){{0,4}}?(?:gone|lifted|waived|void|suspended|relaxed|revoked|over|ended|expired|obsolete|no\s+longer)\b"
    rf"|\b(?:lifted|waived|suspended|relaxed|revoked)\s+(?:the|all|every|any)\s+(?:\S+\s+)?{_RULE}\b"
    r"|\bas\s+(?:agreed|approved|permitted|authori[sz]ed)\b"
    r"|\bno\s+longer\s+(?:forbidden|blocked|banned|prohibited|restricted|off[- ]limits)\b"
    r"|\b(?:is|are)\s+(?:now\s+)?(?:fine|ok|okay|alright|safe|free|permitted|allowed)\s+to\b",
    re.IGNORECASE,
)
_AGREED = re.compile(
    r"\b(?:approved|approval|authori[sz]ed|authori[sz]ation|permission|consent\w*|agreed|go-ahead|signed\s+off)\b",
    re.IGNORECASE,
)
"""Words of agreement: a summariser may not add any."""
_MAY = re.compile(
    r"\b(?:may|can|fine|ok|okay|allow\w*|permit\w*|free|safe|approv\w*|agree\w*|authori[sz]\w*|acceptable|"
    r"welcome|cleared|grant\w*|erlaubt|darf|dürfen|peut|puede|può|permis|permitido)\b"
    r"|可以|允许|できる|허용|можно|разреш",
    re.IGNORECASE,
)
"""Words that allow what they are about."""
_NOT_BARRED = re.compile(
    r"\b(?:not|never|no longer|isn't|wasn't|aren't|weren't|nothing)\s+(?:\w+\s+)?"
    r"(?:blocked|forbidden|banned|prohibited|restricted|refused|off[- ]limits|a problem|wrong)\b"
    r"|\bno\s+(?:problem|restrictions?|rules?|ban|objections?|reason)\b",
    re.IGNORECASE,
)
"""Words that deny a ban: "not forbidden", "no problem"."""
_RESTRAINT = re.compile(
    r"\b(?:only|requir\w*|needs?|before|until|unless|ask\w*|block\w*|bann\w*|ban|protect\w*|refus\w*|reject\w*|"
    r"untouched|alone|disallow\w*|prevent\w*|a?wait\w*|pending|instead)\b",
    re.IGNORECASE,
)
"""Words with which a text that mentions something forbidden still respects the rule."""
_RULE_CLAUSE = re.compile(
    r"[.!?…;,:]\s|[。！？；，\n]|\b(?:and|but|und|aber|et|mais|y|pero)\b", re.IGNORECASE
)
_POLITE = ("pleas", "bitte")
"""Stems in a rule that say nothing about what it forbids."""
_ALLOWING = ("allow", "permi", "ok", "fine")
"""Stems that a text may negate instead of what is banned: "not allowed to push"."""
_FEWEST_OF_RULE = 2
"""Words that say what a rule forbids; one alone ("stop") forbids nothing in particular."""
_REMEMBERED, _PASSES = 1_024, 8
"""Rules, and lists of rules, of which the parsed form is kept between calls."""


def gives_permission(text: str, pins: Sequence[RuleQuote]) -> bool:
    """Whether a text, if believed, would allow something or end one of the rules."""
    if _GRANTS.search(text):
        return True
    if rule_sentences(text, Trust.USER) and (_permits(text) or _would_retire(text, pins)):
        return True
    return _undoes_any(text, pins)


def agreement_words(text: str) -> list[str]:
    """Return the words of agreement in a text."""
    return _AGREED.findall(text)


def _permits(text: str) -> bool:
    cues = {hit.cue for _, evidence in rule_sentences(text, Trust.USER) for hit in evidence.hits}
    return not cues.isdisjoint(("permit", "lift_that"))


def _would_retire(text: str, pins: Iterable[RuleQuote]) -> bool:
    active = _active(tuple([pin.quote for pin in pins]))
    return bool(active and retire(active, text_message(Role.USER, text)))


@lru_cache(maxsize=_PASSES)
def _active(quotes: tuple[str, ...]) -> ActiveRules:
    """Return the rules of a pass, parsed once, to compare every permission with them."""
    return ActiveRules(rule for quote in quotes for rule in _rules(quote))


@lru_cache(maxsize=_REMEMBERED)
def _rules(quote: str) -> tuple[Rule, ...]:
    return tuple(
        replace(candidate, id=candidate.quote)
        for candidate in find_candidates(text_message(Role.USER, quote))
    )


@lru_cache(maxsize=_REMEMBERED)
def _bans(quote: str) -> tuple[tuple[str, ...], ...]:
    """Return what a rule forbids: the content words of each negated clause."""
    clauses = (clause for clause in _RULE_CLAUSE.split(quote) if NEGATION.search(clause))
    banned = (
        tuple(word for word in things(NEGATION.sub(" ", clause)) if word not in _POLITE) for clause in clauses
    )
    return tuple(words for words in banned if len(words) >= _FEWEST_OF_RULE)


def _undoes_any(text: str, pins: Iterable[RuleQuote]) -> bool:
    """Whether a text mentions what one of the rules forbids, without forbidding it."""
    line = plain(text)
    return any(_undoes(line, banned) for pin in pins for banned in _bans(pin.quote))


def _undoes(text: str, banned: Sequence[str]) -> bool:
    """Whether a text mentions what is banned, by its words, without forbidding it."""
    if not occurs(banned[0], text):
        return False
    if all(occurs(word, text) for word in banned):
        return _NOT_BARRED.search(text) is not None or not (_RESTRAINT.search(text) or _forbids(text, banned))
    # "OK to push": the rule's words about place and time may be missing.
    if not _MAY.search(text) or len(content(text)) > FEWEST_WORDS:
        return False
    return not (_RESTRAINT.search(text) or _forbids(text, banned))


def _forbids(text: str, banned: Sequence[str]) -> bool:
    """Whether a text negates what is banned, or permission for it."""
    for negation in NEGATION.finditer(text):
        after = things(re.split(r"[.!?…;:,]\s", text[negation.end() :])[0])[:_FEWEST_OF_RULE]
        if not after or not {*after}.isdisjoint((*banned, *_ALLOWING)):
            return True
    return False
