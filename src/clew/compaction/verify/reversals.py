"""Find quotes that lost a negation, and paraphrases that say the opposite of their source.

In: a text from a digest and the texts it cites. Out: whether it turns their meaning around. ``grounding.py``
asks:

- ``is_cut_out``, of words given as the user's own: they must be a whole sentence. "delete legacy/" is cut out
  of "never delete legacy/".
- ``is_reversed``, of other short quotes of the user: no negation before them in their sentence.
- ``is_denied``, of a few words of the model: no negation before them in their clause.
- ``is_torn``, of a quote that steers the work: also no question or condition. "push to main" is torn out of
  "should we push to main?".
- ``reversed_clause``, of a claim in the summariser's own words: "the user wants the cache cleared" reverses
  "don't clear the cache".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from clew.compaction.verify.assertions import occurs, things
from clew.compaction.verify.wording import LONG, Wording, is_elided, places, plain_punctuation
from clew.ledger.phrases import is_foreign

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

# How far a negation reaches, from the widest to the narrowest:
_SIGNS = r"""["')\]*_`]*"""
"""Marks that may close a sentence after its full stop."""
_REASON = (
    r"\b(?:because|but|so|since|although|though|while|otherwise|weil|aber|denn|sondern|mais|porque|pero)\b"
    r"|\s[—–-]+\s"
)
"""How the reason of a statement begins."""
_SENTENCE_END = re.compile(rf"[.!?…:;]{_SIGNS}\s|[。！？：；\n]")
"""The end of a sentence..."""
_STATEMENT_END = re.compile(rf"{_SENTENCE_END.pattern}|{_REASON}", re.IGNORECASE)
"""...of a statement, which may be followed by its reason..."""
_CLAUSE_END = re.compile(rf"[.!?…:;,]{_SIGNS}\s|[。！？：；，、\n]|{_REASON}", re.IGNORECASE)
"""...of a clause..."""
_THING_END = re.compile(rf"{_CLAUSE_END.pattern}|\b(?:and|then|und|dann|et|puis|y|e)\b", re.IGNORECASE)
"""...and of one of several things in a clause: "clean up and then push"."""

# What surrounds a quote that is a whole sentence or line:
_AT_START = re.compile(
    r"""(?:
      (?:\A|\n)[ \t>*+•#-]*(?:\d{1,2}[.)])?[ \t]*(?:\[[ xX]\][ \t]*)?["'*_`(]*    # a line begins
    | [.!?…]["')\]*_`]*\s+["'*_`(]*                                              # a sentence ended
    | [。！？]\s*
    )\Z""",
    re.VERBOSE,
)
"""What is before a quote that begins a line or a sentence."""
_AT_END = re.compile(r"""[ \t]*["')\]*_`,;]*(?:[.!?…。！？]|[ \t]*(?:\n|\Z))""")
"""What is after a quote that ends one."""
_FULL_STOPS = (".", "!", "?", "…", "。", "！", "？")
_LINE_ENDS = ".!?…:;。！？：；|"
"""The ends of a line after which the next one begins something new."""
_ABBREVIATED = re.compile(
    r"\b(?:e\.g|i\.e|z\.\s?b|d\.\s?h|p\.\s?ex|p\.\s?ej|vs|etc|cf|incl|resp)\.\s+[\"'*_`(]*\Z", re.IGNORECASE
)
"""A full stop that does not end a sentence."""
_ITEM = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,2}[.)])\s|\s*$")
"""The beginning of a list item, or an empty line."""

# Sizes, chosen by hand; the first three are bounds on time.
_LOOKED_BACK = 2_000
"""Characters before a quote that are read for its sentence or lead-in."""
_LOOKED_THROUGH = 60_000
"""Characters of a source that are searched for a reversed claim."""
_MOST_CLAUSES = 40
"""Clauses of a claim that are compared with its sources."""
_NEARBY = 200
"""Characters on either side of a quote that show whether it is a whole sentence."""
_FEW_CHARACTERS = 60
"""Characters below which a quote of the model carries hardly any context."""
_FEWEST_WORDS = 2
"""Words two clauses must share to be about the same thing."""


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
        return _follows_negation(quote, [source], _SENTENCE_END)
    return not any(_is_whole_sentence(source.text, start, end) for start, end in _places_of(quote, source))


def is_reversed(quote: str, sources: Iterable[Wording]) -> bool:
    """Whether a short quote omits a negation before it in its line and sentence."""
    return len(quote.strip()) < LONG and _follows_negation(quote.strip(), sources, _SENTENCE_END)


def is_denied(quote: str, sources: Iterable[Wording]) -> bool:
    """Whether a few words omit a negation before them in their own clause."""
    return len(quote.strip()) < _FEW_CHARACTERS and _follows_negation(quote.strip(), sources, _CLAUSE_END)


def is_torn(quote: str, sources: Iterable[Wording]) -> bool:
    """Whether a quote omits that it is negated, asked or conditional, at every place where it occurs."""
    quote = quote.strip()
    if is_elided(quote):
        return False
    spans = [(source.text, span) for source in sources for span in _places_of(quote, source)]
    return bool(spans) and all(_is_torn_at(text, *span) for text, span in spans)


def _is_torn_at(source: str, start: int, end: int) -> bool:
    """Whether the words around a quote negate it, ask it or make it conditional."""
    if not source[start:end].endswith(_FULL_STOPS):
        rest = source[end : end + _NEARBY].partition("\n")[0]
        ends = re.search(r"[.!?。！？](?=\s|$)", rest)
        asked = ends is not None and ends[0] in "?？"
        if asked or NEGATION.search(_CLAUSE_END.split(rest)[0]):
            return True
    begun = _start_of(source, start, _STATEMENT_END)
    return bool(NEGATION.search(begun) or _CONDITION.search(begun) or _forbids(_lead_in(source, start)))


def _forbids(lead_in: str) -> bool:
    """Whether a lead-in negates what follows (``We must not:``); longer text with a colon does not count."""
    return (
        len(lead_in) < LONG and NEGATION.search(_CLAUSE_END.split(lead_in.rstrip(" \t*_:："))[-1]) is not None
    )


def _follows_negation(quote: str, sources: Iterable[Wording], ends: re.Pattern[str]) -> bool:
    """Whether a negation precedes a quote in its sentence or clause, wherever the quote occurs."""
    begun = [
        _start_of(source.text, start, ends) for source in sources for start, _ in _places_of(quote, source)
    ]
    return bool(begun) and all(map(NEGATION.search, begun))


def _start_of(source: str, at: int, ends: re.Pattern[str]) -> str:
    """Return the beginning of the sentence or clause around a position, within its line."""
    line = source[max(source.rfind("\n", 0, at) + 1, at - _LOOKED_BACK) : at]
    return ends.split(line)[-1]


def _places_of(quote: str, source: Wording) -> Iterator[tuple[int, int]]:
    """Yield where words occur in a source, exactly or with other spacing and spelling."""
    exact = False
    for at in places(quote, source.text):
        exact = True
        yield at, at + len(quote)
    if not exact:
        words = r"\s+".join(map(re.escape, plain_punctuation(quote).split()))
        yield from (match.span() for match in re.finditer(words, source.straight, re.IGNORECASE))


def _is_whole_sentence(source: str, start: int, end: int) -> bool:
    """Whether a quote is a whole sentence or line of the speaker, not in a list of prohibitions."""
    before = source[max(0, start - _NEARBY) : start]
    if not _AT_START.search(before) or _ABBREVIATED.search(before) or _continues_line_above(source, start):
        return False
    ended = source[start:end].rstrip("\"')]*_`").endswith(_FULL_STOPS)
    if not (
        ended or (_AT_END.match(source, end) and not _continues_line_above(source, _next_line(source, end)))
    ):
        return False
    is_pasted = is_foreign(source, start) and is_foreign(source, end - 1)
    return not (is_pasted or NEGATION.search(_lead_in(source, start)))


def _continues_line_above(source: str, at: int) -> bool:
    """Whether the line that begins here continues the sentence of the line before."""
    line = source.rfind("\n", 0, at) + 1
    above = source[max(0, line - _NEARBY) : max(0, line - 1)].rpartition("\n")[2].rstrip(" \t*_`\"')")
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


_HOW_DONE = frozenset(("may", "must", "need", "shoul", "shall", "could", "would", "might", "plan", "plann"))
"""Stems of words that say how something is done, not what."""
_LEAST_SHARED = 0.75
"""Share of the words of a longer clause that a statement about the same has, if the check is strict."""
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
    clauses = [*islice(filter(_says_enough, _THING_END.split(plain_punctuation(text))), _MOST_CLAUSES)]
    if not clauses:
        return ""
    ends = _STATEMENT_END if strictly else _CLAUSE_END
    stated = [
        statement
        for source in sources
        for statement in ends.split(source.straight[:_LOOKED_THROUGH].casefold())
    ]
    reversed_clauses = (clause for clause in clauses if _is_opposite(clause, stated, strictly=strictly))
    return next(reversed_clauses, "").strip()


def _is_opposite(clause: str, stated: Iterable[str], *, strictly: bool) -> bool:
    """Whether every statement about the things of a clause has the opposite polarity, and there is one."""
    reported = _REPORTS.match(clause)
    said = clause[reported.end() :] if reported else clause
    words = [word for word in things(said) if word not in _HOW_DONE and not NEGATION.fullmatch(word)]
    if len(words) < _FEWEST_WORDS:
        return False
    same = [statement for statement in stated if _is_about(statement, words, strictly=strictly)]
    if not same:
        return False
    if NEGATION.search(clause):
        return not any(map(NEGATION.search, same))
    return all(_denies(one, words) or (strictly and _follows_negation_in(one, words)) for one in same)


def _is_about(text: str, words: Sequence[str], *, strictly: bool) -> bool:
    """Whether a statement is about these words: contains all of them, or if ``strictly`` most."""
    if not strictly or len(words) <= _FEWEST_WORDS:
        return all(occurs(word, text) for word in words)
    return sum(occurs(word, text) for word in words) >= len(words) * _LEAST_SHARED


def _says_enough(clause: str) -> bool:
    """Whether a clause has enough words to be compared."""
    return sum(bool(things(word)) for word in clause.split()) >= _FEWEST_WORDS


def _denies(text: str, words: Sequence[str]) -> bool:
    """Whether a negation in a clause applies to these words: one of them follows it, or nothing does."""
    for negation in NEGATION.finditer(text):
        after = things(_CLAUSE_END.split(text[negation.end() :])[0])[:1]
        if not after or any(word.startswith(after[0]) or after[0].startswith(word) for word in words):
            return True
    return False


def _follows_negation_in(text: str, words: Sequence[str]) -> bool:
    """Whether a negation precedes the first of these words."""
    first = min((at for at in map(text.find, words) if at >= 0), default=0)
    return NEGATION.search(text[:first]) is not None
