"""Find a claim that says of the same matter the opposite of what its sources say.

"The tests in io are green on Windows" for "The tests in io fail on Windows"; "rejected Postgres" for "chose
Postgres"; "anyone may approve" for "only Maria may approve"; "after" the migration for "before" it.
Sentences are compared by their other words: a claim is turned if every sentence of its sources that speaks
of the same has the opposite word, and none has the claim's. In other languages than English, only the most
common opposites are known (``_FOREIGN``).

``negated_sentence``: "the data is complete" for "the data is not complete", in the languages of ``NEGATION``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clew.compaction.verify.assertions import things
from clew.compaction.verify.reversals import NEGATION
from clew.compaction.verify.wording import is_unspaced


class _Scale(NamedTuple):
    """Two groups of words with opposite meanings."""

    one: re.Pattern[str]
    other: re.Pattern[str]

    def negates(self) -> bool:
        """Whether "not" turns a word of one group into the meaning of the other."""
        return self not in _NOT_NEGATED


def _scale(one: str, other: str) -> _Scale:
    return _Scale(*(re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for words in (one, other)))


def _signs(one: str, other: str) -> _Scale:
    """Return a scale of words in scripts without spaces between them."""
    return _Scale(re.compile(one), re.compile(other))


_FOREIGN = (
    _scale(  # up, down
        "steigt|stieg|gestiegen|erhöht\\w*|augment\\w*|sube|subió|aument\\w*|sale|salit\\w*|sobe|subiu|stijgt|steeg"
        "|gestegen|вырос\\w*|повысил\\w*|раст[её]т",
        "sinkt|sank|gesunken|gesenkt|fiel|gefallen|diminu\\w*|baiss\\w*|bajó|disminuy\\w*|scend\\w*|sces\\w*|caiu"
        "|daalt|daalde|gedaald|снизил\\w*|упал\\w*|падает",
    ),
    _scale(  # succeeded, failed
        "erfolgreich|gelungen|bestanden|réuss\\w*|exitos\\w*|éxito|riuscit\\w*|sucesso|geslaagd|gelukt|успешно",
        "fehlgeschlagen|gescheitert|misslungen|échou\\w*|échec|falló|fallado|fracas\\w*|fallit\\w*|falhou|mislukt"
        "|провал\\w*",
    ),
    _scale(  # granted, denied
        "genehmigt|bewilligt|angenommen|accept[ée]\\w*|approuv\\w*|accord[ée]\\w*|aprobad\\w*|aceptad\\w*|concedid\\w*"
        "|approvat\\w*|accettat\\w*|aprovad\\w*|goedgekeurd|toegekend|одобр\\w*|принят\\w*",
        "abgelehnt|verweigert|zurückgewiesen|refus[ée]\\w*|rejet\\w*|rechazad\\w*|denegad\\w*|respint\\w*"
        "|rifiutat\\w*|rejeitad\\w*|recusad\\w*|afgewezen|geweigerd|отклон\\w*|отказан\\w*",
    ),
    _scale(  # found, lost
        "gefunden|trouv[ée]\\w*|encontrad\\w*|trovat\\w*|gevonden|найден\\w*",
        "verloren|perdu\\w*|perdid\\w*|perso|persa|потерян\\w*",
    ),
    _scale(  # allowed, forbidden
        "erlaubt|gestattet|autoris\\w*|permitid\\w*|permess\\w*|toegestaan|разрешен\\w*",
        "verboten|untersagt|interdit\\w*|prohibid\\w*|vietat\\w*|proibid\\w*|запрещен\\w*",
    ),
    _signs("成功|(?<!未)通过|성공", "失败|失敗|未通过|실패"),
    _signs("上升|上涨|增加|提高|上昇|증가|상승", "下降|下跌|减少|降低|減少|低下|감소|하락"),
    _signs("批准|同意|接受|承認|승인", "拒绝|驳回|否决|却下|拒否|거절|거부"),
    _signs("找到|找回", "丢失|遗失"),
    _signs("允许|許可", "禁止"),
    _signs("启用|有効", "禁用|停用|無効"),
)
_ORDER = _scale("before|prior to", "after|once|following")
_WHO = _scale(
    "(?<!not )only|exclusively|nobody but|no one but|except",
    "anyone|everyone|anybody|everybody|any",
)
_FOUND = _scale("found|recovered", "lost")
_NOT_NEGATED = (_ORDER, _WHO, _FOUND)
_SCALES = (
    _scale(
        "pass(?:es|ed|ing)?|succeed(?:s|ed|ing)?|success(?:ful|fully)?|green|works|worked|working|healthy",
        "fail(?:s|ed|ing|ures?)?|red|brok(?:e|en)|breaks|crash(?:es|ed|ing)?|errors? out|unhealthy",
    ),
    _scale(
        "chose|chosen|picked|selected|accepted|approved|adopted|prefers?|preferred|went with|settled on",
        "reject(?:s|ed)?|ruled out|declined|refused|discarded|abandoned|turned down|decided against",
    ),
    _scale(
        "enabled?|enables|activated|switched on|turned on",
        "disabled?|disables|deactivated|switched off|turned off",
    ),
    _scale("allowed|permitted|fine|okay", "forbidden|prohibited|banned|disallowed|off limits"),
    _scale("required|mandatory|obligatory", "optional|unnecessary|not needed"),
    _scale("always", "never"),
    _scale(
        "increas(?:es|ed|ing|e)|raised|grew|rose|rises|risen|higher|faster",
        "decreas(?:es|ed|ing|e)|lowered|reduced|fell|fallen|dropped|slower",
    ),
    _scale("safe|secure", "unsafe|insecure|dangerous|vulnerable"),
    _scale(
        "keep(?:s|ing)?|kept|retain(?:s|ed)?|preserv(?:e|es|ed)|leaves? [^.;]{0,40}?(?:as (?:it|they)|alone)",
        "remov(?:e|es|ed|ing)|delet(?:e|es|ed|ing)|discard(?:s|ed)?|no longer needed|obsolete",
    ),
    _scale("present|available", "missing|absent|unavailable|gone"),
    _scale("granted|upheld", "denied|dismissed|overruled"),
    _scale("above|more than|at least|minimum", "below|less than|fewer than|at most|maximum"),
    *_FOREIGN,
    _FOUND,
    _ORDER,
    _WHO,
)
_PREFERRED = re.compile(r"(\w[\w.-]*) (?:over|instead of|rather than) (\w[\w.-]*)", re.IGNORECASE)
"""What was taken, and what was not: "Postgres over MySQL"."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+|(?<=,)\s+(?=(?:but|so|and|while|though)\b)")
_REACH = 24
"""Characters before a word in which a negation applies to it: "did not really pass"."""
_ABOUT_THE_SAME = 0.6
"""Share of a claim's other words that a sentence about the same matter has; fitted on 60 pairs."""
_MAYBE_THE_SAME = 0.3
"""Share from which a sentence that agrees with the claim clears it."""
_FEWEST = 2
"""Other words that a claim must have to be compared."""
_READ = 60_000
"""Characters of a source that are read: a bound on time, chosen by hand."""
_LONGEST = 400
"""Characters of a sentence of a claim that is compared: longer ones say several things."""


def turned_word(text: str, sources: Iterable[str]) -> tuple[str, str] | None:
    """Return a word of a claim and the opposite one that its sources have for the same; else None."""
    claimed = [
        (sentence, scale, side)
        for sentence in _sentences(text)
        if len(sentence) <= _LONGEST
        for scale in _SCALES
        if (side := _side(sentence, scale)) is not None
    ]
    read = [source[:_READ] for source in sources] if claimed or _PREFERRED.search(text) else []
    chosen, theirs = _choices(text), {pair for source in read for pair in _choices(source)}
    for taken, left in chosen - theirs:
        if (left, taken) in theirs:
            return f"{taken} over {left}", f"{left} over {taken}"
    said = [sentence for source in read for sentence in _sentences(source)] if claimed else []
    for sentence, scale, (is_one, word) in claimed:
        words = set(_others(sentence, scale))
        about = said
        if len(words) < _FEWEST:  # too few to compare by: all else must be the same
            about = [other for other in said if words and _rest(other, scale) == _rest(sentence, scale)]
        opposite = _opposite(words, scale, is_one=is_one, said=about)
        if opposite:
            return word, opposite
    return None


def _choices(text: str) -> set[tuple[str, str]]:
    """Return what a text says was taken over what."""
    return {(taken.lower(), left.lower().rstrip(".")) for taken, left in _PREFERRED.findall(text)}


def _opposite(words: set[str], scale: _Scale, *, is_one: bool, said: Iterable[str]) -> str:
    """Return the opposite word in the sentences about the same words; "" if one of them agrees."""
    opposite = ""
    for sentence in said:
        ones, others = scale.one.search(sentence), scale.other.search(sentence)
        if not ones and not others:
            continue
        share = len(words & set(things(sentence))) / len(words)
        if share < _MAYBE_THE_SAME:
            continue
        side = _side(sentence, scale)
        if side is None or side[0] == is_one:
            return ""
        if share >= _ABOUT_THE_SAME:
            opposite = side[1]
    return opposite


def _side(sentence: str, scale: _Scale) -> tuple[bool, str] | None:
    """Return the group that a sentence's words of a scale belong to, and the first of them; None if mixed."""
    sides: dict[bool, str] = {}
    for is_one, group in ((True, scale.one), (False, scale.other)):
        for match in group.finditer(sentence):
            before = sentence[max(0, match.start() - _REACH) : match.start()]
            turned = scale.negates() and NEGATION.search(before) is not None
            sides.setdefault(is_one != turned, match[0])
    return next(iter(sides.items())) if len(sides) == 1 else None


def _rest(sentence: str, scale: _Scale) -> str:
    """Return the letters and digits of a sentence without the words of a scale."""
    return "".join(filter(str.isalnum, scale.other.sub(" ", scale.one.sub(" ", sentence.casefold()))))


def _others(sentence: str, scale: _Scale) -> Iterator[str]:
    """Yield the stems of a sentence without the words of a scale."""
    rest = scale.other.sub(" ", scale.one.sub(" ", sentence))
    yield from (word for word in things(rest) if not NEGATION.fullmatch(word))


def _sentences(text: str) -> Iterator[str]:
    yield from (sentence for sentence in _SENTENCE.split(text) if sentence.strip())


_NEGATIONS = re.compile(rf"没有|[未无]|\b(?:does|do|did)(?=n['’]t| not)|{NEGATION.pattern}", re.IGNORECASE)
"""Negations as they are taken out of a sentence to compare the rest."""
_CODE = re.compile(r"[(){}=`]")
"""Signs of code, in which "not" and "None" are no negations of what is said."""
_WORD = re.compile(r"[^\W\d_]+")


def negated_sentence(text: str, sources: Iterable[str]) -> str | None:
    """Return a sentence of a claim that its sources have only with a negation more or less; else None."""
    claimed = {
        _without_negation(sentence): sentence
        for sentence in _sentences(text)
        if len(sentence) <= _LONGEST and not _CODE.search(sentence) and len(things(sentence)) >= _FEWEST
    }
    keys = {_longest_word(sentence) for sentence in claimed.values()}
    said: dict[str, set[bool]] = {}
    for source in sources if claimed else ():
        read = source[:_READ].casefold()
        for sentence in _sentences(read) if any(key in read for key in keys) else ():
            if any(key in sentence for key in keys) and (rest := _without_negation(sentence)) in claimed:
                said.setdefault(rest, set()).add(_NEGATIONS.search(sentence) is not None)
    for rest, sentence in claimed.items():
        if rest in said and (_NEGATIONS.search(sentence) is not None) not in said[rest]:
            return sentence.strip()
    return None


def _longest_word(sentence: str) -> str:
    """Return the longest word of a sentence besides negations, by which sentences like it are searched."""
    word = max(_WORD.findall(_NEGATIONS.sub(" ", sentence.casefold())), key=len, default="")
    return word[:2] if is_unspaced(word[:1] or " ") else word


def _without_negation(sentence: str) -> str:
    """Return the letters and digits of a sentence without its negations."""
    return "".join(filter(str.isalnum, _NEGATIONS.sub("", sentence.casefold())))
