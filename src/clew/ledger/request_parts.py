"""Split a request into its parts: the separate things that one message of the user asks for.

"Implement login, then logout." asks for two things; so do two bullets that begin with verbs of work. A text
is split into sentences and list items, and these into steps ("fix it, then push"); "update the docs and the
changelog" is one part. Requests in other languages than English have one part. ``CompoundRequests`` keeps
the parts; ``part_reports`` decides which of them a report leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from clew.ledger.loop import LoopKind
from clew.ledger.non_requests import states_only
from clew.ledger.request_context import Problem, Statements, has_condition, without_condition
from clew.ledger.request_words import DETERMINER, LOOKING_VERBS, MAKING_VERBS, VERB, begins_request
from clew.ledger.stems import stems
from clew.message import Cite
from clew.message.patterns import lazy_pattern
from clew.rules.languages import ENGLISH, guess, is_function_word
from clew.rules.prefilter import CHUNKS, marks
from clew.rules.sentences import Sentence, sentences
from clew.rules.words import words_again

MOST_PARTS = 40
"""Parts of one message that are kept apart; chosen by hand."""
_LONGEST_SPLIT = 20_000
"""Characters of a message that are split; chosen by hand."""
_LONGEST_NAME = 200
"""Characters of a later request of a message that may be a name without a verb; chosen by hand."""


class RequestPart(NamedTuple):
    """One of several things that a message asks for."""

    text: str
    source: Cite
    words: frozenset[str]
    """Stems of the content words that name it."""
    may_only_look: bool
    """Whether it may ask to look at something, so that reading a file may be all of the work."""
    only_names: bool
    """Whether it only names a thing, and another part or a line above says what to do with it."""
    is_beside: bool = False
    """Whether it is a problem or a condition stated beside a request: a report on it says nothing about the
    request, and it is never left out itself."""

    @property
    def kind(self) -> LoopKind:
        """Return the kind of work item that it is."""
        return LoopKind.QUESTION if self.text.rstrip("\"'”’)*_` ").endswith("?") else LoopKind.REQUEST


@dataclass(slots=True)
class MessageParts:
    """The parts of what one message asks for; split only if there may be several, because that takes time."""

    asked: list[tuple[str, Cite]] = field(default_factory=list)
    """The requests and questions of the message, unsplit."""
    several: list[RequestPart] = field(default_factory=list)
    """The parts; empty or with one part if the message asks for one thing."""

    def add(self, text: str, source: Cite) -> None:
        """Add a request or a question of the message."""
        self.asked.append((text, source))
        if len(self.asked) == 1 and not _may_be_several(text):
            return
        not_split_yet = self.asked[-1:] if self.several else self.asked
        for request in not_split_yet:
            self.several += request_parts(*request) or _name_alone(*request)


def request_parts(text: str, source: Cite, after: int = -1) -> list[RequestPart]:
    """Return the separate things that a text of the user asks for; rules and facts are left out.

    With ``after``, only those that end after this position of the text.
    """
    read = text[:_LONGEST_SPLIT]
    if len(read) <= after or guess(read, words_again(read)) != ENGLISH:
        return []
    found = (span for span in _spans(read, after) if span.end > after)
    return [_part(read, source, span) for span in islice(found, MOST_PARTS)]


def _may_be_several(text: str) -> bool:
    """Return False if a text has only one sentence, and nothing that joins two requests."""
    if _ENDS_WITHIN.search(text) or has_condition(text):
        return True
    return (not text.isascii() or bool(marks(text) & _JOINT_MARK)) and _JOINT.search(text) is not None


def _name_alone(text: str, source: Cite) -> list[RequestPart]:
    """Return the one part of a request that has no verb, if others came before it in its message."""
    is_name = source.start > 0 and len(text) <= _LONGEST_NAME
    return [_part(text, source, _PartSpan(0, len(text), only_names=True))] if is_name else []


class _PartSpan(NamedTuple):
    """The position of a part in a text."""

    start: int
    end: int
    only_names: bool = False
    is_beside: bool = False


def _part(text: str, source: Cite, span: _PartSpan) -> RequestPart:
    words = text[span.start : span.end]
    cite = source._replace(start=source.start + span.start, end=source.start + span.end)
    named = words if span.is_beside else words[slice(*without_condition(words, 0, len(words)))]
    may_only_look = _LOOKING.match(words) is not None
    return RequestPart(words, cite, stems(named), may_only_look, span.only_names, span.is_beside)


def _spans(text: str, after: int) -> Iterator[_PartSpan]:
    """Yield the spans of what a text asks for, and without ``after`` of what it states beside that."""
    beside = Statements(text)
    for sentence in sentences(text):
        if sentence.end <= after or text[sentence.start : sentence.end] != sentence.text:
            continue  # the latter is a text that a tool wrote as a JSON string
        spans = list(_spans_of_sentence(text, sentence))
        if after >= 0:
            yield from spans
            continue
        start, problems = beside.add(sentence, asks=bool(spans))
        yield from map(_stated, problems)
        yield from (span._replace(start=start) if span.start == sentence.start else span for span in spans)
    if after < 0:
        yield from map(_stated, beside.end())


def _stated(problem: Problem) -> _PartSpan:
    return _PartSpan(problem.start, problem.end, is_beside=not problem.is_separate)


def _spans_of_sentence(text: str, sentence: Sentence) -> Iterator[_PartSpan]:
    """Yield the spans of what a sentence asks for: one or more pieces of work, or an answer."""
    start, end = without_condition(text, sentence.start, sentence.end)
    if end - start < sentence.end - sentence.start and _asks(text[start:end], any_verb=True):
        condition = (sentence.start, start) if end == sentence.end else (end, sentence.end)
        yield _PartSpan(*condition, is_beside=True)
        yield _PartSpan(sentence.start, sentence.end, only_names=True)
        return
    last = sentence.text[-1]
    if last != ":" and _asks(sentence.text):
        if not states_only(sentence.text):
            yield from _steps(text, sentence)
    elif last == "?":
        yield _PartSpan(sentence.start, sentence.end)


def _asks(text: str, *, any_verb: bool = False) -> bool:
    """Return True if a text asks for work; with ``any_verb``, not only with a known verb."""
    if begins_request(text) or _PLEASE.match(text):
        return True
    order = _IN_ORDER.match(text)
    found = _ANY_VERB.match(text, order.end() if order else 0) if order or any_verb else None
    return found is not None and not is_function_word(found[1].lower())


def _steps(text: str, sentence: Sentence) -> Iterator[_PartSpan]:
    """Yield the steps that a sentence asks for: "fix it, then push" asks for two."""
    start = sentence.start
    for joint in _JOINT.finditer(text, sentence.start, sentence.end):
        if start > sentence.start or begins_request(text, start, joint.start()):  # "okay, fix it" asks once
            yield _PartSpan(start, joint.start())
        start = joint.start() + len(joint[0]) - len(joint[0].lstrip(" ,;\n\t"))
    has_verb = start == sentence.start or begins_request(text, start, sentence.end)
    yield _PartSpan(start, sentence.end, only_names=not has_verb)


# What the patterns recognise ------------------------------------------------------------------------------

# Several requests: is there more than one sentence, and what joins two requests in one sentence?
_ENDS_WITHIN = lazy_pattern(r"[.!?…;][^\w\s]*+\s\W*+\w|[\r\n。！？；]")
"""The end of a sentence before the end of a text: "Fix it. Then"."""
_JOINT = lazy_pattern(
    rf"""(?:[,;]\s*|\s+)(?:(?:and\s+)?then|(?:and|but)\s+also|after\ that,?|(?:and\s+)?finally,?)\s+
      (?=(?:please\s+|also\s+)*{VERB}\s|(?:the(?:\s[\w./-]+){{1,3}}|[\w./-]+)\W*\Z)
    | (?:,\s*(?:and\s+)?|\s+and\s+)(?=(?:please\s+|also\s+)*{VERB}\s)""",
    re.VERBOSE | re.IGNORECASE,
)
"""What joins two requests in one sentence; "then" may come without a verb: "implement login, then logout"."""
_JOINT_MARK = CHUNKS.mark_words(
    (
        *(
            verb.partition("\\")[0]
            for verb in re.sub(r"\w+\[sz\]e", "", f"{MAKING_VERBS}|{LOOKING_VERBS}").split("|")
        ),
        *("analyse", "analyze", "optimise", "optimize", "summarise", "summarize"),
        *("then", "also", "after", "finally"),
    )
)
"""Words of which each text that ``_JOINT`` matches has one, as a prefilter."""

# One request: how a sentence asks for something.
_PLEASE = lazy_pattern(
    r"""(?:(?:also|and|then|finally|next|now|so|ok(?:ay)?|separately|besides|meanwhile)\b[\s,:]*)*please\s+(?:also\s+)?
    (?!(?:do\ not|don|never|note|see|ensure|make\ sure|keep|use|remember|let|confirm|be|read|look|have|give
      |tell)\b)
    [^\W\d_]{3,}\s+\w""",
    re.VERBOSE | re.IGNORECASE,
)
"""A request with any verb: "please polish the page"; "please note" and "please use" only say how."""
_IN_ORDER = lazy_pattern(
    r"(?:and\W+)?(?:then|also|after\ that|afterwards|finally|lastly|next|separately|additionally)\b\W*",
    re.IGNORECASE,
)
"""What comes before one of several requests, so that any verb may follow: "afterwards drop the table"."""
_ANY_VERB = lazy_pattern(rf"(?!\w*(?:ed|ing|ly|[^s]s)\b)([^\W\d_]{{3,}})\s+{DETERMINER}\s", re.IGNORECASE)
"""A word that may be a verb, and its object: "drop the"."""
_LOOKING = lazy_pattern(rf"\W*(?:\w+\W+){{0,3}}?(?:{LOOKING_VERBS})\b", re.IGNORECASE)
"""A request that begins with a verb of looking: "then check the logs"."""
