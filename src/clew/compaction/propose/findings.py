"""What the agent found out and what still holds of it, for the digest.

The ledger ranks sentences of the agent that state a finding ("The cause is a stale cache").
``current_findings`` quotes those in messages that leave the view, without what is over since: troubles before
a passing test run, faults that the agent's next edit repairs, findings that a later one corrects or repeats,
and everything of a turn whose outcome the user rejected.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from clew.compaction.plan import Claim, ClaimKind
from clew.compaction.propose.citations import Find, quote_at
from clew.ledger.agent_findings import RankedFinding, is_history
from clew.ledger.turns import Turn, Turns
from clew.message import words
from clew.message.text import AnyCasePattern

MOST_TURNS = 400
"""Turns that are considered: the latest, and the first. No digest has room for more."""
MOST_FINDINGS = 600
SAME_WORDS = 0.7
"""Share of their words that two sentences share if the later one says the same; chosen by hand."""
_TROUBLE = AnyCasePattern(
    r"\b(?:(?:tests?|build|check|suite) (?:still )?(?:fails?|failed)|failing tests?"
    r"|still (?:not|failing|broken)|(?:is|are) (?:failing|broken)|still fails?|never ran|not yet)\b"
)
"""A state that a passing run of the tests mostly ends, and of which nobody knows after an edit."""
_OWN_FAULT = AnyCasePattern(
    r"\bmy (?:\w+ )?(?:fix|change|patch|approach|implementation|code|edit|attempt|solution)\b[^.]{0,80}"
    r"(?:\b(?:incorrect|wrong|broken|breaks?|broke|fails?|failed)\b"
    r"|\b(?:is|was|does|did|do)(?:n['’]t| not)\s(?:work|enough|applied|correct|see|handle|help))"
)
"""A fault of what the agent itself did, which its next edit mostly repairs."""
_POINTS_BACK = re.compile(
    r"(?:(?:good|great|perfect|ok(?:ay)?|yes|so|and|now|ah)\b[,.!: ]+)*"
    r"(?:it(?:[’']s| is| was)|this(?:[’']s| is| was| means)|that(?:[’']s| is| was| means)|they (?:are|were)"
    r"|these (?:are|were)|the (?:issue|problem|cause|bug) is (?:clear|obvious|here|there|now|simple))\b"
    r"|(?:but |so |and )*(?:it|this|that|these|those|they)\b[^`\d]*$",
    re.IGNORECASE,
)
"""A sentence that says nothing without the one before it."""
_IN_PROGRESS = re.compile(
    r"(?:(?:now|next)[,: ]+)?(?:(?:i am|i[’']m) )?(?!nothing|something|everything|anything)[a-z]+ing\b"
    r"(?:.*[,;] (?:and )?then i\b|.*\bi[’']ll\b|[^:]*\bnow\b[.:])",
    re.IGNORECASE | re.DOTALL,
)
"""A sentence on what the agent does at that moment: "Applying the last cleanup, then I'll run the tests."."""
_CORRECTS = re.compile(
    r"\b(?:actually|in fact|turns out|i was (?:wrong|mistaken)|contrary to|not true|after all)\b",
    re.IGNORECASE,
)
_SETTLES = re.compile(
    r"\b(?:(?:is|are|was|were|been|has|now|all) (?:now |been |all )?(?:fixed|resolved|solved|gone)|no longer"
    r"|(?:now|works?) (?:works?|passe?s?|now|correctly)|false alarm|not a (?:bug|problem))\b",
    re.IGNORECASE,
)
"""What a finding says after which a fault found before it is over..."""
_FAULT = re.compile(
    r"\b(?:bugs?|broken|breaks?|fail\w*|wrong\w*|missing|incorrect\w*|error\w*|issue|problem|cause[sd]?|not"
    r"|never|lacks?)\b|n[’']t\b",
    re.IGNORECASE,
)
"""...and what one says that finds a fault."""
_FAULT_NAMED = re.compile(
    r"\b(?:bugs?|broken?|missing|undefined|behind|outdated|stale|duplicat\w+)\b"
    r"|뒤처|미정의|삭제됨|깨[졌진]|오류|누락|결함|문제|놓[쳤친]|未定義|壊れ|エラー|不足|错误|缺少|损坏|未定义"
    r"|\b(?:ошибк|слома|отсутств|устаре|не работа)\w*"
    r"|\b(?:erros?|quebrad\w+|falta\w*|desatualizad\w+|rot[oa]s?|fallos?|desactualizad\w+)\b"
    r"|\b(?:fehlt|fehler\w*|kaputt|veraltet|erreurs?|cassée?|manque|errori?|rotto|manca)\b",
    re.IGNORECASE,
)
"""A state that work mostly ends, in several languages: once its turn was reported done, it is over."""
_NAME = re.compile(r"`([^`\n]{3,80})`")
_REJECTS = re.compile(
    r"\W*(?:no[,.!]|no\s*$|nope\b|wrong\b|incorrect\b|not (?:at all|what i)\b|undo\b|revert\b"
    r"|stop\s*(?:[^\w\s]|$|(?:it|that|this|now)\b)"
    r"|that(?:'s| is|’s) (?:not|wrong|incorrect)\b|(?:this|it) is (?:wrong|not what)\b"
    r"|i(?:'ve| have|’ve)? (?:just )?(?:reverted|undone|rolled back|discarded)\b"
    r"|you(?:'re| are|’re) (?:wrong|mistaken)\b)",
    re.IGNORECASE,
)
"""An answer that rejects what the agent said or did; "no problem", "not yet", "stop the server" do not."""


def current_findings(
    turns: Turns, gone: Collection[str], find: Find, passed: int = 0, edited: int = 0
) -> list[Claim]:
    """Return what the agent found out, in messages that leave the view, and what still holds.

    Those since the last request come first, then by rank, the latest first among equals. ``passed`` is the
    number of the message with the last test run if it passed: troubles found before it are over. ``edited``
    is that of the last edit: faults of the agent's own work found before it are.
    """
    if not turns.findings:
        return []
    asked = turns.all[-1].ask.number if turns.all else 0
    rejected = list(_rejected_turns(turns.all, find))
    latest_first = [(one.source.number, one) for one in reversed(turns.findings)]
    found: list[Claim] = []
    for number, one in sorted(latest_first, key=lambda pair: (pair[0] < asked, pair[1].rank)):
        said = quote_at(one.source, gone, find)
        if said is None or (rejected and any(start < number < end for start, end in rejected)):
            continue
        text, trust = said
        if _FAULT_NAMED.search(text) and not is_history(text) and _is_finished(number, turns.all):
            continue
        if not _is_over(text, number < passed, number < edited) and _is_complete(text):
            found.append(Claim("", ClaimKind.FINDING, text, (one.source,), trust, verbatim=True))
        if len(found) == MOST_FINDINGS:
            break
    return _in_force(found, list(_numbered_words(turns.findings, find))) if found else found


def _is_over(text: str, was_tested: bool, was_edited: bool) -> bool:
    """Whether a finding states a trouble that a later test run or edit mostly ended."""
    if (was_tested or was_edited) and _TROUBLE.search(text):
        return True
    return was_edited and _OWN_FAULT.search(text) is not None


def _is_finished(number: int, turns: Sequence[Turn]) -> bool:
    """Whether a message is of an earlier turn, whose report came after it."""
    at = bisect_right(turns, number, key=lambda turn: turn.ask.number) - 1
    report = turns[at].report if 0 <= at < len(turns) - 1 else None
    return report is not None and report.number > number


def _is_complete(text: str) -> bool:
    """Whether a finding says something without the sentence before it, and not only what is being done."""
    return not (_POINTS_BACK.match(text) or _IN_PROGRESS.match(text))


def _numbered_words(findings: Sequence[RankedFinding], find: Find) -> Iterator[tuple[int, str]]:
    """Yield the latest findings, also those that stay in the view: their message numbers and their words."""
    for one in findings[-MOST_FINDINGS:]:
        message = find(one.source.message)
        if message is not None and one.source.part < len(message.parts):
            yield one.source.number, words(message.parts[one.source.part])[one.source.start : one.source.end]


def _rejected_turns(turns: Sequence[Turn], find: Find) -> Iterator[tuple[int, int]]:
    """Yield the turns, from request to next request, whose outcome the user rejected in the next message."""
    for turn, after in pairwise(turns[-MOST_TURNS:]):
        message = find(after.ask.message)
        part = message.parts[after.ask.part] if message and after.ask.part < len(message.parts) else None
        if part is not None and _REJECTS.match(words(part), after.ask.start):
            yield turn.ask.number, after.ask.number


def _in_force(claims: list[Claim], all_findings: Sequence[tuple[int, str]]) -> list[Claim]:
    """Return the findings that no later one corrects, settles or repeats: one that names the same.

    ``all_findings`` are the numbers and words of all findings, also of those that stay in the view.
    """
    later: dict[str, list[tuple[int, str]]] = {}
    for number, text in all_findings:
        for name in _names_in(text):
            later.setdefault(name, []).append((number, text))
    return [claim for claim in claims if not _is_past(claim, later)]


def _is_past(claim: Claim, later: Mapping[str, Sequence[tuple[int, str]]]) -> bool:
    """Whether a later finding that names all that a finding names corrects, settles or repeats it."""
    names, number = _names_in(claim.text), claim.sources[0].number
    others = later.get(next(iter(names)), ()) if names else ()
    for at, text in others:
        if at > number and names <= _names_in(text):
            is_settled = (
                _SETTLES.search(text) and _FAULT.search(claim.text) and not _SETTLES.search(claim.text)
            )
            if is_settled or _CORRECTS.search(text) or _is_said_again(claim.text, text):
                return True
    return False


def _is_said_again(text: str, other: str) -> bool:
    """Whether two sentences have nearly the same words."""
    first, second = set(text.lower().split()), set(other.lower().split())
    return len(first & second) >= SAME_WORDS * len(first | second)


def _names_in(text: str) -> frozenset[str]:
    return frozenset(_NAME.findall(text))
