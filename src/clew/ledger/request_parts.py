"""The parts of a request, told apart by its structure.

"Implement login, then logout." asks for two things; so do "1) login 2) logout", two bullets, "login; logout"
and "book a flight and a hotel". Which of them a report leaves out is decided in ``part_reports``. Requests in
other languages than English have one part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import NamedTuple

from clew.ledger.goal import states_only
from clew.ledger.loop import LoopKind
from clew.ledger.stems import stems
from clew.message import Cite
from clew.message.patterns import lazy_pattern
from clew.rules.languages import ENGLISH, guess, is_function_word
from clew.rules.prefilter import CHUNKS, marks
from clew.rules.sentences import Sentence, sentences
from clew.rules.words import words_again

MOST_PARTS = 40
"""Parts of one message that are told apart; chosen by hand."""
_LONGEST_SPLIT = 20_000
"""Characters of a message that are split; chosen by hand."""
_LONGEST_NAME = 200
"""Characters of a request behind the beginning of a message that may be a name without a verb..."""
_MOST_WORDS = 6
"""...and words of one behind a semicolon; both chosen by hand."""


@cache
def verbs_of_work() -> frozenset[str]:
    """Return the stems of verbs of work, which name no subject."""
    return stems(re.sub(r"\[sz\]", "s", f"{_MAKES}|{_LOOKS}"))


class RequestPart(NamedTuple):
    """One of several things that a message asks for."""

    text: str
    source: Cite
    words: frozenset[str]
    """Stems of the content words that name it."""
    looks: bool
    """Whether it may ask to look at something, so that reading a file may be all of the work."""
    thing: bool
    """Whether it only names a thing, and another part or a line above says what to do with it."""

    @property
    def kind(self) -> LoopKind:
        """Return the kind of work item that it is."""
        return LoopKind.QUESTION if self.text.rstrip("\"'”’)*_` ").endswith("?") else LoopKind.REQUEST


@dataclass(slots=True)
class MessageParts:
    """The parts of what one message asks for; told apart only if there may be several, which takes time."""

    asked: list[tuple[str, Cite]] = field(default_factory=list)
    several: list[RequestPart] = field(default_factory=list)
    """Empty, or with one part, if there are not."""

    def add(self, text: str, source: Cite) -> None:
        """Add a request or a question of the message."""
        self.asked.append((text, source))
        if len(self.asked) > 1 or _may_be_several(text):
            new = self.asked[-1:] if self.several else self.asked
            self.several += [part for one in new for part in request_parts(*one) or _name_alone(*one)]


def _may_be_several(text: str) -> bool:
    """Return False if a text has only one sentence, and nothing that joins two requests or objects."""
    if _ENDS_WITHIN.search(text):
        return True
    if any(map(text.__contains__, _SIGNS)) and _JOINT_SIGN.search(text):
        return True
    if (not text.isascii() or marks(text) & _JOINT_MARK) and _JOINT.search(text):
        return True
    return _IN_A_ROW.search(text) is not None and len(list(_objects(text, _Span(0, len(text))))) > 1


def _name_alone(text: str, source: Cite) -> list[RequestPart]:
    """Return the one part of a request behind the beginning of its message that has no verb."""
    is_name = source.start > 0 and len(text) <= _LONGEST_NAME
    return [_part(text, source, _Span(0, len(text), thing=True))] if is_name else []


def asks_for_something(text: str) -> bool:
    """Return True if a text in English begins with a request for work or ends with a question."""
    asks = _ASKS.match(text) is not None or text.rstrip().endswith("?")
    return asks and guess(text, words_again(text)) == ENGLISH


class _Span(NamedTuple):
    """Where a part stands in a text."""

    start: int
    end: int
    named_from: int = -1
    """Where its name begins, if words before it are no name."""
    thing: bool = False
    looks: bool = False


def request_parts(text: str, source: Cite, after: int = -1) -> list[RequestPart]:
    """Return the separate things that a text of the user asks for; a rule or a fact is none.

    With ``after``, only those that end behind this position of the text, and objects in a row as one.
    """
    read = text[:_LONGEST_SPLIT]
    if len(read) <= after or guess(read, words_again(read)) != ENGLISH:
        return []
    found = (span for span in _spans(read, after) if span.end > after)
    return [_part(read, source, span) for span in islice(found, MOST_PARTS)]


def _part(text: str, source: Cite, span: _Span) -> RequestPart:
    words = text[span.start : span.end]
    cite = source._replace(start=source.start + span.start, end=source.start + span.end)
    looks = span.looks or _LOOKING.match(words) is not None
    named = text[max(span.start, span.named_from) : span.end]
    return RequestPart(words, cite, stems(named), looks, span.thing)


def _spans(text: str, after: int) -> Iterator[_Span]:
    """Yield the spans of what a text asks for."""
    numbered = _numbered_lines(text)
    lists = _Lists(text, reads_verbs=after < 0)  # behind the beginning there are procedures, too
    taken = 0
    asked = False
    for sentence in sentences(text):
        is_work = sentence.item and lists.hold(sentence)
        if sentence.end <= after or sentence.start < taken:
            continue
        if text[sentence.start : sentence.end] != sentence.text:
            continue  # a text that a tool wrote as a JSON string
        line = (
            next((one for one in numbered if one.start <= sentence.start < one.end), None)
            if numbered
            else None
        )
        if line is not None:
            taken = line.end
            yield from (span for span in line.parts if not states_only(text[span.start : span.end]))
            continue
        spans = list(_spans_of_sentence(text, sentence, objects=after < 0))
        if not spans and (is_work or (asked and _goes_on(text, sentence))) and not states_only(sentence.text):
            spans = [_Span(sentence.start, sentence.end, thing=True)]
        asked = bool(spans)
        yield from spans


def _goes_on(text: str, sentence: Sentence) -> bool:
    """Return True for a short name behind a semicolon."""
    if ";" not in text[sentence.start - 2 : sentence.start]:
        return False
    return len(sentence.text.split()) <= _MOST_WORDS and not _STATES.search(sentence.text)


class _Lists:
    """Which items of the lists in a text are work, though they begin with no verb."""

    def __init__(self, text: str, *, reads_verbs: bool) -> None:
        """Take a text; with ``reads_verbs``, the other items of a list may show that it asks for work."""
        self._text = text
        self._reads_verbs = reads_verbs
        self._begin_with_verb: dict[tuple[str, str], list[bool]] | None = None
        self._above: tuple[str, str] | None = None
        self._is_work = False
        self._indent = 0

    def hold(self, sentence: Sentence) -> bool:
        """Return True if a sentence, the next one of an item, opens an item of a list of work."""
        start = self._text.rfind("\n", 0, sentence.start) + 1
        before = self._text[start : sentence.start]
        indent = len(before) - len(before.lstrip())
        if self._above != (sentence.lead, sentence.heading):
            self._above, self._indent = (sentence.lead, sentence.heading), indent
            self._is_work = self._is_list_of_work(sentence)
        is_first = sum(map(str.isalnum, before)) <= 2  # its number, and nothing said before
        return self._is_work and indent <= self._indent and is_first

    def _is_list_of_work(self, sentence: Sentence) -> bool:
        """Return True if the line above an item says so, or if the text begins with a list of no replies."""
        above = sentence.lead or sentence.heading
        if sentence.lead and self._reads_verbs and self._mostly_asks(sentence):
            return True
        spoken = list(sentences(self._text)) if not above else []
        if above or spoken[0].start != sentence.start:
            return _LISTS_WORK.match(above) is not None
        items = [one for one in spoken if one.item]
        starts = {self._text.rfind("\n", 0, one.start) for one in items}
        return len(starts) > 1 and not any(_IS_REPLY.match(one.text) for one in items)

    def _mostly_asks(self, first: Sentence) -> bool:
        """Return True if most items of a list, of which this is one, begin with a verb of work."""
        if self._begin_with_verb is None:
            self._begin_with_verb = {}
            line = -1
            for one in (one for one in sentences(self._text) if one.item):
                before, line = line, self._text.rfind("\n", 0, one.start)
                if line != before:
                    asks = _ASKS.match(one.text) is not None
                    self._begin_with_verb.setdefault((one.lead, one.heading), []).append(asks)
        asking = self._begin_with_verb.get((first.lead, first.heading), [])
        return sum(asking) > 1 and sum(asking) * 2 > len(asking)


class _NumberedLine(NamedTuple):
    """A line with several numbered parts, "1) login 2) logout"."""

    start: int
    end: int
    parts: list[_Span]


def _numbered_lines(text: str) -> list[_NumberedLine]:
    """Return the lines that number several parts."""
    found: list[_NumberedLine] = []
    if text.count(")") < 2 and "2. " not in text:
        return found
    lines: dict[int, list[re.Match[str]]] = {}
    for mark in _ONE_OF.finditer(text):
        lines.setdefault(text.rfind("\n", 0, mark.start()) + 1, []).append(mark)
    for start, line_marks in lines.items():
        if len(line_marks) > 1 and _count_up([mark[1].lower() for mark in line_marks]):
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            stops = [*(mark.start() for mark in line_marks[1:]), end]
            spans = [_trimmed(text, mark.end(), stop) for mark, stop in zip(line_marks, stops, strict=True)]
            if _introduces_work(text[start : line_marks[0].start()]) and not _are_replies(text, spans):
                found.append(_NumberedLine(start, end, spans))
    return found


def _introduces_work(before: str) -> bool:
    """Return True if the words before the first number ask for work or name it, or are none."""
    words = before.strip()
    return not words or _LISTS_WORK.match(words) is not None or _NAMES_WORK.search(words) is not None


def _are_replies(text: str, spans: list[_Span]) -> bool:
    """Return True if one of these numbered spans answers a question."""
    return any(_IS_REPLY.match(text, span.start, span.end) for span in spans)


def _count_up(labels: list[str]) -> bool:
    """Return True for 1, 2, 3 and a, b, c."""
    if labels[0] == "1":
        return labels == [str(number) for number in range(1, len(labels) + 1)]
    return labels == [chr(ord("a") + number) for number in range(len(labels))]


def _trimmed(text: str, start: int, end: int) -> _Span:
    joint = _LAST_JOINT.search(text[start:end])
    end = start + joint.start() if joint else end
    return _Span(start, end, thing=_ASKS.match(text, start, end) is None)


def _spans_of_sentence(text: str, sentence: Sentence, *, objects: bool) -> Iterator[_Span]:
    """Yield the spans of what a sentence asks for: work, perhaps several kinds of it, or an answer.

    With ``objects``, the objects of one verb are told apart.
    """
    asks = _ASKS.match(sentence.text) is not None or _PLEASE.match(sentence.text) is not None
    objects = objects and _IN_A_ROW.search(sentence.text) is not None
    last = sentence.text[-1]
    if last == ":" or not (asks or objects or last == "?"):
        return
    whole = _Span(sentence.start, sentence.end)
    if asks:
        for span in _steps(text, sentence) if not states_only(sentence.text) else ():
            yield from _objects(text, span) if objects else (span,)
        return
    several = list(_objects(text, whole)) if objects else []
    if len(several) > 1 and not states_only(sentence.text):
        yield from several
    elif last == "?":
        yield whole


def _steps(text: str, sentence: Sentence) -> Iterator[_Span]:
    """Yield the steps that a sentence asks for: "fix it, then push" asks for two."""
    start = sentence.start
    for joint in _JOINT.finditer(text, sentence.start, sentence.end):
        if start > sentence.start or _ASKS.match(text, start, joint.start()):  # "okay, fix it" asks once
            yield _Span(start, joint.start())
        start = joint.start() + len(joint[0]) - len(joint[0].lstrip(" ,;\n\t"))
    has_verb = start == sentence.start or _ASKS.match(text, start, sentence.end) is not None
    yield _Span(start, sentence.end, thing=not has_verb)


def _objects(text: str, span: _Span) -> Iterator[_Span]:
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
        yield _Span(begin, end, named_from=start, thing=True, looks=not is_known)


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


# What the patterns recognise ---------------------------------------------------------------------------

_MAKES = (
    "add|archive|book|build|bump|cancel|clean\\ up|commit|configure|convert|create|delete|deploy|disable"
    "|document|draft|email|enable|exchange|export|extend|extract|fix|generate|implement|import|install"
    "|integrate|merge|migrate|move|notify|optimi[sz]e|order|port|publish|push|redesign|refactor|refund"
    "|release|remove|rename|replace|reset|restore|revert|rewrite|roll\\ back|rotate|schedule|send|set\\ up"
    "|simplify|speed\\ up|split|tidy|translate|update|upgrade|upload|write"
)
"""Verbs of work whose result a report names..."""
_LOOKS = (
    "analy[sz]e|check|compare|describe|explain|find\\ out|inspect|investigate|list|review|summari[sz]e|test"
)
"""...and of looking, for which reading a file may be all of the work."""
_VERB = rf"(?:{_MAKES}|{_LOOKS})"
_OPENER = (
    r"(?:(?:also|and|then|finally|lastly|next|now|first(?:ly)?|second(?:ly)?|third(?:ly)?|please|after\ that"
    r"|afterwards|additionally|ok(?:ay)?|great|thanks|so|just|\d{1,2}[.)])\b[\s,:]*)*"
)
_POLITE = (
    r"(?:(?:can|could|would|will)\ (?:you|we)|i(?:[’']d\ like|\ want|\ need|\ would\ like)\ (?:you\ )?to"
    r"|(?:we|you)\ (?:also\ )?(?:need\ to|should|must|have\ to)|let[’']?s)\s"
)
_ADVERBS = r"(?:also\ |please\ |then\ |now\ |just\ )*"
_ASKS = lazy_pattern(rf"{_OPENER}(?:{_POLITE})?{_ADVERBS}{_VERB}\b", re.IGNORECASE)
"""The opening of a sentence that asks for work."""
_PLEASE = lazy_pattern(
    r"""(?:(?:also|and|then|finally|next|now|so|ok(?:ay)?)\b[\s,]*)*please\s+(?:also\s+)?
    (?!(?:do\ not|don|never|note|see|ensure|make\ sure|keep|use|remember|let|confirm|be|read|look|have|give
      |tell)\b)
    [^\W\d_]{3,}\s+\w""",
    re.VERBOSE | re.IGNORECASE,
)
"""One that asks for it with a verb of any kind; "please note" and "please use" say how."""
_JOINT = lazy_pattern(
    rf"""(?:[,;]\s*|\s+)(?:(?:and\s+)?then|(?:and|but)\s+also|after\ that,?|(?:and\s+)?finally,?)\s+
      (?=(?:please\s+|also\s+)*{_VERB}\s|(?:the(?:\s[\w./-]+){{1,3}}|[\w./-]+)\W*\Z)
    | (?:,\s*(?:and\s+)?|\s+and\s+)(?=(?:please\s+|also\s+)*{_VERB}\s)""",
    re.VERBOSE | re.IGNORECASE,
)
"""What joins two requests in one sentence; "then" may come without a verb: "implement login, then logout"."""
_DETERMINER = (
    r"(?:the|an?|my|our|your|its|their|all|both|each|every|this|these|those|some|any|another|two|three|four)"
)
_VERB_OF_ANY_KIND = lazy_pattern(
    rf"""{_OPENER}(?P<polite>{_POLITE})?{_ADVERBS}(?P<verb>{_VERB}|[^\W\d_]{{3,}})\b
    (?:\s+(?:up|out|off|down|over|back))?\s+(?=(?P<determiner>{_DETERMINER}\s)?)""",
    re.VERBOSE | re.IGNORECASE,
)
_NO_VERB = lazy_pattern(
    r"\w*(?:ed|ing|ly|day|ss|us|is)|maybe|perhaps|tomorrow|tonight|once|given|note|see|imagine|consider|assume"
    r"|suppose|got|saw|found|made|had|them|their|same|such|only|even|like|what|whether|while|until|now",
    re.IGNORECASE,
)
"""Words before "the" or "a" that ask for nothing."""
_TOGETHER = lazy_pattern(
    r"(?:compare|merge|combine|join|swap|exchange|mix|connect|link|integrate|sync|match|diff|reconcile"
    r"|make|keep|let|have|be|choose|decide|pick|use|ensure|follow|consider|respect|maintain|remember)\b",
    re.IGNORECASE,
)
"""Verbs whose objects are one piece of work, or which say how to work."""
_NO_NAME = (
    rf"(?!(?:{_DETERMINER}|and|or|nor|to|for|in|on|of|with|without|from|by|at|as|into|onto|about|between|than"
    r"|that|which|who|what|how|why|whether|so|if|when|where|because|since|then|but|not|no|it|them|they|he|she"
    r"|you|we|i|me|us|is|are|was|were|be|been|has|have|does|do|did|will|would|can|could|should|must|please|also"
    r"|using|via|per|after|before|again)\b)"
)
_NAME_WORD = rf"{_NO_NAME}[\w`@#$\"][\w`./@#$'’\"-]*"
_NAME = rf"(?:{_DETERMINER}\s+)?(?:{_NAME_WORD}\s+){{0,3}}{_NAME_WORD}"
_BEFORE_LAST = r"(?:\band|&|\bplus|\bas\ well\ as|\balong\ with)\s+(?:also\s+)?"
_OBJECTS = lazy_pattern(
    rf"""{_NAME}(?:\s*,\s*{_NAME})*\s*,?\s*{_BEFORE_LAST}{_NAME}
    (?=\W*\Z|[.,;:!?)]+(?:\s|\Z)
      |\s+(?:for|in|to|on|of|with|from|by|at|so|that|which|before|after|as|using|via|please|too)\b)""",
    re.VERBOSE | re.IGNORECASE,
)
"""Names in a row, such as "the docs, changelog and version"."""
_IN_A_ROW = lazy_pattern(r"\ (?:and|plus|as\ well\ as|along\ with)\ |&")
"""What stands before the last of them."""
_ONE_NAME = lazy_pattern(rf"{_DETERMINER}\s+\S+", re.IGNORECASE)
_NEEDS_ANOTHER = lazy_pattern(rf"(?!the\s){_DETERMINER}\s", re.IGNORECASE)
"""A determiner that the last name of a row has too: "a flight and a hotel", not "a bug and move on"."""
_HAS_DETERMINER = lazy_pattern(rf"{_DETERMINER}\s", re.IGNORECASE)
_BETWEEN_OBJECTS = lazy_pattern(
    r"(?:\s*,\s*|\s+)(?:(?:and|plus|as\ well\ as|along\ with)\s+(?:also\s+)?|&\s*)|\s*,\s*", re.IGNORECASE
)
_LAST_JOINT = lazy_pattern(r"(?:[\s,;(]|\b(?:and|then|plus)\b)*\Z", re.IGNORECASE)
_BEGINS_WITH_VERB = lazy_pattern(rf"(?:please\s+|also\s+)*{_VERB}\b", re.IGNORECASE)
_ONE_OF = lazy_pattern(r"(?<![\w.(])\(?(\d{1,2}|[a-h])(?:\)|(?<=\d)\.)[ \t]+(?=[^\W\d_])", re.IGNORECASE)
"""A number or letter before a part, anywhere in a line."""
_LISTS_WORK = lazy_pattern(
    rf"""(?!.*\b(?:example|e\.g|such\ as)\b)
    (?:{_OPENER}(?:{_POLITE})?{_ADVERBS}(?:{_MAKES}|do(?!\ not)|handle|work\ on|take\ care\ of|get)
      (?=\W*\Z|\s+(?:{_DETERMINER}|following|\(?[1a][.)])\b|\W*\()
    | (?:\w+\W+){{0,4}}?(?:to-?dos?|tasks?)\W*\Z | please\W*\Z
    | {_OPENER}(?:\d+|two|three|four|five|six|some|several|a\ few|a\ couple\ of)\ (?:more\ |other\ )?things
      (?:\ to\ (?:do|fix|change))?(?:,?\ please)?\W*\Z)""",
    re.VERBOSE | re.IGNORECASE,
)
"""A line above a list of work..."""
_NAMES_WORK = lazy_pattern(
    r"\b(?:things|tasks|to-?dos?|requests|changes|steps|points|problems|issues|bugs)\b[^.!?]{0,30}:\Z",
    re.IGNORECASE,
)
"""...and words before the first of several numbers in a line."""
_STATES = lazy_pattern(
    r"\b(?:is|are|was|were|has|have|had|does|did|will|can|should|must|it|this|that|they|i|we|you|there|see)\b"
    r"|n[’']t\b",
    re.IGNORECASE,
)
_IS_REPLY = lazy_pattern(
    r"(?:i|we|it|that|this|yes|yeah|yup|no|nope|ok|okay|sure|option|neither)\b", re.IGNORECASE
)
"""How a numbered answer begins."""
_JOINT_MARK = CHUNKS.mark_words(
    (
        *(verb.partition("\\")[0] for verb in re.sub(r"\w+\[sz\]e", "", f"{_MAKES}|{_LOOKS}").split("|")),
        *("analyse", "analyze", "optimise", "optimize", "summarise", "summarize"),
        *("then", "also", "after", "finally"),
    )
)
"""Words of which each of them has one, as a prefilter."""
_SIGNS = ("&", ")", "1. ")
_JOINT_SIGN = lazy_pattern(r"&|\d[.)]\s|\b[a-h]\)\s", re.IGNORECASE)
_ENDS_WITHIN = lazy_pattern(r"[.!?…;][^\w\s]*+\s\W*+\w|[\r\n。！？；]")
"""The end of a sentence before the end of a text."""
_LOOKING = lazy_pattern(rf"\W*(?:\w+\W+){{0,3}}?(?:{_LOOKS})\b", re.IGNORECASE)
