"""What a quote omits from its sentence, reversed negations, and whether a text gives permission."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from clew.compaction.plan import RuleQuote
from clew.compaction.verify.assertions import FEWEST_WORDS, content, occurs, things
from clew.compaction.verify.wording import LONG, Wording, is_elided, places, plain, plain_punctuation
from clew.ledger.phrases import is_foreign
from clew.message import Role, Trust, text_message
from clew.rules import Rule, find_candidates, retire
from clew.rules.active import ActiveRules
from clew.rules.find import rule_sentences

_BEFORE = re.compile(
    r"""(?:
      (?:\A|\n)[ \t>*+•#-]*(?:\d{1,2}[.)])?[ \t]*(?:\[[ xX]\][ \t]*)?["'*_`(]*    # a line begins
    | [.!?…]["')\]*_`]*\s+["'*_`(]*                                              # a sentence ended
    | [。！？]\s*
    )\Z""",
    re.VERBOSE,
)
_AFTER = re.compile(r"""[ \t]*["')\]*_`,;]*(?:[.!?…。！？]|[ \t]*(?:\n|\Z))""")
_ENDED = (".", "!", "?", "…", "。", "！", "？")
_LINE_ENDS = ".!?…:;。！？：；|"
_ABBREVIATED = re.compile(
    r"\b(?:e\.g|i\.e|z\.\s?b|d\.\s?h|p\.\s?ex|p\.\s?ej|vs|etc|cf|incl|resp)\.\s+[\"'*_`(]*\Z", re.IGNORECASE
)
"""A full stop that does not end a sentence."""
_ITEM = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,2}[.)])\s|\s*$")
NEGATION = re.compile(
    r"\b(?:not|never|no|none|nothing|nobody|neither|nor|cannot|avoid|without|refrain|forbidden|prohibited|"
    r"off[- ]limits|stop|except)\b"
    r"|n['’]t\b"
    r"|\b(?:nicht|nie|niemals|kein\w*|ne|pas|jamais|sans|nunca|jamás|sin|não|mai|senza|non|niet|nooit|geen|bez)\b"
    r"|\b(?:не|никогда|нельзя|без)\b|[不别勿禁没]|ない|しない|禁止|금지|마세요|않",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|whether|instead of|rather than|falls|wenn|statt|außer|sauf si|plutôt que|salvo|если)\b"
    r"|如果|除非|もし",
    re.IGNORECASE,
)
_SIGNS = r"""["')\]*_`]*"""
_SENTENCE = re.compile(rf"[.!?…:;]{_SIGNS}\s|[。！？：；\n]")
_REASON = (
    r"\b(?:because|but|so|since|although|though|while|otherwise|weil|aber|denn|sondern|mais|porque|pero)\b"
    r"|\s[—–-]+\s"
)
_STATEMENT = re.compile(rf"{_SENTENCE.pattern}|{_REASON}", re.IGNORECASE)
_CLAUSE = re.compile(rf"[.!?…:;,]{_SIGNS}\s|[。！？：；，、\n]|{_REASON}", re.IGNORECASE)
_ONE_THING = re.compile(rf"{_CLAUSE.pattern}|\b(?:and|then|und|dann|et|puis|y|e)\b", re.IGNORECASE)
_LOOKED_BACK = 2_000
_LOOKED_THROUGH = 60_000
"""Characters of a source that are searched for a reversed claim; a bound on time, chosen by hand."""
_MODAL = frozenset(("may", "must", "need", "shoul", "shall", "could", "would", "might", "plan", "plann"))
_NEAR = 200
_FEW = 60
"""Characters below which a quote of the model carries hardly any context; chosen by hand."""
_FEWEST = 2
"""Words two clauses must share to be about the same thing."""
_MOST_CLAUSES = 40
"""Clauses of a claim that are compared with its sources; a bound on time, chosen by hand."""


# Quotes ----------------------------------------------------------------------------------------------


def is_cut_out(quote: str, source: Wording) -> bool:
    """Whether a short quote was cut out of its sentence, or out of a list of prohibitions.

    ``delete legacy/`` quotes ``never delete legacy/`` and says the opposite.
    """
    quote = quote.strip()
    if quote == source.text:
        return False
    if is_elided(quote):
        return False  # whole lines, with marked omissions
    if len(quote) >= LONG:
        return _follows_negation(quote, [source], _SENTENCE)
    return not any(_stands_alone(source.text, start, end) for start, end in _spans(quote, source))


def is_reversed(quote: str, sources: Iterable[Wording]) -> bool:
    """Whether a short quote omits a negation before it in its line and sentence."""
    return len(quote.strip()) < LONG and _follows_negation(quote.strip(), sources, _SENTENCE)


def is_denied(quote: str, sources: Iterable[Wording]) -> bool:
    """Whether a few words omit a negation before them in their own clause."""
    return len(quote.strip()) < _FEW and _follows_negation(quote.strip(), sources, _CLAUSE)


def is_torn(quote: str, sources: Iterable[Wording]) -> bool:
    """Whether a quote omits that it is negated, asked or conditional, at every place where it occurs."""
    quote = quote.strip()
    if is_elided(quote):
        return False
    spans = [(source.text, span) for source in sources for span in _spans(quote, source)]
    return bool(spans) and all(_is_torn_at(text, *span) for text, span in spans)


def _is_torn_at(source: str, start: int, end: int) -> bool:
    if not source[start:end].endswith(_ENDED):
        rest = source[end : end + _NEAR].partition("\n")[0]
        ends = re.search(r"[.!?。！？](?=\s|$)", rest)
        asked = ends is not None and ends[0] in "?？"
        if asked or NEGATION.search(_CLAUSE.split(rest)[0]):
            return True
    begun = _beginning(source, start, _STATEMENT)
    return bool(NEGATION.search(begun) or _CONDITION.search(begun) or _is_banned(_lead_in(source, start)))


def _is_banned(lead_in: str) -> bool:
    """Whether a lead-in negates what follows (``We must not:``); longer text with a colon does not count."""
    return len(lead_in) < LONG and NEGATION.search(_CLAUSE.split(lead_in.rstrip(" \t*_:："))[-1]) is not None


def _follows_negation(quote: str, sources: Iterable[Wording], ends: re.Pattern[str]) -> bool:
    begun = [_beginning(source.text, start, ends) for source in sources for start, _ in _spans(quote, source)]
    return bool(begun) and all(map(NEGATION.search, begun))


def _beginning(source: str, at: int, ends: re.Pattern[str]) -> str:
    """Return the beginning of the sentence or clause around a position, within its line."""
    line = source[max(source.rfind("\n", 0, at) + 1, at - _LOOKED_BACK) : at]
    return ends.split(line)[-1]


def _spans(quote: str, source: Wording) -> Iterator[tuple[int, int]]:
    """Yield where words occur in a source, exactly or with other spacing and spelling."""
    exact = False
    for at in places(quote, source.text):
        exact = True
        yield at, at + len(quote)
    if not exact:
        words = r"\s+".join(map(re.escape, plain_punctuation(quote).split()))
        yield from (match.span() for match in re.finditer(words, source.straight, re.IGNORECASE))


def _stands_alone(source: str, start: int, end: int) -> bool:
    before = source[max(0, start - _NEAR) : start]
    if not _BEFORE.search(before) or _ABBREVIATED.search(before) or _goes_on(source, start):
        return False
    ended = source[start:end].rstrip("\"')]*_`").endswith(_ENDED)
    if not (ended or (_AFTER.match(source, end) and not _goes_on(source, _next_line(source, end)))):
        return False
    is_pasted = is_foreign(source, start) and is_foreign(source, end - 1)
    return not (is_pasted or NEGATION.search(_lead_in(source, start)))


def _goes_on(source: str, at: int) -> bool:
    """Whether the line that begins here continues the sentence of the line before."""
    line = source.rfind("\n", 0, at) + 1
    above = source[max(0, line - _NEAR) : max(0, line - 1)].rpartition("\n")[2].rstrip(" \t*_`\"')")
    is_begin = not source[line:at].strip(" \t>*_`\"'(")
    return is_begin and bool(above) and above[-1] not in _LINE_ENDS and source[at : at + 1].islower()


def _next_line(source: str, at: int) -> int:
    """Return where the next non-empty line begins, or the end of the text."""
    line = source.find("\n", at) + 1 or len(source)
    return line + len(source[line:]) - len(source[line:].lstrip(" \t")) if line < len(source) else line


def _lead_in(source: str, start: int) -> str:
    """Return the line that introduces the list at this position: ``Never do any of this:``."""
    earlier = source[max(0, start - _LOOKED_BACK) : start].split("\n")[:-1]
    for line in reversed(earlier):
        if not _ITEM.match(line):
            return line if line.rstrip(" \t*_").endswith((":", "：")) else ""
    return ""


# Own words -------------------------------------------------------------------------------------------


_REPORTS = re.compile(
    r"\W*(?:the\s+)?(?:user|agent|assistant|model|team)\s+"
    r"(?:(?:\w+\s+)?(?:ask|want|told|tell|said|say|request|instruct|decid|chose|prefer|agree|state)\w*\s+"
    r"(?:(?:us|me|the\s+agent)\s+)?(?:(?:to|that|for)\s+)?)?",
    re.IGNORECASE,
)
"""How a claim begins that reports who did, said or wanted something; its source says it without that."""


def reversed_clause(text: str, sources: Iterable[Wording], *, strictly: bool) -> str:
    """Return a clause whose content the sources state only with the opposite polarity; "" if there is none.

    If ``strictly``, a negation earlier in the same statement counts too.
    """
    clauses = [*islice(filter(_says_enough, _ONE_THING.split(plain_punctuation(text))), _MOST_CLAUSES)]
    ends = _STATEMENT if strictly else _CLAUSE
    stated = [
        clause
        for source in (sources if clauses else ())
        for clause in ends.split(source.straight[:_LOOKED_THROUGH].casefold())
    ]
    for clause in clauses:
        reported = _REPORTS.match(clause)
        said = clause[reported.end() :] if reported else clause
        words = [word for word in things(said) if word not in _MODAL and not NEGATION.fullmatch(word)]
        if len(words) < _FEWEST:
            continue
        same = [clause for clause in stated if _speaks_of(clause, words, strictly=strictly)]
        if not same:
            continue
        if NEGATION.search(clause):
            turned = not any(map(NEGATION.search, same))
        else:
            turned = all(_denies(clause, words) or (strictly and _precedes(clause, words)) for clause in same)
        if turned:
            return clause.strip()
    return ""


def _speaks_of(text: str, words: Sequence[str], *, strictly: bool) -> bool:
    """Whether a statement is about these words: contains all of them, or if ``strictly`` three in four."""
    if not strictly or len(words) <= _FEWEST:
        return all(occurs(word, text) for word in words)
    return sum(occurs(word, text) for word in words) >= len(words) * 0.75


def _says_enough(clause: str) -> bool:
    return sum(bool(things(word)) for word in clause.split()) >= _FEWEST


def _denies(text: str, words: Sequence[str]) -> bool:
    """Whether a negation in a clause applies to these words: one of them follows it, or nothing does."""
    for negation in NEGATION.finditer(text):
        after = things(_CLAUSE.split(text[negation.end() :])[0])[:1]
        if not after or any(word.startswith(after[0]) or after[0].startswith(word) for word in words):
            return True
    return False


def _precedes(text: str, words: Sequence[str]) -> bool:
    first = min((at for at in map(text.find, words) if at >= 0), default=0)
    return NEGATION.search(text[:first]) is not None


_PERSON = (
    r"(?:users?|customers?|humans?|maintainers?|owners?|boss|managers?|stakeholders?|reviewers?|clients?|"
    r"operators?|benutzer\w*|nutzer\w*|kunde\w*|utilisateurs?|usuarios?|utenti?|käyttäjä)"
)
_ADVERB = (
    r"(?:(?:has|have|had|did|does|now|also|just|already|then|later|since|finally|here\w*|\w+ly)\s+){0,3}"
)
_GRANT = (
    r"(?:allow\w*|permit\w*|approv\w*|authori[sz]\w*|grant\w*|agree\w*|consent\w*|okay\w*|ok'?d|lift\w*|waiv\w*|"
    r"revok\w*|sign(?:s|ed)\s+off|green-?\s?lit|green-?\s?light\w*|cleared|erlaubt\w*|genehmigt\w*|autoris\w*)"
)
_LEAVE = (
    r"(?:approval|permission|consent|blessing|go-?ahead|authori[sz]ation|sign-?off|leave\s+to|green\s+light)"
)
_RULE = r"(?:restrictions?|prohibitions?|bans?|rules?|embargo|guardrails?|safeguards?|constraints?|freeze)"
_GRANTS = re.compile(
    rf"\b{_PERSON}\s+{_ADVERB}{_GRANT}\b"
    rf"|\b(?:with|has|have|had|got|gave|given|received|obtained|granted)\s+(?:\S+\s+){{0,3}}?{_LEAVE}\b"
    rf"|\b{_LEAVE}\s+(?:\S+\s+){{0,3}}?(?:was|is|has\s+been|were|are)\s+(?:now\s+)?(?:given|granted|obtained|there)\b"
    rf"|\b{_RULE}\s+(?:\S+\s+){{0,4}}?(?:gone|lifted|waived|void|suspended|relaxed|revoked|over|ended|expired|obsolete|no\s+longer)\b"
    rf"|\b(?:lifted|waived|suspended|relaxed|revoked)\s+(?:the|all|every|any)\s+(?:\S+\s+)?{_RULE}\b"
    r"|\bas\s+(?:agreed|approved|permitted|authori[sz]ed)\b"
    r"|\bno\s+longer\s+(?:forbidden|blocked|banned|prohibited|restricted|off[- ]limits)\b"
    r"|\b(?:is|are)\s+(?:now\s+)?(?:fine|ok|okay|alright|safe|free|permitted|allowed)\s+to\b",
    re.IGNORECASE,
)
_AGREED = re.compile(
    r"\b(?:approved|approval|authori[sz]ed|authori[sz]ation|permission|consent\w*|agreed|go-ahead|signed\s+off)\b",
    re.IGNORECASE,
)
_MAY = re.compile(
    r"\b(?:may|can|fine|ok|okay|allow\w*|permit\w*|free|safe|approv\w*|agree\w*|authori[sz]\w*|acceptable|"
    r"welcome|cleared|grant\w*|erlaubt|darf|dürfen|peut|puede|può|permis|permitido)\b"
    r"|可以|允许|できる|허용|можно|разреш",
    re.IGNORECASE,
)
_NOT_BARRED = re.compile(
    r"\b(?:not|never|no longer|isn't|wasn't|aren't|weren't|nothing)\s+(?:\w+\s+)?"
    r"(?:blocked|forbidden|banned|prohibited|restricted|refused|off[- ]limits|a problem|wrong)\b"
    r"|\bno\s+(?:problem|restrictions?|rules?|ban|objections?|reason)\b",
    re.IGNORECASE,
)
_RESTRAINT = re.compile(
    r"\b(?:only|requir\w*|needs?|before|until|unless|ask\w*|block\w*|bann\w*|ban|protect\w*|refus\w*|reject\w*|"
    r"untouched|alone|disallow\w*|prevent\w*|a?wait\w*|pending|instead)\b",
    re.IGNORECASE,
)
_RULE_CLAUSE = re.compile(
    r"[.!?…;,:]\s|[。！？；，\n]|\b(?:and|but|und|aber|et|mais|y|pero)\b", re.IGNORECASE
)
_POLITE = ("pleas", "bitte")
_ALLOWING = ("allow", "permi", "ok", "fine")
_FEWEST_OF_RULE = 2
_REMEMBERED = 1_024
_PASSES = 8


def gives_permission(text: str, pins: Sequence[RuleQuote]) -> bool:
    """Whether a text, if believed, would allow something or end one of the rules."""
    if _GRANTS.search(text):
        return True
    if rule_sentences(text, Trust.USER) and (_permits(text) or _would_retire(text, pins)):
        return True
    return _undoes_any(text, pins)


def agreement_words(text: str) -> list[str]:
    """Return the words of agreement in a text; a summariser may not add any."""
    return _AGREED.findall(text)


def _permits(text: str) -> bool:
    cues = {hit.cue for _, evidence in rule_sentences(text, Trust.USER) for hit in evidence.hits}
    return not cues.isdisjoint(("permit", "lift_that"))


def _would_retire(text: str, pins: Iterable[RuleQuote]) -> bool:
    active = _active(tuple([pin.quote for pin in pins]))
    return bool(active and retire(active, text_message(Role.USER, text)))


@lru_cache(maxsize=_PASSES)
def _active(quotes: tuple[str, ...]) -> ActiveRules:
    """Return the rules of a pass, parsed once, to compare every permission with them."""
    return ActiveRules(rule for quote in quotes for rule in _rules(quote))


@lru_cache(maxsize=_REMEMBERED)
def _rules(quote: str) -> tuple[Rule, ...]:
    return tuple(
        replace(candidate, id=candidate.quote)
        for candidate in find_candidates(text_message(Role.USER, quote))
    )


@lru_cache(maxsize=_REMEMBERED)
def _bans(quote: str) -> tuple[tuple[str, ...], ...]:
    """Return what a rule forbids: the content words of each negated clause."""
    clauses = (clause for clause in _RULE_CLAUSE.split(quote) if NEGATION.search(clause))
    banned = (
        tuple(word for word in things(NEGATION.sub(" ", clause)) if word not in _POLITE) for clause in clauses
    )
    return tuple(words for words in banned if len(words) >= _FEWEST_OF_RULE)


def _undoes_any(text: str, pins: Iterable[RuleQuote]) -> bool:
    """Whether a text mentions what one of the rules forbids, without forbidding it."""
    line = plain(text)
    return any(_undoes(line, banned) for pin in pins for banned in _bans(pin.quote))


def _undoes(text: str, banned: Sequence[str]) -> bool:
    if not occurs(banned[0], text):
        return False
    if all(occurs(word, text) for word in banned):
        return _NOT_BARRED.search(text) is not None or not (_RESTRAINT.search(text) or _forbids(text, banned))
    # "OK to push": the rule's words about place and time may be missing.
    if not _MAY.search(text) or len(content(text)) > FEWEST_WORDS:
        return False
    return not (_RESTRAINT.search(text) or _forbids(text, banned))


def _forbids(text: str, banned: Sequence[str]) -> bool:
    """Whether a text negates what is banned, or permission for it."""
    for negation in NEGATION.finditer(text):
        after = things(re.split(r"[.!?…;:,]\s", text[negation.end() :])[0])[:_FEWEST_OF_RULE]
        if not after or not {*after}.isdisjoint((*banned, *_ALLOWING)):
            return True
    return False
