"""Find the rules, decisions and restricting requests in a message.

In: a message. Out: a ``Rule`` for each binding sentence, with its exact place. ``find`` returns the standing
rules only, which ``Pins`` keeps: of "Looks good. Never push to main." it returns "Never push to main.", a
prohibition about ``push`` and ``main``. The path of a sentence through the room is in README.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from clew.message import Cite, Message, Origin, Text, Trust
from clew.message.text import lazy_pattern
from clew.rules.clauses import (
    borrows,
    joint_of,
    split_exception,
    split_rules,
    with_borrowed_verb,
    withdrawal_index,
    withdraws,
)
from clew.rules.evidence import Evidence, evidence
from clew.rules.force import announces, judge
from clew.rules.own_words import own_sentences
from clew.rules.pasted import LONG
from clew.rules.permission import PERMITS
from clew.rules.prefilter import is_silent
from clew.rules.rule import BAN_LEAD, Force, Kind, Reason, Rule, Strength
from clew.rules.sentences import Sentence
from clew.rules.subject import scope_of
from clew.rules.words import confidence, model

_BOUNDS = ("limit_number", "measure")
_DECISIVE = 4.0
"""Weight from which on a cue determines the kind of a lasting rule; chosen by hand."""
_REMEMBERED = 512
"""Short texts whose result is cached: several trackers ask about each, a block of messages at a time."""
_REMEMBERED_LONG = 16
_TAKEN_BACK = lazy_pattern(
    r"\W*(?:oh |uh |um |hm+ )*(?:wait|actually|hold on|scratch that|on second thought"
    r"|correction)\W+(?:no|nope|never|don['’]t|do not)\b",
    re.IGNORECASE,
)
"""Words that withdraw the sentence before them and say something else."""
FEWEST_IN_LIST, LIST_SHARE, LONGEST_LIST = 3, 0.7, 8_000
"""From how many sentences and what share of its text a message is a list of rules, and how many characters it
has at most: a longer one is a document. Chosen by hand."""


def find(message: Message) -> list[Rule]:
    """Return the standing rules that the speaker of a message states, in order."""
    return [found for found in find_candidates(message) if found.force is Force.STANDING]


def find_candidates(message: Message) -> list[Rule]:
    """Return every binding sentence of a message, in order: rules, decisions and restricting requests.

    Only words that a user, a developer or the system wrote count, never text of tools, files and summaries,
    nor what the speaker pastes, quotes or shows as code.
    """
    if message.origin is not Origin.SPOKEN:
        return []
    found: list[Rule] = []
    for index, part in enumerate(message.parts):
        if isinstance(part, Text) and part.trust >= Trust.USER:
            found.extend(candidates_in(part.text, part.trust, index))
    return found


def candidates_in(text: str, trust: Trust, part: int = 0) -> tuple[Rule, ...]:
    """Return every binding sentence of a speaker's text, which is the part of a message with this index."""
    return (_in_short if len(text) < LONG else _in_text)(text, trust, part)


def _in_text(text: str, trust: Trust, index: int) -> tuple[Rule, ...]:
    spoken = rule_sentences(text, trust)
    found = _judged(spoken, trust, index)
    if _says_only_rules(text, found):
        alone = [(sentence, seen._replace(length=len(sentence.text))) for sentence, seen in spoken]
        return _judged(alone, trust, index)
    return found


def _says_only_rules(text: str, found: Sequence[Rule]) -> bool:
    """Whether a message says little but rules: then each is judged as if it stood alone, however many."""
    rules = [one for one in found if one.force in (Force.STANDING, Force.LIKELY)]
    said = sum(len(one.quote) for one in rules)
    return len(rules) >= FEWEST_IN_LIST and len(text) <= LONGEST_LIST and said >= LIST_SHARE * len(text)


def _judged(spoken: Iterable[tuple[Sentence, Evidence]], trust: Trust, index: int) -> tuple[Rule, ...]:
    found: list[Rule] = []
    for sentence, seen in spoken:
        if found and seen.among_rules and found[-1].quote == sentence.lead:
            found.pop()  # "Please don't:" is part of each item of its list
        one = found_in(sentence, seen, index, trust)
        if one is not None:
            found.append(one)
    return tuple(found)


_in_short = lru_cache(maxsize=_REMEMBERED)(_in_text)


def rule_sentences(text: str, trust: Trust) -> tuple[tuple[Sentence, Evidence], ...]:
    """Return the speaker's own sentences that could state or end a rule, each with its evidence."""
    return _spoken_short(text, trust) if len(text) < LONG else _spoken_long(text, trust)


@lru_cache(maxsize=_REMEMBERED)
def _spoken_short(text: str, trust: Trust) -> tuple[tuple[Sentence, Evidence], ...]:
    return () if is_silent(text) else tuple(binding_sentences(text, trust))


@lru_cache(maxsize=_REMEMBERED_LONG)
def _spoken_long(text: str, trust: Trust) -> tuple[tuple[Sentence, Evidence], ...]:
    return tuple(binding_sentences(text, trust))


def binding_sentences(text: str, trust: Trust) -> Iterator[tuple[Sentence, Evidence]]:
    """Yield what ``rule_sentences`` returns, by parsing the text sentence by sentence."""
    pending: list[tuple[Sentence, Evidence]] = []
    for sentence, around in own_sentences(text, trust):
        seen = evidence(sentence, around)
        if pending and (joint := joint_of(text, pending[-1][0], sentence)):
            if withdraws(sentence) and not _drops_earlier_rule(sentence.text, pending[-1][1]):
                pending = []  # "Don't push. Wait, no."
                continue
            if _TAKEN_BACK.match(sentence.text):
                pending = []  # "You can edit legacy/. Wait no, never modify it."
            if ";" in joint and borrows(sentence, *pending[-1]):
                seen = with_borrowed_verb(sentence, seen)
        yield from pending
        pending = []
        if seen is not None and (not around.document or seen.among_rules):
            # A sentence that withdraws itself states nothing: "ignore the rule, wait no, keep it".
            apart = split_exception(sentence, seen, around) or split_rules(sentence, seen, around)
            pending = [
                one
                for one in apart
                if not withdrawal_index(one[1].words) or _drops_earlier_rule(one[0].text, one[1])
            ]
    yield from pending


def _drops_earlier_rule(text: str, permission: Evidence) -> bool:
    """Return True if "forget that rule" after a permission means an earlier rule, not the permission."""
    return _FORGET_RULE.search(text) is not None and any(hit.cue in PERMITS for hit in permission.hits)


_FORGET_RULE = lazy_pattern(
    r"\b(?:forget|scratch|drop|ignore|never ?mind)\s+(?:about\s+)?(?:that|the|this|my)\s+(?:\w+\s+)?"
    r"(?:rules?|restriction|ban|limit|constraint)\b",
    re.IGNORECASE,
)


def found_in(sentence: Sentence, seen: Evidence, part: int, trust: Trust) -> Rule | None:
    """Return the rule that a sentence states; None if its cues do not reach the threshold."""
    if not model().is_rule({hit.cue for hit in seen.hits}) and not announces(sentence.text, seen):
        return None
    return read_rule(sentence, seen, part, trust)


def read_rule(sentence: Sentence, seen: Evidence, part: int, trust: Trust) -> Rule:
    """Return a sentence read as a rule: kind, scope, strength, force and reasons."""
    fired = {hit.cue for hit in seen.hits}
    reasons = _reasons(sentence.text, seen)
    kind, strength = _kind(reasons, seen)
    force, why = judge(sentence, seen, kind, trust)
    return Rule(
        quote=sentence.text,
        source=Cite("", part, sentence.start, sentence.end),
        kind=kind,
        scope=scope_of(seen.about(sentence.text), seen.words, seen.hits),
        strength=strength,
        trust=trust,
        confidence=round(confidence(model().score(fired)), 3),
        reasons=reasons,
        lead=sentence.lead or (f"{sentence.heading}:" if BAN_LEAD in fired else ""),
        force=force,
        because=why,
    )


def _reasons(text: str, seen: Evidence) -> tuple[Reason, ...]:
    """Return each cue that fired, once, heaviest first."""
    cues = model().cues
    first: dict[str, Reason] = {}
    for hit in seen.hits:
        first.setdefault(hit.cue, Reason(hit.cue, text[hit.start : hit.end], cues[hit.cue].weight))
    return tuple(sorted(first.values(), key=lambda reason: -abs(reason.weight)))


def _kind(reasons: tuple[Reason, ...], seen: Evidence) -> tuple[Kind, Strength]:
    """Return kind and strength of the heaviest cue that has a kind; cues about duration come last."""
    if seen.under_ban:
        return Kind.PROHIBITION, Strength.MUST
    cues = model().cues
    for reason in sorted(reasons, key=lambda reason: reason.cue == "lasting" or reason.weight < _DECISIVE):
        cue = cues[reason.cue]
        if cue.kind is Kind.REQUIREMENT and any(other.cue in _BOUNDS for other in reasons):
            return Kind.LIMIT, cue.strength
        if cue.kind is not None:
            return cue.kind, cue.strength
    return Kind.REQUIREMENT, Strength.MUST
