"""Choices that the user makes in passing, in plain spoken words.

"github only for now", "no, it should be a worktree", "put it in the config instead", "I don't want that
test": sentences without a verb of deciding, which still settle what is done and what is not. They count in
short messages only: a long one is a specification, whose sentences say what is wanted and are kept with the
request. Precision before recall, as in ``decision_phrases``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.ledger.phrases import Phrases, sentences_with
from clew.message.text import AnyCasePattern, lazy_pattern

LONGEST_SPOKEN = 1_200
"""Characters of a message that is typed in passing; chosen by hand."""


def spoken_choices(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a user's sentences that choose something in passing."""
    if len(text) <= LONGEST_SPOKEN and _WORDS.may_match(text):
        for start, end in sentences_with(_CHOOSES, _SIGNS, text):
            if not _ASKS.search(text[start:end]):
                yield start, end


# What the patterns recognise ---------------------------------------------------------------------------

_VERB = (
    r"(?:use|call|name|rename|put|store|save|keep|have|make|do|go|show|print|return|write|read|add|pass|set"
    r"|take|move|log|mock|send|link|base|create|run|start|mark|treat|give|display|render|replace|change|import"
    r"|raise|catch|throw)"
)
_SO = r"(?:\s+(?:really|actually|probably|definitely|also|still|just|do))*"
"""Words between a subject and its verb: "we really just want"."""
_YES_NO = r"(?:(?:yes|yeah|yep|yup|ok|okay|sure|no|please|so|just|let[’']?s|do)\W+)*"
_CHOOSES = AnyCasePattern(
    rf"""
    # a contrast: "log at DEBUG, not INFO", "instead of X, print Y", "mark the others instead"
    \b(?:should|supposed\s+to|want(?:ed)?|need|said|must)\b[^.?!\n]{{2,100}},\s+(?:and\s+|but\s+)?
      not\s+(?!sure|yet|just|only)\S
  | ^[\W\d]*(?:log|use|put|call|name|show|store|keep|make|return|send|write|print|do|take|target|build|run
      |test|check|catch|throw|raise)\b[^.?!,\n]{{2,80}},?\s+(?:and\s+)?not\s+(?!sure|yet|just|only|to\s)\S
  | (?:^[\W\d]*|[.!;:,]\s+|\bthen\s+)(?:instead\s+of|rather\s+than)\s[^?.\n]{{2,80}}?(?:,\s|\s)
      (?:please\s|just\s|we\s+should\s|let[’']?s\s)?{_VERB}\b
  | (?:^[\W\d]*|[.!;:,]\s+|\b(?:can|could|should|let[’']?s|we|you|i|just|please|and|but|then|so|yes|no)\s+)
      {_VERB}\s[^?.!,\n]{{2,100}}\b(?:instead\s+of|rather\s+than)\s(?!just\b)\S
  | (?:^|\b(?:and|just|then|so|please)\s+){_VERB}\s[^?.!\n]{{2,60}}\sinstead\W*$
  | ^\W*instead,?\s+{_VERB}\b
    # a limit: "github only for now", "bug report only", "just hide it for now"
  | \b(?:just|only|keep|skip|leave|hide|ignore|drop|fine|ok|enough|can|could|would|don[’']?t|not)\b
      [^?.!\n]{{1,120}}\bfor\s+now\b
  | \bfor\s+now,?\s+(?:just|only|keep|let[’']?s|we|i|do|use|skip|leave|don[’']?t)\b
  | ^\W*{_YES_NO}(?!i\b)[^?.!,\n]{{2,40}}\sonly(?:\s+for\s+now)?[.!]?\s*$
    # the agent's proposal is corrected: "no, it should be …", "yes, but it doesn't need …"
  | ^(?:no|nope|nah)\b\W{{1,5}}(?!wait)(?:[^?.!,\n]{{0,50}}
      \b(?:should|shouldn[’']?t|must|needs?\s+to|want|only)\b|(?:just\s+)?(?:use|put|keep|make|leave|call|name|don[’']?t|do\s+not)\b)
  | ^(?:yes|yeah|yep|ok|okay|sure|right|correct|fine|good|great)\b[^.!?\n]{{0,40}}\bbut\s
      (?:i\s+think\s|it\s|that\s|we\s|they\s)?(?:should|must|doesn[’']?t\s+need|needs?\s+to|keep|make|use|only
      |let[’']?s|without|want|leave|skip|don[’']?t\s(?!work|know|have))\b
    # what is not wanted: "I don't want that test", "we're not concerned about", "we can drop this"
  | \b(?:i|we){_SO}\s+(?:don[’']?t|do\s+not)\s(?:really\s|actually\s|even\s|also\s)?
      (?:want|need|care\s+about)\b
      (?!\s(?:you\s+to|help|any(?:thing|\s*more)|to\s(?:guess|know|bother|be|wait|worry)|this\s+to))[^?\n]{{4,}}$
  | \bdon[’']?t\s+think\s[^?\n]{{2,60}}\b(?:should|needs?|is\s+the|is\s+(?:needed|necessary|worth)|are\s+the
      |want|must)\b
  | \b(?:is|are|[’']s)\s+out\s+of\s+scope\b
  | \bwe(?:[’']re|\s+are)\s+not\s+(?:going\s+to|concerned|worried|interested|targeting|supporting|changing
      |building)\b
  | \bit\s+doesn[’']?t\s+need\s+(?:to|its|a|an|any)\s|\bshould(?:\s+not|n[’']?t)\s+be\s+(?:needed|necessary)\b
  | \bwe\s+(?:have\s+no\s+(?:desire|interest|intention)|(?:don[’']?t|do\s+not)\s+have\s+to)\b
  | (?:^|[.;:,]\s|\b(?:i\s+think|then|and|but|yes|yeah|ok)\s)(?:we|you)\s(?:can|could|should)\s
      (?:just\s|simply\s|safely\s|also\s|then\s|probably\s|actually\s)*
      (?:ignore|skip|drop|remove|get\s+rid\s+of|leave|keep|assume|live\s+with|defer|reuse|stick|not|treat|avoid)
      \b(?!\s+that\s+in)[^?\n]{{4,}}$
    # what is wanted: "we want to keep that ENV", "let's ship with …", "stored and fallback is good"
  | \b(?:we|i){_SO}\s+want\s+to\s(?:keep|get\s+rid\s+of|drop|avoid|use|support|stick|remain|retain|stay
      |implement\s+(?:this|it)\s+as|treat|store)\b(?!\s+things)(?![^\n]*:$)
  | \b(?:i|we)(?:[’']d|\s+would)\s
      (?:rather|keep|go\s+with|like\s+to\s(?:keep|use|avoid|stick))\b(?!\s+not\s+read)
  | \blet[’']?s\s(?:just\s|only\s|also\s|always\s|actually\s|then\s)*(?:have(?!\s+a\s+look)
      |put(?!\s+together|\s+up)|set(?!\s+up)|ship(?!\s+it)|stop(?!\s+here|\s+for)|stay|limit|cap|support|store
      |hide|treat|ignore|focus\s+on|allow|disable|enable|require|default|call
      |do\s(?!it\b|this\b|that\b|these|those|the\s|a\s|an\s|so\b|some|another|one\b|both|all\b|\#|\d)\S+\s\w)\b
  | ^[\W\d]*(?:(?:yes|yeah|yup|ok|okay|no)\W+)?
      (?!\W*(?:i|that|this|it|all|everything|thanks?|you|no)\b)[^?\n,]{{3,90}}
      \s(?:is|are)\s(?:fine|good\s+enough|enough|good|sufficient|acceptable|ok|okay|preferred)\b
      (?!\snow|\sbut|\s*\?)[^?\n]{{0,40}}$
  | \b(?:was|were|is|are)\s+supposed\s+to\s+be\s+\S
  | \b(?:call|name|refer\s+to)\s(?:it|this|that|them)\s(?:as\s)?["'“`\w]
    # which of the person's things is used: "refund to my PayPal", "use the original payment method"
  | \b(?:use|charge|refund(?:ed)?|pay|put|goes?|credited|sent|to)\b[^?.\n]{{0,60}}\b(?:my|the|original)\b
      [^?.\n]{{0,40}}\b(?:card|gift\s+card|paypal|payment\s+methods?|visa|mastercard|amex|certificates?)\b
      (?!\s+balance)
    """,
    re.VERBOSE | re.MULTILINE,
)
"""A choice made in passing."""
_ASKS = lazy_pattern(
    r"\A\W*(?:/\w+\s|if|when|should|would|could|can|do(?:es)?|what|how|why|is|are|did|not\s+sure"
    r"|it[’']?s\s+cause)\b"
    r"|\b(?:whether|confirm|let\s+me\s+know|i\s+believe|looking\s+for|reach\s+out|keep\s+an\s+eye)\b",
    re.IGNORECASE,
)
"""A question, a condition, a command of the program or a courtesy, which choose nothing."""
_SIGNS = re.findall(
    r"[^|]+",
    " not |nstead|ather |or now|only|no|nah|but |on't|on’t|dont|o not|of scope|esn't|esn’t|esnt|eeded"
    "|ecessary| can | could | should |want| would |'d |’d |et's |et’s |ets | is | are |supposed|call"
    "|name|efer to|card|aypal|ayment|isa |isa.|mex|ertificate",
)
"""Substrings of which every choice contains at least one, as a prefilter."""
_WORDS = Phrases(
    (
        "not",
        "should supposed want wanted need said must log use put call name show store keep make return send"
        " write print do take target build run test check catch throw raise",
    ),
    ("instead rather scope supposed only",),
    ("desire interest intention",),
    ("now", "for"),
    (
        "no nope nah",
        "should shouldn shouldnt must need needs want use put keep make leave call name don dont do",
    ),
    ("but", "should must doesn doesnt need needs keep make use let lets without want leave skip don dont"),
    ("don dont do", "want need care think have"),
    ("concerned worried interested targeting supporting changing building going", "not"),
    ("doesn doesnt", "need"),
    ("needed necessary", "should shouldn shouldnt"),
    (
        "ignore skip drop remove get leave keep assume live defer reuse stick not treat avoid",
        "can could should",
    ),
    ("want", "keep get drop avoid use support stick remain retain stay implement treat store"),
    ("d would", "keep go like"),
    (
        "let lets",
        "have put set ship stop stay limit cap support store hide treat ignore focus allow disable enable"
        " require default call do",
    ),
    ("fine good enough sufficient acceptable ok okay preferred", "is are"),
    ("call name refer", "it this that them"),
    ("card paypal payment visa mastercard amex certificate certificates", "my the original"),
)
"""Words that every choice needs."""
