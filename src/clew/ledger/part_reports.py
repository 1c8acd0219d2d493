"""Which parts of a request the model's report leaves out.

"Login is implemented." reports one of two parts. A part counts as left out only if something else of the same
message is reported and this part is not: neither the report nor any statement or call since the request names
a word that only this part has, and the report does not say that everything is done. Work that was finished
must not be listed as open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from clew.ledger.exchange import Asked
from clew.ledger.loop import LoopKind
from clew.ledger.replies import result_sentences, says_all_done
from clew.ledger.request_parts import RequestPart
from clew.ledger.request_words import verbs_of_work
from clew.ledger.stems import stems
from clew.ledger.tool_actions import ActionKind
from clew.message import Json
from clew.message.patterns import AnyCasePattern, lazy_pattern

_LONGEST_ANSWER = 300
"""Characters of a text above which it answers a question or, without a call, is what was asked for..."""
_LONGEST_VAGUE = 120
"""...and up to which one that names no part says only that work is done; both chosen by hand."""
_FEWEST_COVERED, _COVERED = 5, 0.6
"""Words of a part, and the share of them that a report names, from which it speaks of the part; as above."""
_MOST_READ = 8_000
"""Characters of one call's arguments that are read for what it works on; chosen by hand."""


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


def told_of(report: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems that a text of the model names as done, and as not done."""
    finished: list[str] = []
    unfinished: list[str] = []
    for sentence, states in result_sentences(report):
        clauses = _CLAUSE_END.split(sentence) if _UNFINISHED.search(sentence) else [sentence]
        for clause in clauses:
            (finished if states and not _UNFINISHED.search(clause) else unfinished).append(clause)
    return stems(" ".join(finished)), stems(" ".join(unfinished))


def left_out(
    parts: Sequence[RequestPart],
    report: str,
    done: frozenset[str],
    not_done: frozenset[str],
    touched: Mapping[str, bool],
    worked: bool,
) -> Iterator[RequestPart]:
    """Yield the parts that a report leaves out; none if it may speak of the whole.

    ``done`` and ``not_done`` are the stems that the report names, ``touched`` those named since the request;
    ``worked`` says whether a call was made since the report before: without one, a long text is the result
    itself, in words of its own.
    """
    if len(parts) < 2:
        return
    if says_all_done(report) or _SPEAKS_OF_ALL.search(report):
        yield from _excepted(parts, report)
        return
    if not worked and len(report) > _LONGEST_ANSWER:
        return
    own = _own_words(parts)
    reported = _kinds_reported(parts, own, done, report)
    is_vague = not reported and len(report) <= _LONGEST_VAGUE
    if is_vague:
        reported = _kinds_named(parts, own, frozenset(word for word, did in touched.items() if did))
    for part, words in zip(parts, own, strict=True):
        if part.kind not in reported or not words - verbs_of_work() or _is_settled(part, words, not_done):
            continue
        if words.isdisjoint(done) and not _covers(done, part.words):
            worked_on = any(
                touched.get(word, False) or (part.may_only_look and word in touched) for word in words
            )
            may_be_done = worked_on or (is_vague and worked and not part.only_names)
            if not may_be_done or not words.isdisjoint(not_done):
                yield part


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
    parts: Sequence[RequestPart], own: Sequence[frozenset[str]], done: frozenset[str], report: str
) -> set[LoopKind]:
    """Return the kinds of parts that a report may leave out: a long text answers in other words."""
    named = _kinds_named(parts, own, done)
    if len(report) > _LONGEST_ANSWER:
        return named - {LoopKind.QUESTION}
    return named | {LoopKind.QUESTION} if named else named


def _kinds_named(
    parts: Sequence[RequestPart], own: Sequence[frozenset[str]], named: frozenset[str]
) -> set[LoopKind]:
    """Return the kinds of the parts of which a word of their own is named, verbs of work aside."""
    pairs = zip(parts, own, strict=True)
    return {part.kind for part, words in pairs if not named.isdisjoint(words - verbs_of_work())}


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
_UNFINISHED = AnyCasePattern(
    r"""\b(?:not\ (?:yet|done|implemented|started|finished|included|touched|covered|part\ of)
      |n[’']t\ (?:yet|been)|(?:have|has|had|did|do|does)(?:n[’']t|\ not)|remains?|remaining|todo|to\ do
      |pending|still\ (?:to|needs?|open|missing|left)|skipped|left\ out|leaving\ out|comes?\ (?:next|later)
      |(?:is|are)\ (?:next|missing|left)|later|tomorrow|next\ (?:step|up)|unfinished|incomplete
      |out\ of\ scope|i[’']ll|i\ will|we[’']ll|we\ will|ready\ (?:for|to)|proceed(?:ing)?\ (?:to|with))\b""",
    re.VERBOSE,
)
"""A sentence that says of its subject that it is not done."""
_CLAUSE_END = lazy_pattern(r";\s|,?\s(?:but|while|whereas|although|though)\s", re.IGNORECASE)
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
