"""How far an English sentence reaches, by the forms in which people state rules, decisions and requests.

"From now on, use tabs" is a standing rule, "use tabs in this file" a request, "rows should be sorted" a
decision. ``force.py`` calls ``judge_english`` after the checks that hold for every language; the patterns are
in ``data/force.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from clew.message.text import lazy_pattern
from clew.rules.force_bans import (
    ADDRESSED,
    BRIEF,
    FEWEST_WORDS,
    POINTING,
    is_about_product,
    is_act,
    restraint,
)
from clew.rules.force_tables import (
    ASKED_FIRST,
    COSTS,
    EACH_ANSWER,
    HOW_TO_WORK,
    NAMED_RULE,
    NOT_ALONE,
    NOT_LASTING,
    OF_RESULT,
    PERMITS_SOMETHING,
    Judged,
    cue_set,
    introduces,
    pattern,
    says,
)
from clew.rules.rule import Force
from clew.rules.sentences import Sentence
from clew.rules.words import Token
from clew.rules.words import words as known_words

_NOT_NAMING = POINTING | {"so", "anything", "everything", "else", "one"}
"""Words that do not count among those that a rule needs to be understood alone."""
_MARKER = 4
"""Characters of the marker of a list item: "12) "."""
_PLAIN_WORDS = 18
"""Words up to which a sentence says little but a rule; chosen by hand."""
_EARLY = 30
"""Characters within which a long sentence must say that it lasts."""
_CALLED_RULE = lazy_pattern(
    r"\W*(?:(?:one|another|new|standing|house|ground|project|team|hard|general|important)\s+){0,2}"
    r"(?:rule|policy|constraint|convention)\s*#?\d{0,2}\s*:\s*\w"
    r"|\W*(?:please\s+)?remember\s*(?:[:,]|\bthat\b)\s*(?!to\b).*"
    r"\b(?:must|never|always|not|\w+n['’]t|only|no|forbidden|off[\s-]limits|read-only)\b",
    re.IGNORECASE,
)
"""A sentence that calls itself a rule ("New rule: …"), or that asks to remember what binds."""
_OWN_PLAN = lazy_pattern(
    r"\W*(?:if you (?:want|like|prefer|agree),? |[\w ]{1,24}: |then |so |next,? )?"
    r"I(?:['’]ll| will| can| could| would)\b"
    r"(?! (?:not|never|handle|do it|run|take care|test|push|commit|merge|deploy|review)\b)",
    re.IGNORECASE,
)
"""What the writer is about to do: the answer of another agent that was pasted, or a plan of the user."""


def judge_english(sentence: Sentence, words: Sequence[Token], fired: set[str]) -> Judged:
    """Return how far a sentence reaches; ``words`` are its words, ``fired`` the names of its cues."""
    text = sentence.text
    lasts = pattern("lasts").search(text)
    if lasts and not re.search(r"\w", pattern("empty_words").sub("", text.replace(lasts[0], ""))):
        return NOT_ALONE
    if why := _why_not_standing(text, words, fired):
        return Judged(Force.REQUEST, why)
    if _describes_acts(sentence):
        return Judged(Force.DECISION, "it says what something does")
    if why := _why_clearly_standing(text, fired):
        return Judged(Force.STANDING, why)
    if says("go_ahead", text):
        return PERMITS_SOMETHING
    if "long" in fired and not (lasts and lasts.start() < _EARLY):
        return Judged(Force.REQUEST, "it says much else")
    if "briefing" in fired and sentence.item and not says("each", text):
        return OF_RESULT
    listed = sentence.item and not lasts
    if why := _why_standing(text, fired, lasts, listed=listed, led=listed and bool(sentence.lead)):
        return Judged(Force.STANDING, why)
    if listed or fired & cue_set("chooses") or is_about_product(text):
        return OF_RESULT
    return NOT_LASTING


def is_announced(text: str, fired: set[str]) -> bool:
    """Return True if a sentence is announced as a rule, however little its cues are worth together."""
    if says("means", text) or (says("asked", text) and says("habit_asked", text)):
        return True
    return "turns" in fired and says("every_reply", text)


def _why_not_standing(text: str, words: Sequence[Token], fired: set[str]) -> str:
    """Return why a sentence cannot be a standing rule; empty if it can."""
    asked = says("asked", text)
    if ("question" in fired or asked) and not (asked and says("how_asked", text)):
        return "it asks"
    if says("example", text):
        return "it is an example"
    if _OWN_PLAN.match(text):
        return "it says what the writer will do"
    if says("written_down", text):
        return "it asks to write a rule down"
    if says("bans_that", text) or sum(token.word not in _NOT_NAMING for token in words) < FEWEST_WORDS:
        return NOT_ALONE.why
    if introduces(text):
        return "it introduces something"
    return "it is for the end of this task" if says("done", text) else ""


def _describes_acts(sentence: Sentence) -> bool:
    """Return True for a listed item about what something does: "- reviews read-only unless asked to edit"."""
    first = next(iter(sentence.text.lower().split()), "")
    return sentence.item and first.endswith("s") and (is_act(first[:-1]) or is_act(first[:-1], "duties"))


def _why_clearly_standing(text: str, fired: set[str]) -> str:
    """Return why a sentence is a standing rule whatever else it says; empty if it may be none."""
    if says("consent", text) and (says("asks_first", text) or not says("no_consent", text)):
        return ASKED_FIRST
    return NAMED_RULE if "long" not in fired and _CALLED_RULE.match(text) else ""


def _why_standing(text: str, fired: set[str], lasts: re.Match[str] | None, *, listed: bool, led: bool) -> str:
    """Return what makes a sentence a standing rule; empty if nothing does.

    ``lasts`` are its words that it lasts; ``listed``: it is an item of a list without such words; ``led``: a
    line introduces that list.
    """
    if _is_order_alone(text, listed=listed, led=led) and (why := restraint(text, lasting=lasts is not None)):
        return why
    if says("plans", text):
        return ""
    if "turns" in fired and says("every_reply", text):
        return EACH_ANSWER
    if why := _plain_form(text, listed=listed):
        return why
    if is_about_product(text[lasts.end() :].lstrip(" ,:") if lasts and not lasts.start() else text):
        return ""
    if says("answers_asked", text) and len(text.split()) <= BRIEF:
        return ""
    if lasts and _directs_agent(fired) and not says("sounds_lasting", text) and not _is_of_thing(text, lasts):
        return f"it says {lasts[0].strip(' .,;:').lower()!r}"
    return _way_of_working(text, fired, listed=listed)


def _is_order_alone(text: str, *, listed: bool, led: bool) -> bool:
    """Return True if a ban counts: as an item it must name a place or a kind of thing, or open with it."""
    if led:
        return says("opens_ban", text)
    return not listed or says("place", text) or says("shouted", text) or says("any_of", text)


def _plain_form(text: str, *, listed: bool) -> str:
    """Return which form of a rule, in words that mean nothing else, a sentence has; empty if none."""
    if says("reserved", text):
        return "the user does it"
    if says("spends", text):
        return COSTS
    if not listed and says("invariant", text):
        return "it states a convention"
    if says("each", text) and not is_about_product(text):
        return "it is to be done again and again"
    if says("means", text) and not says("opens_task", text):
        return "it says what a word means"
    return "it asks for a way of working" if says("habit_asked", text) else ""


def _directs_agent(fired: set[str]) -> bool:
    """Return True if a sentence with lasting words directs the agent."""
    bans = cue_set("bans")
    reports = fired & {"reports", "absent", "own_state", "closing"}
    if reports and not fired & (bans | {"always_do", "lasting"}):
        return False
    return bool(fired & (cue_set("lasting") | bans | cue_set("ways") | cue_set("directs")))


def _is_of_thing(text: str, lasts: re.Match[str]) -> bool:
    """Return True if "always" or "never" is about a thing: "rows should always be sorted"."""
    if lasts[0].lower() == "permanently" and says("opens_task", text):
        return True
    if lasts[0].lower() not in {"always", "never"}:
        return False
    before, behind = text[: lasts.start()].lower().split(), text[lasts.end() :].lower().split()
    if not ADDRESSED.isdisjoint(before[-3:]) and not says("opens_task", text):
        return False
    if behind and before and behind[0].strip(",.").endswith("s") and behind[0].isalpha():
        return True  # "the endpoint never returns"
    product, modals = known_words("force", "product"), known_words("force", "modals")
    is_obliged = bool(before) and (before[-1].strip("(") in modals or says("opens_task", text))
    return is_obliged or (bool(behind) and behind[0] in product)


def _way_of_working(text: str, fired: set[str], *, listed: bool) -> str:
    """Return why a sentence says how the agent should work; empty if it does not."""
    if says("chosen", text) or _ends_longer_sentence(text):
        return ""
    if says("follows", text) and not says("opens_task", text):
        return "it names rules to follow"
    if says("kept_in", text):
        return "it says where the work is kept"
    if says("version_kept", text):
        return "it says which version to use"
    if says("prefers", text):
        return "it says what the speaker prefers"
    if fired & cue_set("ways") and _names_way(text):
        return HOW_TO_WORK
    return HOW_TO_WORK if not listed and _is_nothing_else(text, fired) else ""


def _names_way(text: str) -> bool:
    """Return True for a short sentence on answers, tools or the shape of the work: "keep commits small"."""
    if len(text.split()) > _PLAIN_WORDS or says("states_fact", text):
        return False
    if says("opens_task", text) or says("and_then", text):
        return False
    if says("answers", text) or says("tools_chosen", text):
        return True
    return says("kept", text) and says("work_noun", text) and not says("keeps_it", text)


def _ends_longer_sentence(text: str) -> bool:
    """Return True for the end of a longer sentence: "verify it in your report).", not "a) …", not "… :)"."""
    body = pattern("smiley").sub("", text[_MARKER:])
    return body.count(")") > text.count("(") and body.rstrip(" .;,").endswith(")")


def _is_nothing_else(text: str, fired: set[str]) -> bool:
    """Return True if a short sentence is nothing but a rule: "the v1 API is frozen", "tabs, not spaces"."""
    length, left_alone = len(text.split()), says("left_alone", text)
    if length > _PLAIN_WORDS or "briefing" in fired or fired & cue_set("doubtful"):
        return False
    if not (fired & _plain_cues() or left_alone) or _is_of_this_step(text, fired):
        return False
    if left_alone or (fired & cue_set("placed") and says("path_named", text) and says("opens_order", text)):
        return True
    if says("not_plain", text) or length <= FEWEST_WORDS or "bare_no" in fired or _is_remark(text, fired):
        return False
    if fired & cue_set("plain"):
        return True
    brief = length <= BRIEF and "duty_weak" not in fired and bool(fired & cue_set("brief"))
    return brief and not says("one_text", text) and not says("continues", text)


@cache
def _plain_cues() -> frozenset[str]:
    return cue_set("placed") | cue_set("plain") | cue_set("brief")


def _is_of_this_step(text: str, fired: set[str]) -> bool:
    """Return True if a sentence points back, names the step at hand or opens a task."""
    if says("points_back", text) or says("focuses", text) or says("checks_state", text):
        return True
    opens_task = says("opens_task", text) and not says("yet", text)
    return opens_task or ("terse" in fired and not says("tells_how", text))


def _is_remark(text: str, fired: set[str]) -> bool:
    """Return True if words that limit or contrast are part of a task, a report or a remark on the product."""
    if fired & {"limit_number", "measure"} and not (says("bounds", text) and says("work_unit", text)):
        return True
    if "contrast" in fired and not says("one_not_other", text):
        return True
    return bool(fired & {"task", "states"}) and fired.isdisjoint({"not_yet", "held_back"})
