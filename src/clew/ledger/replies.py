"""Decide whether a reply of the model reports a result, and which postponed work it mentions.

"Noted.", "I will look at it", "I won't" and "I don't know" finish no open work: a text that only
acknowledges, promises, refuses or does not know is not a report. Postponed work was requested or promised, is
not done, and is no longer the topic; it is indexed by content words, so that a report is compared with few of
many items.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain

from clew.ledger.loop import LATER, Loop, LoopKind
from clew.ledger.sections import named_sections, section_of
from clew.message.patterns import lazy_pattern
from clew.rules.languages import is_function_word
from clew.rules.prefilter import CHUNKS, marks

LONGEST_HOLLOW = 400
"""Characters above which a text always counts as a report; chosen by hand."""
_LONGEST_REFUSAL = 1_200
_SENTENCE = lazy_pattern(r"[^.!?\n]*(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?]*")
_COURTESY = (
    r"(?:thanks?(?:\ you|\ a\ lot)?|thx|ok(?:ay)?|noted|understood|got\ it|i\ see|i\ understand"
    r"|sure(?:\ thing)?"
    r"|certainly|of\ course|absolutely|alright|all\ right|right|great|good|fine|perfect|acknowledged"
    r"|roger|copy\ that|makes\ sense|sounds\ good|no\ problem|you[’']?re\ welcome|my\ pleasure"
    r"|happy\ to(?:\ help)?"
    r"|sorry|apologies|i\ apologi[sz]e|good\ (?:point|catch|question|idea)|interesting|hm+|hi|hello|hey"
    r"|for\ (?:that|this|the\ \w+|letting\ me\ know|flagging\ (?:it|this|that))"
    r"|verstanden|alles\ klar|(?:das\ )?mache?\ ich(?:\ gleich)?|d[’']accord|compris|entendido|capito"
    r"|понял[аи]?|хорошо|了解(?:しました|です)?|承知しました|わかりました|好的|明白了?)"
)
_COURTESIES = lazy_pattern(rf"\W*+(?:{_COURTESY}\b\W*+)*+", re.IGNORECASE)
_OPENER = lazy_pattern(rf"\W*+(?:(?:{_COURTESY}|yes|yeah|yep|no|so|and|then|but|now)\b\W*+)*+", re.IGNORECASE)
_FIRST_WORD = lazy_pattern(r"\W*+(\w*+)")
_OPENING_WORDS = frozenset(
    """
    thank thanks thx ok okay noted understood got i sure certainly of absolutely alright all right great good
    fine perfect acknowledged roger copy makes sounds no you youre my happy sorry apologies interesting hi
    hello hey for yes yeah yep so and then but now verstanden alles das mach mache d compris entendido capito
    """.split()  # noqa: SIM905  # as a literal it takes a line for each word
)
"""The first words of all that it matches but "hm"."""
_AHEAD = lazy_pattern(
    r"""(?:
      (?:i|we)(?:[’']ll|\ will|\ shall|[’']?m\ going\ to|\ am\ going\ to|[’']re\ going\ to)\b
    | (?:i|we)\ (?:have\ to|need\ to|must|should|want\ to)\ (?:\w+\ )?
      (?:check|look|see|think|find\ out|investigate|ask)\b
    | (?:let\ me|let[’']?s|allow\ me\ to|give\ me\ a|one\ (?:moment|sec)|just\ a\ (?:moment|sec)|hold\ on)\b
    | on\ it\b
    | (?:i|we)\ can\ (?:\w+ly\ )?(?:do|handle|take\ care\ of)\ (?:that|this|it|both|all)\b
    | (?:will|going\ to|about\ to)\s
    | (?:i[’']?m\ |i\ am\ |now\ )?
      (?:starting|beginning|looking|working|checking|investigating|getting\ started|proceeding)\b
    )""",
    re.VERBOSE | re.IGNORECASE,
)
"""Openings of sentences about future work."""
_UNSETTLED = lazy_pattern(
    r"""(?:unfortunately,?\ )?(?:
      i\ (?:really\ |honestly\ )?(?:don[’']?t|do\ not)[ ]
      (?:know|have\ (?:an?\ answer|any\ idea|that\ information))\b
    | i[’']?m\ not\ (?:sure|certain)\b | i\ am\ not\ (?:sure|certain)\b | (?:i\ have\ )?no\ idea\b
    | i\ (?:can[’']?t|cannot|can\ not)\ (?:tell|say|answer)\b | not\ sure\b | don[’']?t\ know\b
    | i\ (?:could\ not|couldn[’']?t|was(?:\ not|n[’']?t)\ able\ to|failed\ to|ran\ out\ of|have\ no\ tool)\b
    | (?P<refuses>
        i\ (?:won[’']?t|will\ not|refuse|decline|must\ decline|have\ to\ decline|would\ rather\ not)\b
      | i[’']?m\ not\ (?:going|willing|able)\ to\b | i[’']?m\ unable\ to\b
      | i\ am\ (?:not\ able|unable)\ to\b
      | i\ (?:can[’']?t|cannot|can\ not)\ (?:do|help|assist|comply|fulfil)
      | (?:that[’']?s\ |this\ is\ |request\ )?declined\b)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
"""Openings of sentences that refuse, failed, or know no answer."""
_NOT_FINISHED = lazy_pattern(
    r"""\A\W*(?:request\ (?:interrupted|timed\ out|aborted)|(?:api\ )?error\b[^\n]{0,80}?
      (?:\b[45]\d\d\b|overloaded|timed?\ ?out|rate\ limit))
    | \b(?:had\ to\ stop|half[ -](?:done|finished)|ran\ out\ of\ (?:tokens|context|time)
      |before\ (?:finishing|completing))\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""What a short text says that ends the work before it is done, such as the error of a provider."""
_NOT_FINISHED_MARK = CHUNKS.mark_words(
    ("request", "api", "error", "stop", "half", "ran", "finishing", "completing")
)
_OFFERS_INSTEAD = lazy_pattern(r"\b(?:but|however|though|instead|because\ it|so\ i)\b", re.IGNORECASE)
_RESULT_AFTER_COLON = lazy_pattern(r":\s+(?:\S+\s+){2}\S")
_ALL_DONE = lazy_pattern(
    r"""\b(?:everything(?!\ else)\b[^.!?\n]{0,40}
    | all(?:\ of)?(?:\ (?:the|these|those|your|my|our|that|this|it|them))?
      (?:\ (?:\d+|two|three|four|five|six|seven|eight|nine|ten))?
      (?:\ (?:[\w-]+\ ){0,2}(?:tasks?|items?|points?|things?|requests?|changes?|steps?|parts?|fixes|to-?dos?
        |requirements?|questions?|issues?|bugs?|work|slices?|phases?|stages?|milestones?|features?|actions?|edits?
        |findings?|comments?)(?:\ (?:from|for|of|identified|across)\ [^.!?\n]{1,30}?)?)?
      (?:,?\ (?:is|are|was|were|has|have|been|now|should|be|you|i|we|that|which|asked|for|requested|wanted
        |listed|above|below|already|successfully|fully))*\ )
    \b(?:done|finished|completed?|in\ place|implemented|fixed|resolved)\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""That everything is done, or all of the work; "all tests are in place" speaks of the tests alone."""
_ALL_MARK = CHUNKS.mark_words(("all", "everything"))
_WORD = lazy_pattern(r"[^\W_]{3,}")
_STEM = 6
_LONGEST_CHOICE = 60
_CHOICE = lazy_pattern(
    r"\W*(?:(?:the|that)\ (?:one|first|second|third|last|latter|former)|(?:option|number)\ \w+|both"
    r"|neither)\b[^?]*\Z",
    re.IGNORECASE,
)
"""Words that choose from what was offered before, without naming it."""
_REMEMBERED, _LONGEST_REMEMBERED = 50_000, 80
_ENOUGH = 2


def is_report(text: str) -> bool:
    """Return True if a text of the model can finish open work: it states a result or what was done."""
    if _unsettled(text):
        return False
    if len(text) <= LONGEST_HOLLOW and _breaks_off(text):
        return False
    return len(text) > LONGEST_HOLLOW or any(
        _states_result(sentence[0]) for sentence in _SENTENCE.finditer(text)
    )


def _breaks_off(text: str) -> bool:
    if text.isascii() and not marks(text) & _NOT_FINISHED_MARK:
        return False
    return _NOT_FINISHED.search(text) is not None


def is_refusal(text: str) -> bool:
    """Return True if a text of the model refuses what was asked, and offers nothing instead."""
    found = _unsettled(text)
    return found is not None and found["refuses"] is not None


def _unsettled(text: str) -> re.Match[str] | None:
    """Return the refusal or "don't know" that a text begins with; None if it offers something instead."""
    if len(text) > _LONGEST_REFUSAL:
        return None
    found = _UNSETTLED.match(text, _opener_end(text))
    return found if found and not _OFFERS_INSTEAD.search(text, found.end()) else None


def _states_result(sentence: str) -> bool:
    text = sentence.strip()
    if text.endswith("?") or not any(map(str.isalnum, text)):
        return False
    start = _opener_end(text)
    if start == len(text) and _COURTESIES.fullmatch(text):
        return False
    ahead = _AHEAD.match(text, start)
    return ahead is None or _RESULT_AFTER_COLON.search(text, ahead.end()) is not None


def _opener_end(text: str) -> int:
    """Return where a text goes on after courtesies and words such as "yes" and "now"."""
    first = _FIRST_WORD.match(text)
    word = first[1].lower() if first else ""
    if first and word.isascii() and word not in _OPENING_WORDS and not word.startswith("hm"):
        return first.start(1)  # most texts: this takes a third of the time of the whole pattern
    opener = _OPENER.match(text)
    return opener.end() if opener else 0


def result_sentences(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the sentences of a text of the model, each with whether it states a result."""
    for sentence in _SENTENCE.finditer(text):
        if sentence[0].strip():
            yield sentence[0], _states_result(sentence[0])


def says_all_done(text: str) -> bool:
    """Return True if a text says that everything is done."""
    if text.isascii() and not marks(text) & _ALL_MARK:
        return False
    return _ALL_DONE.search(text) is not None


@lru_cache(maxsize=4_096)  # postponed work is compared with every report
def matter(text: str) -> frozenset[str]:
    """Return the stems (first letters) of a text's content words; of a section's heading, its label."""
    if label := section_of(text):
        return frozenset((label,))
    return frozenset(chain(chain.from_iterable(map(_STEMS.__getitem__, text.split())), named_sections(text)))


class _Stems(dict[str, tuple[str, ...]]):
    """Cache from text without white space to the stems in it; cleared when it holds ``_REMEMBERED`` texts."""

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        if len(self) >= _REMEMBERED:
            self.clear()
        words = (word.lower() for word in _WORD.findall(chunk))
        stems = tuple(word[:_STEM] for word in words if not is_function_word(word))
        if len(chunk) <= _LONGEST_REMEMBERED:
            self[chunk] = stems
        return stems


_STEMS = _Stems()


def enough_of(words: int) -> int:
    """Return how many words a report must share with an item of so many content words to be about it."""
    return min(_ENOUGH, max(1, words))


_OF_TESTS = lazy_pattern(r"\b(?:tests?|suite|build|ci|spec|specs)\b", re.IGNORECASE)
_MOST_WITH_ONE_WORD = 64
"""Number of items that share a word above which the word is too common to identify one; chosen by hand."""


@dataclass(slots=True)
class DeferredRequests:
    """Postponed work, until a report mentions it."""

    held: dict[str, Loop] = field(default_factory=dict)
    """By id, oldest first."""
    heard: list[str] = field(default_factory=list)
    """Ids that the model's last report mentions; a tool call after the report cancels that."""
    _by_word: dict[str, set[str]] = field(init=False, default_factory=dict)
    _enough: dict[str, int] = field(init=False, default_factory=dict)
    """By id: how many of its words a report must share."""
    _asked: set[str] = field(init=False, default_factory=set)
    """The ids of the model's questions."""

    def __post_init__(self) -> None:
        for loop in self.held.values():
            self._index(loop)

    def _index(self, loop: Loop) -> None:
        words = matter(loop.text)
        self._enough[loop.id] = enough_of(len(words))
        if loop.kind is LoopKind.ASKED:
            self._asked.add(loop.id)
        for word in words:
            self._by_word.setdefault(word, set()).add(loop.id)

    @property
    def loops(self) -> Iterator[Loop]:
        """Yield the items that the last report does not mention."""
        heard = frozenset(self.heard)
        return (loop for loop in self.held.values() if loop.id not in heard)

    @property
    def spoken_of(self) -> tuple[Loop, ...]:
        """Return the items that the last report mentions."""
        return tuple(self.held[id_] for id_ in self.heard)

    @property
    def failures(self) -> tuple[Loop, ...]:
        """Return what reports said of failing tests and builds."""
        left = (loop for loop in self.held.values() if loop.kind is LoopKind.LEFT)
        return tuple(loop for loop in left if _OF_TESTS.search(loop.text))

    def put(self, loop: Loop) -> None:
        """Postpone a loop."""
        self.held[loop.id] = replace(loop, status=loop.status or LATER)
        self._index(loop)

    def take(self, id_: str) -> Loop | None:
        """Remove and return a loop; None if it was not postponed."""
        loop = self.held.pop(id_, None)
        if id_ in self.heard:
            self.heard.remove(id_)
        self._enough.pop(id_, None)
        self._asked.discard(id_)
        for word in matter(loop.text) if loop else ():
            self._by_word[word].discard(id_)
            if not self._by_word[word]:
                del self._by_word[word]
        return loop

    def hear(self, report: str) -> None:
        """Record which items a report mentions."""
        self.forget_report()
        if not self.held:
            return
        if says_all_done(report):
            spoken_of = set(self._items_mentioned_in(report))
            self.heard = [
                id_ for id_, loop in self.held.items() if loop.kind is not LoopKind.ASKED or id_ in spoken_of
            ]
            return
        self.heard = self._items_mentioned_in(report)

    def speaks_of_any(self, text: str) -> bool:
        """Return True if a text mentions an item."""
        return bool(self._items_mentioned_in(text))

    def questions_in(self, answer: str) -> list[str]:
        """Return the ids of the model's unanswered questions that the user's words are about."""
        if not self._asked:
            return []
        about = [id_ for id_ in self._items_mentioned_in(answer) if id_ in self._asked]
        is_choice = len(answer) <= _LONGEST_CHOICE and _CHOICE.match(answer) is not None
        return about or ([*self._asked] if is_choice and len(self._asked) == 1 else [])

    def _items_mentioned_in(self, text: str) -> list[str]:
        """Return the ids of the items that a text shares enough content words with, oldest first."""
        if not self.held:
            return []
        shared: dict[str, int] = {}  # a counter takes three times as long for a few words
        for word in matter(text) & self._by_word.keys():
            ids = self._by_word[word]
            for id_ in ids if len(ids) <= _MOST_WITH_ONE_WORD else ():
                shared[id_] = shared.get(id_, 0) + 1
        return sorted([id_ for id_, words in shared.items() if words >= self._enough[id_]], key=_number)

    def forget_report(self) -> None:
        """Ignore the last report."""
        self.heard = []

    def settle(self) -> None:
        """Remove the items that the last report mentions."""
        heard, self.heard = self.heard, []
        for id_ in heard:
            self.take(id_)


def _number(id_: str) -> int:
    return int(id_[1:])
