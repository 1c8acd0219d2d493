"""Prefilter: find the positions in a text where a secret may be, cheaply if there is none.

Most keys are long runs of letters, digits and a few symbols, and most text is not. One fast pass finds those
runs; keywords are searched only in them and, if a name is assigned the run, shortly before. Secrets that may
be short or contain spaces (a password, a key over several lines) are searched by their own keywords in the
whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

from clew.secrets.rules import Rule, rules

Ranked: TypeAlias = tuple[int, Rule]
"""A rule and its index among the rules."""

RUN = 16
"""The shortest run, in characters, that may be a key."""
BEFORE = 48
"""How far before a run its name may begin: ``"aws_secret_access_key": "``."""
_GIVEN = re.compile(r"[:=]|(?:er|ER|ic|en|ey|rd|et)[ \"',]{1,4}$")
"""What precedes a run that is assigned to a name, a flag or a header."""
_SIGNS = b"_-+/=.~%$"
_DENSE = bytes(
    ord("x") if (chr(byte).isalnum() and byte < 128) or byte in _SIGNS else ord(" ") for byte in range(256)
)


class _Keywords(NamedTuple):
    """The keywords, the pattern that finds them, and the rules of each."""

    dense: re.Pattern[str]
    loose: tuple[str, ...]
    rules: dict[str, tuple[Ranked, ...]]


def candidates(text: str) -> Iterator[tuple[int, Ranked]]:
    """Yield every position where a secret may be, with the rule to try there."""
    keywords = _keywords()
    for start, end in _regions(text):
        found = keywords.dense.search(text, start, end)
        while found:
            at = found.start()
            for ranked in keywords.rules[found.group()]:
                yield at, ranked
            found = keywords.dense.search(text, at + 1, end)  # one keyword may be inside another
    for keyword in keywords.loose:
        at = text.find(keyword)
        while at >= 0:
            for ranked in keywords.rules[keyword]:
                yield at, ranked
            at = text.find(keyword, at + 1)


def _regions(text: str) -> Iterator[tuple[int, int]]:
    """Yield the long runs, each extended to the name before it; no two overlap."""
    dense = text.encode("latin-1", "replace").translate(_DENSE)
    run, done = b"x" * RUN, 0
    at = dense.find(run)
    while at >= 0:
        end = dense.find(b" ", at + RUN)
        end = len(text) if end < 0 else end
        given = _GIVEN.search(text, max(0, at - 8), at)
        yield max(done, at - BEFORE if given else at - 1), end  # a keyword may begin one symbol earlier
        done = end
        at = dense.find(run, end)


@cache
def _keywords() -> _Keywords:
    dense = _by_keyword([one for one in enumerate(rules()) if not one[1].loose])
    loose = _by_keyword([one for one in enumerate(rules()) if one[1].loose])
    return _Keywords(re.compile(_alternation(dense)), tuple(loose), loose | dense)


def _by_keyword(ranked: Sequence[Ranked]) -> dict[str, tuple[Ranked, ...]]:
    """Return the rules of each keyword, including those of shorter keywords that it begins with."""
    words = dict.fromkeys(word for _, rule in ranked for word in rule.keywords)
    return {
        word: tuple(one for one in ranked if any(word.startswith(key) for key in one[1].keywords))
        for word in words
    }


def _alternation(words: Iterable[str]) -> str:
    """Return a pattern that matches the longest of the words without backtracking."""
    tails: dict[str, list[str]] = {}
    for word in words:
        tails.setdefault(word[:1], []).append(word[1:])
    whole = tails.pop("", None) is not None
    branches = [re.escape(first) + _alternation(rest) for first, rest in tails.items()]
    if not branches:
        return ""
    either = branches[0] if len(branches) == 1 and not whole else f"(?:{'|'.join(branches)})"
    return f"{either}?" if whole else either
