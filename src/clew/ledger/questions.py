"""Find the questions in a text of the user, at the end of a text of the model, and in a tool call.

All are returned as spans: in "I need help. Why does it fail?", ``questions_of_user`` finds the second
sentence. Pasted text and code do not count. ``Talk`` turns the questions into work items; ``offers`` reads
the model's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.ledger.non_requests import THANKS
from clew.ledger.phrases import is_foreign, sentence_around
from clew.message import Json
from clew.message.text import lazy_pattern
from clew.rules.foreign import foreign
from clew.rules.sentences import sentences
from clew.rules.speech import Utterance

LONGEST_REQUEST = 600
"""Characters of a request that are quoted; chosen by hand."""
LAST_WORDS = 900
"""Characters at the end of a text of the model that may ask something; chosen by hand."""
_MOST_QUESTIONS, _MOST_ASKED = 12, 4
"""Questions of one text of the user, and of the model, that are tracked; chosen by hand."""
_MOSTLY = 0.9
"""Share of a text from which it only asks questions; chosen by hand."""
_COURTESY = (
    rf"(?:(?:{THANKS}"
    r"|hi|hello|hey|thanks?|thank you|thx|ty|cool|great|nice|perfect|awesome|ok|okay|good|lovely|wow"
    r"|super|excellent|brilliant|haha|sorry|job|work|very|much|so|lgtm|danke|prima|merci|gracias)\b\W*)"
)
_SUBJECT = (
    r"(?:(?:the|this|that|it|they|these|those|everything|all|both|your|my|our)\s+"
    r"(?:(?!should|must|need|not|never|if|until)[^\W\d_]+\s+){0,4}?)?"
)
_APPROVAL = (
    rf"(?:{_SUBJECT}(?:reads?|looks?|sounds?|seems?|works?|is|are|was|were)\s+"
    r"(?:(?:really|very|so|all|just|much|way)\s+)?"
    r"(?:well|good|great|fine|nice|perfect(?:ly)?|better|lovely|clean|right|correct|excellent)"
    r"(?:\s+(?:now|already|to\s+me|indeed))?"
    rf"|{_SUBJECT}works(?:\s+now)?"
    r"|(?:it[’']?s\s+)?(?:already\s+)?(?:shipped|merged|deployed|pushed|released|approved|committed)(?:\s+it)?)"
)
NO_TASK = lazy_pattern(
    rf"(?!.*\?)\W*{_COURTESY}*(?:{_COURTESY}|{_APPROVAL}\s*(?:[.,;!:)\n][\s.,;!:)]*|\Z))*",
    re.IGNORECASE | re.DOTALL,
)
"""Courtesies and praise, which ask for nothing: "thanks, the summary reads well", "perfect, shipped"."""


def says_more_than(text: str, questions: list[tuple[int, int]]) -> bool:
    """Return True if the user's own words say more than these questions; pasted text does not count."""
    asked = sum(end - start for start, end in questions)
    if len(text) <= LONGEST_REQUEST:
        return asked < len(text.strip()) * _MOSTLY
    pasted = foreign(text)
    own = sum(
        sentence.end - sentence.start
        for sentence in sentences(text)
        if not any(start <= sentence.start < end for start, end in pasted)
        and not NO_TASK.fullmatch(sentence.text)
    )
    return asked < own * _MOSTLY


def questions_of_user(utterance: Utterance) -> Iterator[tuple[int, int]]:
    """Yield the questions in the user's own words, not those in pasted text."""
    if "?" not in utterance.text and "？" not in utterance.text:
        return
    found = 0
    for sentence in sentences(utterance.text):
        if sentence.text.rstrip("\"'”’)*_` ").endswith(("?", "？")) and len(sentence.text) > 3:
            yield sentence.start, sentence.end
            found += 1
            if found == _MOST_QUESTIONS:
                return


def last_questions(utterance: Utterance) -> list[tuple[int, int]]:
    """Return the question that ends a text of the model, with those right before it."""
    text = utterance.text.rstrip()
    at = max(text.rfind("?"), text.rfind("？"))
    if at < max(0, len(text) - LAST_WORDS) or is_foreign(text, at):
        return []
    start, end = sentence_around(text, at, at + 1)
    if text[end - 1] not in "?？\"'”’)*_`" or len(text) - end >= LAST_WORDS // 2:
        return []
    found = [(start, end)]
    read_from = max(0, len(text) - LAST_WORDS)
    if "?" in text[read_from:start]:
        before = [one for one in sentences(text[read_from:start]) if any(map(str.isalpha, one.text))]
        for sentence in reversed(before[1 - _MOST_ASKED :]):
            if not sentence.text.endswith("?"):
                break
            found.insert(0, (sentence.start + read_from, sentence.end + read_from))
    return found


def questions_in_call(arguments: dict[str, Json]) -> Iterator[str]:
    """Yield the questions that a call asks the user."""
    rows = arguments.get("questions")
    for row in rows if isinstance(rows, list) else [arguments]:
        text = row.get("question") if isinstance(row, dict) else None
        if isinstance(text, str) and text:
            yield text
