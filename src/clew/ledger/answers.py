"""Decide whether the user's words answer a question of the model, or only tell it to continue."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from clew.ledger.request_words import asks_for_something
from clew.ledger.stems import stems
from clew.message.patterns import lazy_pattern
from clew.rules.languages import is_english
from clew.rules.speech import USER, Utterance
from clew.rules.words import words_again

_READ = 600
"""Characters of the user's words that are read; chosen by hand."""
_OF_ITS_OWN = 3
"""Content words from which a question says what it is about; a shorter one needs the words around it."""


def goes_on(utterance: Utterance) -> bool:
    """Return True if the user only tells the model to continue."""
    return utterance.speaker is USER and _GO_ON.fullmatch(utterance.text[:_READ]) is not None


def answers(question: str, utterance: Utterance, around: Collection[str]) -> bool:
    """Return True unless the user only tells the model to continue, or asks for something else.

    "Go on" answers a question if a yes comes with it, or if the model asked for leave. A request or a
    question of the user does not answer one that it shares no word with. ``around`` are the stems of the
    words around the question; without them (a question of a tool) any words but "go on" answer it.
    """
    text = utterance.text[:_READ]
    about = stems(question)
    if around and _only_asks(text) and (_IS_CHOICE.search(question) or not _IS_OPEN.search(question)):
        return not stems(text).isdisjoint((*about, *around))  # a question on another matter answers none
    if _ASKS_LEAVE.search(question):
        return True
    if goes_on(utterance):
        return _YES_OR_NO.search(text) is not None
    if not around or _IS_OPEN.search(question) or _IS_ANSWER.search(text) or not asks_for_something(text):
        return True
    return not stems(text).isdisjoint(about if len(about) >= _OF_ITS_OWN else around)


def _only_asks(text: str) -> bool:
    """Return True if a text is one question in English, and not part of an answer."""
    is_question = text.rstrip().endswith("?") and _ENDS_WITHIN.search(text) is None
    return is_question and not _CHOOSES.search(text) and is_english(text, words_again(text))


def unanswered(questions: Sequence[str], utterance: Utterance, around: Collection[str]) -> set[int]:
    """Return which of several questions, asked in one text, the user's words do not answer.

    Words that speak of one question, and say no more than that, leave the others open.
    """
    left = {place for place, question in enumerate(questions) if not answers(question, utterance, around)}
    if len(questions) < 2 or goes_on(utterance):
        return left
    said = stems(utterance.text[:_READ])
    about = [stems(question) for question in questions]
    shared = {word for place, words in enumerate(about) for word in words if _in_others(word, about, place)}
    spoken_of = {place for place, words in enumerate(about) if not said.isdisjoint(words - shared)}
    if not spoken_of:
        return left
    clauses = [clause for clause in _CLAUSE.split(utterance.text[:_READ]) if _says_something(clause)]
    return set(range(len(questions))) - spoken_of if len(clauses) < len(questions) else set()


def _in_others(word: str, about: Sequence[frozenset[str]], place: int) -> bool:
    return any(word in words for other, words in enumerate(about) if other != place)


def _says_something(clause: str) -> bool:
    return _YES_OR_NO.sub("", clause).strip(" .!\n") != ""


# What the patterns recognise ---------------------------------------------------------------------------

_GO_ON = lazy_pattern(
    r"""\W*+(?:(?:yes|yeah|yep|ok|okay|sure|no|fine|please|thanks|thank\ you|great|good|nice
      |perfect|cool|and|then|now|just|so|bitte|dann|por\ favor)\b\W*+)*+
    (?:go\ on|go\ ahead|keep\ going|carry\ on|move\ on|continue|proceed|resume|next|go
      |weiter(?:machen)?|mach\ weiter|fahr\ fort
      |continue[rz]|vas-y|contin[uú]a|sigue|prosegui|vai\ avanti|продолжай(?:те)?|继续|繼續|続けて)
    (?:\W++(?:please|then|now|on|with\ (?:it|that|this)|thanks|bitte|吧|ください))*+\W*+""",
    re.VERBOSE | re.IGNORECASE,
)
"""Words that only tell the model to continue, perhaps after a yes. No group captures: in a possessive
repetition that makes ``re`` fail with a SystemError in Python 3.11."""
_YES_OR_NO = lazy_pattern(r"\b(?:yes|yeah|yep|ok|okay|sure|no|fine)\b", re.IGNORECASE)
_ASKS_LEAVE = lazy_pattern(
    r"""\b(?:shall|should|can|may|could)\ (?:i|we)\b|\bme\ to\b|\byou\ (?:like|want)\b
    |\b(?:ok|okay|fine|good|ready)(?:\W*$|\ (?:to|if|with)\b)|^\W*(?:proceed|continue|go\ (?:on|ahead))\b
    |\b(?:soll(?:en|te)?\ (?:ich|wir)|möchtest\ du|dois-je|veux-tu|quieres\ que|vuoi\ che)\b
    |要我|继续|よろしい""",
    re.VERBOSE | re.IGNORECASE,
)
"""A question whether to continue, which "go on" answers."""
_IS_OPEN = lazy_pattern(
    r"""\b(?:what|which|how|where)\b.{0,60}
      \b(?:next|else|first|now|start|proceed|continue|help|do|work\ on|like|want|prefer|approach|direction)\b
    | \b(?:any|anything|additional|something\ else|other|ready|want\ to|make\ sense|questions)\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""A question that any request answers: what to do next, or anything else."""
_IS_ANSWER = lazy_pattern(
    r"""\b(?:yes|yeah|yep|yup|ok|okay|sure|no|nope|nah|fine|both|either|neither|none|first|second|third|last
      |latter|former|option|whatever|always|never|keep|leave|skip|ignore|instead|prefer|rather|actually|use
      |do\ it|do\ that|go\ with|up\ to\ you|your\ choice|don[’']t\ know|not\ sure|it|its|it[’']s|that|this
      |them|they|these|those|one)\b | ^\W*(?:[a-d]|\d{1,2})\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""Words that show that the user answers, or refers to what the model said."""
_CHOOSES = lazy_pattern(
    r"\b(?:yes|yeah|yep|yup|ok|okay|sure|no|nope|both|either|neither|first|second|latter|former|option)\b",
    re.IGNORECASE,
)
"""Words of an answer that may come with a question of the user's own."""
_IS_CHOICE = lazy_pattern(r"\b(?:which|prefer)\b", re.IGNORECASE)
_ENDS_WITHIN = lazy_pattern(r"[.!?…;:]\s+\w|\n")
_CLAUSE = lazy_pattern(r"[.;,!?\n]+\s*|\s+and\s+", re.IGNORECASE)
