"""Provisional rules, and the go-ahead that ends them: "don't write code yet" ... "sounds good, do it".

In: a rule, and later words of the user. Out: whether the rule is provisional (``is_provisional``), the words
that give the go-ahead (``go_ahead``), and whether they cover what the rule forbids (``ends_provisional``).
``retire.py`` asks the three in this order. Ending a rule by mistake is worse than keeping it too long, so a
go-ahead must be free of conditions, delays and negations in its own sentence:

=============================================  =========  ===================================================
words                                          go-ahead?  because
=============================================  =========  ===================================================
"Looks good, go ahead."                        yes
"Yes, why not, do it."                         yes        the negation is in another clause
"If the tests pass, go ahead."                 no         a condition opens a clause before it
"Go ahead once Bob approves."                  no         a condition follows it
"Wait until tomorrow, then go ahead."          no         a delay before it
"I don't think the plan looks good."           no         a negation in its clause
"Do not, under any circumstances, proceed."    no         a negated clause that it completes
"Should I go ahead?"                           no         a question
=============================================  =========  ===================================================

An act that cannot be undone must be permitted by name: "go ahead" does not end "don't push yet", "go ahead
and push" does. A ban on two acts ends only if both are permitted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clew.message.text import AnyCasePattern, lazy_pattern
from clew.rules.rule import Kind, Rule
from clew.rules.words import tokens
from clew.rules.words import words as known_words

_WORK = lazy_pattern(
    r"""
    \b(?:cod(?:e|ing)|implement\w*|chang\w+|edits?|editing|modif\w+    # "no code", "don't change"
      |anything|action|actions                                         # "don't do anything"
      |start|begin|proceed                                             # "don't start"
      |build\w*|fix\w*|refactor\w*|touch\w*|write|writing              # "no refactoring"
      |execut\w*|run(?:ning)?                                          # "don't run it"
    )\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FOR_NOW = lazy_pattern(
    r"""
      \byet\b | \bfor\ now\b | \bright\ now\b                                # "not yet"
    | \bat\ this\ (?:point|stage)\b | \bfor\ the\ moment\b                   # "at this stage"
    | \bjust\ (?:the\ )?(?:analysis|plan|report|review|explanation)\b        # "just the plan"
    # "only look":
    | \b(?:only|just)\ (?:look|read|analy[sz]e|explain|plan|discuss|investigate|diagnose|validate)\b
    | \buntil\ i\b                                                           # "until I say so"
    # "without changing it", "talk me through it before coding":
    | \bwithout\ (?:attempting\ to\ |trying\ to\ )?(?:implement|chang|writ|edit|modify|touch|making|doing)\w*
    | \A(?!.*\b(?:always|each|every|never|whenever|from\ now\ on)\b)
      .*?\b(?:talk|tell|show|explain|propose|discuss|walk|suggest)\b.{1,80}
      \bbefore\ (?:coding|implementing|writing\ (?:any\ )?code|making\ (?:any\ )?changes
        |you\ (?:code|implement))\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FORBIDS_ANY_CHANGE = lazy_pattern(
    r"""
    \b(?:do\ not|don['’]?t|no|without|never)\b[^.]{0,30}
    \b(?:cod(?:e|ing)|implementation|implement\w*          # "don't write any code"
      |any(?:thing)?\ changes|anything|any\ changes|changes  # "don't make any changes"
      |action|commands?                                    # "run no commands"
    )\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LASTING_OR_LOCAL = lazy_pattern(
    r"""
      [\w.-]+/                      # a folder: "src/api"
    | \w\.[a-z]{1,4}\b              # a file: "main.py"
    | \b(?:always|never|ever)\b     # "never"
    | \bfor\ me\b | \bmyself\b     # "don't write code for me", who does it
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Words of a rule about one place, or one that is meant to last: a go-ahead does not end it."""
_LIMITS_TO = lazy_pattern(
    r"\b(?:work|focus|stay)\s+(?:on|in)\b.{0,40}\b(?:only|exclusively)\b", re.IGNORECASE
)
"""A limit to a part of the work, which the go-ahead for that part does not end."""
_ACT = lazy_pattern(
    r"""
    \b(push|commit|merg|deploy|delet|remov|releas|publish|install|forc|drop|revert|reset|overwrit)
    [pt]?(?:e|e?s|e?d|ing|en|ments?|ions?|als?|ations?)?\b              # "deleting", "dropped", "deployment"
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Acts that a plain "go ahead" does not permit: they must be named, in any form."""
_UNTIL_OR_BECAUSE = lazy_pattern(
    r"\b(?:until|till|unless|before|after|because|since|as|so that|let me|i(?:['’](?:m|ll|d|ve))?)\b",
    re.IGNORECASE,
)
"""What follows says when or why a rule holds, not what it forbids: "don't push until the release is out"."""
_DENIED_CLAUSE = lazy_pattern(
    r"(?:\b(?:not|never|no|without|except|avoid|skip|instead of|rather than)|n['’]t)\b[^,;:.!?]*?"
    r"(?=[,;:.!?]|\bbut\b|\Z)",
    re.IGNORECASE,
)
"""A negation with the rest of its clause."""
_GO_AHEAD = AnyCasePattern(
    r"""
      (?:(?P<joint>\A|[.!,;:\n]\s*)                         # the start of a clause, or after an agreement:
        |\b(?:ok(?:ay)?|yes|yeah|yep|sure|great|good|perfect|please|now|then|so|and
          |looks\ good|sounds\ good|approved)\W+)              # "sounds good, "
      (?:please\ |now\ |let['’]?s\ |you\ can\ (?:now\ )?|feel\ free\ to\ |start\ to\ |then\ |just\ )*
      (?:go\ ahead|do\ it|do\ that|proceed|go\ for\ it      # "let's do it"
        |make\ it\ so|ship\ it|implement|get\ started        # "ship it"
        |start\ (?:coding|implementing|building|with)          # "start with step 1"
        |begin\ (?:coding|implementing)                        # "begin coding"
        |execute\ (?:it|the\ plan|this)                        # "execute the plan"
        |apply\ (?:it|them|the\ (?:changes?|fix|plan))         # "apply the fix"
        |make\ the\ changes?                                   # "now make the changes"
        |write\ (?:it|this|(?:the\ )?(?:code|fix|implementation))   # "write the code"
        |carry\ (?:it\ )?on|build\ it|fix\ it|code\ it         # "fix it"
        |you(?:['’]re|\ are)\ (?:good|free|clear)\ to\ (?:go|start))\b   # "you're good to go"
    | \A\W*(?:approved|lgtm|green\ light|go)\W*\Z              # the whole message: "LGTM!"
    | \b(?:plan|proposal|design)\ (?:is\ )?(?:approved|looks\ good|sounds\ good)\b   # "the plan looks good"
    """,
    re.VERBOSE,
)
_BEGIN = r"(?:go\ ahead|do\ it|proceed|implement|get\ started|start)\b"
_SOMEONE = r"(?:you\ |we\ |i\ )?(?:\w+\ )?"
_REFUSED = lazy_pattern(
    rf"""
      \b(?:don['’]?t|do\ not|not|never)\ {_SOMEONE}{_BEGIN}          # denied: "do not proceed"
    | \b(?:before|until|once|after|if|when)\ {_SOMEONE}{_BEGIN}      # conditional: "before you start"
    | \b(?:should|shall|can|could|would|may)\ {_SOMEONE}{_BEGIN}     # asked: "should I go ahead"
      (?!\W*please)                                                # a request: "can you do it, please"
    | \?\s*\Z                                                      # any question: "proceed?"
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Words that refuse the go-ahead, anywhere in a message."""
_SENTENCE_END = lazy_pattern(
    r"(?:[.!?…;]+\s+|[。！？；]|\n\s*)(?!(?:and\s+)?(?:(?:only\s+)?then|afterwards)\b)", re.IGNORECASE
)
"""The end of a sentence; "then" continues it: "Wait until tomorrow. Then go ahead."."""
_LIMITED_AFTER = lazy_pattern(
    r"""
      \A\s+(?:\w+\s+){1,4}?(?:if|unless|until|provided|assuming|as\ soon\ as      # "go ahead and do it if"
        |once(?!\ (?:more|again)))\b
    | ,\s*(?:but\s+)?(?:only\s+)?(?:if|unless|provided|assuming)\b[^,;:]*\Z        # ", if Bob agrees"
    | \bbut\s+(?:please\s+)?(?:wait|hold|not\s+(?:yet|now)|let\s+me                # ", but wait for me"
        |only\s+(?:if|once|when|after))\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Words after a go-ahead that make it depend on something or postpone it."""
_SHORT = 400
"""Characters of a message that may give the go-ahead by its opening words; chosen by hand."""


def is_provisional(rule: Rule) -> bool:
    """Return True if a rule holds only until the user gives the go-ahead."""
    if rule.kind not in (Kind.PROHIBITION, Kind.SCOPE, Kind.REQUIREMENT):
        return False
    text = rule.quote
    if _FOR_NOW.search(text):
        return _LIMITS_TO.search(text) is None
    return (
        rule.kind is Kind.PROHIBITION
        and _FORBIDS_ANY_CHANGE.search(text) is not None
        and not _LASTING_OR_LOCAL.search(text)
    )


def go_ahead(text: str) -> str:
    """Return the words of a short message that give the go-ahead; empty if there are none."""
    if len(text) > _SHORT:
        text = text[: text.find("\n", 1)] if "\n" in text[1:_SHORT] else ""
    for match in _GO_AHEAD.finditer(text):
        if _REFUSED.search(text):
            return ""
        if not _is_held_back(text, match):
            return text[slice(*match.span())].strip(" .,;:!\n") or text.strip()
    return ""


def _is_held_back(text: str, match: re.Match[str]) -> bool:
    """Return True if the sentence of a go-ahead makes it depend on something, postpones it or denies it."""
    opens_clause = match["joint"] is not None
    begin = match.end("joint") if opens_clause else match.start()
    ends = [end.span() for end in _SENTENCE_END.finditer(text)]
    sentence_start = max((after for _, after in ends if after <= begin), default=0)
    sentence_end = min((stop for stop, _ in ends if stop >= match.end()), default=len(text))
    said_before = text[sentence_start:begin]
    clauses = list(_clauses(said_before))
    same_clause = clauses[-1] if clauses and not opens_clause else ()
    return (
        any(word in said_before for word in _words("unspaced"))
        or any(_postpones(clause) or _lacks_its_verb(clause) for clause in clauses)
        or not _words("negating").isdisjoint(same_clause)
        or _is_limited(text[match.end() : sentence_end])
    )


def _words(key: str) -> frozenset[str]:
    return known_words("go_ahead", key)


def _clauses(text: str) -> Iterator[list[str]]:
    """Yield the words of each clause, without those that only connect it: "and please wait" is "wait"."""
    clause: list[str] = []
    for token in tokens(text):
        if token.opens and clause:
            yield clause
            clause = []
        if clause or token.word not in _words("connecting"):
            clause.append(token.word)
    if clause:
        yield clause


def _postpones(clause: Sequence[str]) -> bool:
    """Return True for "if the tests pass", "until tomorrow", "wait for Bob", "let me look at it first"."""
    said = set(clause)
    # Most words alone are no condition: "si" may mean yes.
    depends = len(clause) > 1 and clause[0] in _words("cases") | _words("moments")
    if depends or clause[0] in _words("later"):
        return not said <= _words("choice_of_agent")  # "when you're ready"
    waits = not said.isdisjoint(_words("waiting"))
    if waits and said.isdisjoint(_words("negating") | {"no"}):
        return True  # not "no need to wait", "don't wait"
    return "first" in clause[1:] and not said.isdisjoint(_words("speaker"))


def _lacks_its_verb(clause: Sequence[str]) -> bool:
    """Return True for a clause that ends with its negation: "do not, under any circumstances, proceed"."""
    *_, before, last = "", *clause
    return last in ("don't", "never") or (last == "not" and before in _words("helping"))


def _is_limited(rest: str) -> bool:
    """Return True if the rest of its sentence limits a go-ahead: "once Bob approves", ", but wait for me"."""
    if _LIMITED_AFTER.search(rest):
        return True
    clause = next(_clauses(rest), []) if rest[:1].isspace() else []
    return bool(clause) and _postpones(clause)


def ends_provisional(rule: Rule, text: str) -> bool:
    """Return True if a go-ahead covers what a provisional rule forbids: each act of it that is named there.

    A rule has no parts that could end alone: "go ahead and push" leaves "don't push or deploy yet" as it is.
    """
    if named := _acts(_UNTIL_OR_BECAUSE.split(rule.quote, maxsplit=1)[0]) or _acts(rule.quote):
        return named <= _permitted_acts(text)
    return _WORK.search(rule.quote) is not None or _FOR_NOW.search(rule.quote) is not None


def _acts(text: str) -> set[str]:
    return {match[1].lower() for match in _ACT.finditer(text)}


def _permitted_acts(text: str) -> set[str]:
    """Return the acts that a text permits: not "without pushing", "but don't push", "if it passes, push"."""
    permitted: set[str] = set()
    for sentence in _SENTENCE_END.split(text):
        if not any(map(_postpones, _clauses(sentence))):
            denied = (_acts(clause[0]) for clause in _DENIED_CLAUSE.finditer(sentence))
            permitted |= _acts(sentence).difference(*denied)
    return permitted
