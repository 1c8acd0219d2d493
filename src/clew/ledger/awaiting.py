"""Which requests a reply leaves waiting for the user's answer.

"I looked at the order history. Which tone do you prefer: formal or warm?" states something, but what was
asked for is not done: the model needs an answer first. "I've updated your bags. Anything else?" reports.
``Talk`` calls ``awaits(reply, question, request)`` for the question that ends a reply.
"""

from __future__ import annotations

import re

from clew.ledger.stems import stems
from clew.message.text import AnyCasePattern

_LONGEST_READ = 4_000
"""Characters of a reply that are searched for finished work: later ones rarely say first that it is done.
Chosen by hand."""


def reports_work(statement: str) -> bool:
    """Return True if a reply says, beside its question, that something was done or works now."""
    return _FINISHED.search(statement[:_LONGEST_READ]) is not None


def needs_answer(question: str) -> bool:
    """Return True if a question asks for what the work needs, not whether to do something else as well."""
    return _OFFERS_MORE.search(question) is None and _CLARIFIES.search(question) is not None


def asks_about(question: str, request: str) -> bool:
    """Return True if a question names what was asked for: "Shall I cancel NQNU5R?" to "Cancel NQNU5R."."""
    named = stems(question)
    return not named.isdisjoint(stems(request)) and _OFFERS_MORE.search(question) is None


# What the patterns recognise ---------------------------------------------------------------------------

_LOOKED = (
    r"(?:look|check|review|search|notic|identifi|analy[sz]|verifi|locat|read|need|examin|inspect|retriev|access"
    r"|understand|consider|compar|explor|confirm|receiv|want|ask|hop|assum|mention|request|provid|unabl|not\b)"
)
"""Beginnings of verbs that change nothing, so that a sentence with them finishes only a request to look."""
_DID = (
    rf"(?!{_LOOKED})(?:[a-z-]{{2,}}ed|done|made|sent|set|put|written|wrote|built|rebuilt|rewrote|rewritten|ran|run"
    r"|cut|split|took|taken|gone|drew|drawn|chose|began|gave|given|kept|left|moved)\b"
)
"""A verb of finished work, in the past."""
_ADVERB = r"(?:now|already|also|just|both|all|successfully|finally|since|then|been|fully|being)"
_FINISHED = AnyCasePattern(
    rf"""(?:\A|[.!?:;]\s|\n)[\W\d_]*(?:(?:ok(?:ay)?|yes|great|perfect|all|both|and|now|so)\b\W*)*{_DID}
    | (?:\A|[.!?]\s|\n)\W*[^.!?,\n]{{1,40}}\ {_DID}[.!]
    | \b(?:i|we)(?:[’']ve|\ have)?\ (?:{_ADVERB}\ )*{_DID}
    | \b(?:is|are|has|have|was|were)\ (?:{_ADVERB}\ )+{_DID}
    | \b(?:is|are)\ (?!currently){_DID}
    | \b(?:is|are)\ (?:now\ )?(?:in\ place|ready|live|complete|green|up\ to\ date)\b
    | \b(?:now(?:\ [a-z]+s|(?=[.,;!]|\W*\Z))|works|passe?[sd]?|builds|compiles)\b
    | [✅✓✔]""",
    re.VERBOSE,
)
"""What says that work is finished: "I updated it", "has been cancelled", "Done.", "the tests pass"."""
_CLARIFIES = AnyCasePattern(
    r"""\b(?:could|can|would|will)\ you\b[^?]{0,40}?
      \b(?:provide|specify|confirm|tell|share|clarify|give|describe|send|indicate|let\ me\ know|choose|paste
        |double[ -]check|elaborate|explain)\b
    | \b(?:may|can|could)\ i\ (?:\w+\ )?(?:have|get|ask)\b
    | (?:\A|,\ |:\ |[—–-]\ )\W*(?:(?:and|so|but|also|first|now)\b\W*)*
      (?:which|what|what[’']s|where|when|how|who|whose
        |welche[rsnm]?|was|wann|wohin|quel(?:le)?s?|quand|cu[aá]l(?:es)?|qu[eé]|cu[aá]ndo|quale?|quando)\b
      (?!\ (?:do\ you\ think|about|does\ (?:that|this|it)|is\ next))
    | \bdo\ you\ (?:want|mean|prefer|have)\b[^?]*\bor\b
    | \b(?:should|shall|would|is|are|do)\b[^?]*,?\ or\ (?!not\b)""",
    re.VERBOSE,
)
"""A question for what is missing, or which of several: "Could you provide your ID?", "Which tone?"."""
_OFFERS_MORE = AnyCasePattern(
    r"\b(?:(?:any|some)(?:thing|\ other)|else|next|further|additional|as\ well|too|other\ than|in\ addition"
    r"|how\ (?:can|may)\ i|what\ can\ i)\b"
)
"""A question for something beyond what was asked: "Anything else?", "Shall I add a test, too?"."""
