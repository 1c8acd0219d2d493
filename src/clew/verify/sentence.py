"""What a quote leaves out of the sentence it stands in, and what a claim turns round in its own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from clew.ledger.phrases import is_foreign
from clew.verify.own_words import stands, things
from clew.verify.quotes import LONG, Wording, is_elided, places, straight

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
"""A full stop that ends no sentence."""
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
"""Characters of a source that are looked through for what a claim turns round."""
_MODAL = frozenset(("may", "must", "need", "shoul", "shall", "could", "would", "might", "plan", "plann"))
_NEAR = 200
_FEW = 60
"""Characters below which a quote of a model's hardly brings any context along."""
_FEWEST = 2
"""Words that must be the same before two clauses can be said to speak of the same."""
_MOST_CLAUSES = 40
"""Of a claim, that are compared with its sources."""


# Quotes ----------------------------------------------------------------------------------------------


def is_cut_out(quote: str, source: Wording) -> bool:
    """Tell whether a short quote was cut out of its sentence, or out of a list of what is not to be done.

    ``delete legacy/`` is a quote of ``never delete legacy/``, and says the opposite.
    """
    quote = quote.strip()
    if quote == source.text:
        return False
    if is_elided(quote):
        return False  # whole lines, and what is missing is marked
    if len(quote) >= LONG:
        return _follows_negation(quote, [source], _SENTENCE)
    return not any(_stands_alone(source.text, start, end) for start, end in _spans(quote, source))


def is_reversed(quote: str, sources: Iterable[Wording]) -> bool:
    """Tell whether a short quote leaves out a negation that stands before it in its line and sentence."""
    return len(quote.strip()) < LONG and _follows_negation(quote.strip(), sources, _SENTENCE)


def is_denied(quote: str, sources: Iterable[Wording]) -> bool:
    """Tell whether a few words leave out a negation that stands before them in their very clause."""
    return len(quote.strip()) < _FEW and _follows_negation(quote.strip(), sources, _CLAUSE)


def is_torn(quote: str, sources: Iterable[Wording]) -> bool:
    """Tell whether a quote leaves out that it is denied, asked or only supposed, wherever it stands."""
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
    begun = _begun(source, start, _STATEMENT)
    return bool(NEGATION.search(begun) or _CONDITION.search(begun) or _is_banned(_lead_in(source, start)))


def _is_banned(lead_in: str) -> bool:
    """Tell whether a lead-in denies what follows: ``We must not:``, but no longer text with a colon."""
    return len(lead_in) < LONG and NEGATION.search(_CLAUSE.split(lead_in.rstrip(" \t*_:："))[-1]) is not None


def _follows_negation(quote: str, sources: Iterable[Wording], ends: re.Pattern[str]) -> bool:
    begun = [_begun(source.text, start, ends) for source in sources for start, _ in _spans(quote, source)]
    return bool(begun) and all(map(NEGATION.search, begun))


def _begun(source: str, at: int, ends: re.Pattern[str]) -> str:
    """Return how the sentence or clause around a place begins, as far as it stands in the same line."""
    line = source[max(source.rfind("\n", 0, at) + 1, at - _LOOKED_BACK) : at]
    return ends.split(line)[-1]


def _spans(quote: str, source: Wording) -> Iterator[tuple[int, int]]:
    """Yield where words stand in a source, exactly or spaced and spelt a little differently."""
    exact = False
    for at in places(quote, source.text):
        exact = True
        yield at, at + len(quote)
    if not exact:
        words = r"\s+".join(map(re.escape, straight(quote).split()))
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
    """Tell whether a line that begins here goes on with the sentence of the one before it."""
    line = source.rfind("\n", 0, at) + 1
    above = source[max(0, line - _NEAR) : max(0, line - 1)].rpartition("\n")[2].rstrip(" \t*_`\"')")
    is_begin = not source[line:at].strip(" \t>*_`\"'(")
    return is_begin and bool(above) and above[-1] not in _LINE_ENDS and source[at : at + 1].islower()


def _next_line(source: str, at: int) -> int:
    """Return where the next line begins to say something; at the end of the text where there is none."""
    line = source.find("\n", at) + 1 or len(source)
    return line + len(source[line:]) - len(source[line:].lstrip(" \t")) if line < len(source) else line


def _lead_in(source: str, start: int) -> str:
    """Return the line that leads in the list which stands here: ``Never do any of this:``."""
    earlier = source[max(0, start - _LOOKED_BACK) : start].split("\n")[:-1]
    for line in reversed(earlier):
        if not _ITEM.match(line):
            return line if line.rstrip(" \t*_").endswith((":", "：")) else ""
    return ""


# Own words -------------------------------------------------------------------------------------------


def turned_round(text: str, sources: Iterable[Wording], *, strictly: bool) -> str:
    """Return a clause that says of the same things what only stands negated in the sources, or the reverse.

    Strictly, a negation also counts that stands further ahead in the same statement.
    """
    clauses = [*islice(filter(_says_enough, _ONE_THING.split(straight(text))), _MOST_CLAUSES)]
    ends = _STATEMENT if strictly else _CLAUSE
    told = [
        said
        for source in (sources if clauses else ())
        for said in ends.split(source.straight[:_LOOKED_THROUGH].casefold())
    ]
    for clause in clauses:
        words = [word for word in things(clause) if word not in _MODAL and not NEGATION.fullmatch(word)]
        same = [said for said in told if _speaks_of(said, words, strictly=strictly)]
        if not same:
            continue
        if NEGATION.search(clause):
            turned = not any(map(NEGATION.search, same))
        else:
            turned = all(_denies(said, words) or (strictly and _precedes(said, words)) for said in same)
        if turned:
            return clause.strip()
    return ""


def _speaks_of(said: str, words: Sequence[str], *, strictly: bool) -> bool:
    """Tell whether what was said is about these words: all of them, or strictly three in four."""
    if not strictly or len(words) <= _FEWEST:
        return all(stands(word, said) for word in words)
    return sum(stands(word, said) for word in words) >= len(words) * 0.75


def _says_enough(clause: str) -> bool:
    return sum(bool(things(word)) for word in clause.split()) >= _FEWEST


def _denies(said: str, words: Sequence[str]) -> bool:
    """Tell whether a negation in a clause is of these words: one comes next after it, or nothing does."""
    for negation in NEGATION.finditer(said):
        after = things(_CLAUSE.split(said[negation.end() :])[0])[:1]
        if not after or after[0] in words:
            return True
    return False


def _precedes(said: str, words: Sequence[str]) -> bool:
    first = min((at for at in map(said.find, words) if at >= 0), default=0)
    return NEGATION.search(said[:first]) is not None
