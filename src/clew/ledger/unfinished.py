"""Which words of a reply say that work is not done, or only a part of it.

"I haven't started on this yet" and "I ported seven of the twelve handlers" state something, but finish no
request. A request to look at something is finished by such words: they may be what was found. Of a long reply
code and quotations do not count, and what it says is not done is open work itself: "3 tests still fail".
``Talk`` calls ``divided(reply)`` for every report.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from clew.ledger.phrases import Foreign
from clew.ledger.replies import LONGEST_HOLLOW, says_all_done
from clew.message.text import AnyCasePattern, lazy_pattern

_READ = 600
"""Characters of a request that are read for that; chosen by hand."""
_LONGEST_READ = 20_000
"""Characters of a long reply that are read for what it leaves; chosen by hand."""
_MOST_LEFT = 4
"""Statements of one reply about what is not done that are kept as open work; chosen by hand."""
_LONGEST_LEFT = 600
"""Characters of such a statement that are kept; chosen by hand."""


class DividedReply(NamedTuple):
    """A reply, divided into what it says was done and what was not."""

    done: str
    not_done: str
    left: tuple[tuple[int, int], ...] = ()
    """The spans of a long reply that say what is not done."""
    failed: str = ""
    """The clauses of a short reply that say that something failed; it may be other work."""


def divided(reply: str) -> DividedReply:
    """Divide a reply; a short one that says that everything is done has nothing undone."""
    lowered = reply.lower()
    if not any(map(lowered.__contains__, (*_SIGNS, *_FAILURE_SIGNS))) and not _counts(lowered):
        return DividedReply(reply, "")
    if len(reply) > LONGEST_HOLLOW:
        return _divided_report(reply)
    if says_all_done(reply):
        return DividedReply(reply, "")
    clauses = _CLAUSES.split(reply)
    undone = [clause for clause in clauses if _is_undone(clause)]
    failed = _failed_at_the_end(clauses)
    done = " ".join(clause for clause in clauses if clause not in undone and clause not in failed)
    return DividedReply(done, " ".join(undone), failed=" ".join(failed))


def _failed_at_the_end(clauses: Sequence[str]) -> list[str]:
    """Return the clauses that say that something failed, unless a later one says that it works now."""
    failed: list[str] = []
    for clause in clauses:
        if says_failed(clause):
            failed.append(clause)
        elif _WORKS_NOW.search(clause):
            failed = []
    return failed


def says_failed(clause: str) -> bool:
    """Return True if a clause says that something failed, now and finally: "purging failed, so I left it"."""
    if not any(map(clause.lower().__contains__, _FAILURE_SIGNS)):
        return False
    clause = _CODE.sub(" ", clause)
    found = _FAILED.search(clause)
    if found is None or clause.rstrip().endswith("?") or _WORKS_NOW.search(clause, found.end()):
        return False
    if found["own"]:
        return True
    return not _NONE.search(clause, 0, found.start()) and not _ELSEWHERE.search(clause, 0, found.end() + 40)


def speaks_of_itself(failed: str) -> bool:
    """Return True if words about a failure name nothing, and so speak of what was asked: "it failed"."""
    return _UNNAMED.match(failed) is not None


def _divided_report(reply: str) -> DividedReply:
    """Divide a long reply; one that says that everything is done may still name failures."""
    is_foreign_at = Foreign(reply).holds
    left: list[tuple[int, int]] = []
    at = 0
    for gap in (*_CLAUSES.finditer(reply, 0, _LONGEST_READ), None):
        start, end, at = at, gap.start() if gap else min(len(reply), _LONGEST_READ), gap.end() if gap else at
        clause = reply[start:end]
        if left and start < left[-1][1]:
            continue  # listed under a heading
        if clause.strip() and _is_left(clause) and not is_foreign_at(start):
            listed = _LISTED.match(reply, end) if clause.rstrip("*_ ").endswith(":") else None
            left.append((start, listed.end() if listed else end))
    all_done = says_all_done(reply)
    if all_done:
        left = [(start, end) for start, end in left if not _is_undone(reply[start:end])]
    left = [_trimmed(reply, start, end) for start, end in left[-_MOST_LEFT:]]
    words = " ".join(reply[start:end] for start, end in left)
    if not words:
        return DividedReply(reply, "")
    done = reply
    for start, end in reversed(left):
        done = f"{done[:start]}{done[end:]}"
    return DividedReply(done, "" if all_done else words, tuple(left))


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without white space and list marks around it, cut to whole words if it is long."""
    words = text[start:end]
    start += len(words) - len(words.lstrip(" \t\n-*•>#"))
    end = start + len(text[start:end].rstrip())
    if end - start > _LONGEST_LEFT:
        end = start + len(text[start : start + _LONGEST_LEFT].rsplit(None, 1)[0])
    return start, end


def _is_left(clause: str) -> bool:
    """Return True if a clause of a long reply says that something is not done, now and by this work."""
    if clause.rstrip()[-1:] == "?":
        return False
    if _LIST_OF_LEFT.search(clause):
        return True
    found = _FAILS.search(clause)
    if found is None:
        return _is_undone(clause) and not _ELSEWHERE.search(clause)
    return not _NONE.search(clause, 0, found.start()) and not _ELSEWHERE.search(clause, 0, found.end() + 40)


def _is_undone(clause: str) -> bool:
    if clause[-1:] == "?":
        return False
    lowered = clause.lower()
    undone = _NOT_DONE.search(clause) if any(map(lowered.__contains__, _SIGNS)) else None
    if undone:
        return _NONE.search(clause, 0, undone.start()) is None
    if not _counts(lowered):
        return False  # most clauses: none of the patterns is searched
    count = _PART_OF.search(clause)
    is_part = count is not None and _value(count[1] or count[3]) < _value(count[2] or count[4])
    return (is_part or _HALF.search(clause) is not None) and _DID.search(clause) is not None


def _counts(lowered: str) -> bool:
    """Return True if words in lower case may count what is done of something."""
    return " of " in lowered or "half " in lowered or ("/" in lowered and _SHARE.search(lowered) is not None)


def _value(number: str) -> int:
    word = number.lower()
    return int(word) if word.isdigit() else _NUMBERS.index(word) + 1


def may_be_answered(request: str) -> bool:
    """Return True if words about unfinished work may be all that a request asks for."""
    words = request[:_READ]
    if _ASKS_FOR_PART.search(words):
        return True
    return _LOOKS.search(words) is not None and not _DOES.search(words)


# What the patterns recognise ---------------------------------------------------------------------------

_CLAUSES = lazy_pattern(r"(?<=[.!?;])\s+|\n+|,?\s+(?=(?:but|while|whereas|although|though)\s)", re.IGNORECASE)
"""What separates clauses: ". ", "; ", " but "."""
_NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
_NUMBER = rf"\d{{1,6}}|{'|'.join(_NUMBERS)}"
"""A number, in digits or as a word."""
_DONE = r"(?:started|begun|done|finished|completed?|implemented|ported|migrated|written(?!\ to\b)|in\ place)"
"""Participles of finished work: "started", "implemented"."""
_NOT_DONE = AnyCasePattern(
    rf"""\A\W*(?:not\ yet|blocked)\b
    | \b(?:
      (?:have|has|had)(?:n[’']t|\ not)\ (?:yet\ )?(?:been\ )?(?:{_DONE}|got(?:ten)?\ to)
    | did(?:n[’']t|\ not)\ (?:yet\ )?(?:start|begin|finish|complete|get\ (?:around\ )?to|manage\ to)
    | (?:is|are)(?:n[’']t|\ not)\ (?:yet\ )?{_DONE}
    | not\ (?:yet\ )?(?:started|begun)
    | still\ (?:to\ (?:do|come|go|be\ done)|not\ {_DONE}|outstanding|remains?|missing
        |working\ on\ (?:it|this|that)|in\ progress)
    | (?:this|it|work\ on\ (?:it|this|that))(?:\ is|[’']s)\ (?:still\ )?in\ progress
    | i\ have(?:n[’']t|\ not)\ (?:yet\ )?[a-z]{{2,}}ed\ (?:it|this|that|them|any)
    | (?:i|we)\ have(?:n[’']t|\ not)\ [^.,;:\n]{{2,80}}\ yet(?=\W*\Z)
    | nothing\ (?:has\ been|is|was)\ (?:yet\ )?{_DONE}
    | (?:can|could)(?:n[’']t|not|\ not)\ be\ {_DONE}
    | half-?way\ through | partial(?:ly)?\ {_DONE} | (?:only|just)\ [^.;]{{1,40}}\ so\ far
    | (?:{_NUMBER})\ (?:more\ |still\ )?to\ go | (?:{_NUMBER})\ [a-z]+\ (?:still\ )?remain
    | still\ (?:needs?|has|have)\ to\ be\ {_DONE}
    | i\ still\ (?:need|have)\ to
    | (?:is|are)\ (?:still\ )?(?:left|remaining)(?:\ to\ do)?(?=\W*\Z)
    | remains?\ to\ (?:do|be\ done) | remaining\ (?:tasks?|work|to-?dos?)(?!\W+none)
    | (?:i[’']ll|i\ will)\ (?:do|finish|continue\ with|port|handle|add)\ the\ (?:rest|remaining|others?)
    | next,?\ (?:i[’']ll|i\ will)
    | (?:i\ am|i[’']m|we\ are|we[’']re|this\ is|it\ is|it[’']s|work\ is)\ (?:still\ |currently\ )?blocked
    | (?:could(?:n[’']t|\ not)|(?:was|am)\ (?:unable|not\ able)\ to|wasn[’']t\ able\ to)
      \ (?:yet\ )?(?:do|start|finish|complete|implement)
    )\b""",
    re.VERBOSE,
)
"""What says of its clause that it is not done."""
_FAILS = AnyCasePattern(
    r"""\b(?:
      (?:i|we)\ (?:could(?:n[’']t|\ not)|(?:was|were)(?:\ unable|\ not\ able|n[’']t\ able)\ to|failed\ to
        |did(?:n[’']t|\ not)\ manage\ to)\ (?:yet\ )?
      (?!(?:verif|test|check|confirm|run|see|find|tell|access|view|open|determine|measure|compare)\w*\b)\w+
    | (?:i|we)\ (?:ran\ out\ of|had\ to\ stop)
    | (?:still|continues?\ to)\ (?:\w+\ )?(?:fail(?:s|ing)?|crash(?:es|ing)?|broken|unresolved|unsolved)
    | still\ (?:does|do|is|are)(?:n[’']t|\ not)\ (?:work|pass|build|compil|start|run|fixed|complete)\w*
    | (?:does|do)(?:n[’']t|\ not)\ (?:work|pass|build|compile|start|run)\ yet
    | (?:is|are)(?:n[’']t|\ not)\ (?:working|passing|building|fixed|solved)\ yet
    | (?:that|this|it|which)(?:\ is|[’']s)\ still\ open
    | remains?\ (?:unresolved|unsolved|unfixed|broken|unfinished|incomplete|open(?=\W*\Z))
    )\b""",
    re.VERBOSE,
)
"""What says of a clause of a long reply that something failed or stopped; verifying is no part of
most work."""
_FAILED = AnyCasePattern(
    r"""(?P<own>\b(?:i|we)\ (?:could(?:n[’']t|\ not)|can(?:[’']t|not)
      |(?:was|am|were)(?:n[’']t|\ not)\ able\ to|(?:was|am|were)\ unable\ to
      |failed\ to|did(?:n[’']t|\ not)\ manage\ to|had\ to\ give\ up)\ (?:yet\ )?
      (?!(?:verif|test|check|confirm|see|find|tell|view|determine|measure|compare|reproduc|do|help)\w*\b)\w
      |\b(?:i|we)\ left\ (?:it|that|this|them)\b(?!\ (?:in|at|on|with|to|for|as\ the)\b))
    | \b(?:failed|fails)\b(?=\W*\Z|\s*[,.;:()—–]|\ -
      |\s(?:because|since|with|due|on|at|for|after|again|when|and|so|twice|too)\b)
    | \bcould(?:n[’']t|\ not)\ (?:yet\ )?be
      \ (?!verif|test|check|confirm|reproduc|determin|inferr|resolved\ by)
      (?:\w{3,}ed|sent|made|built|written|done|run|set)\b
    | \b(?:was|were|got|is|are)\ (?:rejected|refused|denied|forbidden|not\ (?:possible|permitted|allowed))\b
    | \bpermission\ denied\b
    | \b(?:no|lack(?:s|ed|ing)?(?:\ the)?|missing)\ (?:\w+\ )?(?:permissions?|access|credentials?)\b""",
    re.VERBOSE,
)
"""What says that something failed; ``own``: that the model itself did not manage to do it."""
_CODE = lazy_pattern(r"`[^`\n]*`")
"""Code in a line: what a program prints is no report."""
_FAILURE_SIGNS = (
    *("fail", "could", "can", "able to", "give up", "left", "reject", "refused", "denied", "forbidden"),
    *("not p", "not a", "permission", "access", "credential"),
)
"""Substrings of which each such clause has one, as a prefilter."""
_WORKS_NOW = AnyCasePattern(
    r"\b(?:now|fixed|works?|pass(?:es|ed)?|succeeded|solved|resolved|went\ through|no\ longer"
    r"|after\ a\ retry)\b"
)
"""Words of a clause after which an earlier failure is none any more."""
_UNNAMED = lazy_pattern(
    r"\W*(?:(?:sorry|unfortunately|no|but|it|this|that|they)\b\W*)*"
    r"(?:failed|fails|permission|access"
    r"|(?:was|were|is|are)\ (?:\w+\ )?(?:denied|rejected|refused|forbidden))\b",
    re.IGNORECASE,
)
"""A failure without a name: "it failed", "that was denied"."""
_LIST_OF_LEFT = AnyCasePattern(
    r"""\A[\W\d_]*(?:(?:what[’']s|what\ is)\ (?:still\ )?(?:left|missing|not\ done)|remaining
    |still\ (?:open|to\ do|missing|failing|remaining)
    |(?:not|un)(?:\ yet|\ |)(?:done|finished|implemented)|left\ to\ do|outstanding|to[- ]?do
    )\b[^:\n]{0,30}:(?!\W*(?:none|nothing|no)\b)""",
    re.VERBOSE,
)
"""The heading of a list of what is not done, or the beginning of such a line."""
_LISTED = lazy_pattern(r"(?:\n\s*(?:[-*•+]|\d{1,2}[.)])\s[^\n]*){1,12}")
"""Up to twelve list items."""
_ELSEWHERE = AnyCasePattern(
    r"""\b(?:unrelated|pre-?existing|existing|already|flaky|known|expected|intentional(?:ly)?|deliberate(?:ly)?
    |on\ purpose|by\ design|out\ of\ scope|at\ first|initially|originally|earlier|previously|until|used\ to
    |would|before\ (?:my|this|the)|later|someone|you\ want|if|when|unless|because|which\ is\ why
    |so\ that)\b""",
    re.VERBOSE,
)
"""What makes such words ones about another time, another cause, or a case that may come."""
_NONE = AnyCasePattern(r"\b(?:no|none|nothing|zero)\b")
"""A word before it that turns it round: "nothing is left"."""
_PART_OF = AnyCasePattern(
    rf"(?<!every\ )(?<!each\ )(?<!any\ )\b({_NUMBER})\ (?:out\ )?of\ "
    rf"(?:the\ |your\ |all\ |these\ |those\ )?({_NUMBER})\b"
    r"|\b(\d{1,6})/(\d{1,6})\ (?:(?:are|is)\ )?(?:tasks|steps|items|files|parts|done)\b"
)
"""A count of a part: "seven of the twelve", "3/5 tasks"."""
_HALF = AnyCasePattern(r"\bhalf\ (?:of\ )?(?:the|them|it|these|those|your)\b")
""""half of the", as a count."""
_DID = AnyCasePattern(
    r"\b(?!passed|failed|skipped|need)(?:[a-z]{3,}ed|done|written|built|rewritten|in\ place)\b"
)
"""A verb of finished work, so that a count is one of the work: not "3 of 5 tests failed"."""
_LOOKS = AnyCasePattern(
    r"\?|\b(?:check|see\ (?:if|whether)|look|find|list|review|summar|status|progress|tell|know|show|explain"
    r"|describe|whether|report|verify|compare|analy|inspect|investigate|test|which|what|how|why)"
)
"""A request that such words may answer."""
_ASKS_FOR_PART = AnyCasePattern(r"\b(?:only|first|half)")
"""A request for a part only: "first port the parser"."""
_SIGNS = (
    *("n't", "n’t", "not ", "still ", "left", "remain", "the rest", "other", "next", "blocked", "unable"),
    *("nothing", "cannot", "progress", "through", "partial", "so far", "to go", "failed to", "ran out"),
    *("had to stop", "continue", "unfinished", "undone", "unimplemented", "outstanding", "missing"),
    *("to do", "to-do", "todo"),
)
"""Substrings of which each undone clause has one that does not count what is done, as a prefilter."""
_SHARE = lazy_pattern(r"\d/\d")
"""A count such as "3/5", and no path."""
_DOES = AnyCasePattern(
    r"\A\W*(?:(?:please|now|then|ok|okay|and|next|can\ you|could\ you)\W+)*"
    r"(?:add|build|change|convert|create|delete|drop|fix|implement|install|make|migrate|move|port|refactor|remove"
    r"|rename|replace|rewrite|solve|split|support|upgrade|write)\b[^?]*\Z"
)
"""A request to change something, whatever else it names."""
