"""Check *grounding*: a claim says what its sources say, and the user is quoted only with the user's words.

``_wrong`` is the order of the tests: disguised characters, words given as the user's, permissions, quotes
torn out of their sentence, and for a claim in the summariser's own words invented values, negations and too
few words of its sources. Each returns what is wrong and why: ``('"port 9" is invented', "nothing in m3 says
it")``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from clew.compaction.plan import Claim, ClaimKind, Topic
from clew.compaction.plan.digest import NUMBERS
from clew.compaction.verify.assertions import (
    DONE_TO_FILES,
    FEWEST_WORDS,
    SELF_REFERENCES,
    Assertion,
    assertions,
    content,
    is_found,
    negated_word,
    occurs,
    share,
    support,
    unmentioned_action,
)
from clew.compaction.verify.changed_values import exchanged_number, replaced_name, swapped_words
from clew.compaction.verify.claims import LONGEST_CLAIM
from clew.compaction.verify.context import ClaimCheck, VerificationContext
from clew.compaction.verify.opposites import negated_sentence, turned_word
from clew.compaction.verify.permissions import agreement_words, gives_permission
from clew.compaction.verify.quantities import (
    changed_count,
    changed_quantity,
    changed_time,
    invented_number_word,
    turned_sign,
)
from clew.compaction.verify.report import Finding, Level, short
from clew.compaction.verify.reversals import is_cut_out, is_denied, is_reversed, is_torn, reversed_clause
from clew.compaction.verify.wording import (
    ELISION,
    Wording,
    changes_text_direction,
    has_invisible_characters,
    is_elided,
    is_plain,
    is_quote,
    mimics_tag,
    plain,
    two_scripts,
)
from clew.message import Text, Trust
from clew.rules.speech import Speaker

LEAST_SUPPORT = 1 / 3
"""The share of a claim's own words that must occur in its sources; fitted on the tests' hostile digests."""
LEAST_SUPPORT_OF_USER = 2 / 3
"""The same for a claim about what the user said or wants."""
LEAST_SUPPORT_OF_STEPS = 1 / 2
"""The same for a step that the next assistant acts on; of a step of few words, all must occur."""
STEERING = (ClaimKind.DECISION, ClaimKind.NEXT, ClaimKind.OPEN)
"""Kinds that steer the next assistant."""
_AGREED_STEM = 5
"""Letters of a word of agreement that a source must have: ``appro`` for ``approved``."""
_ORDERS = re.compile(
    r"\b(?:next\s+step|todo|go\s+ahead|please|must|should|shall|ha(?:s|ve)\s+to|needs?\s+to|(?:is|are)\s+to\s+be)\b",
    re.IGNORECASE,
)
"""Words by which a claim of any kind reads like an order."""
_OF_THE_USER = re.compile(
    r"\b(?:the\s+)?(?:user|customer|human|benutzer\w*|nutzer\w*|utilisateur|usuario|utente|用户|ユーザー)\b.{0,60}?"
    r"\b(?:sa(?:id|ys)|want\w*|ask\w*|approv\w*|allow\w*|told|tells|instruct\w*|request\w*|permit\w*|agree\w*|"
    r"confirm\w*|prefer\w*|authori[sz]\w*|lift\w*|revok\w*|requir\w*|need\w*|decid\w*|grant\w*|cho[so]\w*)\b",
    re.IGNORECASE | re.DOTALL,
)
"""A claim in any words about what the user said or wants."""
_REQUESTS = (Speaker.USER, Speaker.PLAN)
_SPEAKERS = {ClaimKind.USER: (Speaker.USER,), ClaimKind.GOAL: _REQUESTS, ClaimKind.NEXT: _REQUESTS}
"""Kinds that are rendered as somebody's words, and whose words they must be."""


def check_grounding(case: VerificationContext) -> Iterator[Finding]:
    """Find claims that say what their sources do not, or attribute words to the user."""
    for check in case.all_claim_checks():
        wrong = _wrong(case, check) if check.sources and not check.vouched else None
        if wrong is not None:
            yield Finding("grounding", Level.DROP, check.claim.id, *wrong)


def _wrong(case: VerificationContext, check: ClaimCheck) -> tuple[str, str] | None:
    """Return what is wrong with a claim, and why; None if nothing is."""
    claim = check.claim
    if claim.verbatim and not (check.exact or _is_verbatim(case, claim)):
        return (
            f'"{short(claim.text)}" is marked as a quote',
            f"it does not occur like that in {check.cited_messages}",
        )
    if claim.kind is ClaimKind.INSTRUCTION:
        unquoted = f'"{short(claim.text)}" is given as an instruction of the host'
        return None if check.quoted else (unquoted, f"{check.cited_messages} does not say it in these words")
    for_user = _speaks_for_user(check)
    if len(claim.text) > LONGEST_CLAIM and not for_user:
        return None  # refused as a copy by the size check; not looked up word by word
    disguised = _disguise(check)
    if disguised is not None:
        return disguised
    if for_user:
        return _not_said(case, check)
    if not _may_give_permission(check) and gives_permission(claim.text, case.required.pins):
        text = f'"{short(claim.text)}" gives permission, or ends a rule'
        return text, f"that is not a whole sentence of the user in {check.cited_messages}"
    if claim.topic is Topic.FILE_TEXT:
        return _not_in_file(check)
    return _find_torn_quote(check) if check.quoted else _grounding_problem(check)


def _not_in_file(check: ClaimCheck) -> tuple[str, str] | None:
    """Find a line of a file's text that no cited call or result has like that; notes on gaps do not count."""
    opening, *lines = check.claim.text.split("\n")
    name = opening.partition("text of ")[2].removesuffix(":")
    texts = [place.text for place in check.cited_texts]
    if numbers := NUMBERS.search(name):
        name = name[: numbers.start()]
        quoted = [line for line in lines if not ELISION.fullmatch(line)]
        for number, line in zip(numbers.groups(), (quoted[0], quoted[-1]) if quoted else (), strict=False):
            if not any(_is_numbered(number, line, text) for text in texts):
                return f'"{short(line)}" is given as line {number}', f"not so in {check.cited_messages}"
    for line in (name, *lines):
        if ELISION.fullmatch(line):
            continue
        # The arguments of a call are JSON, with some characters escaped.
        forms = (line, *(json.dumps(line, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True)))
        if not any(form in text for form in forms for text in texts):
            return f'"{short(line)}" is quoted from a file', f"no such line occurs in {check.cited_messages}"
    return None


def _is_numbered(number: str, line: str, text: str) -> bool:
    """Whether a text shows a line of a file with this number."""
    shown = re.compile(rf"^\s*{number}(?:→|\t|: |\|)\s*{re.escape(line.strip())}\s*$", re.MULTILINE)
    return shown.search(text) is not None


def _disguise(check: ClaimCheck) -> tuple[str, str] | None:
    """Find invisible characters and imitated tags; a quote may contain what its source contains."""
    text = check.claim.text
    if is_plain(text):
        return None
    if mimics_tag(text):
        return f'"{short(text)}" reads like a tag of the digest', "it could be taken for its end"
    if changes_text_direction(text) or (has_invisible_characters(text) and not check.quoted):
        return f'"{short(text)}" holds invisible characters', "it does not say what a reader sees"
    mixed = "" if check.quoted else two_scripts(text)
    if mixed and not any(mixed in place.text for place in check.cited_texts):
        return f'"{mixed}" mixes look-alike letters', f"no such word occurs in {check.cited_messages}"
    return None


def _is_verbatim(case: VerificationContext, claim: Claim) -> bool:
    """Whether a claim is an exact quote of its first source."""
    cite = claim.sources[0]
    source = case.source(cite)
    return source is not None and claim.text in source.text[cite.start : cite.end]


# The user's words ------------------------------------------------------------------------------------


def _speaks_for_user(check: ClaimCheck) -> bool:
    """Whether a claim reads as the user's own words, and so must be."""
    claim = check.claim
    if claim.kind is ClaimKind.NEXT:  # rendered as the user's, or as the agent's
        return min(claim.trust, check.ceiling) >= Trust.USER
    return claim.kind in _SPEAKERS or (claim.kind is ClaimKind.DECISION and check.lowest >= Trust.USER)


def _not_said(case: VerificationContext, check: ClaimCheck) -> tuple[str, str] | None:
    """Return what is wrong with a claim that quotes a speaker, as claim and reason; None if it was said."""
    claim = check.claim
    speakers = _SPEAKERS.get(claim.kind, (Speaker.USER,))
    wordings = [
        speech.wording
        for name in dict.fromkeys(cite.message for cite in claim.sources)
        for speech in case.speech(name)
        if speech.utterance.speaker in speakers
    ]
    quoted = [wording for wording in wordings if is_quote(claim.text, wording)]
    if any(not is_cut_out(claim.text, wording) for wording in quoted):
        return None
    text = f'"{short(claim.text)}" is given as the user\'s words'
    if quoted:
        return text, f"it was cut out of a sentence in {check.cited_messages} that may say something else"
    return (
        text,
        f"nothing in {check.cited_messages} says that"
        if wordings
        else f"{check.cited_messages} is not the user speaking",
    )


# Any speaker's words ---------------------------------------------------------------------------------


def _may_give_permission(check: ClaimCheck) -> bool:
    """Whether permission is quoted in a speaker's whole sentences, or quoted from data and marked as such."""
    speaking = _speaking(check)
    if check.claim.topic is Topic.FILE_TEXT and not speaking:
        return _not_in_file(check) is None
    if not check.quoted:
        return False
    return not speaking or any(not is_cut_out(check.claim.text, wording) for wording in speaking)


def _speaking(check: ClaimCheck) -> list[Wording]:
    """Return everything that the user or the model says in the parts a claim cites."""
    return [
        source.wording
        for source in check.sources
        if isinstance(source.part, Text) and source.part.trust >= Trust.ASSISTANT
    ]


def _find_torn_quote(check: ClaimCheck) -> tuple[str, str] | None:
    """Find a quote without its negation; of a steering claim also a question or condition."""
    if not _speaking(check) or check.claim.topic is Topic.NAMES:  # a bare value says nothing
        return None
    text, wordings = check.claim.text, [source.wording for source in check.sources]
    is_half = (
        is_torn if check.claim.kind in STEERING else is_reversed if check.lowest >= Trust.USER else is_denied
    )
    if not is_half(text, wordings):
        return None
    who = "the user" if check.lowest >= Trust.USER else "the assistant"
    return (
        f'"{short(text)}" is half of what {who} said',
        f"in {check.cited_messages} it is denied, asked or supposed",
    )


def _grounding_problem(check: ClaimCheck) -> tuple[str, str] | None:
    """Return what a claim says that its sources do not, as claim and reason; None if they support it."""
    claim, messages = check.claim, check.cited_messages
    text = ELISION.sub("\n", claim.text) if is_elided(claim.text) else claim.text
    invented = _invented_assertion(check, assertions(text))
    if invented is not None:
        return invented
    wrong = _wrong_value(check, text)
    if wrong is not None:
        return wrong
    whole = " ".join(place.plain for place in check.cited_texts)
    for word in agreement_words(text):
        if not occurs(plain(word)[:_AGREED_STEM], whole):
            return f'"{short(claim.text)}" says {word}', f"nothing in {messages} says so"
    opposite = negated_word(text, whole)
    if opposite is not None:
        return f'"{short(claim.text)}" says {opposite[0]}', f"{messages} says {opposite[1]}"
    turned = turned_word(text, [place.text for place in check.cited_texts])
    if turned is not None:
        return f'"{short(claim.text)}" says {turned[0]}', f"{messages} says {turned[1]} of the same"
    clause = negated_sentence(text, [place.text for place in check.cited_texts]) or reversed_clause(
        text, _speaking(check), strictly=claim.kind in STEERING
    )
    if clause:
        return f'"{short(clause)}" is reversed', f"{messages} says the opposite of the same"
    return _unsupported_claim(claim, text, whole, messages)


def _wrong_value(check: ClaimCheck, text: str) -> tuple[str, str] | None:
    """Find a value in the place of another one, and a number in words that no source has."""
    claim, messages = short(check.claim.text), check.cited_messages
    sources = [place.text for place in check.cited_texts]
    exchanged = exchanged_number(text, sources)
    if exchanged is not None:
        what = f'"{claim}" gives {exchanged.number} for another value'
        return what, f"in {messages} it is not the number for these words"
    swapped = swapped_words(text, sources)
    if swapped is not None:
        first, second = swapped
        return f'"{claim}" has {first} in the place of {second}', f"{messages} says it the other way round"
    replaced = replaced_name(text, sources)
    if replaced is not None:
        own, theirs = replaced
        return f'"{claim}" says {own}', f"{messages} says {theirs} in the same sentence"
    invented = next(filter(None, (find(text, sources) for find in _QUANTITIES)), None)
    return (f'"{invented}" is invented', f"nothing in {messages} says it") if invented else None


_QUANTITIES = (invented_number_word, changed_quantity, changed_time, changed_count, turned_sign)


def _invented_assertion(check: ClaimCheck, asserted: Iterable[Assertion]) -> tuple[str, str] | None:
    """Find an assertion that does not occur in the sources."""
    for assertion in asserted:
        if not any(is_found(assertion, place) for place in check.cited_texts):
            return (
                f'"{assertion.text}" is invented',
                f"no such {assertion.noun} occurs in {check.cited_messages}",
            )
    return None


def _unsupported_claim(claim: Claim, text: str, whole: str, messages: str) -> tuple[str, str] | None:
    """Find a claim too few of whose words occur in its sources."""
    if claim.kind in STEERING or _ORDERS.search(text):
        words = content(text, SELF_REFERENCES)
        found, least = share(words, whole), LEAST_SUPPORT_OF_STEPS if len(words) > FEWEST_WORDS else 1.0
        if unmentioned_action(text, whole) or not (words or any(assertions(text))):
            return f'"{short(claim.text)}" is given as a step', f"nothing like it occurs in {messages}"
    else:
        spared = SELF_REFERENCES | (DONE_TO_FILES if claim.kind is ClaimKind.ARTIFACT else frozenset())
        found, least = support(text, whole, spared), LEAST_SUPPORT
    if _OF_THE_USER.search(text):
        least = max(least, LEAST_SUPPORT_OF_USER)
    if found < least:
        why = f"only {found:.0%} of its words occur in {messages}, in any form"
        return f'"{short(claim.text)}" is not what its sources say', why
    return None
