"""Decide whether a permission is really given: not denied, asked about, reported or hypothetical.

Ending a rule by mistake is worse than keeping it too long, because a person can remove it by hand.
"""

from __future__ import annotations

import re

from clew.rules.languages import ENGLISH
from clew.rules.values import Found

_MAY = (
    r"(?:may|can|could|are\s+(?:allowed|free)|darfst|dürft|darf|kannst|könnt|peux|pouvez|puedes?|pueden|puoi"
    r"|potete|podes?|pode|mag|kunt|możesz|можешь|можете|можно)"
)
_NOT = r"(?:not|never|no\s+longer|nicht|nie(?:mals)?|kein\w*|pas|plus|jamais|não|nunca|mai|niet|nooit|нельзя)"
_LOOK = (
    r"(?:read|see|look|view|inspect|ignore|skip|forget|leave|find|imagine|notice|lesen|sehen|ansehen"
    r"|ignorieren"
    r"|lire|voir|ignorer|leer|ver|mirar|ignorar|leggere|vedere|ler"
    r"|читать|прочитать|смотреть|посмотреть|видеть)"
)
_OTHERS_SAY = (
    r"\b(?!i\b|we\b|as\b|already\b|just\b)\w+\s+"
    r"(?:said|says|told|claims?|thinks?|believes?|wrote|writes|suggests?|assumes?)\b"
)
_FRAMED = re.compile(
    rf"""
      [?？]\W*\Z                                                            # asked
    | \b{_MAY}\s+(?:\w+\s+){{0,2}}?{_NOT}\b                                 # denied: "darfst das nicht"
    | \b(?:can|may|could)(?:no|n['’])t\b
    | \bdarfst\b.*\bnicht\b | \b(?:peux|pouvez)\b.*\bpas\b
    | \b{_MAY}\s+(?:\w+\s+)?{_LOOK}\b                                       # less than to change it
    | [你您]?(?:可以|能)\s*(?:看|读|讀|查看|忽略)
    | \b(?:i|we|ich|je|yo|io|eu|я)\s+(?:\w+\s+)?
      (?:never|didn['’]t|did\s+not|haven['’]t|have\s+not|nie|nicht|n['’]ai|nunca|no|non|não|не|никогда)\s+
      (?:\w+\s+){{0,2}}?
      (?:say|said|allow\w*|permit\w*|mean|meant|gesagt|erlaubt|dit|dij\w+|dicho|detto|disse|говорил\w*|разреш\w*)
    | \bnunca\s+dije\b | \bje\s+n['’]ai\s+(?:jamais|pas)\s+dit\b | \bich\s+habe?\s+nie\b
    | \b(?:who|where|when)\s+(?:said|says|did)\b | \bdid\s+i\s+(?:say|allow)\b
    | {_OTHERS_SAY}
    | \b(?:not\s+sure|unsure|unclear|don['’]t\s+(?:think|know|believe)|wonder\w*|doubt\w*|whether|unless
        |imagine|suppose|pretend|assum\w+|hypothetically|what\s+if|in\s+theory|would\s+be)\b
    | \b(?:old|former|previous|earlier)\s+(?:policy|rule|convention)\b
    | (?:\A|[,;]\s*)(?:if|wenn|falls|si|se|als|если|jeśli|когда)\b
    | \b(?:es\s+sei\s+denn|außer|à\s+moins|a\s+menos|если)\b
    | 如果|假如|假设|除非
    | \b(?:in|under|inside)\s+\S*/\S*\s+(?:is|are|looks?)\s+(?:fine|ok|okay|good)\W*\Z    # how things are
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PROGRAM = (
    r"(?:script|job|service|app|code|function|tool|pipeline|server|client|program|module|build|bot"
    r"|workflow|command"
    r"|method|class|worker|library|plugin|it|he|she|they)"
)
_TOLD = re.compile(
    rf"""
      \b{_PROGRAM}s?\s+(?:\w+\s+)?no\s+longer\s+(?:needs?|has|have)\b      # what a program does by itself
    | \b(?:if|when|once|until|till|unless|after|as\s+soon\s+as)\b[^,;]*
      \b(?:over|lifted|ends?|allowed|open|fine|ok|okay)\b
    | \A(?:is|are|was|were|did|does|has|have|when|why|who)\b.*[?？]\W*\Z      # asked
    | \b(?:not|never|isn['’]t|aren['’]t)\s+(?:\w+\s+)?
      (?:over|lifted|safe|ok|okay|fine|good|clear)(?=\s+to\b|\W*\Z)
    | \A\W*(?:the|this|that|these|those|it|its|my|our|your)\b[^,;]*           # how a thing is
      \b(?:fine|ok|okay|good)\s+after\s+all\b
    | {_OTHERS_SAY}
    """,
    re.VERBOSE | re.IGNORECASE,
)
_REMINDS = re.compile(
    r"\b(?:don['’]t|do\s+not|never)\s+(?:forget|drop|ignore|scrap|disregard)\b"
    r"|\bforget\s+about\s+\w+ing\b|\bvergiss\b.*\bnicht\b|\bn['’]oublie\w*"
    r"|\bno\s+(?:te\s+)?olvid\w*|\bnon\s+dimentic\w*|\bnão\s+(?:te\s+)?esque\w*|\bне\s+забуд\w*|别忘|不要忘",
    re.IGNORECASE,
)


def is_no_leave(text: str) -> bool:
    """Return True if words that resemble a permission are none."""
    return _FRAMED.search(text) is not None


def is_no_lift(text: str) -> bool:
    """Return True if words about the end of a rule only describe it, ask, or name a future time."""
    return _TOLD.search(text) is not None


def reminds(text: str) -> bool:
    """Return True if words ask not to forget or give up something: they withdraw nothing."""
    return _REMINDS.search(text) is not None


_RISKY = re.compile(
    r"\b(?:secrets?|credentials?|passwords?|tokens?|api keys?|\.env|sensitive|personal data|delet\w*"
    r"|drop|truncate|wipe|rm|push\w*"
    r"|force|deploy\w*|releas\w*|publish\w*|prod(?:uction)?|main|master|migrat\w*|customer)\b",
    re.IGNORECASE,
)
"""Subjects of rules that only an explicit permission ends."""
_DIRECTED = re.compile(
    r"\b(?:you|u|we)(?:['’]re| are)? (?:now |also |again |then )?(?:can|may|could|are (?:now )?allowed"
    r"|allowed|free|are free|have (?:my )?permission"
    r"|are good|good) ?(?:now |to |again )*\b|\bfeel free\b|\bgo ahead\b|\bplease (?:do|go)\b"
    r"|\bi (?:now )?(?:allow|permit|approve|lift|withdraw|take back)"
    r"|\b(?:it(?:['’]s| is)|that(?:['’]s| is)) (?:now )?(?:fine|ok(?:ay)?|alright|all right|safe)\b"
    r"|\b(?:is|are) (?:now )?(?:allowed|fine|ok(?:ay)?|open|permitted)\b"
    r"|\b(?:forget|drop|ignore|disregard|never mind|scrap|scratch|cancel|lift"
    r"|remove) (?:about )?(?:the|that|this|my|what)\b|\bno longer\b|\banymore\b"
    r"|\bcan be \w+|\b(?:rule|limit|ban|freeze|restriction)\b.{0,30}\b(?:over|lifted|gone|off|done"
    r"|void|applies)\b|\bapproved\b|\bafter all\b|\bagain\b|\bnow\b",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(
    r"\b(?:you|u|your|feel free|go ahead|i (?:now )?(?:allow|permit|approve|lift)|forget|never mind"
    r"|drop|ignore)\b",
    re.IGNORECASE,
)
_LONG_GRANT = 30
"""Words above which a permission is only one of several things a sentence says; chosen by hand."""


def is_directed(text: str, language: str, cues: set[str], rule: Found) -> bool:
    """Return True if words that seem to end a rule are directed at it by the speaker.

    Rules about secrets, deletion, pushing and production need words that address the agent; long sentences
    that mention a permission in passing never count.
    """
    if language != ENGLISH:
        return True
    if len(text.split()) > _LONG_GRANT or _DIRECTED.search(text) is None:
        return False
    return _ADDRESSED.search(text) is not None or _RISKY.search(rule.quote) is None
