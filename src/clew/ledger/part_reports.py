"""Which parts of a request the model's report leaves out, and so stay open.

To "Implement login and logout.", the report "Login is implemented." leaves out logout. A part counts as left
out only if something else of the same message is reported and this part is not: neither the report nor any
statement or call since the request names a word that only this part has, and the report does not say that
everything is done. Work that was finished must not be listed as open. ``CompoundRequests`` uses ``left_out``;
``Announcements`` uses the functions about calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from clew.ledger.exchange import Asked
from clew.ledger.loop import LoopKind
from clew.ledger.replies import result_sentences, says_all_done
from clew.ledger.request_parts import RequestPart
from clew.ledger.request_words import verbs_of_work
from clew.ledger.stems import stems
from clew.ledger.tool_actions import ActionKind
from clew.ledger.unfinished import says_failed
from clew.message import Json
from clew.message.text import AnyCasePattern, lazy_pattern

_LONGEST_ANSWER = 300
"""Characters of a text above which it answers a question or, without a call, is what was asked for. Chosen
by hand."""
_LONGEST_VAGUE = 120
"""Characters up to which a text that names no part says only that work is done: "Done." Chosen by hand."""
_FEWEST_COVERED, _COVERED = 5, 0.6
"""Words of a part, and the share of them that a report names, from which it speaks of the part. Chosen by
hand."""
_MOST_READ = 8_000
"""Characters of one call's arguments that are read for what it works on; chosen by hand."""


class Report(NamedTuple):
    """A text of the model, and the stems of the words that it says are done, not done, and failed."""

    text: str
    done: frozenset[str]
    not_done: frozenset[str]
    failed: frozenset[str] = frozenset()
    undone: frozenset[str] = frozenset()
    """Of the words that are not done, those of plain statements: no question, and no step to come."""

    @classmethod
    def of(cls, text: str) -> Report:
        """Read a text: "Login works, but logout is not done" names login as done, logout as not done."""
        done: list[str] = []
        not_done: list[str] = []
        failed: list[str] = []
        undone: list[str] = []
        negates = any(map(text.__contains__, _NEGATIONS))
        unfinished = _says_unfinished if negates else _UNFINISHED.search
        for sentence, states in result_sentences(text):
            is_whole = not unfinished(sentence) and not says_failed(sentence)
            for clause in [sentence] if is_whole else _CLAUSE_END.split(sentence):
                if states and says_failed(clause):
                    failed.append(clause)
                elif states and not is_whole and unfinished(clause):
                    undone.append(clause)
                else:
                    (done if states else not_done).append(clause)
        of_undone = stems(" ".join(undone))
        not_done_at_all = stems(" ".join(not_done)) | of_undone
        return cls(text, stems(" ".join(done)), not_done_at_all, stems(" ".join(failed)), of_undone)

    def about(self, part: RequestPart) -> Report:
        """Return it for one part: a failure is what a request to look at something finds."""
        answers = part.may_only_look or part.kind is LoopKind.QUESTION
        done, not_done = (self.failed, frozenset[str]()) if answers else (frozenset[str](), self.failed)
        return self._replace(
            done=self.done | done, not_done=self.not_done | not_done, undone=self.undone | not_done
        )


class WorkSince(NamedTuple):
    """What the model did since a request was made."""

    touched: Mapping[str, bool]
    """By stem of a word that statements and calls named: False if it was only read."""
    worked: bool
    """Whether a call was made since the report before this one."""

    def names_work_on(self, part: RequestPart, words: frozenset[str]) -> bool:
        """Return True if a statement or call named one of these words of a part; reading may be enough."""
        return any(
            self.touched.get(word, False) or (part.may_only_look and word in self.touched) for word in words
        )


def left_out(parts: Sequence[RequestPart], report: Report, since: WorkSince) -> Iterator[RequestPart]:
    """Yield the parts that a report leaves out; none if it may speak of the whole."""
    if len(parts) < 2:
        return
    if says_all_done(report.text) or _SPEAKS_OF_ALL.search(report.text):
        yield from _excepted(parts, report.text)
        return
    if not since.worked and len(report.text) > _LONGEST_ANSWER:
        return  # without a call, a long text is the result itself, in words of its own
    own = _own_words(parts)
    undone = _named_undone(parts, own, report) if report.undone or report.failed else []
    kinds = _kinds_reported(parts, own, report)
    is_vague = not kinds and len(report.text) <= _LONGEST_VAGUE
    if is_vague:
        kinds = _kinds_named(parts, own, frozenset(word for word, did in since.touched.items() if did))
    for part, words in zip(parts, own, strict=True):
        if part in undone:
            yield part
            continue
        if since.worked and not part.is_english:
            continue  # calls name things in English
        if part.is_beside or part.kind not in kinds or not words - verbs_of_work():
            continue
        about = report.about(part)
        if not _is_settled(part, words, about.not_done) and _is_left_out(
            part, words, about, since, is_vague=is_vague
        ):
            yield part


def _named_undone(
    parts: Sequence[RequestPart], own: Sequence[frozenset[str]], report: Report
) -> list[RequestPart]:
    """Return the parts of which a report says that they are not done; none if that is all of them."""
    named = [
        part
        for part, words in zip(parts, own, strict=True)
        if part.kind is LoopKind.REQUEST and not part.is_beside and words.isdisjoint(report.done)
        if not words.isdisjoint(report.about(part).undone)
    ]
    return named if len(named) < len(parts) else []


def _says_unfinished(clause: str) -> bool:
    """Return True if a clause says of its subject that it is not done, and not only how it was before."""
    if _UNFINISHED.search(clause):
        return True
    return _WAS_NOT_DONE.search(clause) is not None and _BEFORE.search(clause) is None


def _is_left_out(
    part: RequestPart, own: frozenset[str], report: Report, since: WorkSince, *, is_vague: bool
) -> bool:
    """Return True if nothing shows that a part is done; ``own`` are the words that only this part has.

    A vague report ("Done.") after calls counts for every part with a verb of its own.
    """
    if not own.isdisjoint(report.done) or _covers(report.done, part.words):
        return False
    if not own.isdisjoint(report.not_done):
        return True
    if is_vague and since.worked and not part.only_names:
        return False
    return not since.names_work_on(part, own)


def _is_settled(part: RequestPart, words: frozenset[str], not_done: frozenset[str]) -> bool:
    """Return True for a question that needs no answer or has one: "…, okay?", and "I cannot do that"."""
    if part.kind is not LoopKind.QUESTION:
        return False
    return not _ASKS_SOMETHING.match(part.text) or not words.isdisjoint(not_done)


def _own_words(parts: Sequence[RequestPart]) -> list[frozenset[str]]:
    """Return for each part the words that no other part has."""
    counts = Counter(word for part in parts for word in part.words)
    return [frozenset(word for word in part.words if counts[word] == 1) for part in parts]


def _excepted(parts: Sequence[RequestPart], report: str) -> Iterator[RequestPart]:
    """Yield the parts that a report on everything names as left out: "all done, except the docs"."""
    excepted = stems(" ".join(match[1] for match in _EXCEPT.finditer(report))) - verbs_of_work()
    for part, words in zip(parts, _own_words(parts), strict=True):
        if not words.isdisjoint(excepted):
            yield part


def _covers(done: frozenset[str], words: frozenset[str]) -> bool:
    """Return True if most of many words are named, though other parts have them too."""
    return len(words) >= _FEWEST_COVERED and len(words & done) >= len(words) * _COVERED


def _kinds_reported(
    parts: Sequence[RequestPart], own: Sequence[frozenset[str]], report: Report
) -> set[LoopKind]:
    """Return the kinds of parts that a report may leave out: a long text answers in other words."""
    named = _kinds_named(parts, own, report.done)
    if len(report.text) > _LONGEST_ANSWER:
        return named - {LoopKind.QUESTION}
    return named | {LoopKind.QUESTION} if named else named


def _kinds_named(
    parts: Sequence[RequestPart], own: Sequence[frozenset[str]], named: frozenset[str]
) -> set[LoopKind]:
    """Return the kinds of the parts of which a word of their own is named, verbs of work aside."""
    pairs = zip(parts, own, strict=True)
    return {part.kind for part, words in pairs if not named.isdisjoint(words - verbs_of_work())}


# What calls work on --------------------------------------------------------------------------------------


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
    return stems(text[: reason.start()] if reason else text) - verbs_of_work()


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value[:_MOST_READ]
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


# What the patterns recognise ---------------------------------------------------------------------------

_ASKS_SOMETHING = lazy_pattern(
    r"\W*(?:(?:and|so|also|but)\W+)?(?:what|which|who|whose|when|where|why|how|is|are|was|were|do|does|did|can|could"
    r"|will|would|should|has|have)\b(?!.*\b(?:some|any)thing\b)(?!.*\bthat\ sound)"
    r"(?!\W+you\W+(?:please\W+)?(?:help|assist)(?:\W+(?:me|us|out|with|this|that|it|these|those))*\W*\Z)",
    re.IGNORECASE | re.DOTALL,
)
"""A question that a report answers or leaves out; not "How does that sound?" or "Can you help with that?"."""
_SPEAKS_OF_ALL = AnyCasePattern(
    r"\b(?:both|everything(?!\ else)|all\ (?:of\ )?(?:them|it|this|that|these|those|\d+|two|three|four|five)"
    r"|(?:all|everything)\ (?:that\ )?you\ (?:requested|asked|described|wanted))\b"
)
"""A report on the whole: "both work now", "all of them"."""
_UNFINISHED = AnyCasePattern(
    r"""\b(?:not\ (?:yet|done|implemented|started|finished|included|touched|covered|part\ of)
      |n[’']t\ (?:yet|been)|(?:have|has|had|did|do|does)(?:n[’']t|\ not)|remains?|remaining|todo|to\ do
      |pending|still\ (?:to|needs?|open|missing|left)|skipped|left\ out|leaving\ out|comes?\ (?:next|later)
      |(?:is|are)\ (?:next|missing|left)|later|tomorrow|next\ (?:step|up)|unfinished|incomplete
      |out\ of\ scope|i[’']ll|i\ will|we[’']ll|we\ will|ready\ (?:for|to)|proceed(?:ing)?\ (?:to|with))\b""",
    re.VERBOSE,
)
"""A sentence that says of its subject that it is not done."""
_WAS_NOT_DONE = AnyCasePattern(
    r"""\b(?:was|were|is|are|be|been)(?:n[’']t|\ not)\ (?:yet\ |\w+ly\ )?
      (?:\w{3,}ed|sent|done|made|built|written)\b
    | \bno\ [\w-]+\ (?:was|were|(?:has|have)\ been)\ (?:\w{3,}ed|sent|done|made|built|written)\b
    | \bbounced\b""",
    re.VERBOSE,
)
"""The same in the passive, which may also tell a cause: "she was not notified", "no mail was sent"."""
_NEGATIONS = (" not ", "n't ", "n’t ", "No ", " no ", "bounced")
"""Substrings of which each such sentence has one, as a prefilter."""
_BEFORE = AnyCasePattern(
    r"\b(?:now|fixed|solved|before|previously|earlier|until|when|whenever|because(?!\ (?:i|we)\b)|so(?!\ far)"
    r"|which|that|longer|needed|affected|changed)\b"
)
"""What makes it the cause of a fault, or harmless: "it was not renewed, so …", "the API was not changed"."""
_CLAUSE_END = lazy_pattern(
    r";\s|,?\s(?:but|while|whereas|although|though)\s"
    r"|,\s(?:and\s)?(?=(?:\w+\s){1,5}"
    r"(?:failed|was\ (?:rejected|denied)|could(?:n[’']t|\ not)|can(?:[’']t|not))\b)",
    re.IGNORECASE,
)
"""Where a sentence goes on to speak of something else: "login works, but logout is not done"."""
_EXCEPT = AnyCasePattern(
    r"""\b(?:all|both|everything)\b[^.;:!?\n]{0,80}\b
    (?:except(?:\ for)?|apart\ from|aside\ from|other\ than|with\ the\ exception\ of)
    \ (?!(?:at|by|during|from|if|in|on|that|to|under|when|where|while|with)\b)([^.;:!?\n]{1,120})""",
    re.VERBOSE,
)
"""What a report on everything leaves out."""
_PURPOSE = lazy_pattern(
    r"\b(?:so\ (?:that|we|it|the|they)|because|in\ order\ to|since|which)\b", re.IGNORECASE
)
"""Where the reason for a step begins."""
_LOOKING_CALLS = frozenset((ActionKind.READ, ActionKind.SEARCH, ActionKind.FETCH))
"""Kinds of calls that only look."""
