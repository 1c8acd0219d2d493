"""Which sentences of a speaker make a decision, judged by their wording.

Precision before recall: a sentence counts if it says that something is chosen ("Let's use Postgres, not
SQLite", "We decided against a cache"), not if it merely acts ("Add a cache"). The user and the model word
their decisions differently, so each has a pattern of its own. The ``Decisions`` tracker records the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.ledger.phrases import Phrases, sentences_with
from clew.ledger.spoken_choices import spoken_choices
from clew.message.text import AnyCasePattern, lazy_pattern
from clew.rules.find import candidates_in
from clew.rules.prefilter import may_state_rule
from clew.rules.rule import Force, Rule
from clew.rules.speech import USER, Utterance


def _alternatives(text: str) -> tuple[str, ...]:
    return tuple(text.split("|"))


_SHORTEST = 10
"""Characters of a sentence; a shorter one says nothing by itself. Chosen by hand."""


def decisions_in(utterance: Utterance) -> list[tuple[int, int]]:
    """Return the spans of a speaker's sentences that make a decision."""
    text = utterance.text
    if utterance.speaker is USER:
        phrases, signs, pattern = _PHRASES_OF_USER, _SIGNS_OF_USER, _BY_USER
    else:
        phrases, signs, pattern = _PHRASES_OF_ASSISTANT, _SIGNS_OF_ASSISTANT, _BY_ASSISTANT
    found = list(sentences_with(pattern, signs, text)) if phrases.may_match(text) else []
    if utterance.speaker is USER and any(map(text.lower().__contains__, _SIGNS_IN_OTHER_LANGUAGES)):
        found += sentences_with(_IN_OTHER_LANGUAGES, _SIGNS_IN_OTHER_LANGUAGES, text)
    for start, end in spoken_choices(text) if utterance.speaker is USER else ():
        if not any(begin < end and start < stop for begin, stop in found):
            found.append((start, end))
    if not found:
        return found
    return [
        (start, end)
        for start, end in sorted(found)
        if _SHORTEST <= end - start <= LONGEST_CHOICE and not _NOT_YET.search(text[start:end])
        if not _GOES_ON.match(text, end)
    ]


LONGEST_CHOICE = 300
"""Characters of a choice (chosen by hand); a longer sentence is about other things too, or is dictated."""


def choices_in(utterance: Utterance) -> Iterator[Rule]:
    """Yield the user's sentences that choose something for this work without being standing rules."""
    if utterance.speaker is USER and may_state_rule(utterance.text):
        for rule in candidates_in(utterance.text, utterance.trust):
            is_whole = _GOES_ON.match(utterance.text, rule.span.end) is None
            if rule.force is Force.DECISION and len(rule.quote) <= LONGEST_CHOICE and is_whole:
                yield rule


# What the patterns recognise ---------------------------------------------------------------------------

_GOES_ON = lazy_pattern(r"[ \t]*\n[ \t]*(?![-*•+\d])(?=[^\W\d_])(?-i:[a-zß-ÿа-я])")
"""A sentence that goes on in the next line, as in a dictated text that was wrapped: this is a part of it."""
_CHOOSE = (
    r"(?:use|go\s+with|stick\s+(?:with|to)|switch\s+(?:over\s+)?to|opt\s+for|settle\s+on|keep(?!\s+going)|adopt"
    r"|move\s+to|(?:do|take)\s+option|drop|skip|avoid|leave|defer|start\s+with|base\s+(?:it|this)\s+on"
    r"|(?:make|call|name|put)\s+it)"
)
"""Verbs of choosing: "use", "go with", "stick to"."""
_CORRECTION = r"""
    ^\W*(?:correction|korrektur|correcci[oó]n|rectification|correzione|correção)\b\W+\S
  | \bi\s+(?:actually\s+)?meant\s+\S
  | \b(?:is|are|should\s+be|must\s+be)\s+(?:now\s+)?[^.!?,;\n]{1,60},\s+(?:and\s+)?not\s+\S
  | \b(?:(?:has|have|was|were)\s+)?(?:moved|renamed|changed|switched)\s+(?:from\s+\S+\s+)?to\s+\S
"""
"""A correction or a change of fact: it overrides what was said before."""
_ANNOUNCED = r"""
    (?:^[\s*_\#•\-\d.)]*
      |(?<=[.!?]\s)|(?<!said)(?<!says)(?<!wrote)(?<!me)[,;)–—]\s+
      |^\W*(?:update|note|fyi|heads[\s-]?up|reminder|background|context)\W+(?:that\s+)?
      |\b(?:and|but|so|because|since|ok|okay|yes|actually|also|now|then|today|yesterday|finally
         |meeting|call|review|discussion|the\s+end)\s+)
    (?:i|we)(?:[’']ve|\s+have)?\s+(?:now\s+|also\s+|already\s+|finally\s+|just\s+|both\s+|all\s+)?
    (?:(?:decided|agreed)(?:\s+(?:today|yesterday|together|earlier))?\s+
        (?:that|on|upon|against|in\s+favou?r\s+of
          |(?:not\s+)?to(?!\s+(?:look|try|check|see|test|read|ask|open|run|dig|take|investigate|disagree)\b))\s+\S
      |settled\s+(?:on|for)\s+\S
      |(?:chose|chosen|picked|opted\s+for)\s+[^.!?\n]{1,80}?\s(?:over|instead\s+of|rather\s+than)\s+\S)
  | ^[\s*_\#•\-\d.)]*(?:final\s+|design\s+|our\s+|the\s+)?(?:decision|decided)\s*[*_]*:[*_]*\s+\S
  | ^[\s*_\#•\-\d.)]*it\s+(?:was|is|has\s+been)\s+(?:decided|agreed)\s+(?:that|to)\s+\S
"""
"""An announcement of the speaker's decision: "we decided that", not "what we decided" or "they decided"."""
_PLAIN = r"""
    \bwe(?:[’']ll|\s+will|[’']re\s+going\s+to|\s+are\s+going\s+to)\s+(?:just\s+|only\s+)?
    (?:store|host|ship|deploy|target|support|put|(?:build|write|run)\s+(?:it|this|that))
    \s+(?!up\b|together\b)\S
  | ^[\W\d]*(?:ok\w*\W+|so\W+|yes\W+|no\W+)?we(?:[’']re|\s+are)\s+
    (?:using|keeping|dropping|going\s+with|sticking\s+(?:with|to)|staying\s+(?:on|with))\s+\S
  | ^[\W\d]*(?:ok\w*\W+|so\W+|yes\W+|no\W+)?we\s+(?:use|keep|support|target|store|drop)\s+\S
  | ^\W*(?:the\s+|our\s+)?(?:team|client|customer|management|product|board)\s+(?:has\s+|have\s+)?
    (?:decided|agreed|chose|settled)\s+(?:to|on|that|against|for)\s+\S
  | ^\W*(?:please\s+|ok\w*\W+)?use\s+[^.!?,;\n]{1,60},\s+not\s+\S
"""
"""A plain statement of what is chosen: "We'll store it in Postgres.", "we keep the old API"."""
_BY_USER = AnyCasePattern(
    rf"""
    \blet[’']?s\s+(?:not\s+|just\s+|actually\s+|instead\s+)?
    (?:{_CHOOSE}\b|not\s+(?!worry)|merge|rename|remove|make|do\s+(?:it\s+in|option|an?\b|\d))
  | (?:^|\blet[’']?s\s+|\b(?:we|i)(?:[’']?ll|\s+should|\s+can)?\s+|,\s*
      |\b(?:yes|yeah|ok|okay|please|just|so|and)\s+)
    go(?:ing)?\s+with\s+\S
  | \b(?:i|we)(?:[’']d|\s+would)?\s+
    (?:prefer|like|choose|chose|pick|picked|decided|opted|want\s+to\s+(?:use|go\s+with|keep))\s+
    (?!to\s+know|you\s+to)
    (?:option|the\s+(?:first|second|third|last|idea)|\w+ing\b|\#?\d|to\s+(?:use|go|keep|have)|approach)
  | {_ANNOUNCED}
  | \bwe(?:[’']ll|\s+will)\s+{_CHOOSE}\b
  | ^\s*(?:\d+[.)]\s*)?(?:option|approach|variant|choice)(?:\s*\#?\s*\d+|\s+\#?[a-d])\b
  | \b(?:do|take|use|pick|choose|prefer)\s+
    (?:option|approach|variant|number|the\s+(?:first|second|third|last)\s+(?:one|option|approach))\b
  | \buse\s+\S.{{1,60}}?\s+(?:instead\s+of|rather\s+than|over)\s
  | \binstead\s+of\s+.{{2,80}},?\s+(?:use|let[’']?s|do|we|call|make|put)\b
  | \brather\s+than\s+.{{2,80}},\s+(?:use|let[’']?s|do|we)\b
  | {_CORRECTION}
  | {_PLAIN}
    """,
    re.VERBOSE | re.MULTILINE,
)
"""A decision of the user: "Let's use Postgres", "option 2", "go with the first one"."""
_IN_OTHER_LANGUAGES = AnyCasePattern(
    r"""(?<!\w)(?:
      (?:wir\ haben|ich\ habe|haben\ wir|habe\ ich|es\ wurde)\b
        (?:(?!\b(?:nicht|nichts|noch|ob|nie|sie|er)\b)[^.!?\n]){0,160}?\b(?:entschieden|beschlossen)\b
    | wir\ entscheiden\ uns\ (?:für|gegen)\b
    | (?<!no\ )(?:hemos|he|se\ ha)\ (?:decidido|acordado)\b | (?<!no\ )decidimos\b
    | (?:nous\ avons|on\ a|j[’']ai|il\ a\ été)\ (?:finalement\ |donc\ )?(?:décidé|convenu)\b
    | (?:nous\ avons|on\ a|j[’']ai)\ (?:choisi|opté\ pour)\b
    | (?<!non\ )(?:abbiamo|ho|è\ stato)\ deciso\b | (?<!não\ )(?:decidi|ficou\ decidido)\ \w
    | (?:we\ hebben|ik\ heb|is)\ (?:(?!\bniet\b)\w+\ ){0,3}besloten\b
    | (?<!nie\ )(?:zdecydowaliśmy|postanowiliśmy|ustaliliśmy)\b
    | vi\ har\ (?:beslutat|bestämt|besluttet|bestemt)\b
    | (?<!не\ )(?:мы\ )?решили\b(?!\ ли) | решено\b | (?<!не\ )вирішили\b
    | karar\ verdik\b
    | (?:kararımız|entscheidung|beschluss|decisión|décision|decisione|decisão|решение)\s?:\s*\S
    )
    | (?<![没沒未])(?:我们|我們|我|团队|團隊)(?:已经|已經|已|最终|最終)?(?:决定|決定)(?!不了|吗|嗎)
    | (?:决定|決定)[:：]
    | (?:決めました|決めた|決定しました|決定した|ことにしました|ことにした)
    | (?:기로\ ?(?:했|결정했|정했)|결정했)
    | قررنا""",
    re.VERBOSE,
)
"""An announcement of the user's decision in other languages: "wir haben entschieden", "我们决定"."""
_BY_ASSISTANT = AnyCasePattern(
    rf"""
    \b(?:
      (?:i|we)(?:[’']ve|\s+have)?\s+(?:decided|chose|chosen|opted|settled|picked|went\s+with)\b
      (?!\s+(?:if|whether))
    | (?:i[’']ll|i\s+will|we[’']ll|let[’']?s|i[’']m\s+going\s+to|i[’']m)\s+(?:\w+ly\s+)?
      (?:{_CHOOSE}|using|keeping|choosing|avoiding|skipping)\b
      [^.\n]{{3,240}}?
      \b(?:instead\s+of|rather\s+than|because|since|so\s+that|so\s+(?:we|it|the)\b|to\s+avoid|over\s+the)\b
    | going\s+with\s+(?:option|approach|the)\b
    | the\s+(?:best|right|simplest|cleanest|safest|better|correct|proper)\s+
      (?:approach|option|fix|choice|solution|design|place)\s+(?:here\s+)?
      is\s+(?:probably\s+)?to\s+(?=[^\n]{{15}})
    )
  | ^\W*(?:decision|design\s+decision|chosen\s+approach)\W*:\s*\S
    """,
    re.VERBOSE | re.MULTILINE,
)
"""A decision of the model: "I'll keep the old API because it is public", "The best fix is to …"."""
_NOT_YET = lazy_pattern(
    r"[?？]\s*$|^(?:if|when|should|would|could|do\s+(?:i|you|we|they|these|those)|does|can|what|how|why)\b"
    r"|\bor\s+(?:should|do|would)\s+(?:i|we)\b|\bif you(?:[’']d)? (?:prefer|want|like)",
    re.IGNORECASE,
)
"""A question or a condition, which decides nothing: "Should we use Postgres?"."""
_SIGNS_OF_USER = _alternatives(
    "et's|et’s|lets |o with |oing with|ption|nstead|ather than|prefer|choose|chose|pick|pproach"
    "|ecided|ecision|greed|ettled|pted "
    "|e're |e’re |e are |e use |e keep |e support |e target |e store |e drop "
    "|'ll |’ll |we will| like | want to |variant|choice|he first|he second|he third|he last|number| over "
    "|orrection|orrektur|orrecci|ectification|orrezione|orreção| meant |, not |, and not |ed to |ed from "
)
"""Substrings of which every decision of the user contains at least one, as a prefilter."""
_SIGNS_IN_OTHER_LANGUAGES = _alternatives(
    "ntschied|ntscheid|eschloss|eschluss|ecidid|ecidim|ecidi |acordado|écid|ecisi|convenu|choisi|opté|deciso"
    "|besloten|decyd|stanowili|ustalili|eslutat|estämt|eslutt|estemt|решили|решен|вирішили|karar|决定|決定"
    "|決め|ことにし|기로|결정|قررنا"
)
"""Substrings of which every such announcement contains at least one, as a prefilter."""
_SIGNS_OF_ASSISTANT = _alternatives(
    "decided|chose|opted|settled|picked|went with|ecision|oing with|nstead of|ather than|ecause"
    "|since|so that|so we|so it|so the|to avoid|over the| is to |bably to |hosen"
)
"""Substrings of which every decision of the model contains at least one, as a prefilter."""
_VERBS = (
    "use go stick switch opt settle keep adopt move do take drop skip avoid leave defer start base make call"
    " name put"
)
"""The verbs of ``_CHOOSE``, for the prefilter."""
_PLAIN_VERBS = (
    "store host ship deploy target support build write put run using keeping dropping going sticking staying"
)
"""The verbs of ``_PLAIN``, for the prefilter."""
_PHRASES_OF_USER = Phrases(
    ("let lets",),
    ("go going", "with"),
    ("prefer like choose chose pick picked decided opted want", "i we"),
    ("decided decision agreed settled chosen",),
    ("we well", f"{_VERBS} {_PLAIN_VERBS}"),
    ("team client customer management product board", "decided agreed chose settled"),
    ("use", "not"),
    ("option approach variant choice",),
    ("number first second third last", "do take use pick choose prefer"),
    ("over", "use"),
    ("instead rather",),
    ("correction korrektur correcci correccion rectification correzione corre",),
    ("meant", "i"),
    ("moved renamed changed switched", "to"),
    ("not", "is are be"),
)
"""Words that every decision of the user needs; the signs alone let too many texts through."""
_PHRASES_OF_ASSISTANT = Phrases(
    ("decided chose chosen opted settled picked went decision going",),
    (
        "instead rather because since so avoid over",
        "ll will let lets m",
        f"{_VERBS} using keeping choosing avoiding skipping",
    ),
    (
        "best right simplest cleanest safest better correct proper",
        "approach option fix choice solution design place",
    ),
)
"""Words that every decision of the model needs."""
