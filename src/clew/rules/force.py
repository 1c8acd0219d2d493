"""Classify a binding sentence: a standing rule, a decision about this work, or one request.

Only standing rules are pinned, so precision comes first: a sentence is standing if it says so ("from now on",
"always", "ask me before"), or restrains what the agent itself does (edit, push, install, mock) in words that
can be understood alone. A sentence about the product is a decision; one about the current step is a request.
"Never touch legacy/" is standing, "rows must be sorted" a decision, "fix the typo above" a request.
``find.py`` calls ``judge`` for each sentence; the guideline is in docs/concepts/constraints.md.

Here are the checks that hold for every language; ``force_english.py`` (with ``force_bans.py``) and
``force_foreign.py`` have those for the words of one.
"""

from __future__ import annotations

import re

from clew.message import Trust
from clew.message.text import lazy_pattern
from clew.rules.evidence import Evidence
from clew.rules.force_bans import FEWEST_WORDS, restraint
from clew.rules.force_english import is_announced, judge_english
from clew.rules.force_foreign import judge_other_language
from clew.rules.force_tables import (
    BANNED,
    COSTS,
    EACH_ANSWER,
    INSTRUCTED,
    LASTING_BAN,
    LISTED,
    NAMED_RULE,
    NOT_NOW,
    PERMITS_SOMETHING,
    RESTRAINED,
    RULED_OUT,
    Judged,
    cue_set,
    introduces,
    pattern,
    says,
)
from clew.rules.languages import ENGLISH
from clew.rules.lasting_bans import lasting_ban
from clew.rules.rule import Force, Kind
from clew.rules.sentences import Sentence
from clew.rules.wording import wording_score
from clew.rules.words import words as known_words

_NEEDED = 1.15
"""The score from which on a sentence is pinned: chosen by cross-validation by owner, on people that the
tables were not tuned on (bench/constraints_wording.py)."""
_NEEDED_TO_PROTECT = -1.0
"""The same for a ban that protects something (``_protects``): to miss it costs more than to quote it in vain.
Chosen by hand."""
_SPOKEN = 400
"""Characters of a message that is typed in passing: in a longer one a ban is mostly about the task."""
_CERTAIN = frozenset((NAMED_RULE, COSTS, EACH_ANSWER))
"""Reasons in words that mean nothing else: the wording model is not asked."""
_ON_ACTS = frozenset((BANNED, NOT_NOW, RULED_OUT, INSTRUCTED, LISTED, RESTRAINED))
"""Reasons of a ban on an act."""
_SENSITIVE = lazy_pattern(
    r"\b(?:secrets?|tokens?|passwords?|credentials?|(?:api|private|access)[ _-]?keys?|production|deploy\w*"
    r"|delet\w+|drop|(?:force[ _-])?push\w*)\b|\w_(?:PASSWORD|TOKEN|SECRET|KEY)\b",
    re.IGNORECASE,
)
_PLACE_NAMED = lazy_pattern(r"[a-z]/(?![A-Z])|\w\.[a-z]{2,5}\b")
_OPENS_BAN = lazy_pattern(
    r"\W*(?:please )?(?:never|do not|don['’]?t|you (?:are not allowed to|must not|may not))\b", re.IGNORECASE
)
_LONGEST = 400
"""Characters above which a quote is a paragraph without full stops, not a rule, unless it begins as one: a
long list of what not to touch is still a rule. Chosen by hand."""
_BEGINS_AS_RULE = lazy_pattern(r"\W*(?:never|always|do not|don['’]t|you must|must)\b", re.IGNORECASE)
_BREAKS_OFF_AFTER = frozenset(
    ("and", "or", "but", "und", "oder", "aber", "et", "ou", "mais", "y", "o", "pero")
)
_LOST_LINE_BREAK = lazy_pattern(r"[a-z)]\.[A-Z][a-z]+[ :]")
"""Two lines that were joined without a space: "the build fails.Steps to reproduce:"."""
_MOST_LOST = 2
_CLOSING_QUOTES = ('"', "”", '."', ".”")
_REMINDS_OF_FACT = lazy_pattern(
    r"\W*(?:(?:please|also|and|but|so|just)\W+)*(?:remember|note|(?:keep|bear)\s+in\s+mind)\s*(?:,|:|\bthat\b)*"
    r"\s+(?!(?:to|we|you|i)\b)(?!.*\b(?:must|never|always|should|shall|only|not|no|\w+n['’]t|needs?|ha(?:ve|s)\s+to"
    r"|required?|forbidden|allowed|may|can|cannot|avoid|make\s+sure|ensure|before|until|unless|instead|prefer|want"
    r"|use|keep|run|ask|please|every|each|whenever|off[\s-]limits|read-only)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""A reminder without a word that binds: "remember that the account is 123"."""
_AT_EDGE = 16
"""Characters from the start or the end of a lead within which a verb announces its list. Chosen by hand."""


def judge(sentence: Sentence, seen: Evidence, kind: Kind, trust: Trust) -> Judged:
    """Return how far a binding sentence reaches; a rule of a user needs both its form and its words."""
    judged = judge_by_tables(sentence, seen, kind, trust)
    if judged.force is Force.STANDING:
        if trust > Trust.USER or judged.why in _CERTAIN:
            return judged
        protects = judged.why in _ON_ACTS and _protects(sentence.text, seen.language)
        if wording_score(sentence, seen, judged.why) >= (_NEEDED_TO_PROTECT if protects else _NEEDED):
            return judged
        judged = Judged(Force.LIKELY, f"it may be a rule: {judged.why}")
    if kind is not Kind.PERMISSION and _bans_for_good(sentence, seen):
        return Judged(Force.STANDING, LASTING_BAN)
    return judged


def announces(text: str, seen: Evidence) -> bool:
    """Return True if a sentence is announced as a rule, however little its cues are worth together."""
    return seen.language == ENGLISH and is_announced(text, {hit.cue for hit in seen.hits})


def _protects(text: str, language: str) -> bool:
    """Return True for a ban about secrets, production, deleting or pushing, or on a file that it names."""
    if _SENSITIVE.search(text):
        return True
    names_place = _PLACE_NAMED.search(text) is not None
    return names_place and (language != ENGLISH or _OPENS_BAN.match(text) is not None)


def judge_by_tables(sentence: Sentence, seen: Evidence, kind: Kind, trust: Trust) -> Judged:
    """Return how far a binding sentence reaches by its form and its position."""
    fired = {hit.cue for hit in seen.hits}
    if trust > Trust.USER:
        return Judged(Force.STANDING, INSTRUCTED)
    if kind is Kind.PERMISSION:
        return PERMITS_SOMETHING
    if why := _unreadable(sentence.text):
        return Judged(Force.REQUEST, why)
    if _REMINDS_OF_FACT.match(sentence.text):
        return Judged(Force.REQUEST, "it asks to remember a fact")
    if why := _reason_by_position(sentence, seen.language, fired):
        return Judged(Force.STANDING, why)
    if fired & {"document", "deep"}:
        return Judged(Force.REQUEST, "it is in the middle of a long text")
    if seen.language == ENGLISH:
        return judge_english(sentence, seen.words, fired)
    return judge_other_language(sentence.text, seen, fired)


def _bans_for_good(sentence: Sentence, seen: Evidence) -> bool:
    """Return True for a short spoken message's ban on an act whose object outlasts the step."""
    spoken = seen.language == ENGLISH and seen.length <= _SPOKEN and not sentence.lead
    return spoken and lasting_ban(sentence.text) is not None and not _unreadable(sentence.text)


def _unreadable(text: str) -> str:
    """Return why a sentence says nothing clear alone, in any language; empty if it does."""
    if len(text) > _LONGEST and not _BEGINS_AS_RULE.match(text):
        return "it says much else"
    if text.count("(") > text.count(")") and not says("smiley", text):
        return "it breaks off"
    if text.endswith(("...", "…")) or text.rsplit(None, 1)[-1].lower() in _BREAKS_OFF_AFTER:
        return "it breaks off"
    if text.startswith(("#", "//", "+")) or '\\"' in text:
        return "it is text of a program"
    if len(_LOST_LINE_BREAK.findall(text)) >= _MOST_LOST:
        return "it is text whose line breaks are lost"
    if text.endswith(_CLOSING_QUOTES) and sum(map(text.count, '"“”')) % 2:
        return "it ends a quotation"
    return ""


def _reason_by_position(sentence: Sentence, language: str, fired: set[str]) -> str:
    """Return why the position of a sentence makes it a standing rule; empty if it does not.

    A prepared text (a plan, a prompt, a template) lists much as rules: an item of it must be an order itself.
    """
    text, in_long_text = sentence.text, fired & {"document", "deep"}
    if introduces(text):
        return ""
    if "for_turn" in fired and not (fired & {"reports", "states"} or says("third_person", text)):
        return "it holds for the next answer"
    prepared = language == ENGLISH and (in_long_text or "briefing" in fired)
    if prepared and not says("opens_order", text):
        return ""
    if in_long_text and says("mild_order", text) and not says("work_object", text):
        return ""  # "Rules: keep titles short" in a document is about what it describes
    if fired & {"rule_lead", "ban_lead", "rule_heading"} and _is_listed_rule(sentence, language, fired):
        return LISTED
    return INSTRUCTED if "briefing" in fired and _is_ban_in_briefing(text, deep="deep" in fired) else ""


def _is_listed_rule(sentence: Sentence, language: str, fired: set[str]) -> bool:
    """Return True if the lead or heading above a sentence announces rules for the work, and it is one."""
    text, over = sentence.text, sentence.lead or sentence.heading
    about_thing = says("rules_of_thing", over)
    if language != ENGLISH:
        binding = cue_set("forbids_or_lasts") | cue_set("ways") | cue_set("directs")
        return bool(fired & binding) and "duty" not in fired and not about_thing
    of_work = not about_thing or says("plain_order", text)
    return of_work and _announces_rules(over) and not says("tolerates", text)


def _announces_rules(over: str) -> bool:
    """Return True if a lead or heading announces rules: a noun does, "avoid" only at its start or its end."""
    for match in pattern("rule_lead").finditer(over):
        is_noun = match[0].lower().split()[0] not in known_words("force", "lead_verbs")
        if is_noun or match.start() < _AT_EDGE or len(over) - match.end() < _AT_EDGE:
            return True
    return False


def _is_ban_in_briefing(text: str, *, deep: bool) -> bool:
    """Return True for a ban in a text that assigns the agent its task; deep inside it must name a place."""
    if len(text.split()) <= FEWEST_WORDS or not says("opens_ban", text):
        return False
    if deep and not (says("plain_order", text) and (says("path_named", text) or says("yet", text))):
        return False
    return bool(restraint(text, lasting=False))
