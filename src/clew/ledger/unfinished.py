"""Which words of a short reply say that work is not done, or only a part of it.

"I haven't started on this yet" and "I ported seven of the twelve handlers" state something, but finish no
request. A request to look at something is finished by such words: they may be what was found.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from clew.ledger.replies import LONGEST_HOLLOW, says_all_done
from clew.message.patterns import AnyCasePattern, lazy_pattern

_CLAUSES = lazy_pattern(r"(?<=[.!?;])\s+|\n+|,?\s+(?=(?:but|while|whereas|although|though)\s)", re.IGNORECASE)
_NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
_NUMBER = rf"\d{{1,6}}|{'|'.join(_NUMBERS)}"
_DONE = r"(?:started|begun|done|finished|completed?|implemented|ported|migrated|written(?!\ to\b)|in\ place)"
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
_NONE = AnyCasePattern(r"\b(?:no|none|nothing|zero)\b")
_PART_OF = AnyCasePattern(
    rf"\b({_NUMBER})\ (?:out\ )?of\ (?:the\ |your\ |all\ |these\ |those\ )?({_NUMBER})\b"
    r"|\b(\d{1,6})/(\d{1,6})\ (?:(?:are|is)\ )?(?:tasks|steps|items|files|parts|done)\b"
)
_HALF = AnyCasePattern(r"\bhalf\ (?:of\ )?(?:the|them|it|these|those|your)\b")
_DID = AnyCasePattern(
    r"\b(?!passed|failed|skipped|need)(?:[a-z]{3,}ed|done|written|built|rewritten|in\ place)\b"
)
"""A verb of finished work, so that a count is one of the work: not "3 of 5 tests failed"."""
_LOOKS = AnyCasePattern(
    r"\?|\b(?:check|see\ (?:if|whether)|look|find|list|review|summar|status|progress|tell|show|explain"
    r"|describe|whether|report|verify|compare|analy|inspect|investigate|test|which|what|how|why|only|first|half)"
)
"""A request that such words may answer, or that asks for a part."""
_READ = 600
"""Characters of a request that are read for that; chosen by hand."""
_SIGNS = (
    *("n't", "n’t", "not ", "still ", "left", "remain", "the rest", "other", "next", "blocked", "unable"),
    *("nothing", "cannot", "progress", "through", "partial", "so far", "to go", " of ", "half ", "/"),
)
"""Letters of which each undone clause has some, as a prefilter."""


class Told(NamedTuple):
    """A reply, divided into what it says was done and what was not."""

    done: str
    not_done: str


def divided(reply: str) -> Told:
    """Divide a short reply; a long one, and one that says that everything is done, has nothing undone."""
    if (
        len(reply) > LONGEST_HOLLOW
        or not any(map(reply.lower().__contains__, _SIGNS))
        or says_all_done(reply)
    ):
        return Told(reply, "")
    clauses = _CLAUSES.split(reply)
    undone = [clause for clause in clauses if _is_undone(clause)]
    if not undone:
        return Told(reply, "")
    return Told(" ".join(clause for clause in clauses if clause not in undone), " ".join(undone))


_COUNTS = (" of ", "half ", "/")
_NOT_COUNTS = tuple(sign for sign in _SIGNS if sign not in _COUNTS)
"""Those of a clause that counts what is done, and those of any other one."""


def _is_undone(clause: str) -> bool:
    if clause.endswith("?"):
        return False
    holds = clause.lower().__contains__
    undone = _NOT_DONE.search(clause) if any(map(holds, _NOT_COUNTS)) else None
    if undone:
        return _NONE.search(clause, 0, undone.start()) is None
    if not any(map(holds, _COUNTS)):
        return False  # most clauses: none of the patterns is searched
    count = _PART_OF.search(clause)
    is_part = count is not None and _value(count[1] or count[3]) < _value(count[2] or count[4])
    return (is_part or _HALF.search(clause) is not None) and _DID.search(clause) is not None


def _value(number: str) -> int:
    word = number.lower()
    return int(word) if word.isdigit() else _NUMBERS.index(word) + 1


def may_be_answered(request: str) -> bool:
    """Return True if words about unfinished work may be all that a request asks for."""
    return _LOOKS.search(request[:_READ]) is not None
