"""Recognise a sentence that is little but a ban that outlasts the step: on production, data, keys, folders.

"don't call the production API", "you are not to contact the vendor", "no force push pls": an act of the agent
on something that is still there after this step. "don't call it twice", "don't use a loop here" are details.
``shapes.py`` and ``force.py`` call it.
"""

from __future__ import annotations

import re

from clew.message.text import AnyCasePattern, lazy_pattern

_OPENS = (
    r"\A\W*(?:(?:ok(?:ay)?|btw|by the way|heads[- ]up|fyi|oh|and|also|but|so|again|important|note"
    r"|one more thing"
    r"|remember|please|pls|plz|whatever (?:you do|happens)|i(?:['’]m| am|m) begging you|i beg you|i said"
    r"|seriously"
    r"|under no circumstances)\b[\s,:;.!–—-]*)*"
)
_NOT = (
    r"(?:do\s?n['’´]?t|do not|never|(?:you|u) (?:must|may|should|shall)(?: ?n['’]?t| not| never)"
    r"|you can(?:['’]t|not)"
    r"|(?:you|u)(?:['’]re| are| r)? not (?:allowed )?to|it(?:['’]s| is) (?:forbidden|not allowed"
    r"|prohibited) to)"
    r"(?:[\s,]*(?:ever|under any circumstances|please|pls|you dare)\b,?)*\s+"
)
_STRONG = (
    r"(?:prod|production|live (?:db|database|keys?|servers?|site|config\w*|apis?|system|data|environment"
    r"|stripe"
    r"|accounts?)|(?:admin|root) account|secrets?|passwords?|credentials?|(?:api|private|live|access"
    r"|shared|staging"
    r"|ssh) keys?|\.env|(?:access|api|auth) tokens|backups?|git history|public (?:api|interface)s?"
    r"|audit[_ ]logs?"
    r"|(?:customer|user|client|personal)s?['’]? (?:data|names?|e-?mails?|addresses|records|details"
    r"|accounts?))\b"
)
"""What nobody means as a detail of a step."""
_DETAILS = (
    r"(?!(?:forget|worry|think|mind|need|have|know|hesitate|bother|be|want|get|assume|expect|let|allow"
    r"|show|display"
    r"|render|add|create|make|put)\b)"
)
"""Verbs that forbid nothing, or that say what the product does: "don't show user names"."""
_ACT = (
    r"(?:call|contact|e-?mail|message|notify|ping|send|drop|delete|remove|wipe|reset|truncate|run"
    r"|re-?run|restart"
    r"|stop|kill|shut down|deploy|publish|release|push|force[- ]?push|merge|rebase|rewrite|rotate|revoke"
    r"|install"
    r"|uninstall|upgrade|bump|open|close|touch|edit|modify|change|alter|rename|move|refactor|reformat"
    r"|connect|access"
    r"|query|log|print|expose|leak|commit|overwrite|clear|purge|migrate|mess with|tamper with)"
)
_SHARED = (
    r"(?:(?:customers?|clients?|users|vendors?|suppliers?|\w+ tables?|tables|database|db|volumes?"
    r"|buckets?|clusters?"
    r"|servers?|migrations?|schema|packages|dependenc(?:y|ies)|deps|librar(?:y|ies)|prs?|pull requests"
    r"|branches"
    r"|(?:main|master|release|shared|protected) branch|main|master|staging|infra\w*|(?:payments?|billing"
    r"|stripe) api"
    r"|terraform|prisma migrate|notes)(?!\w)|[a-z][\w.-]*/|(?:/[\w.-]+){2,})"
)
"""What outlasts the step if the agent does one of these acts to it."""
_NOT_POINTING = r"\b(?!\s+(?:it|this|that|them|me)\b)"
_ON_OBJECT = AnyCasePattern(
    rf"{_OPENS}{_NOT}(?:{_DETAILS}\w+{_NOT_POINTING}[^.;:!?]{{0,40}}?(?<![\w/-]){_STRONG}"
    rf"|{_ACT}{_NOT_POINTING}[^.;:!?,]{{0,40}}?(?<![\w-]){_SHARED}"
    r"|(?:force[- ]?push|publish (?:anything|packages?)|rebase|deploy|merge anything|open prs?)\b)"
)
_NODDED = r"\W+(?:please|pls|plz|ok)\b"
_RULED_OUT = AnyCasePattern(
    rf"{_OPENS}no (?:more |new |extra |further |additional )?(?:force[- ]?push\w*|pushing|pushes"
    rf"|deploy\w*|deps"
    r"|dependenc\w+|packages|librar\w+|merging|rebasing|(?:changes|edits) (?:to|in|under) (?:the |our )?"
    r"(?:public (?:api|interface)s?|prod\w*|(?:db )?schema|\S+/))(?: (?:to|on|into|in) (?:main|master"
    r"|prod\w*))?"
    rf"(?=\W*\Z|{_NODDED}|\W+(?:without|unless|until|from you)\b)"
)
_KEPT = AnyCasePattern(
    rf"{_OPENS}(?:keep|leave) (?:the |our )?(?:public (?:apis?|interfaces?)|(?:db |database )?schema"
    rf"|prod\w*(?: \w+)?"
    r"|migrations?) (?:(?:exactly )?as(?: it)?(?:[- ]is| was)?|alone|unchanged|untouched|stable)\b"
    rf"(?=\W*\Z|{_NODDED}|\s*[—–-])"
)
_OFF_LIMITS = AnyCasePattern(rf"{_OPENS}(?:the )?{_STRONG}(?: \w+)? (?:is|are) off[- ]limits\W*\Z")
_OF_STEP = AnyCasePattern(
    r"\b(?:here|yet|this (?:time|step|commit|pr|function|file|one|change|test|page|answer|task)|in that|twice"
    r"|(?:if|when|while) (?:the|a|an|it|there|they|offline)|right now|for now|again,|anything else|just"
    r"|instead)\b"
)
"""Words of a detail, or of a limit on the step at hand."""
_NOD = lazy_pattern(
    r"[\s,](?:ok(?:ay)?|k|alright|right|please|pls|yeah|understood|got it)\s*\?+\W*\Z", re.IGNORECASE
)
"""A word that asks for a nod: "… ok?"."""
_LONGEST = 200
"""Characters of a sentence that says little but a ban; chosen by hand."""


def lasting_ban(text: str) -> tuple[int, int] | None:
    """Return where a sentence bans an act on something that outlasts the step; None if it does not."""
    if len(text) > _LONGEST or (text.rstrip().endswith("?") and not _NOD.search(text)):
        return None
    found = next(
        filter(None, (one.search(text) for one in (_ON_OBJECT, _RULED_OUT, _KEPT, _OFF_LIMITS))), None
    )
    return found.span() if found and not _OF_STEP.search(text) else None
