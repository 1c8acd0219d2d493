"""What a quote omits from its sentence, and what a paraphrase turns into its opposite.

"delete legacy/" quotes "never delete legacy/" and says the opposite (``is_cut_out``, ``is_reversed``,
``is_denied``, ``is_torn``, from short quotes of the user to quotes that steer); "the user wants the cache
cleared" paraphrases "don't clear the cache" (``reversed_clause``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from clew.compaction.verify.assertions import occurs, things
from clew.compaction.verify.wording import LONG, Wording, is_elided, places, plain_punctuation
from clew.ledger.phrases import is_foreign

_BEFORE = re.compile(
    r"""(?:
      (?:\A|\n)[ \t>*+•#-]*(?:\d{1,2}[.)])?[ \t]*(?:\[[ xX]\][ \t]*)?["'*_`(]*    # a line begins
    | [.!?…]["')\]*_`]*\s+["'*_`(]*                                              # a sentence ended
    | [。！？]\s*
    )\Z""",
    re.VERBOSE,
)
"""What is before a quote that begins a line or a sentence."""
_AFTER = re.compile(r"""[ \t]*["')\]*_`,;]*(?:[.!?…。！？]|[ \t]*(?:\n|\Z))""")
"""What is after a quote that ends one."""
_ENDED = (".", "!", "?", "…", "。", "！", "？")
"""The ends of a sentence."""
_LINE_ENDS = ".!?…:;。！？：；|"
"""The ends of a line after which the next one begins something new."""
_ABBREVIATED = re.compile(
    r"\b(?:e\.g|i\.e|z\.\s?b|d\.\s?h|p\.\s?ex|p\.\s?ej|vs|etc|cf|incl|resp)\.\s+[\"'*_`(]*\Z", re.IGNORECASE
)
"""A full stop that does not end a sentence."""
_ITEM = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,2}[.)])\s|\s*$")
"""The beginning of a list item, or an empty line."""
NEGATION = re.compile(
    r"\b(?:not|never|no|none|nothing|nobody|neither|nor|cannot|avoid|without|refrain|forbidden|prohibited|"
    r"off[- ]limits|stop|except)\b"
    r"|n['’]t\b"
    r"|\b(?:nicht|nie|niemals|kein\w*|ne|pas|jamais|sans|nunca|jamás|sin|não|mai|senza|non|niet|nooit|geen|bez)\b"
    r"|\b(?:не|никогда|нельзя|без)\b|[不别勿禁没]|ない|しない|禁止|금지|마세요|않",
    re.IGNORECASE,
)
"""Words that negate what follows, in the languages of the rule finder."""
_CONDITION = re.compile(
    r"\b(?:if|unless|whether|instead of|rather than|falls|wenn|statt|außer|sauf si|plutôt que|salvo|если)\b"
    r"|如果|除非|もし",
    re.IGNORECASE,
)
"""Words that make what follows conditional, or say what is not done."""
_SIGNS = r"""["')\]*_`]*"""
_SENTENCE = re.compile(rf"[.!?…:;]{_SIGNS}\s|[。！？：；\n]")
_REASON = (
    r"\b(?:because|but|so|since|although|though|while|otherwise|weil|aber|denn|sondern|mais|porque|pero)\b"
    r"|\s[—–-]+\s"
)
# Where a text ends for a negation in it, from the widest to the narrowest: a sentence, a statement (up to its
# reason), a clause, one of several things ("clean up and then push").
_STATEMENT = re.compile(rf"{_SENTENCE.pattern}|{_REASON}", re.IGNORECASE)
_CLAUSE = re.compile(rf"[.!?…:;,]{_SIGNS}\s|[。！？：；，、\n]|{_REASON}", re.IGNORECASE)
_ONE_THING = re.compile(rf"{_CLAUSE.pattern}|\b(?:and|then|und|dann|et|puis|y|e)\b", re.IGNORECASE)
_LOOKED_BACK = 2_000
"""Characters before a quote that are read for its sentence or lead-in; a bound on time, chosen by hand."""
_LOOKED_THROUGH = 60_000
"""Characters of a source that are searched for a reversed claim; a bound on time, chosen by hand."""
_MODAL = frozenset(("may", "must", "need", "shoul", "shall", "could", "would", "might", "plan", "plann"))
"""Stems of words that say how something is done, not what."""
_NEAR = 200
"""Characters on either side of a quote that show whether it is a whole sentence."""
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
