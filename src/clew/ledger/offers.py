"""Choices that the model offers, and the user's short answers that pick one.

The model ends its text with options ("a) keep the API  b) break it: which one?") or with a question
("Postgres or SQLite?"); the user says "the second one". Alone, that answer means nothing, so the
``Decisions`` tracker records it with the words of the option: ``chosen_of(answer, offers_in(utterance))``.
What the user answers in a form that a tool shows is in the tool's result: ``answers_in(exchange)``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from clew.ledger.exchange import Exchange
from clew.ledger.outcome import Ended
from clew.ledger.questions import last_questions, questions_in_call
from clew.ledger.stems import stems
from clew.ledger.tool_actions import ActionKind
from clew.message import Cite, Text
from clew.message.text import lazy_pattern
from clew.rules.speech import Utterance


class Offer(NamedTuple):
    """An option that the model offered, or its question that names several."""

    label: str
    """A letter or number; empty for a question."""
    text: str
    source: Cite


_LAST_WORDS = 1_500
"""Characters at the end of the model's text that may offer a choice; chosen by hand."""
_LAST_OPTIONS = 4_000
"""The same for options that are called so: what speaks for each of them is often explained. By hand."""
_LONGEST_ANSWER = 160
"""Characters of an answer that only chooses; chosen by hand."""


def offers_in(utterance: Utterance) -> list[Offer]:
    """Return the options that a text of the model ends with: a list, or a question with "or".

    Options that are called so ("Option A: …") or stand in a table need no question after them.
    """
    text = utterance.text.rstrip()
    labelled = _labelled(utterance, text)
    if len(labelled) > 1:
        return labelled
    asks = last_questions(utterance)
    if not asks or len(text) - asks[0][0] > _LAST_WORDS:
        return []
    start = max(0, asks[0][0] - _LAST_WORDS)
    options = [_offer(utterance, match) for match in _OPTION.finditer(text, start)]
    if len(options) < 2 and ")" in text:
        options = _in_one_line([_offer(utterance, match) for match in _INLINE.finditer(text, start)])
    if len(options) > 1:
        return options
    question = next((span for span in asks if _OR.search(text, *span)), None)
    return [Offer("", text[slice(*question)], utterance.cite(*question))] if question else []


def _labelled(utterance: Utterance, text: str) -> list[Offer]:
    """Return the options in a text that are called so, or stand in a table; each label once, the last."""
    if not any(map(text.__contains__, _LABEL_SIGNS)):
        return []
    found = _LABELLED.finditer(text, max(0, len(text) - _LAST_OPTIONS))
    return list({offer.label: offer for offer in (_offer(utterance, match) for match in found)}.values())


def _in_one_line(found: Sequence[Offer]) -> list[Offer]:
    """Return the last row of options whose labels count up: "(a) refund, or (b) send a replacement"."""
    first = max((place for place, offer in enumerate(found) if offer.label in ("a", "1")), default=len(found))
    row = list(found[first:])
    labels = "".join(offer.label for offer in row)
    return row if labels and ("abcd".startswith(labels) or "123456789".startswith(labels)) else []


def _offer(utterance: Utterance, match: re.Match[str]) -> Offer:
    return Offer(
        next(filter(None, match.groups())).casefold(),
        match["text"].strip(" *|"),
        utterance.cite(*match.span("text")),
    )


def chosen_of(answer: str, offers: Sequence[Offer]) -> Offer | None:
    """Return the option that a short answer of the user chooses; None if it does something else."""
    if not offers or len(answer) > _LONGEST_ANSWER or answer.rstrip().endswith("?"):
        return None
    question = offers[0] if not offers[0].label else None
    match = _CHOOSES.match(answer)
    if match is None or _LISTS.search(answer):
        said = stems(_COURTESY.sub(" ", answer))
        named = question is not None and bool(said) and said < stems(question.text)
        return question if named else None
    if question is not None:
        return question if match["nth"] else None
    if match["nth"]:
        place = _ORDINALS[match["nth"].casefold()]
        return offers[place] if place < len(offers) else None
    label = (match["label"] or match["bare"]).casefold()
    return next((offer for offer in offers if offer.label == label), None)


class Answer(NamedTuple):
    """What the user answered in a tool's form."""

    question: str
    text: str
    source: Cite


def answers_in(exchange: Exchange) -> Iterator[Answer]:
    """Yield the user's answers in the result of a tool by which the agent asks, each with its question."""
    if exchange.action.kind is not ActionKind.ASK or exchange.outcome.ended is not Ended.OK:
        return
    questions = list(questions_in_call(exchange.action.arguments))
    text = "\n".join(part.text for part in exchange.result.parts if isinstance(part, Text))
    stated = (
        _json_answers(text, exchange) if text.lstrip().startswith("{") else _quoted_answers(text, questions)
    )
    for question, begin, end in stated:
        answer = text[begin:end].strip()
        if answer and "?" not in answer:  # a question back chooses nothing
            start = text.index(answer, begin)
            yield Answer(question, answer, exchange.answered._replace(start=start, end=start + len(answer)))


def _quoted_answers(text: str, questions: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield what stands behind each question: ``"Which one?"="The first", "When?"="Now".``."""
    for question in questions:
        start = text.find(f'"{question}"="')
        if start >= 0:
            start += len(question) + 4
            end = _ANSWER_ENDS.search(text, start)
            yield question, start, end.start() if end else len(text)


def _json_answers(text: str, exchange: Exchange) -> Iterator[tuple[str, int, int]]:
    """Yield the answers of an object ``{"answers": {id: {"answers": ["The first"]}}}``."""
    try:
        answers = json.loads(text)["answers"].items()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return
    rows = exchange.action.arguments.get("questions")
    forms: list[Any] = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    for number, (name, value) in enumerate(answers):
        asked = next((row for row in forms if name in (row.get("id"), row.get("question"))), None)
        asked = asked or (forms[number] if number < len(forms) else {})
        given = value.get("answers") if isinstance(value, dict) else value
        for one in given if isinstance(given, list) else [given]:
            quoted = json.dumps(one, ensure_ascii=False) if isinstance(one, str) else ""
            start = text.find(quoted) if len(quoted) > len('""') else -1
            if start >= 0 and isinstance(asked.get("question"), str):
                yield asked["question"], start + 1, start + len(quoted) - 1


# What the patterns recognise ---------------------------------------------------------------------------

_OPTION = lazy_pattern(
    r"^[ \t]*(?:[-*][ \t]+)?\**\(?(?P<label>[A-Da-d]|\d{1,2})\**[.):]\**[ \t]+(?P<text>\S[^\n]*)$",
    re.MULTILINE,
)
"""An option of a list: "b) break it"."""
_INLINE = lazy_pattern(
    r"(?<![^\s(:,;])(?:\((?P<whole>[A-Da-d]|[1-9])\)|(?P<half>[A-Da-d]|[1-9])\))[ \t]+(?P<text>[^\n]{1,200}?)"
    r"(?=[,;]?[ \t]+(?:(?:or|and|oder|und|ou|et|o|y|e)[ \t]+)?(?:\([A-Da-d1-9]|[A-Da-d1-9])\)[ \t]"
    r"|[.?!;](?:\s|\Z)|\n|\Z)",
)
"""An option within a sentence: "(b) send a replacement"."""
_LABELLED = lazy_pattern(
    r"""^[ \t]*(?:
      (?:\#{1,4}[ \t]+|[-*•][ \t]+|\|[ \t]*)?\**(?:option|approach|choice|alternative|variant)[ \t]+
      \(?(?P<word>[A-D]|\d{1,2})\b\)?(?:[ \t]*\([^()\n]{1,40}\))?[ \t]*\**[ \t]*[.:|—–-]+\**[ \t]*
    | \|[ \t]*\**(?P<cell>[A-D]|\d{1,2})[.):]\**[ \t]+
    )(?P<text>[^\s|][^\n]*)$""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
"""An option that is called so, or stands in a table: "**Option 2:** a new table", "| **B.** Keep it | …"."""
_LABEL_SIGNS = ("ption ", "pproach ", "hoice ", "lternative ", "ariant ", "| **")
"""Substrings of which every text with such options has one, as a prefilter."""
_LISTS = lazy_pattern(r"\n\s*2[.)]\s")
"""A list of the user's own."""
_ORDINALS = {"first": 0, "former": 0, "second": 1, "third": 2, "fourth": 3, "last": -1, "latter": -1}
"""Which option these words choose, as an index."""
_CHOOSES = lazy_pattern(
    r"\W*(?:(?:ok|okay|yes|yeah|yep|sure|hmm|let[’']?s|please|just|so|then|i|we|i[’']d|would|say|go|do|use|take|pick"
    r"|choose|prefer|like|with|for|think)\b\W*)*(?:the\s+)?"
    r"(?:(?P<nth>first|second|third|fourth|last|latter|former)"
    r"(?:\s+(?:one|option|approach|choice|way|variant)|(?!\s*[.,:]\s*\w))"
    r"|(?:option|number|variant|approach|choice)\s*\#?(?P<label>[a-d]|\d{1,2})|(?P<bare>[a-d]|\d{1,2}))"
    r"(?=\W*(?:\Z|[.,;!\n]|(?:then|please|and|but|sounds?|it\s+is|looks?|is\s+fine|works?)\b))",
    re.IGNORECASE,
)
"""An answer that chooses: "let's go with option b", "the second one"."""
_ANSWER_ENDS = lazy_pattern(r'"(?=, "|\.? You can now|\.?\s*\Z| user notes:| selected )')
"""The end of an answer in a tool's form, which may hold quotation marks itself."""
_COURTESY = lazy_pattern(
    r"\b(?:please|thanks?|ok|okay|yes|yeah|sure|then|use|prefer|rather|let[’']?s)\b", re.IGNORECASE
)
"""Words of an answer that name no option."""
_OR = lazy_pattern(r"\bor\b", re.IGNORECASE)
"""The word between two options."""
