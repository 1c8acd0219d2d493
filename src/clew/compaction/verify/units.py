"""Find units and quantities that a claim changed: "45 s" for "45 ms", "7 minutes" or "unlimited" for "7"."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

_FORMS = {
    "ms": r"ms|msecs?|milliseconds?",
    "s": r"s|secs?|seconds?",
    "min": r"mins?|minutes?",
    "h": r"h|hrs?|hours?",
    "day": r"days?",
    "week": r"weeks?",
    "month": r"months?",
    "year": r"years?",
    "%": r"%|percent|pct",
    "KB": r"[kK]i?B|kilobytes?",
    "MB": r"Mi?B|megabytes?",
    "GB": r"Gi?B|gigabytes?",
    "EUR": r"€|EUR|euros?",
    "USD": r"USD|dollars?",
}
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
_READ = 50_000
"""Characters of a source that are read: a bound against huge outputs, chosen by hand."""


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
