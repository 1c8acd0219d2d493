"""The parts of a compound request, and which of them a report leaves out.

"Implement login, then logout." asks for two things, and "Login is implemented." reports one of them. A part
counts as left out only if the report speaks of another part of the same message and not of this one, no
statement or action since the request names any word that only this part has, and the report does not say
that everything is done: work that was finished must not be listed as open. Requests in other languages than
English have one part.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain, islice
from typing import NamedTuple

from clew.ledger.exchange import Asked
from clew.ledger.goal import states_only
from clew.ledger.loop import LoopKind
from clew.ledger.replies import result_sentences, says_all_done
from clew.ledger.sections import named_sections
from clew.ledger.tool_actions import ActionKind
from clew.message import Cite, Json
from clew.message.patterns import AnyCasePattern, lazy_pattern
from clew.rules.languages import is_english, is_function_word
from clew.rules.prefilter import CHUNKS, marks
from clew.rules.sentences import Sentence, sentences
from clew.rules.words import words_again

MOST_PARTS = 40
"""Parts of one message that are told apart; chosen by hand."""
_LONGEST_SPLIT = 20_000
"""Characters of a message that are split; chosen by hand."""
_LONGEST_ANSWER = 300
"""Characters of a report above which a question counts as answered; chosen by hand."""
_MOST_READ = 8_000
"""Characters of one call's arguments that are read for what it works on; chosen by hand."""
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
_ASKS = lazy_pattern(
    rf"""{_OPENER}(?:(?:(?:can|could|would|will)\ (?:you|we)
      |i(?:[’']d\ like|\ want|\ need|\ would\ like)\ (?:you\ )?to
      |(?:we|you)\ (?:also\ )?(?:need\ to|should|must|have\ to)|let[’']?s)\s)?
    (?:also\ |please\ |then\ |now\ |just\ )*{_VERB}\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""The opening of a sentence that asks for work."""
_JOINT = lazy_pattern(
    rf"""(?:[,;]\s*|\s+)(?:(?:and\s+)?then|(?:and|but)\s+also|after\ that,?|(?:and\s+)?finally,?)\s+
      (?=(?:please\s+|also\s+)*{_VERB}\s|(?:the(?:\s[\w./-]+){{1,3}}|[\w./-]+)\W*\Z)
    | (?:,\s*(?:and\s+)?|\s+and\s+)(?=(?:please\s+|also\s+)*{_VERB}\s)""",
    re.VERBOSE | re.IGNORECASE,
)
"""What joins two requests in one sentence; "then" may come without a verb: "implement login, then logout"."""
_JOINT_MARK = CHUNKS.mark_words(
    (
        *(verb.partition("\\")[0] for verb in re.sub(r"\w+\[sz\]e", "", f"{_MAKES}|{_LOOKS}").split("|")),
        *("analyse", "analyze", "optimise", "optimize", "summarise", "summarize"),
        *("then", "also", "after", "finally"),
    )
)
"""Words of which each of them has one, as a prefilter."""
_ENDS_WITHIN = lazy_pattern(r"[.!?…;][^\w\s]*+\s\W*+\w|[\r\n。！？；]")
"""The end of a sentence before the end of a text."""
_LOOKING = lazy_pattern(rf"\W*(?:\w+\W+){{0,3}}?(?:{_LOOKS})\b", re.IGNORECASE)
_SPEAKS_OF_ALL = AnyCasePattern(
    r"\b(?:both|everything|all\ (?:of\ )?(?:them|it|this|that|these|those|the|\d+|two|three|four|five)"
    r"|(?:as|you)\ (?:requested|asked|described|wanted))\b"
)
_UNFINISHED = AnyCasePattern(
    r"""\b(?:not\ (?:yet|done|implemented|started|finished|included|touched|covered|part\ of)
      |n[’']t\ (?:yet|been)|(?:have|has|had|did|do|does)(?:n[’']t|\ not)|remains?|remaining|todo|to\ do
      |pending|still\ (?:to|needs?|open|missing|left)|skipped|left\ out|leaving\ out|comes?\ (?:next|later)
      |(?:is|are)\ (?:next|missing|left)|later|tomorrow|next\ (?:step|up)|unfinished|incomplete
      |out\ of\ scope|i[’']ll|i\ will|we[’']ll|we\ will|ready\ (?:for|to)|proceed(?:ing)?\ (?:to|with))\b""",
    re.VERBOSE,
)
"""A sentence that says of its subject that it is not done."""
_PURPOSE = lazy_pattern(
    r"\b(?:so\ (?:that|we|it|the|they)|because|in\ order\ to|since|which)\b", re.IGNORECASE
)
"""Where the reason for a step begins."""
_WORD = lazy_pattern(r"[^\W\d_]{3,}|\d{2,}")
_HUMP = lazy_pattern(r"(?<=[a-z])(?=[A-Z])")
_SUFFIX = lazy_pattern(r"(?:ations?|ions?|ings?|ed|es|s|e|y|ies)$")
_SHORTEST_STEM = 3
_STEM = 5
_LOOKING_CALLS = frozenset((ActionKind.READ, ActionKind.SEARCH, ActionKind.FETCH))


def stems(text: str) -> frozenset[str]:
    """Return the stems of a text's content words; "loginForm" has two, "slices 1 and 2" name two sections."""
    words = frozenset(chain.from_iterable(map(_stems_of, _WORD.findall(text))))
    return words.union(named_sections(text))


@lru_cache(maxsize=16_384)  # sessions repeat their words
def _stems_of(word: str) -> tuple[str, ...]:
    return tuple(filter(None, (_stem(one.lower()) for one in _WORD.findall(_HUMP.sub(" ", word)))))


def _stem(word: str) -> str:
    if is_function_word(word):
        return ""
    short = _SUFFIX.sub("", word)
    return (short if len(short) >= _SHORTEST_STEM else word)[:_STEM]


@cache
def _verbs() -> frozenset[str]:
    """Return the stems of verbs of work, which name no subject."""
    return stems(re.sub(r"\[sz\]", "s", f"{_MAKES}|{_LOOKS}"))


class RequestPart(NamedTuple):
    """One of several things that a message asks for."""

    text: str
    source: Cite
    words: frozenset[str]
    """Stems of its content words."""
    looks: bool
    """Whether it asks to look at something, so that reading a file may be all of the work."""

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
            self.several += [part for one in new for part in request_parts(*one)]


def _may_be_several(text: str) -> bool:
    """Return False if a text has only one sentence, and no words that join two requests."""
    if _ENDS_WITHIN.search(text):
        return True
    if text.isascii() and not marks(text) & _JOINT_MARK:
        return False
    return _JOINT.search(text) is not None


def asks_for_something(text: str) -> bool:
    """Return True if a text in English begins with a request for work or ends with a question."""
    asks = _ASKS.match(text) is not None or text.rstrip().endswith("?")
    return asks and is_english(text, words_again(text))


def request_parts(text: str, source: Cite, after: int = -1) -> list[RequestPart]:
    """Return the separate things that a text of the user asks for; a rule or a fact is none.

    With ``after``, only those that end behind this position of the text.
    """
    read = text[:_LONGEST_SPLIT]
    if len(read) <= after or not is_english(read, words_again(read)):
        return []
    spans = (
        span
        for sentence in sentences(read)
        if sentence.end > after and read[sentence.start : sentence.end] == sentence.text
        for span in _spans_of_parts(read, sentence)
    )
    return [_part(read, source, start, end) for start, end in islice(spans, MOST_PARTS) if end > after]


def _part(text: str, source: Cite, start: int, end: int) -> RequestPart:
    words = text[start:end]
    cite = source._replace(start=source.start + start, end=source.start + end)
    return RequestPart(words, cite, stems(words), _LOOKING.match(words) is not None)


def _spans_of_parts(text: str, sentence: Sentence) -> Iterator[tuple[int, int]]:
    """Yield the spans of what a sentence asks for: work, perhaps several kinds of it, or an answer."""
    if sentence.text.endswith("?") and not _ASKS.match(sentence.text):
        yield sentence.start, sentence.end
        return
    if not _ASKS.match(sentence.text) or sentence.text.endswith(":") or states_only(sentence.text):
        return
    start = sentence.start
    for joint in _JOINT.finditer(text, sentence.start, sentence.end):
        if start > sentence.start or _ASKS.match(text, start, joint.start()):  # "okay, fix it" asks once
            yield start, joint.start()
        start = joint.start() + len(joint[0]) - len(joint[0].lstrip(" ,;\n\t"))
    yield start, sentence.end


def work_of(calls: Iterable[Asked]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems that calls name: those that change or run something, and those that only look."""
    texts: dict[bool, list[str]] = {True: [], False: []}
    for asked in calls:
        words = " ".join(_strings(asked.action.arguments))[:_MOST_READ]
        texts[asked.action.kind in _LOOKING_CALLS].append(words)
    return stems(" ".join(texts[False])), stems(" ".join(texts[True]))


def named_in(calls: Iterable[Asked]) -> str:
    """Return the arguments of calls that do more than look, in lower case."""
    doing = (asked for asked in calls if asked.action.kind not in _LOOKING_CALLS)
    return " ".join(" ".join(_strings(asked.action.arguments))[:_MOST_READ] for asked in doing).lower()


def announced_stems(text: str) -> frozenset[str]:
    """Return the stems of what an announcement says will be done, without its reason and verbs of work."""
    reason = _PURPOSE.search(text)
    return stems(text[: reason.start()] if reason else text) - _verbs()


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value[:_MOST_READ]
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def told_of(report: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems that a text of the model names as done, and as not done."""
    finished: list[str] = []
    unfinished: list[str] = []
    for sentence, states in result_sentences(report):
        (finished if states and not _UNFINISHED.search(sentence) else unfinished).append(sentence)
    return stems(" ".join(finished)), stems(" ".join(unfinished))


def left_out(
    parts: Sequence[RequestPart],
    report: str,
    done: frozenset[str],
    not_done: frozenset[str],
    touched: Mapping[str, bool],
) -> Iterator[RequestPart]:
    """Yield the parts that a report leaves out; none if it may speak of the whole.

    ``done`` and ``not_done`` are the stems that the report names, ``touched`` those named since the request.
    """
    if len(parts) < 2 or says_all_done(report) or _SPEAKS_OF_ALL.search(report):
        return
    counts = Counter(word for part in parts for word in part.words)
    own = [frozenset(word for word in part.words if counts[word] == 1) for part in parts]
    reported = {
        part.kind for part, words in zip(parts, own, strict=True) if not done.isdisjoint(words - _verbs())
    }
    if LoopKind.QUESTION in reported and len(report) > _LONGEST_ANSWER:
        reported.remove(LoopKind.QUESTION)  # a long text answers in other words
    for part, words in zip(parts, own, strict=True):
        if part.kind in reported and words - _verbs() and words.isdisjoint(done):
            worked_on = any(touched.get(word, False) or (part.looks and word in touched) for word in words)
            if not worked_on or not words.isdisjoint(not_done):
                yield part
