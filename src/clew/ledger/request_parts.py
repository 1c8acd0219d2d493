"""Split a request into its parts: the separate things that one message of the user asks for.

"Implement login, then logout." asks for two things; so do "1) login 2) logout", two bullets, "login; logout"
and "book a flight and a hotel". A text is split in three steps: into sentences and list items, these into
steps ("fix it, then push"), and these into objects ("update the docs, changelog and version").
Requests in other languages than English are split by their form only (``foreign_parts``).
``CompoundRequests`` keeps the parts; ``part_reports`` decides which of them a report leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from clew.ledger.foreign_parts import may_have_steps, steps
from clew.ledger.listed_work import NumberedLine, WorkLists, numbered_lines
from clew.ledger.loop import LoopKind
from clew.ledger.non_requests import states_only
from clew.ledger.request_context import Problem, Statements, has_condition, without_condition
from clew.ledger.request_words import (
    ADVERBS,
    DETERMINER,
    LOOKING_VERBS,
    MAKING_VERBS,
    OPENER,
    POLITE,
    VERB,
    begins_request,
)
from clew.ledger.stems import stems
from clew.message import Cite
from clew.message.text import lazy_pattern
from clew.rules.languages import ENGLISH, guess, is_function_word
from clew.rules.prefilter import CHUNKS, MARKS
from clew.rules.sentences import Sentence, sentences
from clew.rules.words import words_again

MOST_PARTS = 40
"""Parts of one message that are kept apart; chosen by hand."""
_LONGEST_SPLIT = 20_000
"""Characters of a message that are split; chosen by hand."""
_LONGEST_NAME = 200
"""Characters of a later request of a message that may be a name without a verb; chosen by hand."""
_MOST_WORDS = 6
"""Words of a name after a semicolon; chosen by hand."""


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
    is_english: bool = True

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

    With ``after``, only those that end after this position of the text, and objects in a row as one.
    """
    read = text[:_LONGEST_SPLIT]
    if len(read) <= after:
        return []
    if guess(read, words_again(read)) != ENGLISH:
        return _steps_in_other_words(read, source) if after < 0 else []
    found = (span for span in _spans(read, after) if span.end > after)
    return [_part(read, source, span) for span in islice(found, MOST_PARTS)]


def _steps_in_other_words(text: str, source: Cite) -> list[RequestPart]:
    """Return the steps that a text in another language asks for; none if it is one."""
    parts = (_part(text, source, _PartSpan(start, end)) for start, end in steps(text))
    return [part._replace(is_english=False) for part in islice(parts, MOST_PARTS)]


def _may_be_several(text: str) -> bool:
    """Return False if a text has only one sentence, and nothing that joins two requests or objects."""
    if _ENDS_WITHIN.search(text) or has_condition(text):
        return True
    if any(map(text.__contains__, _JOINT_SIGNS)) and _JOINT_SIGN.search(text):
        return True
    if (not text.isascii() or MARKS[text] & _JOINT_MARK) and _JOINT.search(text):
        return True
    if may_have_steps(text) and any(steps(text)):
        return True
    return _IN_A_ROW.search(text) is not None and len(list(_objects(text, _PartSpan(0, len(text))))) > 1


def _name_alone(text: str, source: Cite) -> list[RequestPart]:
    """Return the one part of a request that has no verb, if others came before it in its message."""
    is_name = source.start > 0 and len(text) <= _LONGEST_NAME
    return [_part(text, source, _PartSpan(0, len(text), only_names=True))] if is_name else []


class _PartSpan(NamedTuple):
    """The position of a part in a text, and what ``RequestPart`` says about it."""

    start: int
    end: int
    name_start: int = -1
    """Where its name begins, if there are words before the name: in "update the docs", at "the docs"."""
    only_names: bool = False
    may_only_look: bool = False
    is_beside: bool = False


def _part(text: str, source: Cite, span: _PartSpan) -> RequestPart:
    words = text[span.start : span.end]
    cite = source._replace(start=source.start + span.start, end=source.start + span.end)
    named = text[max(span.start, span.name_start) : span.end]
    if not span.is_beside:
        named = named[slice(*without_condition(named, 0, len(named)))]
    may_only_look = span.may_only_look or _LOOKING.match(words) is not None
    return RequestPart(words, cite, stems(named), may_only_look, span.only_names, span.is_beside)


# Sentences and list items --------------------------------------------------------------------------------


def _spans(text: str, after: int) -> Iterator[_PartSpan]:
    """Yield the spans of what a text asks for, and without ``after`` of what it states beside that."""
    beside = Statements(text)
    numbered = numbered_lines(text)
    lists = WorkLists(text, reads_verbs=after < 0)  # later in a message there are procedures, too
    done = 0  # end of the last numbered line
    asked_before = False
    for sentence in sentences(text):
        is_listed = sentence.item and lists.opens_item_of_work(sentence)
        if sentence.end <= after or sentence.start < done:
            continue
        if text[sentence.start : sentence.end] != sentence.text:
            continue  # a text that a tool wrote as a JSON string
        line = _line_at(sentence.start, numbered)
        if line is not None:
            done = line.end
            yield from _spans_of_line(text, line)
            continue
        spans = list(_spans_of_sentence(text, sentence, split_objects=after < 0))
        if not spans and (is_listed or (asked_before and _is_name_after_semicolon(text, sentence))):
            # Later in a message a heading alone asks for nothing; as a part it stands for what is below it.
            is_heading = after >= 0 and sentence.text.rstrip("*_ ").endswith(":")
            is_none = is_heading or states_only(sentence.text)
            spans = [] if is_none else [_PartSpan(sentence.start, sentence.end, only_names=True)]
        asked_before = bool(spans)
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


def _line_at(place: int, lines: Sequence[NumberedLine]) -> NumberedLine | None:
    for line in lines:
        if line.start <= place < line.end:
            return line
    return None


def _spans_of_line(text: str, line: NumberedLine) -> Iterator[_PartSpan]:
    for start, end in line.parts:
        if not states_only(text[start:end]):
            yield _PartSpan(start, end, only_names=not begins_request(text, start, end))


def _is_name_after_semicolon(text: str, sentence: Sentence) -> bool:
    """Return True for "logout" in "implement login; logout"."""
    if ";" not in text[sentence.start - 2 : sentence.start]:
        return False
    return len(sentence.text.split()) <= _MOST_WORDS and not _STATES.search(sentence.text)


def _spans_of_sentence(text: str, sentence: Sentence, *, split_objects: bool) -> Iterator[_PartSpan]:
    """Yield the spans of what a sentence asks for: one or more pieces of work, or an answer.

    With ``split_objects``, the objects of one verb are parts of their own.
    """
    start, end = without_condition(text, sentence.start, sentence.end)
    if end - start < sentence.end - sentence.start and _asks(text[start:end], any_verb=True):
        condition = (sentence.start, start) if end == sentence.end else (end, sentence.end)
        yield _PartSpan(*condition, is_beside=True)
        yield _PartSpan(sentence.start, sentence.end, only_names=True)
        return
    has_objects = split_objects and _IN_A_ROW.search(sentence.text) is not None
    last = sentence.text[-1]
    if last != ":" and _asks(sentence.text):
        if not states_only(sentence.text):
            for step in _steps(text, sentence):
                yield from _objects(text, step) if has_objects else (step,)
        return
    whole = _PartSpan(sentence.start, sentence.end)
    several = list(_objects(text, whole)) if has_objects and last != ":" else []
    if len(several) > 1 and not states_only(sentence.text):
        yield from several
    elif last == "?":
        yield whole


def _asks(text: str, *, any_verb: bool = False) -> bool:
    """Return True if a text asks for work; with ``any_verb``, not only with a known verb."""
    if begins_request(text) or _PLEASE.match(text):
        return True
    order = _IN_ORDER.match(text)
    found = _ANY_VERB.match(text, order.end() if order else 0) if order or any_verb else None
    return found is not None and not is_function_word(found[1].lower())


# Steps and objects ---------------------------------------------------------------------------------------


def _steps(text: str, sentence: Sentence) -> Iterator[_PartSpan]:
    """Yield the steps that a sentence asks for: "fix it, then push" asks for two."""
    start = sentence.start
    for joint in _JOINT.finditer(text, sentence.start, sentence.end):
        if start > sentence.start or begins_request(text, start, joint.start()):  # "okay, fix it" asks once
            yield _PartSpan(start, joint.start())
        start = joint.start() + len(joint[0]) - len(joint[0].lstrip(" ,;\n\t"))
    has_verb = start == sentence.start or begins_request(text, start, sentence.end)
    yield _PartSpan(start, sentence.end, only_names=not has_verb)


def _objects(text: str, span: _PartSpan) -> Iterator[_PartSpan]:
    """Yield a span for each object of its verb: "update the docs, changelog and version" has three."""
    opening = _VERB_OF_ANY_KIND.match(text, span.start, span.end)
    row = _OBJECTS.match(text, opening.end(), span.end) if opening else None
    if opening is None or row is None or _TOGETHER.fullmatch(opening["verb"]):
        yield span
        return
    gaps = [gap.span() for gap in _BETWEEN_OBJECTS.finditer(text, row.start(), row.end())]
    starts = [opening.end(), *(end for _, end in gaps)]
    ends = [*(start for start, _ in gaps), row.end()]
    is_known = _BEGINS_WITH_VERB.match(opening["verb"]) is not None
    names = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    if not _are_things(names) or not (is_known or _asks_with_any_verb(text[span.start : row.end()])):
        yield span
        return
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        begin = span.start if number == 0 else start
        yield _PartSpan(begin, end, name_start=start, only_names=True, may_only_look=not is_known)


def _are_things(names: list[str]) -> bool:
    """Return False for "a short and clear text", and if a name is a step: "file a bug and push"."""
    first, last = names[0], names[-1]
    if not _HAS_DETERMINER.match(last) and (_NEEDS_ANOTHER.match(first) or _is_adjective(first, last)):
        return False
    return not any(_BEGINS_WITH_VERB.match(name) or _TOGETHER.match(name) for name in names[1:])


def _is_adjective(first: str, last: str) -> bool:
    """Return True for "the old" before "new parser"."""
    return _ONE_NAME.fullmatch(first) is not None and " " in last


def _asks_with_any_verb(text: str) -> bool:
    """Return True if a text asks for work with a verb that is not known, as its other words show."""
    opening = _VERB_OF_ANY_KIND.match(text)
    if opening is None or is_function_word(opening["verb"].lower()) or _NO_VERB.fullmatch(opening["verb"]):
        return False
    return opening["determiner"] is not None


# What the patterns recognise ------------------------------------------------------------------------------

# Several requests: is there more than one sentence, and what joins two requests in one sentence?
_ENDS_WITHIN = lazy_pattern(r"[.!?…;][^\w\s]*+\s\W*+\w|[\r\n。！？；]")
"""The end of a sentence before the end of a text: "Fix it. Then"."""
_JOINT_SIGNS = ("&", ")", "1. ")
"""Characters of which each text that ``_JOINT_SIGN`` matches has one, as a prefilter."""
_JOINT_SIGN = lazy_pattern(r"&|\d[.)]\s|\b[a-h]\)\s", re.IGNORECASE)
"""Signs between requests: "docs & tests", "1) login", "b) logout"."""
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
_STATES = lazy_pattern(
    r"\b(?:is|are|was|were|has|have|had|does|did|will|can|should|must|it|this|that|they|i|we|you|there|see)\b"
    r"|n[’']t\b",
    re.IGNORECASE,
)
"""Words of a statement, which no name contains: "it is", "we can", "there"."""

# Objects of one verb: "update the docs, changelog and version".
_VERB_OF_ANY_KIND = lazy_pattern(
    rf"""{OPENER}(?P<polite>{POLITE})?{ADVERBS}(?P<verb>{VERB}|[^\W\d_]{{3,}})\b
    (?:\s+(?:up|out|off|down|over|back))?\s+(?=(?P<determiner>{DETERMINER}\s)?)""",
    re.VERBOSE | re.IGNORECASE,
)
"""The beginning of a request up to its first object, with any verb: "could you please tidy"."""
_BEGINS_WITH_VERB = lazy_pattern(rf"(?:please\s+|also\s+)*{VERB}\b", re.IGNORECASE)
"""A known verb of work: "please update"."""
_NO_VERB = lazy_pattern(
    r"\w*(?:ed|ing|ly|day|ss|us|is)|maybe|perhaps|tomorrow|tonight|once|given|note|see|imagine|consider|assume"
    r"|suppose|got|saw|found|made|had|them|their|same|such|only|even|like|what|whether|while|until|now",
    re.IGNORECASE,
)
"""Words before "the" or "a" that are no verb of a request: "given the …", "monday the …"."""
_TOGETHER = lazy_pattern(
    r"(?:compare|merge|combine|join|swap|exchange|mix|connect|link|integrate|sync|match|diff|reconcile"
    r"|make|keep|let|have|be|choose|decide|pick|use|ensure|follow|consider|respect|maintain|remember)\b",
    re.IGNORECASE,
)
"""Verbs whose objects are one piece of work ("compare a and b"), or which say how to work ("keep both")."""
_NO_NAME = (
    rf"(?!(?:{DETERMINER}|and|or|nor|to|for|in|on|of|with|without|from|by|at|as|into|onto|about|between|than"
    r"|that|which|who|what|how|why|whether|so|if|when|where|because|since|then|but|not|no|it|them|they|he|she"
    r"|you|we|i|me|us|is|are|was|were|be|been|has|have|does|do|did|will|would|can|could|should|must|please|also"
    r"|using|via|per|after|before|again)\b)"
)
"""Words that are no part of a name."""
_NAME_WORD = rf"{_NO_NAME}[\w`@#$\"][\w`./@#$'’\"-]*"
_NAME = rf"(?:{DETERMINER}\s+)?(?:{_NAME_WORD}\s+){{0,3}}{_NAME_WORD}"
"""One to four words that name a thing, with or without a determiner: "the login form"."""
_BEFORE_LAST = r"(?:\band|&|\bplus|\bas\ well\ as|\balong\ with)\s+(?:also\s+)?"
""""and" before the last name of a row."""
_OBJECTS = lazy_pattern(
    rf"""{_NAME}(?:\s*,\s*{_NAME})*\s*,?\s*{_BEFORE_LAST}{_NAME}
    (?=\W*\Z|[.,;:!?)]+(?:\s|\Z)
      |\s+(?:for|in|to|on|of|with|from|by|at|so|that|which|before|after|as|using|via|please|too)\b)""",
    re.VERBOSE | re.IGNORECASE,
)
"""Names in a row: "the docs, changelog and version"."""
_IN_A_ROW = lazy_pattern(r"\ (?:and|plus|as\ well\ as|along\ with)\ |&")
"""What comes before the last name of a row: "and", "plus", "&"."""
_BETWEEN_OBJECTS = lazy_pattern(
    r"(?:\s*,\s*|\s+)(?:(?:and|plus|as\ well\ as|along\ with)\s+(?:also\s+)?|&\s*)|\s*,\s*", re.IGNORECASE
)
"""What comes between two names of a row: ", ", " and also "."""
_ONE_NAME = lazy_pattern(rf"{DETERMINER}\s+\S+", re.IGNORECASE)
"""A determiner and one word: "the old"."""
_NEEDS_ANOTHER = lazy_pattern(rf"(?!the\s){DETERMINER}\s", re.IGNORECASE)
"""A determiner that the last name of a row has too: "a flight and a hotel", not "a bug and move on"."""
_HAS_DETERMINER = lazy_pattern(rf"{DETERMINER}\s", re.IGNORECASE)
"""A name with a determiner: "the docs"."""
