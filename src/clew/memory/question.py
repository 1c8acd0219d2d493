"""Parse a question: terms, exact values, dates, and what kind of answer it wants.

``understand("when did the user say that src/app.py fails?", at)`` has the terms ``src app py fail``, the
exact value ``src/app.py``, ``of_user`` and ``wants_date``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from clew.memory.dates import DateSpan, spans
from clew.memory.terms import stem, stop_words, surface

MOST_TERMS = 24
"""Terms of a question that are searched; real questions have fewer."""

_ME = re.compile(r"\b(?:i|i'm|i've|i'd|my|me|mine|myself)\b", re.I)
_YOU = re.compile(r"\b(?:you|your|yours|our|we|remind)\b", re.I)
_REQUEST = re.compile(r"\b(?:can|could|would|will) you\b", re.I)
"""Before a request it says who is asked, not whose messages are meant."""
_SAID_BY_ME = re.compile(
    r"\bi(?:'ve| have| had)? (?:brought up|mention(?:ed)?|said|say|told|tell|asked?|shared?|described?|"
    r"raised?|wrote|reported?)\b",
    re.I,
)
_SAID_BY_USER = re.compile(
    r"\b(?:the|this|our) (?:user|human|customer|client)(?:'s)? (?:\w+ly |also |first |just )?"
    r"(?:want|said|say|ask|prefer|told|tell|need|request|mention|decid|wish|like|complain|reject|refus|approv|"
    r"agree|instruct|insist|object|think|thought|answer|repl[iy]|choose|chose)\w*",
    re.I,
)
"""An agent's question about what its user said. These words say who said it, not what."""
_WHEN = re.compile(r"\bwhen\b|\bwhat (?:date|day|month|year|time)\b|\bhow (?:long|old)\b", re.I)
_COUNT = re.compile(r"\bhow (?:many|much|long|old|often)\b|\bnumber of\b|\btotal\b", re.I)
_NAME = re.compile(r"\b(?:who|where|which|title|called|named?)\b", re.I)

# Text in quotes of any kind: "connection reset", `make test`.
_QUOTED = re.compile(r"""(?<!\w)(["'`“‘«])(?=\S)([^"`“”«»\n]{3,200}?)(?<=\S)["'`”’»](?!\w)""")
# Exact values, in the order of the alternatives: /etc/hosts; C:\temp; a/b, a.b, snake_case; 4f2a91c;
# E12; ValueError; camelCase.
_VALUE = re.compile(
    r"(?<![\w/.~-])"
    r"(?:[~.]{0,2}(?:/[\w.@+-]+)+/?|\w:\\[\w.\\-]+|(?<![@+])[\w@+-]+(?:[/\\.:#_]+[\w@+-]+)+|"
    r"(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{6,}|[A-Z]+[_-]?\d+|\w+(?:Error|Exception|Warning)|[a-z]+[A-Z]\w+)"
)
# A date in digits: 09.01.2024.
_NUMERIC = re.compile(r"\d+[-/.]\d+[-/.]\d+")
# A JSON escape at the end of a text: the n of "\\nE12" is not part of the word E12.
_ESCAPED = re.compile(r"(?<!\\)(?:\\\\){0,3}\\(?:[nrtbf]|u[0-9a-f]{4})$")
# What looks like a value and is ordinary text: 3rd, 10pm, 12:30, 1.5, and/or, e.g.
_ORDINARY = re.compile(
    r"\d+(?:st|nd|rd|th|s|k|m|am|pm)?|\d{1,2}[:.]\d\d(?:am|pm)?|[\d./:-]+|[a-z]+/[a-z]+|(?:[a-z]\.)+[a-z]?",
    re.I,
)


_FILLER = re.compile(
    r"\A\W*(?:(?:hey|hi|hello|hallo|hola|bonjour|yo|ok|okay|so|well|um+|hm+|sorry|quick question)\b\W*)+"
    r"|\b(?:please|pls|plz|bitte|por favor|btw|by the way|thanks|thank you|danke|gracias|merci)\b"
    r"|\b(?:(?:can|could|would) you )?(?:remind|tell) me\b|\bdo you (?:remember|know|recall)\b"
    r"|\bi(?: forgot| forget| (?:can't|cannot|don't) (?:remember|recall))\b"
    r"|\b(?:called|named|names?)\b(?=\W*(?:again|now|please|pls|thanks)?\W*\Z)|\bthe names? of\b",
    re.I,
)
"""Words of a question that say nothing about its subject: greetings, thanks, "what is it called again"."""


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A parsed question."""

    text: str
    terms: tuple[str, ...]
    """Its distinct stems without stop words, in order."""
    values: tuple[str, ...]
    """Text to find verbatim: quoted words, paths, ids, error codes."""
    spans: tuple[DateSpan, ...]
    """The dates it names, relative to the time of asking."""
    of_user: bool
    """It names the user as the speaker, as an agent does."""
    of_me: bool
    """It asks about the user, or what the user said."""
    of_you: bool
    """It asks about what the assistant said, or what both did."""
    wants_date: bool
    wants_number: bool
    wants_name: bool
    exacting: bool = False
    """At least half of its terms belong to exact values, so those are what it is about."""


def understand(text: str, at: date) -> ParsedQuestion:
    """Parse a question asked on the day ``at``."""
    stop = stop_words()
    dates = spans(text, at)
    # 09.01.2024 is searched as a day. As words, its numbers are rare and would outweigh the others.
    numeric = [span.words for span in dates if _NUMERIC.fullmatch(span.words)]
    in_dates = {word for words in numeric for word in surface(words)}
    of_user = _SAID_BY_USER.search(text)
    texts = [stem(word) for word in surface(_SAID_BY_USER.sub(" ", text) if of_user else text)]
    terms = [term for term in dict.fromkeys(texts) if term not in stop and term not in in_dates]
    terms = terms or list(dict.fromkeys(texts))
    values = exact_values(text)
    of_values = {stem(word) for value in values for word in surface(value)}
    return ParsedQuestion(
        text,
        tuple(terms[:MOST_TERMS]),
        values,
        dates,
        of_user=bool(of_user),
        of_me=bool(of_user or _ME.search(text)),
        of_you=not _SAID_BY_ME.search(text) and bool(_YOU.search(_REQUEST.sub("", text))),
        wants_date=bool(_WHEN.search(text)),
        wants_number=bool(_COUNT.search(text)),
        wants_name=bool(_NAME.search(text)),
        exacting=2 * sum(term in of_values for term in terms) >= len(terms) > 0,
    )


def without_filler(text: str) -> str:
    """Return a question without greetings and the like; the whole text if nothing else remains."""
    rest = _FILLER.sub(" ", text)
    return rest if any(word not in stop_words() for word in surface(rest)) else text


def exact_values(text: str) -> tuple[str, ...]:
    """Return the exact values in a text, longest first."""
    result = [match[2] for match in _QUOTED.finditer(text)]
    result += [match[0].rstrip(".:,") for match in _VALUE.finditer(text)]
    values = {value for value in result if len(value) >= 3 and not _ORDINARY.fullmatch(value)}
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


def occurs_in(value: str, text: str) -> bool:
    """Return True if a value occurs in a text as a whole word: ``E12`` does not in ``E123``."""
    low, wanted = text.lower(), value.lower()
    place = low.find(wanted)
    while place >= 0:
        after = low[place + len(wanted) : place + len(wanted) + 1]
        if not (wanted[:1].isalnum() and _goes_on(low, place)) and not (
            wanted[-1:].isalnum() and after.isalnum()
        ):
            return True
        place = low.find(wanted, place + 1)
    return False


def _goes_on(text: str, place: int) -> bool:
    """Return True if a word continues from before this position; a JSON escape ends a word."""
    return text[place - 1 : place].isalnum() and not _ESCAPED.search(text, max(0, place - 12), place)
