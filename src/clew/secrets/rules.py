"""The rules: what a secret looks like, read from ``rules.toml``."""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

# A key may stand behind an escape of JSON's (\n, \u003d), of an address (%3D) or of a terminal (\x1b[31m):
# the letter before it is then no part of a word.
_FRESH = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4})"
    r"|(?<=%[0-9A-F]{2})|(?<=\[[0-9]m)|(?<=[0-9]{2}m))"
)
ENOUGH = 256
"""Characters that show how random a value is."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret."""

    id: str
    description: str
    keywords: tuple[str, ...]
    regex: str
    """Matched where a keyword stands, ``back`` characters before it."""
    back: int = 0
    loose: bool = False
    """A secret may be short or broken by blanks, so the keyword is looked for everywhere."""
    entropy: float = 0.0
    """Bits per character that a secret has at least."""
    allow: tuple[str, ...] = ()
    """What looks like one and is none."""

    def span(self, text: str, at: int) -> tuple[int, int] | None:
        """Return where the secret lies whose keyword stands at a place of the text; None where none does."""
        pattern = _compiled(self.regex)
        match = pattern.match(text, at - self.back) if at >= self.back else None
        if match is None:
            return None
        start, end = match.span("secret" if "secret" in pattern.groupindex else 0)
        value = text[start:end]
        if entropy(value[:ENOUGH]) < self.entropy or any(
            _compiled(one).fullmatch(value) for one in self.allow
        ):
            return None
        return start, end


@cache
def _compiled(regex: str) -> re.Pattern[str]:
    """Compile a pattern when it is first needed: all of them at once would take a tenth of a second."""
    return re.compile(regex)


def entropy(text: str) -> float:
    """Return the bits per character that a text has by its own letters alone."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values())


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules; the earlier one gives an overlap its name."""
    written = tomllib.loads(files("clew.secrets").joinpath("rules.toml").read_text("utf-8"))
    nothing = tuple(written["placeholders"])
    return tuple(_rule(entry, nothing) for entry in written["rule"])


def _rule(entry: dict[str, Any], placeholders: tuple[str, ...]) -> Rule:
    fresh = "" if entry.get("inside") else _FRESH
    return Rule(
        entry["id"],
        entry["description"],
        tuple(_spellings(entry["keywords"]) if entry.get("any_case") else entry["keywords"]),
        fresh + entry["regex"],
        entry.get("back", 0),
        entry.get("loose", False),
        entry.get("entropy", 0.0),
        (*placeholders, *entry.get("allow", ())),
    )


def _spellings(keywords: list[str]) -> list[str]:
    """Return keywords in lower case, with a Capital, and in CAPITALS, as names are written."""
    spelled = (form for word in keywords for form in (word, word[:1].upper() + word[1:], word.upper()))
    return list(dict.fromkeys(spelled))
