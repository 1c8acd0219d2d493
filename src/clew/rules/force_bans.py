"""Whether an English sentence forbids or limits what the agent does, in words that can be understood alone.

"don't push to main" and "only edit src/" restrain the agent. "rows must not overlap" is about the product,
"don't set it" points back, "don't use TAGS_CACHE here" is a detail of this step: for those ``restraint``
returns nothing. ``force.py`` and ``force_english.py`` call it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from clew.message.text import lazy_pattern
from clew.rules.force_tables import BANNED, NOT_NOW, RULED_OUT, pattern, says
from clew.rules.words import words as known_words

_IMPERATIVE = frozenset(("do", "don't", "don’t", "dont"))
_MODALS = frozenset(("must", "mustn't", "should", "shouldn't", "may", "can't", "cannot", "can’t"))
ADDRESSED = frozenset(("you", "we", "i", "agent", "agents", "claude", "please"))
"""Words before a verb that is said to the agent: "you must not push"."""
_PRONOUNS = frozenset(("it", "that", "this", "them"))
POINTING = _PRONOUNS | {"those", "these"}
"""Words that point at what was named before."""
_AFTER_POINTING = frozenset(
    ("by", "in", "to", "at", "for", "with", "when", "unless", "on", "without", "as", "if")
)
_THIRD_PARTIES = frozenset(("they", "user", "users", "customer", "customers", "visitors", "players"))
"""Those who use the product: "never assume they want meat"..."""
_OWNERS = frozenset(("user", "customer"))
"""...unless their data are meant: "never log customer emails"."""
_ACTS_OF_USER = frozenset(
    ("go", "mess", "switching", "opening", "reading", "waiting", "running", "starting", "sending")
)
"""Acts of a user of the product, not of the agent: "I want to avoid switching between pages"."""
_ELLIPSIS = lazy_pattern(r"\w+n['’´]?t and\b", re.IGNORECASE)
"""A negation whose verb came before: "list those that don't and sort them"."""
_OPENER = lazy_pattern(r"\A\W*(?:(?:ok(?:ay)?|well|alright|so|and|but|yeah|yes|no)\W+)+")
_SHORTEST_PLURAL = 3
"""Letters up to which a word that ends in "s" is no plural: "css"."""
# Words, chosen by hand:
FEWEST_WORDS = 2
"""A rule needs more to be understood alone."""
_FRAGMENT = 3
"""Up to so many are a fragment like "just the analysis", which says nothing alone."""
BRIEF = 8
"""Up to so many say little but a limit or a ban."""


def restraint(text: str, *, lasting: bool) -> str:
    """Return why a sentence restrains what the agent does; empty if it does not.

    ``lasting``: it says that it lasts ("never", "from now on"), so that details of the act do not matter.
    """
    for match in pattern("negated").finditer(text):
        if why := _why_forbidden(text, match, lasting=lasting):
            return why
    for match in pattern("wanted_not").finditer(text):
        verb, *rest = [group.lower() for group in match.groups() if group]
        if not rest or (verb not in _ACTS_OF_USER and _is_forbidden(verb, rest, text, lasting=lasting)):
            return BANNED
    if says("scope_ban", text):
        return "it limits the scope of the work"
    if says("looks_only", text) and len(text.split()) > _FRAGMENT:
        return NOT_NOW
    if says("passive", text) and not says("points_back", text):
        return BANNED
    return "it limits what the agent works on" if _limits_work(text) else ""


def is_act(word: str, of: str = "acts") -> bool:
    """Return True for a verb of a list in ``words.toml``, also in its form with "-ing"."""
    acts = known_words("force", of)
    stem = word[:-3]
    return word in acts or (word.endswith("ing") and not acts.isdisjoint((stem, f"{stem}e", stem[:-1])))


def is_about_product(text: str) -> bool:
    """Return True if a sentence says what a thing should do, without addressing the agent."""
    match = pattern("third_person").match(text)
    return match is not None and pattern("spoken_to").search(match[0]) is None


def _why_forbidden(text: str, match: re.Match[str], *, lasting: bool) -> str:
    """Return why a negation ("don't", "no") with the words after it forbids; empty if it does not."""
    verb, *rest = (word.lower().strip("`'’.@") if word else "" for word in match.groups())
    opener, before = match[0].split()[0].lower(), text[: match.start()].lower()
    if opener == "no":
        return RULED_OUT if _rules_out(text, verb, rest) else ""
    if _ELLIPSIS.match(match[0]) or opener == "without" or _makes_statement(before):
        return ""
    if opener == "avoid" and before.endswith("to "):
        return ""
    if before.count("(") > before.count(")") and len(before.split()) > BRIEF:
        return ""  # "draw a chart of … (don't use libraries)" asks for more than it forbids
    if opener in _IMPERATIVE and before.rstrip()[-1:].isalnum() and says("of_several", before):
        return ""  # "the users on phones do not send it" states a fact
    subject = before.split()
    if opener == "never" and subject and subject[-1] in _MODALS:
        opener, subject = subject[-1], subject[:-1]
    if opener in _MODALS and subject and ADDRESSED.isdisjoint(subject[-3:]):
        return ""  # "the colors must not change" is about the product
    return BANNED if _is_forbidden(verb, rest, text, lasting=lasting) else ""


def _rules_out(text: str, noun: str, rest: Sequence[str]) -> bool:
    """Return True for "no mocks", a kind of means; "no code." is about one answer."""
    if len(text.split()) <= FEWEST_WORDS and noun in {"code", "coding", "any"}:
        return False
    ruled_out = not known_words("force", "ruled_out").isdisjoint((noun, *rest[:1]))
    return ruled_out and not says("not_needed", text) and not is_about_product(text)


def _makes_statement(before: str) -> bool:
    """Return True if the words before a negation make it a statement: "so we don't break it"."""
    words = _OPENER.sub("", before.lower()).split()
    return words[-1:] == ["i"] or (len(words) > 1 and words[-1] in known_words("force", "subjects"))


def _is_forbidden(verb: str, rest: Sequence[str], text: str, *, lasting: bool) -> bool:
    """Return True if a ban on this act is not just a detail of this step and can be understood alone."""
    target = [word for word in rest if word]
    is_data = len(target) > 1 and target[0] in _OWNERS
    if not is_data and not _THIRD_PARTIES.isdisjoint(target):
        return False
    if len(target) > 1 and target[0] in POINTING and target[1] in _AFTER_POINTING:
        return False  # "never merge these by default"
    if lasting:
        return is_act(verb) or is_act(verb, "uses")
    if verb in {"do", "make", "go", "take"}:
        return not known_words("force", "made").isdisjoint(target)
    if is_act(verb, "uses"):
        return target[:1] != ["this"] and _is_kind_of_means(verb, target, text)
    if not is_act(verb) or says("step", text):
        return False
    brief = says("shouted", text) and len(text.split()) <= BRIEF
    named = brief or says("yet", text) or says("work_object", text)
    if target and is_act(verb, "of_both") and not named:
        return False  # "do not build the hierarchy by hand" is a detail of the product
    if not target:
        return verb not in known_words("force", "vague") or says("yet", text)
    return target[0] not in _PRONOUNS or says("yet", text) or says("shouted", text)


def _is_kind_of_means(verb: str, target: Sequence[str], text: str) -> bool:
    """Return True for "don't use mocks", a way of working; "don't use TAGS_CACHE" is a detail of the code."""
    if says("sensitive", text) or text.isupper():
        return True
    of_product = verb in known_words("force", "product")  # "don't show drafts"
    if says("yet", text) and not of_product:
        return True
    named = target[0] if target else ""
    if named == "any" and says("work_object", text):
        return True
    plural = len(named) > _SHORTEST_PLURAL and named.endswith("s") and named.isalpha() and not of_product
    return plural or not known_words("force", "ruled_out").isdisjoint(target)


def _limits_work(text: str) -> bool:
    """Return True for "only edit src/", "work on the parser exclusively"."""
    if says("agreed", text):
        return False
    if says("only_kind", text):
        return True
    for match in pattern("only").finditer(text):
        verb = next((group.lower() for group in match.groups() if group), "")
        if verb in known_words("force", "restricted") and (match[1] or says("place", text)):
            return True
    return False
