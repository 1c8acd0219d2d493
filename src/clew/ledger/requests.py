"""Decide whether the user's words ask for anything; rules, facts and hook output alone do not."""

from __future__ import annotations

import re

from clew.message import Message, Role, Text, Trust
from clew.rules.find import find_candidates
from clew.rules.sentences import Sentence, sentences
from clew.rules.sift import CHUNKS, marks
from clew.rules.silence import may_state_rule
from clew.rules.values import Found, Kind

_LONGEST = 600
"""Characters above which a text always counts as a request; chosen by hand."""
_RULES = frozenset((Kind.PROHIBITION, Kind.LIMIT, Kind.PREFERENCE, Kind.PERMISSION))
_LASTING = frozenset(("always", "always_do", "lasting", "policy", "policy_ban"))
_ASKS = frozenset(("task", "request", "can_you", "asked"))
_FACT_VERBS = (
    *("is", "are", "has", "have", "use", "uses", "live", "lives", "run", "runs"),
    *("belong", "belongs", "contain", "contains", "stand", "stands"),
)
_FACT = re.compile(
    r"(?:fyi\W+)?(?:the|our|my|its?|this|these|we|they)\b[^?:]{0,120}?"
    rf"\b(?:{'|'.join(_FACT_VERBS)})\b(?!\s+to\b)[^?:]*",
    re.IGNORECASE,
)
_FACT_MARK = CHUNKS.mark_words(_FACT_VERBS)
_TROUBLE = re.compile(
    r"\b(?:fail\w*|errors?|bugs?|broken|breaks?|crash\w*|wrong\w*|slow\w*|missing|should|needs?|wants?|must|not|no"
    r"|typos?|mistakes?|issues?|problems?|outdated|old|stale|flaky|red|open|left|late|too|still|todos?)\b"
    r"|n[’']t\b",
    re.IGNORECASE,
)
"""Words that turn a stated fact into a problem report, which asks for a fix."""
_OF_A_HOOK = re.compile(
    r"\W*(?:(?:\w+\W+){0,3}(?:stopped|blocked|denied|rejected)\ by\ (?:(?:an?|the)\ )?(?:\w+\ )?hook\b"
    r"|(?:\w+\ ){0,2}hook\ (?:feedback|warning|error|message|output|says|returned)\b)",
    re.IGNORECASE,
)
_WANTS = re.compile(
    r"\?|\b(?:can|could|would)\ (?:you|we)\b|\b(?:please|help|fix|explain|why|how)\b"
    r"|\bi\ (?:want|need|get|got)\b",
    re.IGNORECASE,
)


def asks_for_nothing(text: str) -> bool:
    """Return True if the text only states rules (with or without facts), or is the output of a hook."""
    if _OF_A_HOOK.match(text):
        return _WANTS.search(text) is None
    return only_tells(text) and bool(find_candidates(_spoken(text)))


def only_tells(text: str) -> bool:
    """Return True if the text contains nothing but rules and facts."""
    if len(text) > _LONGEST:
        return False
    found = {one.span.start: one for one in find_candidates(_spoken(text))} if may_state_rule(text) else {}
    if not found and not marks(text) & _FACT_MARK:
        return False
    said = list(sentences(text))
    return bool(said) and all(_asks_nothing(sentence, found) for sentence in said)


def _spoken(text: str) -> Message:
    return Message(Role.USER, (Text(text, trust=Trust.USER),))


def _asks_nothing(sentence: Sentence, found: dict[int, Found]) -> bool:
    """Return True if a sentence is a rule (in each of its clauses) or states a fact."""
    rules = [one for start, one in found.items() if sentence.start <= start < sentence.end]
    if rules:
        told = sum(len(one.quote) for one in rules)
        return all(map(_only_binds, rules)) and told * 2 > len(sentence.text)
    return _FACT.fullmatch(sentence.text) is not None and not _TROUBLE.search(sentence.text)


def _only_binds(rule: Found) -> bool:
    cues = {reason.cue for reason in rule.reasons}
    asks = [reason.words.lower() for reason in rule.reasons if reason.cue in _ASKS]
    return (rule.kind in _RULES or not cues.isdisjoint(_LASTING)) and set(asks) <= {"do"}
