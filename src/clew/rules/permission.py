"""Permissions: whether a sentence really permits something, for which reason, and whether it ends a rule.

"You can push now" permits; "you can't push", "can I push?", "Bob said I can push" and "if you can push" do
not. Ending a rule by mistake is worse than keeping it too long, because a person can remove it by hand.
``retire.py`` asks before it ends a rule; the "go ahead" that ends "don't write code yet" is the matter of
``go_ahead.py``.

==========================  ==============================================  ===========================
function                    question                                        example
==========================  ==============================================  ===========================
``only_undoes_rule``        is it no rule itself?                           "you can push again"
``permission_start``        where does it begin, after its reason?          "Friday is over, *deploy*"
``without_reason``          what does a rule say without its last clause?   "*don't push*, I want to …"
``is_false_permission``     does it only resemble a permission?             "if the tests pass you can"
``is_false_lift``           does it only describe the end of a rule?        "once the freeze is over"
``reminds``                 does it ask not to give up something?           "don't forget the tests"
``is_directed``             does the speaker address it to the agent?       "feel free to push"
==========================  ==============================================  ===========================
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from clew.message.text import lazy_pattern
from clew.rules.cues import Hit
from clew.rules.languages import ENGLISH
from clew.rules.protected import is_protected
from clew.rules.rule import Rule
from clew.rules.words import Token, model
from clew.rules.words import words as known_words

PERMITS = frozenset(("permit", "may"))
"""Cues that permit something."""
_OF_PERMISSION = frozenset(("permit", "use_way"))
"""Cues that make rules of other sentences, but describe a permission here: "you can answer in English
again"."""


def only_undoes_rule(words: Sequence[Token], hits: Sequence[Hit]) -> bool:
    """Return True if a permission only undoes a rule ("you can push again") and is not a rule itself.

    It contrasts now with before, or first names what has changed: "I reviewed it, you can commit". A
    permission that is meant to last, comes with a rule or has an exception is excluded.
    """
    cues = {hit.cue for hit in hits}
    if cues.isdisjoint(PERMITS) or any(model().cues[cue].kind for cue in cues - _OF_PERMISSION):
        return False
    said = {token.word for token in words}
    if not said.isdisjoint(known_words("permission", "holding_back")):
        return False
    return not said.isdisjoint(known_words("permission", "undoing")) or bool(_after_reason(words, hits))


def permission_start(words: Sequence[Token], hits: Sequence[Hit]) -> int:
    """Return the index where a permission begins after its reason: "Friday is over, deploy".

    0 if no such clause precedes it, or if the permission refers back to that clause: "the fix is ready, you
    can push it".
    """
    begin = _after_reason(words, hits)
    pointing = known_words("permission", "pointing")
    return 0 if any(token.word in pointing for token in words[begin:]) else begin


def _after_reason(words: Sequence[Token], hits: Sequence[Hit]) -> int:
    """Return the index of the permission after a clause that states a fact, not a condition."""
    given = next((hit.start for hit in hits if hit.cue in PERMITS), 0)
    begin = max((i for i, token in enumerate(words) if token.opens and token.start <= given), default=0)
    if not begin or words[0].word in known_words("permission", "cases"):
        return 0
    fact_words = known_words("permission", "fact_words")
    return begin if any(token.word in fact_words for token in words[:begin]) else 0


def without_reason(words: Sequence[Token]) -> Sequence[Token]:
    """Return the words of a rule without a last clause with the reason: "..., I want to review first"."""
    last = max((i for i, token in enumerate(words) if token.opens), default=0)
    return words[:last] if last and words[last].word in known_words("permission", "why") else words


_MAY = (
    r"(?:may|can|could|are\s+(?:allowed|free)|darfst|dürft|darf|kannst|könnt|peux|pouvez|puedes?|pueden|puoi"
    r"|potete|podes?|pode|mag|kunt|możesz|можешь|можете|можно)"
)
"""Verbs of a permission: "you may", "du darfst"."""
_NOT = r"(?:not|never|no\s+longer|nicht|nie(?:mals)?|kein\w*|pas|plus|jamais|não|nunca|mai|niet|nooit|нельзя)"
"""Words that deny it: "you may not"."""
_LOOK = (
    r"(?:read|see|look|view|inspect|ignore|forget|leave|find|imagine|notice|lesen|sehen|ansehen"
    r"|ignorieren"
    r"|lire|voir|ignorer|leer|ver|mirar|ignorar|leggere|vedere|ler"
    r"|читать|прочитать|смотреть|посмотреть|видеть)"
)
"""Verbs of what was never forbidden: "you can see it in legacy/" does not permit changing it."""
_OTHERS_SAY = (
    r"\b(?!i\b|we\b|as\b|already\b|just\b)\w+\s+"
    r"(?:said|says|told|claims?|thinks?|believes?|wrote|writes|suggests?|assumes?)\b"
)
"""Words of another person: "Bob said you can push"; not "I said", "as said"."""
_NOT_GRANTED = lazy_pattern(
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
    | \b(?:just|only)\s+(?:this\s+once|(?:for\s+)?this\s+(?:one\s+)?time)\b             # for once
    | \b(?:for|this)\s+(?:once|one\s+time)\b | \bas\s+an?\s+exception\b
    | \bausnahmsweise\b | \bnur\s+dieses\s+(?:eine\s+)?mal\b | \bdiesmal\b | \bjuste\s+cette\s+fois\b
    | \bs[oó]lo\s+(?:por\s+|per\s+)?(?:esta\s+vez|questa\s+volta)\b | \bsó\s+desta\s+vez\b
    | \bтолько\s+(?:в\s+)?этот\s+раз\b
    | 就这一次 | 仅此一次 | 今回だけ
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
"""What "no longer needs" something without lifting a rule: "the script no longer needs root"."""
_NOT_LIFTED = lazy_pattern(
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
_REMINDS = lazy_pattern(
    r"""
      \b(?:don['’]t|do\s+not|never)\s+(?:forget|drop|ignore|scrap|disregard)\b   # "don't forget the tests"
    | \bforget\s+about\s+\w+ing\b                                              # a ban: "forget about pushing"
    | \bvergiss\b.*\bnicht\b                                                     # "vergiss die Tests nicht"
    | \bn['’]oublie\w*                                                           # "n'oublie pas"
    | \bno\s+(?:te\s+)?olvid\w*                                                  # "no te olvides"
    | \bnon\s+dimentic\w*                                                        # "non dimenticare"
    | \bnão\s+(?:te\s+)?esque\w*                                                 # "não te esqueças"
    | \bне\s+забуд\w*                                                            # "не забудь"
    | 别忘 | 不要忘                                                                # "别忘了"
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_false_permission(text: str) -> bool:
    """Return True if words that resemble a permission are none."""
    return _NOT_GRANTED.search(text) is not None


def is_false_lift(text: str) -> bool:
    """Return True if words about the end of a rule only describe it, ask, or name a future time."""
    return _NOT_LIFTED.search(text) is not None


def reminds(text: str) -> bool:
    """Return True if words ask not to forget or give up something: they withdraw nothing."""
    return _REMINDS.search(text) is not None


_DIRECTED = lazy_pattern(
    r"""
      \b(?:you|u|we)(?:['’]re|\ are)?\ (?:now\ |also\ |again\ |then\ )?
      (?:can|may|could|are\ (?:now\ )?allowed|allowed|free|are\ free|have\ (?:my\ )?permission|are\ good|good)
      \ ?(?:now\ |to\ |again\ )*\b                                      # "you're now allowed to push"
    | \bfeel\ free\b | \bgo\ ahead\b | \bplease\ (?:do|go)\b            # "please do"
    | \bi\ (?:now\ )?(?:allow|permit|approve|lift|withdraw|take\ back)  # "I withdraw that"
    | \b(?:it(?:['’]s|\ is)|that(?:['’]s|\ is))\ (?:now\ )?
      (?:fine|ok(?:ay)?|alright|all\ right|safe)\b                      # "that's fine"
    | \b(?:is|are)\ (?:now\ )?(?:allowed|fine|ok(?:ay)?|open|permitted)\b  # "pushes are allowed"
    | \b(?:forget|drop|ignore|disregard|never\ mind|scrap|scratch|cancel|lift|remove)\ (?:about\ )?
      (?:the|that|this|my|what)\b                                       # "forget about that"
    | \bno\ longer\b | \banymore\b                                      # "this no longer applies"
    | \bcan\ be\ \w+                                                    # "main can be pushed"
    | \b(?:rule|limit|ban|freeze|restriction)\b.{0,30}
      \b(?:over|lifted|gone|off|done|void|applies)\b                    # "the freeze is over"
    | \bapproved\b | \bafter\ all\b | \bagain\b | \bnow\b               # "edit it after all"
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ADDRESSED = lazy_pattern(
    r"""
    \b(?:you|u|your|feel\ free|go\ ahead                # "your call"
      |i\ (?:now\ )?(?:allow|permit|approve|lift)       # "I now allow"
      |forget|never\ mind|drop|ignore|scrap|cancel      # "ignore that rule"
    )\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LONG_GRANT = 30
"""Words above which a permission is only one of several things a sentence says; chosen by hand."""


def is_directed(text: str, language: str, rule: Rule) -> bool:
    """Return True if words that seem to end a rule are directed at it by the speaker.

    Rules about secrets, deletion, pushing and production need words that address the agent; long sentences
    that mention a permission in passing never count.
    """
    if language != ENGLISH:
        return True
    if len(text.split()) > _LONG_GRANT or _DIRECTED.search(text) is None:
        return False
    return _ADDRESSED.search(text) is not None or not is_protected(rule)
