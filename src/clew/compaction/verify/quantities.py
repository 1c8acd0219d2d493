"""Find quantities that a claim changed: another unit, size, date, time, rate or sign, or a number in words.

- ``changed_quantity``: "45 s" for "45 ms", "3 billion" for "3 million", "7 minutes" or "unlimited" for "7"
- ``changed_time``: "14 April" for "14 March", "9:30 pm" for "9:30 am"
- ``changed_count``: "three times a day" for "twice a day", "seven days" for "three days"
- ``invented_number_word``: "seventeen files", "nine hundred EUR" if no source says that number
- ``turned_sign``: "-412.80" for "412.80"

Each compares numbers with what is next to them in the sources, so that a reworded sentence is compared, too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

_READ = 50_000
"""Characters of a source that are read: a bound against huge outputs, chosen by hand."""

# Units --------------------------------------------------------------------------------------------------

_FORMS = {
    "ms": r"ms|msecs?|milliseconds?",
    "s": r"s|secs?|seconds?",
    "min": r"mins?|minutes?",
    "h": r"h|hrs?|hours?",
    "day": r"days?",
    "week": r"weeks?",
    "month": r"months?",
    "year": r"years?",
    "pp": r"percentage points?|pp|Prozentpunkten?",
    "%": r"%|percent|pct|Prozent",
    "KB": r"[kK]i?B|kilobytes?",
    "MB": r"Mi?B|megabytes?",
    "GB": r"Gi?B|gigabytes?",
    "EUR": r"€|EUR|euros?",
    "USD": r"USD|dollars?",
    "kg": r"kg|kilograms?|Kilogramm",
    "g": r"g|grams?|Gramm",
    "mg": r"mg|milligrams?|Milligramm",
    "µg": r"[µμ]g|mcg|micrograms?|Mikrogramm",
    "ml": r"ml|mL|millilit(?:er|re)s?|Milliliter",
    "l": r"l|L|lit(?:er|re)s?|Liter",
    "km": r"km|kilomet(?:er|re)s?|Kilometer",
    "cm": r"cm|centimet(?:er|re)s?|Zentimeter",
    "mm": r"mm|millimet(?:er|re)s?|Millimeter",
    "thousand": r"thousand|[tT]ausend|Tsd\.?|тыс\.?|тысяч\w*",
    "million": r"[mM]illions?|Mio\.?|mn|Millionen|millones|millón|milh(?:ões|ão)|milion[ei]|млн|百万",
    "billion": r"[bB]illions?|bn|Mrd\.?|Milliarden?|milliards?|miliard[oi]|млрд|миллиард\w*|十亿",
}
_FAMILIES = (
    frozenset(("kg", "g", "mg", "µg")),
    frozenset(("ml", "l")),
    frozenset(("km", "cm", "mm")),
    frozenset(("thousand", "million", "billion")),
    frozenset(("%", "pp")),
)
"""Units of which a number has one: another one of these makes it another quantity."""
_UNIT_OF = {unit: re.compile(form) for unit, form in _FORMS.items()}
_ANY_UNIT = "|".join(_FORMS.values())
_QUANTITY = re.compile(rf"(?<![\w.])(\d+(?:[.,_]\d+)*)(?:[\s-]?({_ANY_UNIT})(?!\w))?")
_HINTS = {
    "min": r"minut|\bmins?\b|\d\s?m\b|_min",
    "h": r"hour|\bhrs?\b|\d\s?h\b|_h\b",
    "day": r"day|\d\s?d\b|date|daily",
    "week": r"week|\d\s?w\b",
    "month": r"month|\d\s?mo\b",
    "year": r"year|annual|\d\s?y\b",
    "%": r"%|percent|pct|ratio|share",
    "KB": r"\bki?b|kilobyte|\d\s?k\b",
    "MB": r"mi?b\b|megabyte|\d\s?m\b",
    "GB": r"gi?b\b|gigabyte|\d\s?g\b",
    "EUR": r"€|eur",
    "USD": r"\$|usd|dollar|price|cost",
    "ms": r"ms\b|milli",
}
"""What in a source speaks of a unit, however it writes it. Bare numbers of timeouts are seconds."""
_HINT_OF = {unit: re.compile(hint, re.IGNORECASE) for unit, hint in _HINTS.items()}
_SPELT_UP_TO = 12
"""Sources may write numbers up to this one in words."""
_UNLIMITED = re.compile(r"\b(?:unlimited|unbounded|infinite(?:ly)?|limitless)\b", re.IGNORECASE)
_NO_LIMIT = re.compile(
    r"unlimited|unbound|infinit|limitless|endless|forever|∞|\binf\b|-1\b|"
    r"\b(?:no|without|any|never)\b.{0,20}(?:limit|maximum|max\b|cap\b|bound|end\b|stop)",
    re.IGNORECASE,
)


def changed_quantity(text: str, sources: Iterable[str]) -> str | None:
    """Return a quantity of a claim whose unit or size its sources do not have; else None."""
    claimed = [(number, unit, written) for number, unit, written in _quantities(text) if unit]
    endless = _UNLIMITED.search(text)
    if not claimed and endless is None:
        return None
    read = [source[:_READ] for source in sources]
    if endless is not None and not any(_NO_LIMIT.search(source) for source in read):
        return endless[0]
    units: dict[str, set[str]] = defaultdict(set)
    for source in read if claimed else ():
        for number, unit, _ in _quantities(source):
            units[number].add(unit)
    for number, unit, written in claimed:
        theirs = units[number]
        if theirs and unit not in theirs and _is_changed(number, unit, theirs, read):
            return written
    return None


def _is_changed(number: str, unit: str, theirs: set[str], sources: Sequence[str]) -> bool:
    """Whether a number has another unit in the sources, or none there and nothing speaks of this one."""
    if any(unit in family and not theirs.isdisjoint(family) for family in _FAMILIES):
        return True
    hint = _HINT_OF.get(unit)
    is_spoken_of = hint is not None and any(map(hint.search, sources))
    if "" not in theirs:
        return not (is_spoken_of and float(number.rstrip(".")) <= _SPELT_UP_TO)
    return hint is not None and not is_spoken_of


def _quantities(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield each number of a text, its unit or "", and both as they are written."""
    for match in _QUANTITY.finditer(text):
        number, written = match[1].replace(",", "").replace("_", ""), match[2] or ""
        if number.count(".") > 1:  # a version
            continue
        yield number, next((unit for unit, form in _UNIT_OF.items() if form.fullmatch(written)), ""), match[0]


# Dates and times ----------------------------------------------------------------------------------------

_MONTHS = (
    "jan(?:uary|uari?|vier|eiro)?|enero|gennaio|января",
    "feb(?:ruary|ruari?|brero|braio)?|février|fevereiro|февраля",
    "mar(?:ch|s|zo|ço)?|märz|maart|марта",
    "apr(?:ile?)?|abril|avril|апреля",
    "may|mayo|mai|maio|maggio|mei|мая",
    "jun(?:e|io?|ho)?|juin|giugno|июня",
    "jul(?:y|io?|ho)?|juillet|luglio|июля",
    "aug(?:ust|ustus)?|agosto|août|августа",
    "sep(?:t|tember|tiembre|tembre)?|settembre|setembro|сентября",
    "o[ck]t(?:ober|ubre|obre)?|ottobre|outubro|октября",
    "nov(?:ember|iembre|embre|embro)?|ноября",
    "de[cz](?:ember|embro)?|dic(?:iembre|embre)|décembre|декабря",
)
"""The months, in the languages of the rule finder that write them with letters."""
_BEFORE, _AFTER = (
    "|".join(f"(?P<{at}{number}>{names})" for number, names in enumerate(_MONTHS, start=1)) for at in "ab"
)
_ORDINAL = r"(?:st|nd|rd|th|er|º|\.)?"
_NAMED_DATE = re.compile(
    rf"(?<![\d.,/-])(?P<day>\d{{1,2}}){_ORDINAL}\s+(?:de\s+|of\s+)?(?:{_BEFORE})\b"
    rf"|\b(?:{_AFTER})\.?\s+(?P<day_after>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:/%-]|\.\d|\s*%)"
    r"|(?P<cjk_month>\d{1,2}|[一二三四五六七八九十]{1,2})月(?P<cjk_day>\d{1,2}|[一二三四五六七八九十]{1,3})[日号]",
    re.IGNORECASE,
)
_ALSO_WORDS = frozenset(("may", "mar", "march", "mars", "mai", "sep", "dec", "oct"))
"""Names that are no month if they are written small: "step 3 may fail"."""
_DIGIT_DATE = re.compile(r"(?<!\d)(?:\d{4}-(\d\d)-(\d\d)|(\d{1,2})\.(\d{1,2})\.(?!\d\.))")
_SLASHED_DATE = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})(?:/\d{2,4})?(?![\d/])")
_CLOCK = re.compile(r"(?<![\d:.])(\d{1,2}(?::\d\d)?)\s?([ap])\.?\s?m\b", re.IGNORECASE)
_HANZI = "一二三四五六七八九"


def changed_time(text: str, sources: Iterable[str]) -> str | None:
    """Return a date whose day the sources have in other months only, or a time with "pm" for "am"."""
    claimed = [(date, match[0]) for match in _NAMED_DATE.finditer(text) if (date := _named_date(match))]
    clock = [(match[1], match[2].lower(), match[0]) for match in _CLOCK.finditer(text)]
    read = [source[:_READ] for source in sources] if claimed or clock else []
    theirs = {date for source in read for date in _dates(source)}
    slashed = {tuple(map(int, pair)) for source in read for pair in _SLASHED_DATE.findall(source)}
    for date, written in claimed:
        is_named = date in theirs or date in slashed or date[::-1] in slashed
        if not is_named and any(day == date[0] for day, _ in theirs):
            return written
    halves: dict[str, set[str]] = defaultdict(set)
    for source in read if clock else ():
        for hour, half in _CLOCK.findall(source):
            halves[hour].add(half.lower())
    return next((written for hour, half, written in clock if halves[hour] and half not in halves[hour]), None)


def _dates(text: str) -> Iterator[tuple[int, int]]:
    """Yield the dates of a text as day and month."""
    for match in _NAMED_DATE.finditer(text):
        if date := _named_date(match):
            yield date
    for month, day, day_first, month_after in _DIGIT_DATE.findall(text):
        yield int(day or day_first), int(month or month_after)


def _named_date(match: re.Match[str]) -> tuple[int, int] | None:
    if match["cjk_month"]:
        return _hanzi(match["cjk_day"]), _hanzi(match["cjk_month"])
    name, month = next(
        (word, int(key[1:])) for key, word in match.groupdict().items() if word and key[1:].isdigit()
    )
    return None if name in _ALSO_WORDS else (int(match["day"] or match["day_after"]), month)


def _hanzi(written: str) -> int:
    """Return a number up to 99 in digits or Chinese numerals: 二十三 is 23."""
    if written.isdigit():
        return int(written)
    tens, ten, ones = written.rpartition("十")
    return 10 * (_HANZI.find(tens) + 1 if tens else 1) * bool(ten) + (_HANZI.find(ones) + 1 if ones else 0)


# Numbers in words ---------------------------------------------------------------------------------------

_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TEENS = (
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen"),
    *("sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SIZES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_WORD = rf"(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_ONES[:9])}))?|{'|'.join(_TEENS)}"
_SPELT = re.compile(
    rf"\b(?:(?P<word>{_WORD})|(?P<small>{'|'.join(_ONES)})(?=[- ](?:{'|'.join(_SIZES)})\b))"
    rf"(?:[- ](?P<size>{'|'.join(_SIZES)}))?\b",
    re.IGNORECASE,
)
"""English numbers in words, from eleven on; smaller ones are counted by the reader."""


def invented_number_word(text: str, sources: Iterable[str]) -> str | None:
    """Return a number in words that no source has, in words or in digits; else None."""
    found = list(_SPELT.finditer(text))
    listed = [source.lower() for source in sources] if found else []
    for match in found:
        number, size = _spelt((match["word"] or match["small"]).lower()), (match["size"] or "").lower()
        forms = [rf"{number * _SIZES.get(size, 1):,}".replace(",", "[,_. ]?")]
        forms += [rf"{number}\s?(?:{size}|{size[0]}\b)"] if size else []
        digits = re.compile(rf"(?<![\d.,])(?:{'|'.join(forms)})(?!\d)")
        if not any(match[0].lower() in source or digits.search(source) for source in listed):
            return match[0]
    return None


def _spelt(word: str) -> int:
    """Return a number below a hundred that is written in English words."""
    if word in _ONES:
        return _ONES.index(word) + 1
    if word in _TEENS:
        return _TEENS.index(word) + 11
    tens, _, ones = word.replace("-", " ").partition(" ")
    return (_TENS.index(tens) + 2) * 10 + (_ONES.index(ones) + 1 if ones else 0)


# Counts of units ----------------------------------------------------------------------------------------

_SMALL = {
    word: number
    for row in (
        "- two three four five six seven eight nine ten eleven twelve",
        "- zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "- deux trois quatre cinq - sept huit neuf dix onze douze",
        "- dos - cuatro cinco seis siete ocho nueve diez - doce",
        "- due tre quattro cinque sei sette otto nove dieci - dodici",
        "- dois três quatro - - sete oito nove dez onze doze",
    )
    for number, word in enumerate(row.split(), start=1)
    if word != "-"
} | {"tres": 3, "seis": 6}
_COUNTED = {
    "day": r"days?|tage?n?|jours?|d[ií]as?|giorn[oi]",
    "week": r"weeks?|wochen?|semaines?|semanas?|settiman[ae]",
    "month": r"months?|monaten?|monate?|mois|mes(?:es)?|mes[ei]",
    "year": r"years?|jahren?|ans|années?|años?|anni?|anos?",
    "hour": r"hours?|stunden?|heures?|horas?|or[ae]",
    "minute": r"minut(?:es?|en?|os?|i)",
    "EUR": r"eur|euros?",
    "USD": r"usd|dollars?|dólares",
    "CHF": r"chf|franken|francs?",
    "%": r"%|percent|prozent|pour cent|por ciento|per cento",
}
_COUNT = re.compile(
    rf"(?<![\w.,])(?:(?P<word>{'|'.join(_SMALL)})|(?P<digits>\d{{1,2}}))[\s-]"
    + "(?:"
    + "|".join(f"(?P<{'p' if noun == '%' else noun}>{form})" for noun, form in _COUNTED.items())
    + r")(?!\w)",
    re.IGNORECASE,
)
_RATE = re.compile(
    rf"\b(?:(?P<adverb>once|twice|thrice)"
    rf"|(?P<times>\d{{1,2}}|{'|'.join(_SMALL)})"
    r"(?:\s(?:times|mal|fois|veces|volte|vezes)|mal))"
    r"\s(?:a|an|per|each|every|am|pro|im|in der|par|al|a la|por|ao|à)\s?(?P<period>\w+)",
    re.IGNORECASE,
)
_ADVERBS = {"once": 1, "twice": 2, "thrice": 3}


def changed_count(text: str, sources: Iterable[str]) -> str | None:
    """Return a count in words whose unit has other numbers in the sources, or another rate; else None."""
    counts = [(noun, number, match[0]) for noun, number, match in _counts(text) if match["word"]]
    rates = list(_rates(text))
    if not counts and not rates:
        return None
    read = [source[:_READ] for source in sources]
    theirs: dict[str, set[int]] = defaultdict(set)
    for source in read:
        for noun, number, _ in _counts(source):
            theirs[noun].add(number)
        for period, number, _ in _rates(source):
            theirs[f"times {period}"].add(number)
    for noun, number, written in counts:
        if theirs[noun] and number not in theirs[noun] and not _names_number(number, read):
            return written
    for period, number, written in rates:
        if theirs[f"times {period}"] and number not in theirs[f"times {period}"]:
            return written
    return None


def _counts(text: str) -> Iterator[tuple[str, int, re.Match[str]]]:
    for match in _COUNT.finditer(text):
        word = match["word"]
        yield match.lastgroup or "", _SMALL[word.lower()] if word else int(match["digits"]), match


def _rates(text: str) -> Iterator[tuple[str, int, str]]:
    for match in _RATE.finditer(text):
        times = match["times"] or ""
        number = _ADVERBS.get((match["adverb"] or "").lower()) or _SMALL.get(times.lower()) or int(times)
        yield match["period"].lower(), number, match[0]


def _names_number(number: int, sources: Iterable[str]) -> bool:
    """Whether a source has a small number anywhere, in digits or in words: the reader may have counted."""
    words = "|".join(word for word, value in _SMALL.items() if value == number)
    named = re.compile(rf"(?<![\w.,])(?:{number}|{words})(?!\w)", re.IGNORECASE)
    return any(map(named.search, sources))


# Signs --------------------------------------------------------------------------------------------------

_MINUS = re.compile(r"(?:(?<=^)|(?<=[\s(:=]))[-−](\d+(?:[.,]\d+)*)(?![\w-])", re.MULTILINE)
_SHORTEST_AMOUNT = 3
"""Characters of a number: shorter ones with a minus are mostly code ("-1")."""
_BELOW_ZERO = re.compile(
    r"minus|negativ|below zero|less|loss|deficit|debit|credit|refund|drop|fell|fall|decreas|declin|lower"
    r"|reduc|down|verlust|gefallen|gesunken|perte|pérdida|perdita",
    re.IGNORECASE,
)
"""Words by which a number is below zero, or a change downwards."""


def turned_sign(text: str, sources: Iterable[str]) -> str | None:
    """Return a negative number of a claim that its sources have without the minus only; else None."""
    found = [match for match in _MINUS.finditer(text) if len(match[1]) >= _SHORTEST_AMOUNT]
    read = [source[:_READ] for source in sources] if found else []
    if not found or any(map(_BELOW_ZERO.search, read)):
        return None
    for match in found:
        is_negative = re.compile(rf"[-−–(]\s?[$€£]?{re.escape(match[1])}(?!\d)")
        if any(match[1] in source for source in read) and not any(map(is_negative.search, read)):
            return match[0]
    return None
