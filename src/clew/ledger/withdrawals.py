"""Decide whether the user's words withdraw a request: "scrap that", "dark mode is cancelled".

``withdrawal_in(text)`` returns which words say what is withdrawn, and whether the text asks for something
instead. ``Talk`` cancels the open requests that it is about, ``Goals`` takes what is asked for as the goal.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from clew.ledger.request_words import begins_request
from clew.ledger.stems import stems
from clew.message.text import lazy_pattern

_READ = 400
"""Characters of the user's words that are read; chosen by hand."""
_MOST = 0.5
"""Share of the named words that a request must have to be the one that is withdrawn; chosen by hand."""


class Withdrawal(NamedTuple):
    """What the user's words withdraw."""

    words: frozenset[str]
    """Stems of the words that name it; none for the last request: "scrap that"."""
    asks: bool
    """Whether they ask for something instead."""

    def is_of(self, request: str) -> bool:
        """Return True if it names this request; one without a name is about any."""
        return len(self.words & stems(request)) >= max(len(self.words) * _MOST, bool(self.words))


@lru_cache(maxsize=4)  # several trackers read the same text one after the other
def withdrawal_in(text: str) -> Withdrawal | None:
    """Return what a text withdraws; None if it withdraws nothing."""
    if len(text) > _READ or not any(map(text.lower().__contains__, _SIGNS)):
        return None
    clauses = [clause for clause in _CLAUSE.split(text) if clause.strip()]
    for clause in clauses:
        found = _WITHDRAWS.match(clause)
        if found is None or clause.rstrip().endswith("?"):
            continue
        named = next((found[name] for name in _NAMES if found[name]), "")
        new = _DOES_INSTEAD.search(named)
        rest = [clause[found.end() :], *(one for one in clauses if one is not clause)]
        words = stems(named[: new.start()] if new else named) - stems(_GENERAL)
        if words or not named:
            return Withdrawal(words, new is not None or any(map(_asks, rest)))
    return None


def _asks(clause: str) -> bool:
    return begins_request(clause.strip()) or _ASKS.search(clause) is not None


# What the patterns recognise ---------------------------------------------------------------------------

_SIGNS = (
    *("scrap", "forget", "never mind", "nevermind", "nvm", "abandon", "shelv", "park", "drop", "cancel"),
    *("skip", "stop", "hold", "pause", "instead of", "not do", "n't do", "n’t do", "need", "off the table"),
    *("obsolete", "postponed", "vergiss", "statt", "oublie", "olvida", "lascia"),
)
"""Substrings of which each text that withdraws something has one, as a prefilter."""
_CLAUSE = lazy_pattern(r"(?<=[.!?;])\s+|\n+|\s*[,:;]\s+|\s+[-–—]\s+")
"""What separates clauses."""
_GENERAL = "work task idea feature plan request thing stuff part parts one whole now please after all anymore"
"""Words that name nothing."""
_NAMES = ("strong", "weak", "being", "is", "instead", "not")
_WITHDRAWS = lazy_pattern(
    r"""\W*(?:(?:ok(?:ay)?|actually|no|nah|wait|sorry|oh|hm+|and|so|but|please|let[’']?s|hey|well)\b\W*)*
    (?:
      (?:scrap|forget(?:\ about)?|never\ ?mind|nvm|abandon|shelve|vergiss|oublie|olvida|lascia\ perdere)\b
        (?:\ (?:that|this|it|das|ça|eso)\b|\ (?P<strong>(?!to\b|when\b|what\b|if\b)\w[^,;.!?]*))?
    | (?:drop|cancel|skip|stop|hold(?:\ off\ on)?|pause|park)\ (?:it|(?:that|this)
        (?=\W*\Z|[^\w\s]|\ (?:and|or|for|then|please|now|instead|entirely|completely|too|as|until|after|before
          |i|we|let)\b))\b
        (?!\ (?:into|in|on|to|for|from|at|table|file|button|process|server|job)\b)
    | (?:drop|cancel|skip|stop|hold(?:\ off\ on)?|pause|park)
        \ (?P<weak>(?:the|that|this|all)\ [^,;.!?]*?\b(?:work|task|idea|feature|plan|request|thing|stuff)\b)
    | (?:we|i)(?:[’']re|[’']m|\ are|\ am)\ (?:dropping|scrapping|cancell?ing|abandoning|shelving|parking
        |not\ doing|no\ longer\ doing)\ (?P<being>\w[^,;.!?]*)
    | (?P<is>\w[^,;.!?]{1,60}?)\ (?:is|are|was|got|has\ been)
        \ (?:cancell?ed|dropped|scrapped|shelved|off\ the\ table
        |no\ longer\ (?:needed|wanted)|not\ needed\ any\ ?more|obsolete|postponed|on\ hold)\b
    | (?:instead\ of|statt)\ (?P<instead>\w[^,;.!?]*)
    | (?:(?:don[’']?t|do\ not|not)\ (?:do|build|add|bother\ with)
        |(?:we\ )?(?:don[’']?t|do\ not)\ need|no\ need\ for)
        \ (?P<not>[^,;.!?]*?)\s(?:after\ all|any\ ?more)\b
    )""",
    re.VERBOSE | re.IGNORECASE,
)
"""How a clause withdraws something: "nvm the dark mode", "we're dropping it", "dark mode is on hold"."""
_DOES_INSTEAD = lazy_pattern(
    r"\s(?:do|build|add|make|use|implement|write|fix|start|please|and|then)\b", re.IGNORECASE
)
"""Where what is wanted follows without a comma: "instead of dark mode do shortcuts"."""
_ASKS = lazy_pattern(
    r"\b(?:instead|please|pls|do|implement|focus\ on|work\ on|go\ (?:for|with|back)|switch\ to|first|next"
    r"|more\ (?:important|urgent)|(?:can|could)\ you|i\ (?:need|want)|we\ (?:need|want)|let[’']?s)\b",
    re.IGNORECASE,
)
"""Words of a clause that asks for something else."""
