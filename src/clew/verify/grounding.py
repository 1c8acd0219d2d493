"""A claim says what its sources say, and gives as the user's words only what the user said."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.ledger.speech import Speaker
from clew.message import Trust
from clew.plan import Claim, ClaimKind
from clew.verify.asserted import assertions, is_found, support, turned
from clew.verify.case import Case, Look
from clew.verify.quotes import ELISION, is_cut_out, is_quote, is_reversed
from clew.verify.report import Finding, Level, short
from clew.verify.size import LONGEST_CLAIM

LEAST_SUPPORT = 1 / 3
"""Of a claim's own words, the share that must stand in its sources."""
LEAST_SUPPORT_OF_USER = 2 / 3
"""The same of a claim that tells what the user said or wants."""
_OF_THE_USER = re.compile(
    r"\b(?:the\s+)?(?:user|customer|human|benutzer\w*|nutzer\w*|utilisateur|usuario|utente|用户|ユーザー)\b.{0,60}?"
    r"\b(?:sa(?:id|ys)|want\w*|ask\w*|approv\w*|allow\w*|told|tells|instruct\w*|request\w*|permit\w*|agree\w*|"
    r"confirm\w*|prefer\w*|authori[sz]\w*|lift\w*|revok\w*|requir\w*|need\w*|decid\w*|grant\w*|cho[so]\w*)\b",
    re.IGNORECASE | re.DOTALL,
)
_SPEAKERS = {ClaimKind.USER: (Speaker.USER,), ClaimKind.GOAL: (Speaker.USER, Speaker.PLAN)}


def check_grounding(case: Case) -> Iterator[Finding]:
    """Find claims that say what their sources do not, or put words into the user's mouth."""
    for look in case.every_look():
        wrong = _wrong(case, look) if look.sources and not look.vouched else None
        if wrong is not None:
            yield Finding("grounding", Level.DROP, look.claim.id, *wrong)


def _wrong(case: Case, look: Look) -> tuple[str, str] | None:
    """Return what is wrong with a claim, and why; None where nothing is."""
    claim = look.claim
    if claim.verbatim and not _is_verbatim(case, claim):
        return f'"{short(claim.text)}" is marked as a quote', f"it does not stand like that in {look.turns}"
    if _speaks_for_user(look):
        return _not_said(case, look)
    if len(claim.text) > LONGEST_CLAIM:
        return None  # an echo, and as such not looked up word by word
    return _reversed(look) if look.quoted else _ungrounded(look)


def _is_verbatim(case: Case, claim: Claim) -> bool:
    """Tell whether a claim is an exact quote of its first source."""
    cite = claim.sources[0]
    source = case.source(cite)
    return source is not None and claim.text in source.text[cite.start : cite.end]


# The user's words ------------------------------------------------------------------------------------


def _speaks_for_user(look: Look) -> bool:
    """Tell whether a claim passes for the user's own words: then it must be."""
    kind = look.claim.kind
    return kind in _SPEAKERS or (kind is ClaimKind.DECISION and look.lowest >= Trust.USER)


def _not_said(case: Case, look: Look) -> tuple[str, str] | None:
    claim = look.claim
    speakers = _SPEAKERS.get(claim.kind, (Speaker.USER,))
    told = [
        spoken.wording
        for name in dict.fromkeys(cite.message for cite in claim.sources)
        for spoken in case.speech(name)
        if spoken.said.speaker in speakers
    ]
    quoted = [wording for wording in told if is_quote(claim.text, wording)]
    if any(not is_cut_out(claim.text, wording) for wording in quoted):
        return None
    said = f'"{short(claim.text)}" is given as the user\'s words'
    if quoted:
        return said, f"it was cut out of a sentence in {look.turns} that may say something else"
    return said, f"nobody said that in {look.turns}" if told else f"{look.turns} is not the user speaking"


def _reversed(look: Look) -> tuple[str, str] | None:
    """Find a rule of the user's that is quoted without its negation."""
    text = look.claim.text
    if look.lowest < Trust.USER or not is_reversed(text, [one.wording for one in look.sources]):
        return None
    return f'"{short(text)}" is half of what the user said', f"in {look.turns} a negation goes before it"


# Anybody's words -------------------------------------------------------------------------------------


def _ungrounded(look: Look) -> tuple[str, str] | None:
    claim, turns = look.claim, look.turns
    text = ELISION.sub("\n", claim.text)
    for asserted in assertions(text):
        if not any(is_found(asserted, place) for place in look.said):
            return f'"{asserted.text}" is invented', f"no such {asserted.noun} stands in {turns}"
    if claim.kind is ClaimKind.ARTIFACT:
        return None  # what was done to it is told in words of our own
    whole = " ".join(place.plain for place in look.said)
    opposite = turned(text, whole)
    if opposite is not None:
        return f'"{short(claim.text)}" says {opposite[0]}', f"{turns} says {opposite[1]}"
    share = support(text, whole)
    least = LEAST_SUPPORT_OF_USER if _OF_THE_USER.search(text) else LEAST_SUPPORT
    if share < least:
        why = f"only {share:.0%} of its words can be found in {turns}, if with another ending"
        return f'"{short(claim.text)}" is not what its sources say', why
    return None
