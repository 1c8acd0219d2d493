"""Decide whether the user's words answer a question of the model, or only tell it to continue."""

from __future__ import annotations

import re
from collections.abc import Collection

from clew.ledger.request_parts import asks_for_something
from clew.ledger.stems import stems
from clew.message.patterns import lazy_pattern
from clew.rules.speech import USER, Utterance

_READ = 600
"""Characters of the user's words that are read; chosen by hand."""
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
    if _ASKS_LEAVE.search(question):
        return True
    if goes_on(utterance):
        return _YES_OR_NO.search(text) is not None
    if not around or _IS_OPEN.search(question) or _IS_ANSWER.search(text) or not asks_for_something(text):
        return True
    about = stems(question)
    return not stems(text).isdisjoint(about if len(about) >= _OF_ITS_OWN else around)
