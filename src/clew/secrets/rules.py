"""The secret rules, read from ``rules.toml``."""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

# A key may follow an escape of JSON (\n, \u003d), of a URL (%3D) or of a terminal (\x1b[31m): the letter
# before it is then not part of a word.
_FRESH = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4})"
    r"|(?<=%[0-9A-F]{2})|(?<=\[[0-9]m)|(?<=[0-9]{2}m))"
)
ENOUGH = 256
"""Characters of a value from which its entropy is measured."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret."""

    id: str
    description: str
    keywords: tuple[str, ...]
    regex: str
    """Matched from ``back`` characters before a keyword."""
    back: int = 0
    loose: bool = False
    """A secret may be short or contain spaces, so the keyword is searched in the whole text."""
    entropy: float = 0.0
    """Minimum bits per character of a secret."""
    allow: tuple[str, ...] = ()
    """Patterns of values that match ``regex`` but are not secrets."""

    def span(self, text: str, at: int) -> tuple[int, int] | None:
        """Return the span of the secret whose keyword is at a position of the text; None if there is none."""
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
    """Compile a pattern at first use: compiling all of them takes 0.1 s."""
    return re.compile(regex)


def entropy(text: str) -> float:
    """Return the Shannon entropy of a text's own characters, in bits per character."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values())


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules; where matches overlap, the earlier rule names the secret."""
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
    """Return keywords in lower case, capitalised, and in upper case."""
    spelled = (form for word in keywords for form in (word, word[:1].upper() + word[1:], word.upper()))
    return list(dict.fromkeys(spelled))
