"""How far a sentence reaches that is not in English, by its cues and a few patterns for all other languages.

"Antworte immer auf Deutsch" is a standing rule, "el botón debe ser rojo" a decision about the product.
``force.py`` calls this after the checks that hold for every language.
"""

from __future__ import annotations

from clew.message.text import lazy_pattern
from clew.rules.evidence import Evidence
from clew.rules.force_tables import (
    ASKED_FIRST,
    HOW_TO_WORK,
    INTRODUCES,
    NOT_LASTING,
    NOT_NOW,
    OF_RESULT,
    RESTRAINED,
    Judged,
    cue_set,
    says,
)
from clew.rules.rule import Force

# All lengths are characters, chosen by hand.
_BRIEF = 120
"""A short sentence: in a longer one, an order about the work is a detail of something else."""
_VERY_BRIEF = 24
"""A sentence that says little but a way of working: "用中文回答"."""
_OPENING = 8
"""Where a ban must begin, because an order has its verb at the start..."""
_ENDING = 12
"""...or must end, if the verb comes last, as in Japanese and Korean."""
_VERB_FINAL = lazy_pattern(r"[ぁ-ヿ가-힣]")
_EDGE = 3
"""How near to the start or the end a rule says that it lasts."""
_STOPS = " .!。！"
_WEAK_NEGATIONS = frozenset(("不", "せず"))
"""Alone they state a fact, or how one thing is done, as often as they forbid."""


def judge_other_language(text: str, seen: Evidence, fired: set[str]) -> Judged:
    """Return how far a sentence reaches; ``fired`` are the names of its cues.

    What a thing must do is about the product; "I want" and "make sure" mostly ask for one change.
    """
    if text.endswith((":", "：")):
        return INTRODUCES
    if says("shows_foreign", text):
        return OF_RESULT
    if why := _why_plainly_a_rule(text):
        return Judged(Force.STANDING, why)
    asks = fired & {"question", "tiny", "asks", "hedge"} and not _ends_in_ban(text, seen)
    if asks or not _is_rule(text, seen):
        return NOT_LASTING
    if fired & {"duty", "duty_weak"} and fired.isdisjoint(cue_set("lasting")):
        return OF_RESULT
    return Judged(Force.STANDING, RESTRAINED)


def _why_plainly_a_rule(text: str) -> str:
    """Return why a short sentence is a rule in words that mean nothing else; empty if it is none."""
    if len(text) > _BRIEF or text.rstrip().endswith(("?", "？")):
        return ""
    if says("held_foreign", text):
        return NOT_NOW
    if says("asked_foreign", text):
        return ASKED_FIRST
    return HOW_TO_WORK if says("answers_foreign", text) or says("always_foreign", text) else ""


def _is_rule(text: str, seen: Evidence) -> bool:
    """Return True for a request for consent, words that it lasts, or a short order about the work.

    Where they are decides: an order has its verb at the start or the end, a rule says there that it lasts; in
    the middle of a sentence the same words mostly say what was seen or wanted.
    """
    of_work = len(text) <= _BRIEF and says("work_foreign", text)
    for hit in seen.hits:
        words, to_end = text[hit.start : hit.end], len(text.rstrip(_STOPS)) - hit.end
        if hit.cue in cue_set("foreign_consents") and says("speaker_foreign", text):
            return True
        at_edge = min(hit.start, to_end) <= _EDGE
        if hit.cue in cue_set("foreign_lasting") and at_edge and not says("hardly_lasting", words):
            return True
        if not of_work or words in _WEAK_NEGATIONS:
            continue
        if hit.cue in cue_set("foreign_bans") and hit.start <= _OPENING:
            return True
        if hit.cue in cue_set("foreign_ways") and len(text) <= _VERY_BRIEF:
            return True
    return of_work and _ends_in_ban(text, seen)


def _ends_in_ban(text: str, seen: Evidence) -> bool:
    """Return True if a sentence ends in a ban, in a language with the verb at the end."""
    if _VERB_FINAL.search(text) is None:
        return False
    ending = len(text.rstrip(_STOPS)) - _ENDING
    bans = (hit for hit in seen.hits if hit.cue in cue_set("foreign_bans") and hit.end >= ending)
    return any(text[hit.start : hit.end] not in _WEAK_NEGATIONS for hit in bans)
