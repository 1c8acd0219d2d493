"""How English requests for work begin: the verbs, the polite openings, the determiners.

The patterns are shared by the files that split a request into its parts. ``begins_request`` recognises
"Fix the login", "also, could you please add a test" and "please rotate the keys"; ``asks_for_something`` also
accepts a question, in English only.
"""

from __future__ import annotations

import re
import sys
from functools import cache

from clew.ledger.stems import stems
from clew.message.text import lazy_pattern
from clew.rules.languages import ENGLISH, guess
from clew.rules.words import words_again

MAKING_VERBS = (
    "add|archive|book|build|bump|cancel|clean\\ up|commit|configure|convert|create|delete|deploy|disable"
    "|document|draft|email|enable|encrypt|exchange|export|expose|extend|extract|fix|generate|get\\ rid\\ of"
    "|implement|import|install|integrate|introduce|invite|merge|migrate|move|notify|optimi[sz]e|order|ping|port"
    "|publish|purge|push|rebase|redesign|reduce|refactor|refund|register|release|remind|remove|rename|repair"
    "|replace|reset|restart|restore|revert|rewrite|roll\\ back|rotate|schedule|send|set\\ up|simplify"
    "|speed\\ up|split|squash|submit|tidy|translate|unify|update|upgrade|upload|write"
)
"""Verbs of work that changes something; a report on it names the result."""
LOOKING_VERBS = (
    "analy[sz]e|check|compare|describe|estimate|evaluate|explain|figure\\ out|find\\ out|inspect|investigate"
    "|list|look\\ at|look\\ into|measure|review|summari[sz]e|test"
)
"""Verbs of work that only looks: reading a file may be all of it."""
VERB = rf"(?:{MAKING_VERBS}|{LOOKING_VERBS})"
"""A known verb of work."""
OPENER = (
    r"(?:(?:also|and|then|finally|lastly|next|now|first(?:ly)?|second(?:ly)?|third(?:ly)?|please|pls"
    r"|after\ that|afterwards|additionally|separately|besides|meanwhile|in\ the\ meantime|ok(?:ay)?|great"
    r"|agreed|yes|sure|thanks|so|just|\d{1,2}[.)])\b[\s,:]*)*"
)
"""What may come before a request: "okay, also", "and then", "2.", "finally,"."""
POLITE = (
    r"(?:(?:can|could|would|will)\ (?:you|we)|i(?:[’']d\ like|\ want|\ need|\ would\ like)\ (?:you\ )?to"
    r"|(?:we|you)\ (?:also\ )?(?:need\ to|should|must|have\ to)|let[’']?s)\s"
)
"""A polite form before the verb: "could you", "I'd like to", "we need to", "let's"."""
ADVERBS = r"(?:also\ |please\ |then\ |now\ |just\ )*"
"""Words between a polite form and its verb: "could you *please also* fix"."""
DETERMINER = (
    r"(?:the|an?|my|our|your|its|their|all|both|each|every|this|these|those|some|any|another|two|three|four)"
)
"""What may come before the name of a thing."""


def begins_request(text: str, start: int = 0, end: int = sys.maxsize) -> bool:
    """Return True if the text between two places begins with a request: "also, could you fix the login"."""
    return _REQUEST.match(text, start, end) is not None


def asks_for_something(text: str) -> bool:
    """Return True if a text in English begins with a request for work or ends with a question."""
    asks = begins_request(text) or text.rstrip().endswith("?")
    return asks and guess(text, words_again(text)) == ENGLISH


@cache
def verbs_of_work() -> frozenset[str]:
    """Return the stems of verbs of work; they say what to do, not with what."""
    return stems(re.sub(r"\[sz\]", "s", f"{MAKING_VERBS}|{LOOKING_VERBS}"))


_REQUEST = lazy_pattern(rf"{OPENER}(?:{POLITE})?{ADVERBS}{VERB}\b", re.IGNORECASE)
"""A request: "okay, could you please fix"."""
