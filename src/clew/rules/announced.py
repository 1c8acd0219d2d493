"""Recognise the words by which a person announces another one's text, or asks about it.

"got this mail, can you sum it up?", "translate to German: …", "jane wrote: …", "put this in the README: …";
and below a text: "can you draft a reply to this?". ``foreign.py`` says where the announced text is.
"""

from __future__ import annotations

import re

from clew.message.text import AnyCasePattern, lazy_pattern

_MATTER = (
    r"(?:e-?mails?|mails?|messages?|texts?|tickets?|reports?|reviews?|comments?|prompts?|feedback"
    r"|articles?|posts?"
    r"|threads?|letters?|paragraphs?|passages?|documents?|docs?|pages?|snippets?|sentences?|clauses?"
    r"|contents?"
    r"|notes?|minutes|transcripts?|conversations?|discussions?|chats?|stories|story|quotes?|advice"
    r"|licen[sc]es?"
    r"|responses?|answers?|repl(?:y|ies)|descriptions?|proposals?|announcements?|newsletters?"
    r"|commit\s(?:messages?"
    r"|logs?)|tweets?|contracts?|(?:e-?)?mail\w*|nachricht\w*|protokoll|notizen|kommentare?|beitrag"
    r"|brief|lizenz"
    r"|vertrag|courriels?|textes?|commentaires?|lettre|mensajes?|correos?|textos?|comentarios?"
    r"|art[ií]culos?|licencias?"
    r"|notas|cartas?|messaggi?o?|testo|commento|articolo|licenza|lettera|mensage(?:m|ns)|coment[áa]rios?"
    r"|artigos?"
    r"|licen[çc]a)"
)
"""A text that people read."""
_TROUBLE = r"(?:issues?|bugs?|errors?|logs?|outputs?)"
"""What people describe in their own words as often as they paste it."""
_THIS = (
    r"(?:this|these|(?:the\s)?following|below|attached|diese\w*|folgende\w*|cet|cette|ces|est[ae]|estos"
    r"|siguiente"
    r"|quest[oa]|seguente|seguinte)"
)
_OF = r"(?:from|of|by|vom|von|de|du|del|della|da)"
_WORKED_ON = (
    r"(?:summari[sz]e|translate|answer|reply|respond|draft|proofread|rewrite|rephrase|paraphrase|reword"
    r"|classify"
    r"|explain|analy[sz]e|extract|review|read|correct|shorten|condense|improve|check|fix|solve|resolve|triage"
    r"|handle|look(?:\s+at|\s+into)?|see|consider|interpret|parse|grade|rate|compare|evaluate|assess|debug"
    r"|investigate|what\s+(?:do\s+you\s+think|does)|[üu]bersetze?|fasse?|beantworte|traduis|r[ée]sume"
    r"|r[ée]ponds"
    r"|traduce|resume|responde|traduci|riassumi)"
)
_RECEIVED = (
    r"(?:here(?:['’]s|\s+(?:is|are))|(?:(?:i|we|just)\s+|\A\W*)(?:got|received|found)|hier\s+(?:ist|sind)|kam"
    r"|bekommen|erhalten|voici|re[çc]u|aqu[ií]\s+est[áa]|lleg[óo]|recib[ií]|recebi|chegou|ricevuto|ecco)"
)
_SAID = (
    r"(?:says?|said|wrote|writes|posted|left|sent|replied|answered|commented|claims|states?|suggested"
    r"|recommends"
    r"|told\s(?:me|us)|gave\sme|schrieb|schreibt|sagte?|meinte?|antwortete|a\s[ée]crit|[ée]crit"
    r"|escribi[óo]|dijo"
    r"|dice|ha\s(?:scritto|detto)|escreveu|disse)"
)

MAY_ANNOUNCE = AnyCasePattern(
    rf"^(?=[^\n]{{4,200}}$)[^\n]*?(?:\b(?:{_MATTER}|{_TROUBLE}|this|{_SAID})\b|[a-z]{{2,10}}-\d{{1,6}}\b)[^\n]*$(?=\s*\S)",
    re.MULTILINE,
)
"""A line that names a text, with something below it."""
_TO_FOLLOW = lazy_pattern(
    r"\b(?:rules?|guidelines?|constraints?|conventions?|instructions|polic(?:y|ies)|requirements?|steps"
    r"|plan|spec"
    r"|follow|obey|adhere|stick|remember|note|regeln|r[èe]gles|reglas|regole|regras)\b",
    re.IGNORECASE,
)
"""Words saying that the announced text is to be followed or carried out."""
_WITH_COLON = lazy_pattern(
    rf"\b(?:{_WORKED_ON}|{_RECEIVED}|(?:my|the|a|our)\s+\w+\s+{_SAID})\b[^\n]{{0,60}}?"
    rf"\b(?:{_THIS}|that|the|my|our|an?|from|ce|le|la|el|il|o)\b[^\n]{{0,40}}?"
    rf"\b(?:{_MATTER}|{_TROUBLE}|[a-z]{{2,10}}-\d{{1,6}})\b"
    rf"|\b(?:look\s+(?:at|into)|see|triage)\s+[A-Z]{{2,10}}-\d{{1,6}}\b"
    rf"|\A\W*(?:[\w-]+\s+){{0,2}}?(?:\w+['’]s\s+{_MATTER}|{_MATTER}\s+{_OF}\s[^:]{{1,60}}):\Z"
    rf"|\A\W*(?:from|on|in)\s+\w+:\Z"
    rf"|\b{_SAID}\s+(?:me\s+)?(?:this|the following)\b",
    re.IGNORECASE,
)
"""What announces the text below a line that ends in a colon."""
_POINTS = lazy_pattern(
    rf"\b{_THIS}\s+(?:[\w'’-]+\s+){{0,3}}?{_MATTER}\b|\b{_MATTER}\s+below\b"
    rf"|\b{_RECEIVED}\b[^\n]*\b{_MATTER}\b"
    rf"|\b(?:{_SAID}|get|got|prints?)\s+(?:me\s+)?(?:this|the following)\b|\b(?:look"
    rf"|see)\s+what\b.*\b{_SAID}\b"
    r"|\b(?:proofread|translate|rewrite|rephrase|paraphrase|shorten|summari[sz]e)\s+(?:my|our"
    r"|the)\s+(?:\w+\s+){0,2}"
    rf"{_MATTER}\b|\A\W*(?:the|my|our)?\s*(?:[\w'’-]+\s+){{1,3}}{_SAID}\Z"
    rf"|\A\W*(?:(?:the|my|our)\s+)?(?:\w+\s+)?{_MATTER}\s+{_OF}\s(?:[\w'’-]+\s?){{1,4}}\Z",
    re.IGNORECASE,
)
"""Words that point at a text, in a line without a colon: "what does this license mean"."""
_TROUBLE_POINTED_AT = lazy_pattern(rf"\b{_THIS}\s+(?:\w+\s+)?{_TROUBLE}\b", re.IGNORECASE)
_FORM_BELOW = lazy_pattern(r"\s*(?:#|[-*•]\s|\d+[.)]\s|[A-Z][\w ]{0,20}:\s)")
"""How a report begins that was filled in or copied: "Bug: the cache", "# Deploy fails"."""
_LISTED = lazy_pattern(r"[-*•#+>|]|\d+[.)]")
_OPEN_ENDS = ".!;,…"


def announces(line: str, below: str) -> bool:
    """Return True if a line announces the text below it as one to be worked on."""
    said = line.strip().rstrip("*_")
    if not said or said[-1] in _OPEN_ENDS or _TO_FOLLOW.search(said):
        return False
    if said[-1] in ":：":
        return _WITH_COLON.search(said) is not None
    if _LISTED.match(said):
        return False
    if _POINTS.search(said):
        return True
    return _TROUBLE_POINTED_AT.search(said) is not None and _FORM_BELOW.match(below) is not None


_CLAUSE = r"(?:^|(?<=[.!?] ))"
ON_ONE_LINE = AnyCasePattern(
    rf"{_CLAUSE}[^\n:]{{0,40}}\b(?:translate|summari[sz]e|proofread|rephrase|paraphrase|rewrite"
    rf"|[üu]bersetze?|traduis"
    r"|traduce|traduci)\b[^\n:]{0,60}:[ \t]+(?=\S)"
    rf"|{_CLAUSE}[^\n:?.!]{{0,60}}\b{_THIS}\s+(?:[\w'’-]+\s+){{0,2}}?{_MATTER}\b"
    r"[^\n:?.!]{0,60}[:?][ \t]+(?=\S)"
    rf"|{_CLAUSE}[^\n:?.!]{{0,30}}\b(?:add|put|insert|append|write|paste)\s+(?:this|these"
    rf"|the following)\b[^\n:?.!]{{0,20}}"
    r"\b(?:to|in|into|on|under|above)\s+(?!your\b|(?:the\s)?memory\b|mind\b)[^\n:!?]{1,50}:[ \t]+(?=\S)"
    rf"|{_CLAUSE}[^\n:?.!]{{0,60}}\b(?:(?:that|which)\s+(?:says|reads)|saying|reading):?[ \t]+(?=\S)"
    rf"|{_CLAUSE}[^\n:?.!]{{0,30}}\b(?:on|from|in)\s+(?:slack|teams|discord|whatsapp|stack ?overflow"
    rf"|reddit|chatgpt"
    r"|copilot|gemini):[ \t]+(?=\S)",
    re.MULTILINE,
)
"""Words that announce a text on the same line: "Translate: …", "is the following good advice? …"."""
_SPEAKERS = r"(?!(?:as|i|we|you|it|that|this|which|who|rules?|policy|claude\.md|agents\.md)\b)"
REPORTED = AnyCasePattern(
    rf"{_CLAUSE}{_SPEAKERS}(?:(?:the|my|our|a|an|der|die|le|la|el|il|o)\s+)?(?:[\w.'’-]+\s+){{1,3}}?{_SAID}"
    r"(?:\s+(?:in|to|on)\s+[\w#'’-]+)?:[ \t]+(?=\S)",
    re.MULTILINE,
)
"""What somebody else said, on the same line: "jane wrote: …"."""
TAKEN_UP_HERE = lazy_pattern(
    r"\b(?:rules?|guidelines?|constraints?|conventions?|instructions|polic(?:y|ies)|requirements?|follow"
    r"|obey|adhere"
    r"|remember)\b",
    re.IGNORECASE,
)
"""Words on the same line by which a person adopts what follows: "follow these notes: …"."""

ASKED_ABOUT = lazy_pattern(
    rf"""\W*(?:(?:so|and|ok|now|please|can\ you|could\ you|hey|hi)\W+)*(?:
      what\ (?:does|do|did|is|are|should\ i|would\ you)\b[^\n]{{0,40}}\b(?:this|that|it|the|he|she|they|i)\b
        [^\n]{{0,40}}\b(?:mean|say|about|want|think|answer|reply|respond|ask(?:ing)?|saying|agree|decide
      |tell|{_MATTER})
    | (?:is|does|do|was|how|why|when|who)\b[^\n]{{0,60}}\b(?:this|that|the|above)\ {_MATTER}\b
    | (?:how|what)\ (?:should|would|do|can)\ (?:i|we|you)\ (?:answer|reply|respond|react)\b
    | (?:any\ )?thoughts\b | tl;?dr\b | who\ (?:wrote|sent|said)\b
    | should\ i\ (?:trust|answer|reply|worry|click|pay)\b
    | (?:summari[sz]e|translate|proofread|explain|rewrite|paraphrase|rephrase|classify|answer
      |reply\ to|respond\ to)\ (?:this|that|it|the\ above|what)\b
    | (?:summari[sz]e|translate|proofread|explain|rewrite|paraphrase|rephrase|classify|answer|shorten|condense
      |review|correct|improve|reply\ to|respond\ to)\ (?:the|this|that)\ (?:{_MATTER}\ above
      |above\ {_MATTER})\b
    | (?:turn|convert)\ (?:this|that|it)\ into\b | make\b[^\n]{{0,40}}\bout\ of\ (?:this|that|it)\b
    | (?:draft|write|compose|help\ me\ (?:write|draft))\ [^\n]{{0,30}}\b(?:reply|answer|response)\b
    | is\ (?:he|she)\ right\b | are\ they\ right\b | (?:who|which(?:\ \w+)?)\ is\ right\b
    | is\ (?:this|that|it)\ (?:spam|phishing|a\ scam|legit|true|correct\ english|urgent|serious
      |good\ advice)\b
    | was\ soll\ ich\b[^\n]{{0,40}}\b(?:antworten|schreiben|sagen)\b | (?:fasse?|fass)\ (?:das
      |es)\b[^\n]{{0,30}}\bzusammen\b
    | mach\w*\ (?:daraus|bitte\ daraus)\b | [üu]bersetz\w*\ (?:das|es)\b | r[ée]dige\ (?:une\ )?r[ée]ponse\b
    | traduis\b | r[ée]sume\b | ¿?qu[ée]\ (?:le\ )?(?:contesto|respondo)\b | (?:resume|traduce|riassumi
      |traduci)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
"""A last paragraph that asks about the text above it as a text."""
