"""Classify a binding sentence: a standing rule, a decision about this work, or one request.

Only standing rules are pinned, so precision comes first: a sentence is standing if it says so ("from now on",
"always", "ask me before"), or restrains what the agent itself does (edit, push, install, mock) in words that
can be understood alone. A sentence about the product is a decision; one about the current step is a request.
The guideline with examples is in docs/concepts/constraints.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from clew.message import Trust
from clew.message.patterns import lazy_pattern
from clew.rules.evidence import Evidence
from clew.rules.languages import ENGLISH
from clew.rules.rule import Force, Kind
from clew.rules.sentences import Sentence
from clew.rules.wording import wording_score
from clew.rules.words import Token, table
from clew.rules.words import words as known_words

_ASKED_FIRST = "it wants to be asked first"
_ONE_ANSWER = "it holds for the next answer"
_LISTED = "it is listed as a rule"
_RULED_OUT = "it rules something out"
_NOT_NOW = "it forbids changes for now"
_BANNED = "it forbids an act of the agent"
_NAMED = "it is called a rule"
_INSTRUCTED = "it is part of the instructions for the agent"
_RESTRAINED = "it restrains the work"
_COSTS = "it limits the costs"
_EACH_ANSWER = "it is for every answer"
_PLAIN = frozenset((_NAMED, _COSTS, _EACH_ANSWER))
"""Reasons in words that mean nothing else."""
_ON_ACTS = frozenset((_BANNED, _NOT_NOW, _RULED_OUT, _INSTRUCTED, _LISTED, _RESTRAINED))
_PROTECTS = lazy_pattern(
    r"\b(?:secrets?|tokens?|passwords?|credentials?|(?:api|private|access)[ _-]?keys?|production|deploy\w*"
    r"|delet\w+|drop|(?:force[ _-])?push\w*)\b|\w_(?:PASSWORD|TOKEN|SECRET|KEY)\b",
    re.IGNORECASE,
)
_PLACE_NAMED = lazy_pattern(r"[a-z]/(?![A-Z])|\w\.[a-z]{2,5}\b")
_OPENS_BAN = lazy_pattern(
    r"\W*(?:please )?(?:never|do not|don['’]?t|you (?:are not allowed to|must not|may not))\b", re.IGNORECASE
)
_NEEDED = 1.15
"""The score from which on a sentence is pinned: chosen by cross-validation by owner, on people that the
tables were not tuned on (bench/constraints_wording.py)."""
_NEEDED_TO_PROTECT = -1.0
"""The same for a ban that protects something (``_protects``): to miss it costs more than to quote it in vain.
Chosen by hand."""
_MODALS = frozenset(("must", "mustn't", "should", "shouldn't", "may", "can't", "cannot", "can’t"))
_IMPERATIVE = frozenset(("do", "don't", "don’t", "dont"))
_AFTER_PRONOUN = frozenset(
    ("by", "in", "to", "at", "for", "with", "when", "unless", "on", "without", "as", "if")
)
_PRONOUNS = frozenset(("it", "that", "this", "them"))
_THESE = _PRONOUNS | {"those", "these"}
_POINTS_BACK = _THESE | {"so", "anything", "everything", "else", "one"}
_ADDRESSED = frozenset(("you", "we", "i", "agent", "agents", "claude", "please"))
_THIRD_PARTIES = frozenset(("they", "user", "users", "customer", "customers", "visitors", "players"))
_OWNERS = frozenset(("user", "customer"))
_OF_USER = frozenset(
    ("go", "mess", "switching", "opening", "reading", "waiting", "running", "starting", "sending")
)
"""Acts of a user of the product, not of the agent: "I want to avoid switching between pages"."""
_FEWEST_WORDS = 2
"""Words a rule needs to be understood alone, not counting pronouns."""
_SHORTEST_PLURAL = 3
_AT_EDGE = 16
"""Characters from the start or the end of a lead within which a verb announces its list. Chosen by hand."""
_MARKER = 4
"""Characters of the marker of a list item: "12) "."""
_FRAGMENT = 3
"""Words of a fragment like "just the analysis", which says nothing alone."""
_PLAIN_WORDS = 18
_PLAIN_LIMIT = 8
"""Words up to which a sentence says little but a rule, or but a limit. Chosen by hand."""
_LONGEST = 400
"""Characters above which a quote is a paragraph without full stops, not a rule, unless it begins as one: a
long list of what not to touch is still a rule. Chosen by hand."""
_BEGINS_AS_RULE = lazy_pattern(r"\W*(?:never|always|do not|don['’]t|you must|must)\b", re.IGNORECASE)
_TELLS_FACT = lazy_pattern(
    r"\W*(?:(?:please|also|and|but|so|just)\W+)*(?:remember|note|(?:keep|bear)\s+in\s+mind)\s*(?:,|:|\bthat\b)*"
    r"\s+(?!(?:to|we|you|i)\b)(?!.*\b(?:must|never|always|should|shall|only|not|no|\w+n['’]t|needs?|ha(?:ve|s)\s+to"
    r"|required?|forbidden|allowed|may|can|cannot|avoid|make\s+sure|ensure|before|until|unless|instead|prefer|want"
    r"|use|keep|run|ask|please|every|each|whenever|off[\s-]limits|read-only)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""A reminder without a word that binds: "remember that the account is 123"."""
_NAMED_RULE = lazy_pattern(
    r"\W*(?:(?:one|another|new|standing|house|ground|project|team|hard|general|important)\s+){0,2}"
    r"(?:rule|policy|constraint|convention)\s*#?\d{0,2}\s*:\s*\w"
    r"|\W*(?:please\s+)?remember\s*(?:[:,]|\bthat\b)\s*(?!to\b).*"
    r"\b(?:must|never|always|not|\w+n['’]t|only|no|forbidden|off[\s-]limits|read-only)\b",
    re.IGNORECASE,
)
"""A sentence that calls itself a rule, or that asks to remember what binds."""
_OWN_PLAN = lazy_pattern(
    r"\W*(?:if you (?:want|like|prefer|agree),? |[\w ]{1,24}: |then |so |next,? )?"
    r"I(?:['’]ll| will| can| could| would)\b"
    r"(?! (?:not|never|handle|do it|run|take care|test|push|commit|merge|deploy|review)\b)",
    re.IGNORECASE,
)
"""What the writer is about to do: the answer of another agent that was pasted, or a plan of the user."""
_JOINING = frozenset(("and", "or", "but", "und", "oder", "aber", "et", "ou", "mais", "y", "o", "pero"))
_RUN_ON = lazy_pattern(r"[a-z)]\.[A-Z][a-z]+[ :]")
_MOST_RUN_ON = 2
_ELLIPSIS = lazy_pattern(r"\w+n['’´]?t and\b", re.IGNORECASE)
"""A negation whose verb came before: "list those that don't and sort them"."""
_OPENER = lazy_pattern(r"\A\W*(?:(?:ok(?:ay)?|well|alright|so|and|but|yeah|yes|no)\W+)+")
_CLOSING_QUOTES = ('"', "”", '."', ".”")
_OPENING_FOREIGN = 8
"""Characters within which a ban counts in a language without patterns..."""
_VERB_FINAL = lazy_pattern(r"[ぁ-ヿ가-힣]")
"""...unless its verb comes last, as in Japanese and Korean."""
_SHORT_FOREIGN = 24
_EDGE = 12
_AT_ONCE = 3
_STOPS = " .!。！"
_WEAK_NEGATIONS = frozenset(("不", "せず"))
"""Alone they state a fact, or how one thing is done, as often as they forbid."""
_BRIEF_FOREIGN = 120
"""Characters of short sentences in a language without patterns, of their start and of their end (by hand)."""
_EARLY = 30
"""Characters within which a long sentence must say that it lasts."""


class Judged(NamedTuple):
    """How far a sentence reaches, and why."""

    force: Force
    why: str


def judge(sentence: Sentence, seen: Evidence, kind: Kind, trust: Trust) -> Judged:
    """Return how far a binding sentence reaches; a rule of a user needs both its form and its words."""
    judged = judge_by_tables(sentence, seen, kind, trust)
    if judged.force is not Force.STANDING or trust > Trust.USER:
        return judged
    protects = judged.why in _ON_ACTS and _protects(sentence.text, seen.language)
    needed = _NEEDED_TO_PROTECT if protects else _NEEDED
    if judged.why in _PLAIN or wording_score(sentence, seen, judged.why) >= needed:
        return judged
    return Judged(Force.LIKELY, f"it may be a rule: {judged.why}")


def _protects(text: str, language: str) -> bool:
    """Return True for a ban about secrets, production, deleting or pushing, or on a file that it names."""
    if _PROTECTS.search(text):
        return True
    return _PLACE_NAMED.search(text) is not None and (
        language != ENGLISH or _OPENS_BAN.match(text) is not None
    )


def judge_by_tables(sentence: Sentence, seen: Evidence, kind: Kind, trust: Trust) -> Judged:
    """Return how far a binding sentence reaches by its form and its position."""
    fired = {hit.cue for hit in seen.hits}
    if trust > Trust.USER:
        return Judged(Force.STANDING, _INSTRUCTED)
    if kind is Kind.PERMISSION:
        return Judged(Force.DECISION, "it permits something")
    if why := _unreadable(sentence.text):
        return Judged(Force.REQUEST, why)
    if _TELLS_FACT.match(sentence.text):
        return Judged(Force.REQUEST, "it asks to remember a fact")
    if why := _reason_by_position(sentence, seen, fired):
        return Judged(Force.STANDING, why)
    if fired & {"document", "deep"}:
        return Judged(Force.REQUEST, "it is in the middle of a long text")
    if seen.language == ENGLISH:
        return _in_english(sentence, seen.words, fired)
    return _in_other_languages(sentence, seen, fired)


def _in_other_languages(sentence: Sentence, seen: Evidence, fired: set[str]) -> Judged:
    """Return how far a sentence reaches by its cues alone: there are no patterns for its language.

    What a thing must do is about the product; "I want" and "make sure" mostly ask for one change.
    """
    text = sentence.text
    if text.endswith((":", "：")):
        return Judged(Force.REQUEST, "it introduces something")
    if _says("shows_foreign", text):
        return Judged(Force.DECISION, "it says how the result should be")
    if why := _plain_in_other_languages(text):
        return Judged(Force.STANDING, why)
    asks = fired & {"question", "tiny", "asks", "hedge"} and not _ends_in_ban(text, seen)
    if asks or not _is_foreign_rule(text, seen):
        return Judged(Force.REQUEST, "nothing says that it lasts")
    lasts = not fired.isdisjoint(_cues("lasting"))
    if fired & {"duty", "duty_weak"} and not lasts:
        return Judged(Force.DECISION, "it says how the result should be")
    return Judged(Force.STANDING, _RESTRAINED)


def _plain_in_other_languages(text: str) -> str:
    """Return why a short sentence is a rule in words that mean nothing else; empty if it is none."""
    if len(text) > _BRIEF_FOREIGN or text.rstrip().endswith(("?", "？")):
        return ""
    if _says("held_foreign", text):
        return _NOT_NOW
    if _says("asked_foreign", text):
        return _ASKED_FIRST
    works = _says("answers_foreign", text) or _says("always_foreign", text)
    return "it says how to work" if works else ""


def _is_foreign_rule(text: str, seen: Evidence) -> bool:
    """Return True for a request for consent, words that it lasts, or a short order about the work.

    Where they are decides: an order has its verb at the start or the end, a rule says there that it lasts; in
    the middle of a sentence the same words mostly tell what was seen or wanted.
    """
    lasting, ways, consents = _cues("foreign_lasting"), _cues("foreign_ways"), _cues("foreign_consents")
    of_work = len(text) <= _BRIEF_FOREIGN and _says("work_foreign", text)
    for hit in seen.hits:
        words, end = text[hit.start : hit.end], len(text.rstrip(_STOPS)) - hit.end
        if hit.cue in consents and _says("speaker_foreign", text):
            return True
        if hit.cue in lasting and min(hit.start, end) <= _AT_ONCE and not _says("hardly_lasting", words):
            return True
        if not of_work or words in _WEAK_NEGATIONS:
            continue
        if hit.cue in _cues("foreign_bans") and hit.start <= _OPENING_FOREIGN:
            return True
        if hit.cue in ways and len(text) <= _SHORT_FOREIGN:
            return True
    return of_work and _ends_in_ban(text, seen)


def _ends_in_ban(text: str, seen: Evidence) -> bool:
    """Return True if a sentence ends in a ban, in a language with the verb at the end."""
    end = len(text.rstrip(_STOPS)) - _EDGE
    bans = _cues("foreign_bans")
    return _VERB_FINAL.search(text) is not None and any(
        hit.cue in bans and hit.end >= end and text[hit.start : hit.end] not in _WEAK_NEGATIONS
        for hit in seen.hits
    )


@cache
def _binding_cues() -> frozenset[str]:
    return _cues("forbids_or_lasts") | _cues("ways") | _cues("directs")


def _describes_acts(sentence: Sentence) -> bool:
    """Return True for a listed item about what something does: "- reviews read-only unless asked to edit"."""
    first = next(iter(sentence.text.lower().split()), "")
    return (
        bool(sentence.item) and first.endswith("s") and (_is_act(first[:-1]) or _is_act(first[:-1], "duties"))
    )


def announces(text: str, seen: Evidence) -> bool:
    """Return True if a sentence is announced as a rule, however little its cues are worth together."""
    if seen.language != ENGLISH:
        return False
    if _says("means", text) or (_says("asked", text) and _says("habit_asked", text)):
        return True
    return any(hit.cue == "turns" for hit in seen.hits) and _says("every_reply", text)


def _unreadable(text: str) -> str:
    """Return why a sentence says nothing clear alone, in any language; empty if it does."""
    if len(text) > _LONGEST and not _BEGINS_AS_RULE.match(text):
        return "it says much else"
    if text.count("(") > text.count(")") and not _says("smiley", text):
        return "it breaks off"
    if text.endswith(("...", "…")) or text.rsplit(None, 1)[-1].lower() in _JOINING:
        return "it breaks off"
    if text.startswith(("#", "//", "+")) or '\\"' in text:
        return "it is text of a program"
    if len(_RUN_ON.findall(text)) >= _MOST_RUN_ON:
        return "it is text whose line breaks are lost"
    if text.endswith(_CLOSING_QUOTES) and sum(map(text.count, '"“”')) % 2:
        return "it ends a quotation"
    return ""


def _reason_by_position(sentence: Sentence, seen: Evidence, fired: set[str]) -> str:
    """Return why the position of a sentence makes it a standing rule; empty if it does not.

    A prepared text (a plan, a prompt, a template) lists much as rules: an item of it must be an order itself.
    """
    text = sentence.text
    if text.rstrip("*_").endswith((":", "：")):
        return ""
    if "for_turn" in fired and not (fired & {"reports", "states"} or _says("third_person", text)):
        return _ONE_ANSWER
    prepared = seen.language == ENGLISH and fired & {"document", "deep", "briefing"}
    if prepared and not _says("opens_order", text):
        return ""
    if fired & {"document", "deep"} and _says("mild_order", text) and not _says("work_object", text):
        return ""  # "Rules: keep titles short" in a document is about what it describes
    if fired & {"rule_lead", "ban_lead", "rule_heading"}:
        over = sentence.lead or sentence.heading
        of_work = not _says("rules_of_thing", over) or _says("plain_order", text)
        announced = of_work and _announces_rules(over) and not _says("tolerates", text)
        binds = fired & _binding_cues() and "duty" not in fired and not _says("rules_of_thing", over)
        if announced if seen.language == ENGLISH else binds:
            return _LISTED
    is_whole = len(text.split()) > _FEWEST_WORDS
    briefed = "briefing" in fired and is_whole and _says("opens_ban", text)
    if briefed and "deep" in fired:
        briefed = _says("plain_order", text) and (_says("path_named", text) or _says("yet", text))
    if briefed and _restrains(text, lasting=False):
        return _INSTRUCTED
    return ""


def _announces_rules(over: str) -> bool:
    """Return True if a lead or heading announces rules: a noun does, "avoid" only at its start or its end."""
    for match in _pattern("rule_lead").finditer(over):
        is_noun = match[0].lower().split()[0] not in known_words("force", "lead_verbs")
        if is_noun or match.start() < _AT_EDGE or len(over) - match.end() < _AT_EDGE:
            return True
    return False


def _in_english(sentence: Sentence, words: Sequence[Token], fired: set[str]) -> Judged:
    text = sentence.text
    lasts = _pattern("strong").search(text)
    if lasts and not re.search(r"\w", _pattern("notice").sub("", text.replace(lasts[0], ""))):
        return Judged(Force.REQUEST, "it cannot be read alone")
    if why := _passing(text, words, fired):
        return Judged(Force.REQUEST, why)
    if _describes_acts(sentence):
        return Judged(Force.DECISION, "it says what something does")
    if why := _clearly_standing(text, fired):
        return Judged(Force.STANDING, why)
    if _says("go_ahead", text):
        return Judged(Force.DECISION, "it permits something")
    if "long" in fired and not (lasts and lasts.start() < _EARLY):
        return Judged(Force.REQUEST, "it says much else")
    if "briefing" in fired and sentence.item and not _says("each", text):
        return Judged(Force.DECISION, "it says how the result should be")
    listed = sentence.item and not lasts
    if why := _standing(text, fired, lasts, listed=listed, led=listed and bool(sentence.lead)):
        return Judged(Force.STANDING, why)
    if listed or fired & _cues("chooses") or _is_of_product(text):
        return Judged(Force.DECISION, "it says how the result should be")
    return Judged(Force.REQUEST, "nothing says that it lasts")


def _clearly_standing(text: str, fired: set[str]) -> str:
    """Return why a sentence is a standing rule whatever else it says; empty if it may be none."""
    if _says("consent", text) and (_says("asks_first", text) or not _says("no_consent", text)):
        return _ASKED_FIRST
    return _NAMED if "long" not in fired and _NAMED_RULE.match(text) else ""


def _passing(text: str, words: Sequence[Token], fired: set[str]) -> str:
    """Return why a sentence cannot be a standing rule; empty if it can."""
    asked = _says("asked", text)
    if ("question" in fired or asked) and not (asked and _says("how_asked", text)):
        return "it asks"
    if _says("example", text):
        return "it is an example"
    if _OWN_PLAN.match(text):
        return "it says what the writer will do"
    if _says("written_down", text):
        return "it asks to write a rule down"
    if _says("bans_that", text) or sum(token.word not in _POINTS_BACK for token in words) < _FEWEST_WORDS:
        return "it cannot be read alone"
    if text.rstrip("*_").endswith((":", "：")):
        return "it introduces something"
    return "it is for the end of this task" if _says("done", text) else ""


def _closes_more(text: str) -> bool:
    """Return True for the end of a longer sentence: "verify it in your report).", not "a) …", not "… :)"."""
    body = _pattern("smiley").sub("", text[_MARKER:])
    return body.count(")") > text.count("(") and body.rstrip(" .;,").endswith(")")


def _standing(text: str, fired: set[str], lasts: re.Match[str] | None, *, listed: bool, led: bool) -> str:
    """Return what makes a sentence a standing rule; empty if nothing does."""
    bare = (
        listed and not led and not (_says("place", text) or _says("shouted", text) or _says("any_of", text))
    )
    if (
        not bare
        and (not led or _says("opens_ban", text))
        and (why := _restrains(text, lasting=lasts is not None))
    ):
        return why
    if _says("plans", text):
        return ""
    if "turns" in fired and _says("every_reply", text):
        return _EACH_ANSWER
    if why := _said_plainly(text, listed=listed):
        return why
    if _is_of_product(text[lasts.end() :].lstrip(" ,:") if lasts and not lasts.start() else text):
        return ""
    if _says("answers_asked", text) and len(text.split()) <= _PLAIN_LIMIT:
        return ""
    if lasts and _directs(fired) and not _says("told_of", text) and not _is_habit_of_thing(text, lasts):
        return f"it says {lasts[0].strip(' .,;:').lower()!r}"
    return _way_of_working(text, fired, listed=listed)


def _said_plainly(text: str, *, listed: bool) -> str:
    """Return which form of a rule, in words that mean nothing else, a sentence has; empty if none."""
    if _says("reserved", text):
        return "the user does it"
    if _says("spends", text):
        return _COSTS
    if not listed and _says("invariant", text):
        return "it states a convention"
    if _says("each", text) and not _is_of_product(text):
        return "it is to be done again and again"
    if _says("means", text) and not _says("opens_task", text):
        return "it says what a word means"
    return "it asks for a way of working" if _says("habit_asked", text) else ""


def _restrains(text: str, *, lasting: bool) -> str:
    """Return why a sentence restrains what the agent does; empty if it does not."""
    for match in _pattern("negated").finditer(text):
        if why := _forbids(text, match, lasting=lasting):
            return why
    for match in _pattern("wanted_not").finditer(text):
        verb, *rest = [group.lower() for group in match.groups() if group]
        if not rest or (verb not in _OF_USER and _is_forbidden(verb, rest, text, lasting=lasting)):
            return _BANNED
    if _says("scope_ban", text):
        return "it limits the scope of the work"
    if _says("looks_only", text) and len(text.split()) > _FRAGMENT:
        return _NOT_NOW
    if _says("passive", text) and not _says("points_back", text):
        return _BANNED
    return "it limits what the agent works on" if _limits_work(text) else ""


def _forbids(text: str, match: re.Match[str], *, lasting: bool) -> str:
    """Return why a negated phrase forbids something; empty if it does not."""
    verb, *rest = (word.lower().strip("`'’.@") if word else "" for word in match.groups())
    opener, before = match[0].split()[0].lower(), text[: match.start()].lower()
    if opener == "no":
        if len(text.split()) <= _FEWEST_WORDS and verb in {"code", "coding", "any"}:
            return ""  # "no code." is about one answer
        ruled_out = not known_words("force", "ruled_out").isdisjoint((verb, *rest[:1]))
        is_description = _says("not_needed", text) or _is_of_product(text)
        return _RULED_OUT if ruled_out and not is_description else ""
    if _ELLIPSIS.match(match[0]):
        return ""
    if opener == "without" or _is_told(before) or (opener == "avoid" and before.endswith("to ")):
        return ""
    if before.count("(") > before.count(")") and len(before.split()) > _PLAIN_LIMIT:
        return ""  # "draw a chart of … (don't use libraries)" asks for more than it forbids
    subject = before.split()
    if opener in _IMPERATIVE and before.rstrip()[-1:].isalnum() and _says("of_several", before):
        return ""  # "the users on phones do not send it" states a fact
    if opener == "never" and subject and subject[-1] in _MODALS:
        opener, subject = subject[-1], subject[:-1]
    if opener in _MODALS and subject and _ADDRESSED.isdisjoint(subject[-3:]):
        return ""  # "the colors must not change" is about the product
    return _BANNED if _is_forbidden(verb, rest, text, lasting=lasting) else ""


def _limits_work(text: str) -> bool:
    if _says("agreed", text):
        return False
    if _says("only_kind", text):
        return True
    for match in _pattern("only").finditer(text):
        verb = next((group.lower() for group in match.groups() if group), "")
        if verb in known_words("force", "restricted") and (match[1] or _says("place", text)):
            return True
    return False


def _is_told(before: str) -> bool:
    """Return True if the words before a negation make it a statement: "so we don't break it"."""
    words = _OPENER.sub("", before.lower()).split()
    return words[-1:] == ["i"] or (len(words) > 1 and words[-1] in known_words("force", "subjects"))


def _is_act(word: str, of: str = "acts") -> bool:
    acts = known_words("force", of)
    stem = word[:-3]
    return word in acts or (word.endswith("ing") and not acts.isdisjoint((stem, f"{stem}e", stem[:-1])))


def _is_forbidden(verb: str, rest: Sequence[str], text: str, *, lasting: bool) -> bool:
    """Return True if a ban on this act is not just a detail of this step and can be understood alone."""
    target = [word for word in rest if word]
    is_theirs = len(target) > 1 and target[0] in _OWNERS  # "log customer emails" is about data
    if not is_theirs and not _THIRD_PARTIES.isdisjoint(target):
        return False  # "never assume they want meat" is about those who use the product
    if target[:1] and target[0] in _THESE and target[1:] and target[1] in _AFTER_PRONOUN:
        return False  # "never merge these by default"
    if lasting:
        return _is_act(verb) or _is_act(verb, "uses")
    if verb in {"do", "make", "go", "take"}:
        return not known_words("force", "made").isdisjoint(target)
    if _is_act(verb, "uses"):
        if target and target[0] == "this":
            return False
        return _is_kind_of_means(verb, target, text)
    if not _is_act(verb) or _says("step", text):
        return False
    brief = _says("shouted", text) and len(text.split()) <= _PLAIN_LIMIT
    named = brief or _says("yet", text) or _says("work_object", text)
    if target and _is_act(verb, "of_both") and not named:
        return False  # "do not build the hierarchy by hand" is a detail of the product
    if not target:
        return verb not in known_words("force", "vague") or _says("yet", text)
    return target[0] not in _PRONOUNS or _says("yet", text) or _says("shouted", text)


def _is_kind_of_means(verb: str, target: Sequence[str], text: str) -> bool:
    """Return True for "don't use mocks", a way of working; "don't use TAGS_CACHE" is a detail of the code."""
    if _says("sensitive", text) or text.isupper():
        return True
    of_product = verb in known_words("force", "product")  # "don't show drafts"
    if _says("yet", text) and not of_product:
        return True
    named = target[0] if target else ""
    if named == "any" and _says("work_object", text):
        return True
    plural = len(named) > _SHORTEST_PLURAL and named.endswith("s") and named.isalpha() and not of_product
    return plural or not known_words("force", "ruled_out").isdisjoint(target)


def _is_of_product(text: str) -> bool:
    """Return True if a sentence says what a thing should do, without addressing the agent."""
    match = _pattern("third_person").match(text)
    return match is not None and _pattern("spoken_to").search(match[0]) is None


def _is_habit_of_thing(text: str, lasts: re.Match[str]) -> bool:
    """Return True if "always" or "never" is about a thing: "rows should always be sorted"."""
    if lasts[0].lower() == "permanently" and _says("opens_task", text):
        return True
    if lasts[0].lower() not in {"always", "never"}:
        return False
    before, behind = text[: lasts.start()].lower().split(), text[lasts.end() :].lower().split()
    if not _ADDRESSED.isdisjoint(before[-3:]) and not _says("opens_task", text):
        return False
    if behind and before and behind[0].strip(",.").endswith("s") and behind[0].isalpha():
        return True  # "the endpoint never returns"
    product, modals = known_words("force", "product"), known_words("force", "modals")
    is_obliged = bool(before) and (before[-1].strip("(") in modals or _says("opens_task", text))
    return is_obliged or (bool(behind) and behind[0] in product)


def _directs(fired: set[str]) -> bool:
    """Return True if a sentence with lasting words directs the agent."""
    bans = _cues("bans")
    if fired & {"reports", "absent", "own_state", "closing"} and not fired & (
        bans | {"always_do", "lasting"}
    ):
        return False
    return bool(fired & (_cues("lasting") | bans | _cues("ways") | _cues("directs")))


def _way_of_working(text: str, fired: set[str], *, listed: bool) -> str:
    """Return why a sentence says how the agent should work; empty if it does not."""
    if _says("chosen", text) or _closes_more(text):
        return ""
    if _says("follows", text) and not _says("opens_task", text):
        return "it names rules to follow"
    if _says("kept_in", text):
        return "it says where the work is kept"
    if _says("version_kept", text):
        return "it says which version to use"
    if _says("prefers", text):
        return "it says what the speaker prefers"
    way = (
        _says("answers", text)
        or _says("tools_chosen", text)
        or (_says("kept", text) and _says("work_noun", text) and not _says("keeps_it", text))
    )
    way = way and not _says("states_fact", text) and len(text.split()) <= _PLAIN_WORDS
    if way and fired & _cues("ways") and not (_says("opens_task", text) or _says("and_then", text)):
        return "it says how to work"
    if listed:
        return ""
    if _is_plain(text, fired):
        return "it says how to work"
    return ""


def _is_plain(text: str, fired: set[str]) -> bool:
    """Return True if a short sentence is nothing but a rule: "the v1 API is frozen", "tabs, not spaces"."""
    length = len(text.split())
    if length > _PLAIN_WORDS or "briefing" in fired or fired & _cues("doubtful"):
        return False
    if not (fired & _plain_cues() or _says("left_alone", text)) or _says_else(text, fired):
        return False
    if fired & _cues("placed") and _says("path_named", text) and _says("opens_order", text):
        return True
    if _says("left_alone", text):
        return True
    if _says("not_plain", text) or length <= _FEWEST_WORDS or "bare_no" in fired or _is_remark(text, fired):
        return False
    brief = (
        length <= _PLAIN_LIMIT
        and "duty_weak" not in fired
        and not (_says("one_text", text) or _says("continues", text))
    )
    return bool(fired & _cues("plain")) or (brief and bool(fired & _cues("brief")))


@cache
def _plain_cues() -> frozenset[str]:
    return _cues("placed") | _cues("plain") | _cues("brief")


def _says_else(text: str, fired: set[str]) -> bool:
    """Return True if a sentence points back, names the step at hand or opens a task."""
    if any(_says(name, text) for name in ("points_back", "focuses", "checks_state")):
        return True
    return (_says("opens_task", text) and not _says("yet", text)) or (
        "terse" in fired and not _says("tells_how", text)
    )


def _is_remark(text: str, fired: set[str]) -> bool:
    """Return True if words that limit or contrast are part of a task, a report or a remark on the product."""
    if fired & {"limit_number", "measure"} and not (_says("bounds", text) and _says("work_unit", text)):
        return True
    if "contrast" in fired and not _says("one_not_other", text):
        return True
    return bool(fired & {"task", "states"}) and fired.isdisjoint({"not_yet", "held_back"})


def _says(name: str, text: str) -> bool:
    return _pattern(name).search(text) is not None


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(
        re.sub(r"\n {2}", "", table("force")["patterns"][name]).removeprefix("  "), re.IGNORECASE
    )


@cache
def _cues(name: str) -> frozenset[str]:
    return frozenset(table("force")["cues"][name].split())
