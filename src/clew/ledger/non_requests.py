"""Texts of the user that ask for nothing: greetings, bare commands, rules, facts, pasted hook output.

They set no goal and open no request. "Thanks, go on", "/undo", "Never push to main." and "The tests are in
tests/." ask for nothing; "The tests are broken" reports a problem, which asks for a fix. ``Goals`` and
``Talk`` use these functions before they take a text for a request.
"""

from __future__ import annotations

import re

from clew.ledger.request_words import begins_request
from clew.message import Trust
from clew.message.text import lazy_pattern
from clew.rules.find import candidates_in
from clew.rules.prefilter import CHUNKS, MARKS, may_state_rule
from clew.rules.rule import Kind, Rule
from clew.rules.sentences import Sentence, sentences

LONGEST_QUOTE = 2_000
"""Characters of a request that are quoted (chosen by hand); a longer one is cut at a paragraph."""
_LONGEST_STATEMENT = 600
"""Characters above which a text always counts as a request; chosen by hand."""

_LONGEST_CONFIRMATION = 120
"""Characters above which a text that begins with a yes is read as more than that; chosen by hand."""


def asks_nothing_new(text: str) -> bool:
    """Return True if a text only greets, thanks, or continues the work."""
    if _EMPTY_WORDS.fullmatch(text[:LONGEST_QUOTE]) or is_tag(text):
        return True
    return not _LONG_WORD.search(text)


def is_tag(text: str) -> bool:
    """Return True if a text is a lone tag of a harness, ``</command-name>``, without words around it."""
    return text.lstrip().startswith("<") and _TAGS.fullmatch(text) is not None


def continues(text: str) -> bool:
    """Return True if a text asks to go on with the work: "go on with step 4", "please continue"."""
    return _CONTINUES.match(text) is not None


def is_confirmation(text: str) -> bool:
    """Return True if a text only confirms what the model said or did: "yep, it looks as you described"."""
    return len(text) <= _LONGEST_CONFIRMATION and _CONFIRMS.fullmatch(text) is not None


def is_command(text: str) -> bool:
    """Return True if a text is a command to the harness, such as ``/undo``, without arguments."""
    return text.startswith("/") and _COMMAND.fullmatch(text.strip()) is not None


def asks_for_nothing(text: str) -> bool:
    """Return True if the text only states rules (with or without facts), or is the output of a hook."""
    if _HOOK_OUTPUT.match(text):
        return _WANTS.search(text) is None
    return states_only(text) and bool(candidates_in(text, Trust.USER))


def states_only(text: str) -> bool:
    """Return True if the text contains nothing but rules and facts."""
    if len(text) > _LONGEST_STATEMENT:
        return False
    rules_by_start = (
        {rule.span.start: rule for rule in candidates_in(text, Trust.USER)} if may_state_rule(text) else {}
    )
    if not rules_by_start and not MARKS[text] & _FACT_MARK:
        return False
    spoken = list(sentences(text))
    return bool(spoken) and all(_is_rule_or_fact(sentence, rules_by_start) for sentence in spoken)


def _is_rule_or_fact(sentence: Sentence, rules_by_start: dict[int, Rule]) -> bool:
    """Return True if a sentence is a rule (in each of its clauses) or states a fact."""
    rules = [rule for start, rule in rules_by_start.items() if sentence.start <= start < sentence.end]
    if rules:
        if _asks_before_a_ban(sentence.text) or _wishes_for_work(sentence.text, rules):
            return False
        in_rules = sum(len(rule.quote) for rule in rules)
        return all(map(_only_binds, rules)) and in_rules * 2 > len(sentence.text)
    return _FACT.fullmatch(sentence.text) is not None and not states_trouble(sentence.text)


def _asks_before_a_ban(text: str) -> bool:
    """Return True for "estimate the effort, don't build it": what comes before the ban asks for work."""
    ban = _BAN_AFTER_COMMA.search(text)
    before = text[: ban.start()] if ban else ""
    return begins_request(before) and not candidates_in(before, Trust.USER)


def _wishes_for_work(text: str, rules: list[Rule]) -> bool:
    """Return True for "ich brauche bis Freitag eine Übersicht": a wish for something, and no lasting rule."""
    if not _WISHES.match(text) or _NEVER.search(text):
        return False
    return not any(
        rule.kind is Kind.PROHIBITION or not _ALWAYS_CUES.isdisjoint(reason.cue for reason in rule.reasons)
        for rule in rules
    )


def states_trouble(text: str) -> bool:
    """Return True if a statement reports a problem, which asks for a fix: "the tests are broken"."""
    return _TROUBLE.search(text) is not None


def _only_binds(rule: Rule) -> bool:
    """Return True if a rule holds for what is done anyway ("never push") and asks for no work itself."""
    cues = {reason.cue for reason in rule.reasons}
    asks = [reason.words.lower() for reason in rule.reasons if reason.cue in _REQUEST_CUES]
    return (rule.kind in _BINDING_KINDS or not cues.isdisjoint(_LASTING_CUES)) and set(asks) <= {"do"}


# What the patterns recognise ------------------------------------------------------------------------------

_CONTINUES = lazy_pattern(
    r"""(?:\W*(?:ok(?:ay)?|yes|great|good|perfect|thanks|now|and|then|so
      |please|let['’]?s|you\ can)\b)*\W*
    (?:go\ on|continue|carry\ on|keep\ going|proceed|resume|mach\ weiter|weiter\ mit|continuez
      |continúa|continua|sigue|prosegui|продолжай|继续|続けて)"""
    r"(?!\w)",
    re.VERBOSE | re.IGNORECASE,
)
"""The beginning of a request to go on: what the work is about stays what it was."""
THANKS = (
    r"a\ (?:lot|million)|(?:thanks|thank\ you)\ again"
    r"|for\ (?:all\ )?(?:your|the)\ (?:(?:great|kind|quick)\ )?(?:help|time|support|assistance|patience)"
    r"|(?:i\ )?(?:really\ )?appreciate\ (?:it|that|your\ help)|much\ appreciated"
    r"|have\ a\ (?:nice|good|great|wonderful|lovely)\ (?:day|evening|weekend|one)"
    r"|that(?:['’]s|\ is|\ was)\ (?:all|everything|(?:very\ )?helpful)(?:\ (?:for\ now|i\ need(?:ed)?))?"
    r"|vielen\ dank|schön|für\ (?:deine|ihre|eure)\ hilfe|beaucoup|muchas|grazie|mille|obrigad[oa]"
    r"|bedankt|dank\ je|wonderful|fantastic|bye|goodbye|you\ too|谢谢"
    r"|thank(?:s|\ you)(?:\ (?:so|very)\ much)?\ for\ \w+ing"
    r"(?:\ (?!and\b|now\b|then\b|but\b|please\b|can\b|could\b|so\ that\b)[\w'’]+){0,5}(?=\W*(?:[.!]|$))"
    r"|i\ (?:don['’]t|do\ not)\ need\ anything(?:\ else)?(?:\ (?:right\ now|for\ now|today))?"
    r"(?=\W*(?:[.!]|$))"
    r"|das\ war['’]?s|das\ ist\ alles|c['’]est\ tout|(?:eso\ )?es\ todo|por\ todo"
)
"""Thanks and goodbyes, beside the single words of both patterns that use it: "for your help"."""
_EMPTY_WORDS = lazy_pattern(
    rf"""\W*+(?:(?>{THANKS}|(?:so|very)\ much|danke|merci|gracias|excellent|brilliant
    |good\ morning|thank\ you|go\ on|go\ ahead|do\ it|do\ that|run\ it|try\ again
    |commit\ (?:this|it|and\ push|please)
    |hi|hello|hey|yo|there|claude|everyone|all
    |yes|yeah|yep|yup|nope|no|okay|ok|k|sure|please|thanks|thank|thx|ty|lgtm
    |cool|great|good|nice|perfect|awesome|done
    |continue|go|proceed|retry|again|ping|test|commit|push
    )\b\W*+)++""",
    re.VERBOSE | re.IGNORECASE,
)
"""Greetings, thanks, and words that only continue the work: "ok great, go ahead please"."""
_CONFIRMS = lazy_pattern(
    r"""\W*(?:(?:yes|yeah|yep|yup|ok|okay|great|good|nice|perfect|cool|awesome|right|correct)\b\W*)+
    (?:it|that|this|they|everything|all)(?:\ all)?(?:[’']s|\ (?:look|work|seem|is|are|was|match|do|did)\w*)\b
    (?:(?!\b(?:but|and|except|however|now|then|please|can|could|should|not|still|only|though)\b|n[’']t)[^?])*""",
    re.VERBOSE | re.IGNORECASE,
)
"""A yes, and a statement that the result is as it should be."""
_LONG_WORD = lazy_pattern(r"[^\W\d_]{4,}")
"""A text without such a word says nothing new."""
_TAGS = lazy_pattern(r"\s*+(?:</?[A-Za-z][\w:-]{0,60}/?>\s*+)+")
"""Tags and nothing else."""
_COMMAND = lazy_pattern(r"/[a-z][\w:-]*")
"""A command to the harness: "/undo"."""

# Kinds and cues of rules, as ``clew.rules`` names them.
_BINDING_KINDS = frozenset((Kind.PROHIBITION, Kind.LIMIT, Kind.PREFERENCE, Kind.PERMISSION))
"""Kinds of rules that are not requests."""
_LASTING_CUES = frozenset(("always", "always_do", "lasting", "policy", "policy_ban"))
"""Cues of rules that hold from now on."""
_ALWAYS_CUES = _LASTING_CUES - {"lasting"}
"""Those that do not only say until when: "bis Freitag"."""
_WISHES = lazy_pattern(
    r"""\W*(?:(?:und|bitte|außerdem|et|y|e|por\ favor|s['’]il\ te\ plaît|per\ favore|and|also|please)\b\W*)*
    (?:ich\ (?:brauche|bräuchte|möchte|will|hätte|wünsche|würde)\b
    |wir\ (?:brauchen|bräuchten|möchten|hätten|wollen)\b
    |(?:kannst|könntest|würdest|magst)\ du\b|(?:können|könnten|würden)\ sie\b
    |j['’](?:aimerais|ai\ besoin)\b|je\ (?:voudrais|veux|souhaite)\b|il\ (?:me|nous)\ fa(?:ut|udrait)\b
    |nous\ avons\ besoin\b|(?:peux|pourrais)-tu\b|(?:pouvez|pourriez)-vous\b
    |(?:necesito|necesitamos|quiero|quisiera|queremos|puedes|podrías)\b|me\ gustaría\b
    |(?:vorrei|vorremmo|puoi|potresti|potete)\b|(?:ho|abbiamo)\ bisogno\b|mi\ serv(?:e|ono)\b
    |(?:preciso|precisamos|quero|queria|gostaria|podes?|poderia)\b
    |мне\ нуж\w+|нам\ нуж\w+|хочу\b|хотел(?:а|ось)?\ бы\b|можешь\b|можете\b
    |i\ (?:need|want|would\ like)\b|i['’]d\ like\b|we\ need\b|我需要|我想|我们需要|能不能|可以帮)""",
    re.VERBOSE | re.IGNORECASE,
)
"""How a wish for something begins, in several languages: "ich hätte gern", "j'ai besoin"."""
_NEVER = lazy_pattern(
    r"\b(?:nie|niemals|never|jamais|nunca|mai|никогда|always|immer|toujours|siempre|sempre|всегда)\b",
    re.IGNORECASE,
)
"""Words of a wish that holds for all time."""
_REQUEST_CUES = frozenset(("task", "request", "can_you", "asked"))
"""Cues of requests."""

_FACT_VERBS = (
    *("is", "are", "has", "have", "use", "uses", "live", "lives", "run", "runs"),
    *("belong", "belongs", "contain", "contains", "stand", "stands"),
)
"""Verbs of stated facts."""
_FACT = lazy_pattern(
    r"(?:fyi\W+)?(?:the|our|my|its?|this|these|we|they)\b[^?:]{0,120}?"
    rf"\b(?:{'|'.join(_FACT_VERBS)})\b(?!\s+to\b)[^?:]*",
    re.IGNORECASE,
)
"""A stated fact: "our tests live in tests/"."""
_FACT_MARK = CHUNKS.mark_words(_FACT_VERBS)
"""Set for texts with such a verb; others state no fact."""
_TROUBLE = lazy_pattern(
    r"\b(?:fail\w*|errors?|bugs?|broken|breaks?|crash\w*|wrong\w*|slow\w*|missing|should|needs?|wants?|must|not|no"
    r"|typos?|mistakes?|issues?|problems?|outdated|old|stale|flaky|red|open|left|late|too|still|todos?"
    r"|complain\w*|cut\ off|truncated|hangs?|leaks?|freezes|unreadable|garbled|duplicated?)\b"
    r"|n[’']t\b",
    re.IGNORECASE,
)
"""Words that turn a stated fact into a problem report, which asks for a fix."""
_BAN_AFTER_COMMA = lazy_pattern(
    r",\s*(?:but\s+)?(?:please\s+)?(?:do(?:n[’']?t|\s+not)|never|not|without)\b", re.IGNORECASE
)
"""Where a ban follows a request: ", but don't build it"."""
_HOOK_OUTPUT = lazy_pattern(
    r"\W*(?:(?:\w+\W+){0,3}(?:stopped|blocked|denied|rejected)\ by\ (?:(?:an?|the)\ )?(?:\w+\ )?hook\b"
    r"|(?:\w+\ ){0,2}hook\ (?:feedback|warning|error|message|output|says|returned)\b)",
    re.IGNORECASE,
)
"""The output of a hook, pasted by the user or a harness: "Operation stopped by hook"."""
_WANTS = lazy_pattern(
    r"\?|\b(?:can|could|would)\ (?:you|we)\b|\b(?:please|help|fix|explain|why|how)\b"
    r"|\bi\ (?:want|need|get|got)\b",
    re.IGNORECASE,
)
"""Words that make pasted hook output part of a request."""
