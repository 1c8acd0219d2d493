"""Where in a text a secret may lie, at little cost where none does.

Most keys are long runs of letters, digits and a few signs, and most text is not. One pass that runs at the
speed of copying finds those runs; only there are keywords looked for, and a little before where the run is
given to a name. What may be short or broken by blanks (a password, a key in lines) is looked for by its own
few keywords everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

from clew.secrets.rules import Rule, rules

Ranked: TypeAlias = tuple[int, Rule]
"""A rule and its place among the rules."""

RUN = 16
"""Characters from which on a run may be a key."""
BEFORE = 48
"""How far before a run the name may begin that it is given to: ``"aws_secret_access_key": "``."""
_GIVEN = re.compile(r"[:=]|(?:er|ER|ic|en|ey|rd|et)[ \"',]{1,4}$")
"""How what stands before a run ends where the run is given to a name, a flag or a header."""
_SIGNS = b"_-+/=.~%$"
_DENSE = bytes(
    ord("x") if (chr(byte).isalnum() and byte < 128) or byte in _SIGNS else ord(" ") for byte in range(256)
)


class _Keywords(NamedTuple):
    """Keywords, what finds them, and the rules that each of them may be the beginning of."""

    dense: re.Pattern[str]
    loose: tuple[str, ...]
    rules: dict[str, tuple[Ranked, ...]]


def candidates(text: str) -> Iterator[tuple[int, Ranked]]:
    """Yield every place where a secret may lie: where its keyword stands, and the rule."""
    keywords = _keywords()
    for start, end in _regions(text):
        found = keywords.dense.search(text, start, end)
        while found:
            at = found.start()
            for ranked in keywords.rules[found.group()]:
                yield at, ranked
            found = keywords.dense.search(text, at + 1, end)  # one keyword may stand inside another
    for keyword in keywords.loose:
        at = text.find(keyword)
        while at >= 0:
            for ranked in keywords.rules[keyword]:
                yield at, ranked
            at = text.find(keyword, at + 1)


def _regions(text: str) -> Iterator[tuple[int, int]]:
    """Yield the long runs with what stands before them; no two overlap."""
    dense = text.encode("latin-1", "replace").translate(_DENSE)
    run, done = b"x" * RUN, 0
    at = dense.find(run)
    while at >= 0:
        end = dense.find(b" ", at + RUN)
        end = len(text) if end < 0 else end
        given = _GIVEN.search(text, max(0, at - 8), at)
        yield max(done, at - BEFORE if given else at - 1), end  # a keyword may begin with one more sign
        done = end
        at = dense.find(run, end)


@cache
def _keywords() -> _Keywords:
    dense = _by_keyword([one for one in enumerate(rules()) if not one[1].loose])
    loose = _by_keyword([one for one in enumerate(rules()) if one[1].loose])
    return _Keywords(re.compile(_alternation(dense)), tuple(loose), loose | dense)


def _by_keyword(ranked: Sequence[Ranked]) -> dict[str, tuple[Ranked, ...]]:
    """Return the rules of each keyword; a longer one stands for the shorter that it begins with, too."""
    words = dict.fromkeys(word for _, rule in ranked for word in rule.keywords)
    return {
        word: tuple(one for one in ranked if any(word.startswith(key) for key in one[1].keywords))
        for word in words
    }


def _alternation(words: Iterable[str]) -> str:
    """Return a pattern for any of the words, the longest that fits, which never reads a letter twice."""
    tails: dict[str, list[str]] = {}
    for word in words:
        tails.setdefault(word[:1], []).append(word[1:])
    whole = tails.pop("", None) is not None
    branches = [re.escape(first) + _alternation(rest) for first, rest in tails.items()]
    if not branches:
        return ""
    either = branches[0] if len(branches) == 1 and not whole else f"(?:{'|'.join(branches)})"
    return f"{either}?" if whole else either
